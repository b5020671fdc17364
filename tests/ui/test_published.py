"""Published results on the page Board: a folder opened, single files named, a model let go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.app.pages.board.test_published import publish
from tests.engine.mteb.test_reading import HUB, packed
from tests.fakes.stores import starter_store
from tests.ui.conftest import LOOKS, served

FILES = "#published-files input[type=file]"


@pytest.fixture(scope="module")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an app in whose store nothing is."""
    made = starter_store(tmp_path_factory.mktemp("published"))
    with served(made) as address:
        yield address
    made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As it is downloaded: two models, one of them on two tasks."""
    made = tmp_path / "results"
    publish(made, "org/one", "r1", "STS17", "d1", default=0.7)
    publish(made, "org/one", "r1", "Banking77Classification", "d1", default=0.8)
    publish(made, "org/other", "r1", "STS17", "d1", default=0.6)
    (made / "README.md").write_text("Not a result.")
    return made


def unfold(page: Page) -> None:
    """Open the part of the page."""
    page.get_by_role("button", name="Published results").click()
    expect(page.locator("#published-take")).to_be_visible()


def said(page: Page) -> Locator:
    """What it answers."""
    return page.locator("#published-results .block.t-notice-place")


def test_a_published_folder_is_opened_on_the_board(visitor, nothing, folder, tmp_path):
    """Its models are rows; what does not say whose it is asks; a model is let go of again."""
    page = visitor(nothing).open("board")
    expect(page.locator("#headline")).to_contain_text("No results yet")
    unfold(page)
    page.locator("#published-folder input").set_input_files(folder)
    expect(said(page)).to_contain_text("3 results of 2 models on 2 tasks imported")
    expect(page.locator("#headline h2")).to_contain_text("2 published models on 2 tasks")
    rows = page.locator("#board tbody tr:not(.t-gap)")
    expect(rows.first).to_contain_text("org/one")
    expect(rows.first).to_contain_text("1 of 2")

    file = tmp_path / "STS17.yaml"
    file.write_text(HUB)
    page.set_input_files(FILES, file)
    expect(said(page)).to_contain_text("does not say whose results it holds")
    page.locator("#published-model input").fill("org/third")
    page.locator("#published-take").click()
    expect(said(page)).to_contain_text("1 result of 1 model on 1 task imported")
    expect(page.locator("#headline h2")).to_contain_text("3 published models on 2 tasks")

    page.locator("#published-here input").click()
    page.get_by_role("option", name="org/third").click()
    page.keyboard.press("Tab")
    page.locator("#published-remove").click()
    expect(said(page)).to_contain_text("1 published result removed")
    expect(page.locator("#headline h2")).to_contain_text("2 published models on 2 tasks")


@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_an_archive_in_every_window(visitor, nothing, folder, tmp_path, size, dark):
    """What is left out of it is said; the panel fits."""
    (folder / "org__one" / "r1" / "Broken.json").write_text("{")
    visit = visitor(nothing, dark=dark, size=size)
    page = visit.open("board")
    unfold(page)
    page.set_input_files(FILES, packed(folder, tmp_path / "results.zip"))
    expect(said(page)).to_contain_text("3 results of 2 models on 2 tasks imported")
    expect(said(page)).to_contain_text("Left out: Broken.json is not JSON")
    visit.picture(f"published-{size[0]}-{'dark' if dark else 'light'}")
    assert not visit.scrolls_sideways()
