"""The pages of the board: an order of encoders, cost, similarity, leaks, published results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.app.pages.board.test_published import publish
from tests.engine.mteb.test_reading import packed
from tests.fakes.results import invent
from tests.fakes.stores import starter_store
from tests.ui.conftest import served
from tests.ui.steps import address_of, rows_saved, says

ACCURACIES = {"random:256": 0.86, "random:64": 0.85, "wordllama": 0.60}


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an app over two encoders close together, one far behind, and one task missing."""
    made = starter_store(tmp_path_factory.mktemp("board"))
    for name, accuracy in ACCURACIES.items():
        for task in ("MR", "CR", "SUBJ"):
            invent(made, name, task, accuracy, dim=256 if name == "random:256" else 64)
    invent(made, "random:32", "MR", 0.9)
    with served(made) as address:
        yield address
    made.close()


def test_the_order_and_what_it_is_worth(visitor, invented):
    """Means over the shared tasks come first, with their rank intervals and 'k of n'."""
    visit = visitor(invented)
    page = visit.open("board?suite=transfer")
    says(page.locator("#headline h2"), "random:256 leads 3 encoders over 3 tasks")
    rows = page.locator("#board tbody tr:not(.t-gap)")
    says(rows.nth(0), "3 of 3")
    says(rows.nth(0).locator("td").first, "1 to 2")
    says(rows.nth(2), "wordllama")
    expect(rows.nth(3).locator("td").nth(1)).to_have_text("–")
    visit.fits("board")
    page.get_by_role("button", name="Mean (task)").click()
    says(rows.first.locator("th"), "published")  # a reference, for the eye alone
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Published rows").uncheck()
    expect(page.locator("#board table")).to_have_attribute("aria-rowcount", "5")
    page.keyboard.press("Escape")
    button = page.locator("#board").get_by_role("button", name="Download CSV")
    rows = {row["Encoder"]: row for row in rows_saved(page, button)}
    assert {*rows} == {*ACCURACIES, "random:32"}
    assert rows["random:64"]["Mean (task): over"] == "3 of 3" and rows["random:32"]["CR"] == ""
    page.get_by_label("Types", exact=True).check()
    says(page.locator("#board thead"), "Transfer")
    address_of(page, "columns=types", "published=false")


def test_the_examples_on_which_two_encoders_part(visitor, invented):
    """A score that is pressed chooses its task and encoder; the address keeps the three."""
    page = visitor(invented).open("board?suite=transfer&published=false")
    says(page.locator("#apart"), "random:256 is right on")
    row = page.locator("#board tbody tr", has_text="wordllama")
    row.get_by_role("button").nth(1).click()
    says(page.locator("#apart"), "of CR that random:64 gets wrong")
    other = visitor(invented).open(address_of(page, "task=CR", "better=wordllama", "worse=random"))
    says(other.locator("#apart"), "wordllama is right on")


def test_cost_similarity_and_leaks_say_what_to_do_first(visitor, invented):
    page = visitor(invented).open("cost?suite=transfer")
    says(page.locator("#headline"), "An example, measured on")
    expect(page.get_by_role("button", name="Measure the cost of 4")).to_be_visible()
    page = visitor(invented).open("similarity?encoder=random:64")
    says(page.locator("#headline"), "are the most similar", "100 sentences of each")
    page.get_by_text("Numbers as a table").click()
    expect(page.locator("#matrix tbody tr").first).to_be_visible()
    page = visitor(invented).open("similarity?encoder=random:64&of=all")
    expect(page.get_by_role("button", name="Compare 2 of them")).to_be_visible()
    page = visitor(invented).open("leaks?encoder=random:64")
    says(page.locator("#headline"), "Neither the files of random:64 nor MTEB")
    page = visitor(invented).open("leaks?encoder=random:64&in=starter-topics")
    search = re.compile("Search for .* in 1 training set")
    expect(page.get_by_role("button", name=search)).to_be_visible()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Published results as they are downloaded: two models, one of them on two tasks."""
    made = tmp_path / "results"
    publish(made, "org/one", "r1", "STS17", "d1", default=0.7)
    publish(made, "org/one", "r1", "Banking77Classification", "d1", default=0.8)
    publish(made, "org/other", "r1", "STS17", "d1", default=0.6)
    (made / "org__one" / "r1" / "Broken.json").write_text("{")
    return made


def test_published_results_are_opened_on_an_empty_board(visitor, folder, tmp_path):
    """Models are rows; one is let go of again; an archive is the same."""
    made = starter_store(tmp_path / "store")
    with served(made) as address:
        visit = visitor(address)
        page = visit.open("board")
        says(page.locator("#headline"), "No results yet")
        page.get_by_role("button", name="Published results").click()
        said, headline = page.locator("#published-results .block.t-notice-place"), "#headline h2"
        page.locator("#published-folder input").set_input_files(folder)
        says(said, "3 results of 2 models on 2 tasks imported", "Broken.json is not JSON")
        says(page.locator(headline), "2 published models on 2 tasks")
        rows = page.locator("#board tbody tr:not(.t-gap)")
        expect(rows).to_have_count(2)
        says(rows.first, "org/one", "1 of 2")
        expect(page.get_by_role("heading", name="Where two encoders part")).to_be_hidden()

        files = page.locator("#published-files input[type=file]")
        page.locator("#published-here input").click()
        page.get_by_role("option", name="org/other").click()
        page.keyboard.press("Tab")
        page.locator("#published-remove").click()
        says(page.locator(headline), "1 published model on 2 tasks")
        files.set_input_files(packed(folder, tmp_path / "results.zip"))
        says(said, "3 results of 2 models on 2 tasks imported")
        visit.fits("board-published")
    made.close()
