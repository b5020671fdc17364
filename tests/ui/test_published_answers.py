"""Sheets, judgements, curves and decoded sentences in a frozen workbench."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.fakes import reported
from tests.ui.conftest import LOOKS
from theodolite.app.pages.judge import report
from theodolite.app.pages.judge import service as judging
from theodolite.app.publish import choice, folder, site
from theodolite.app.workspace import Workspace

PATHS = {
    "choose": ("#sheet", "Decision sheet for upload:topics"),
    "judge": ("#judging", "10 of at most 20 marks on"),
    "runs": ("#runs", "60 updates"),
    "decode": ("#told", "He drinks coffee in the morning."),
    "interpolate": ("#walk", "of the way"),
    "arithmetic": ("#told", "Is the shop closed?"),
}
"""Page -> where it says what."""


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A store with a decision, a session, a training, and an encoder that has a decoder."""
    root = tmp_path_factory.mktemp("answered")
    with reported.answered(root, "random:64", "wordllama") as made:
        yield made


@pytest.fixture(scope="module")
def frozen(answered: Workspace, web) -> str:
    """Address of all of it, frozen."""
    root, address = web
    names = [*reported.PAIR, "random:64", "wordllama"]
    chosen = choice.choose(answered, names, data=["starter-topics"])
    folder.write(root / "answers", site.freeze(answered, chosen).files)
    return f"{address}/answers"


@pytest.mark.parametrize(("size", "dark"), LOOKS)
@pytest.mark.parametrize("path", PATHS)
def test_an_answer_is_shown_in_every_window(visitor, frozen, path, size, dark):
    """With nothing sticking out, and hostile texts as texts."""
    visit = visitor(frozen, dark=dark, size=size)
    page = visit.open(path)
    place, words = PATHS[path]
    expect(page.locator(place)).to_contain_text(words)
    expect(page.locator("#t-main .t-button, #t-main [data-act]")).to_have_count(0)
    visit.picture(f"answers-{path}-{size[0]}-{'dark' if dark else 'light'}")
    assert not visit.scrolls_sideways()
    assert "hit" not in page.title()
    assert page.locator("img[src=x]").count() == 0


def test_a_judgement_says_what_its_page_says(visitor, frozen, answered):
    """Difference and interval of the pair."""
    session = answered.store.judgements.list()[0]["id"]
    status = report.board(judging.opened(answered, session))
    page = visitor(frozen).open("judge")
    found = page.get_by_label("What the marks say")
    for side in ("low", "high"):
        expect(found).to_contain_text(f"{abs(status['pairs'][0][side]):.2f}")


def test_a_sheet_hands_out_its_files(visitor, frozen):
    """As on the live page."""
    page = visitor(frozen).open("choose")
    expect(page.locator("#front .main-svg").first).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Markdown").click()
    assert "upload:topics" in saved.value.path().read_text()


def test_curves_are_drawn_with_their_notes(visitor, frozen):
    """Of the one training that made a published encoder."""
    page = visitor(frozen).open("runs")
    expect(page.locator("#chart-score .main-svg").first).to_be_visible()
    expect(page.locator("#noted")).to_contain_text("<img src=x")


def test_another_example_of_decoding_is_chosen(visitor, frozen):
    """Its sentences come with it, and the address leads to it again."""
    page = visitor(frozen).open("arithmetic")
    page.locator(".t-views select").select_option(label="Negation")
    expect(page.locator("#t-main")).to_contain_text("I do not like this film.")
    page.reload()
    expect(page.locator(".t-views select option:checked")).to_have_text("Negation")
    expect(page.locator("#t-main")).to_contain_text("b = I like this film.")
    page.goto(f"{frozen}/interpolate")
    page.get_by_role("slider").press("End")
    expect(page.locator("#walk")).to_contain_text("100 % of the way")
