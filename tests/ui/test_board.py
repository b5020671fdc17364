"""The pages of the board: an order of encoders, what is behind a score, published results."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.app.pages.board.test_standings import publish
from tests.fakes.folder import packed
from tests.fakes.stores import invent, starter_store
from tests.ui.steps import address_of, rows_saved, says, served, write

ACCURACIES = {"random:256": 0.86, "random:64": 0.85, "wordllama": 0.60}
ROWS = "#board tbody tr:not(.t-gap)"


@pytest.fixture(scope="module")
def desk(desk):
    """Two encoders close together, one far behind, and one that lacks tasks."""
    for name, accuracy in ACCURACIES.items():
        for task in ("MR", "CR", "SUBJ"):
            invent(desk, name, task, accuracy)
    invent(desk, "random:32", "MR", 0.9)
    return desk


def test_the_order_is_read_sorted_filtered_and_taken_away(visitor, place):
    page = visitor(place).open("board?suite=transfer")
    says(page.locator("#board h2"), "random:256 leads 3 encoders over 3 tasks")
    first = page.locator(ROWS).first
    says(first.locator("td").first, "1 to 2")  # the ranks come last
    page.set_viewport_size({"width": 1024, "height": 768})
    page.wait_for_function(
        "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)"
        "(document.querySelector('#board .t-board'))"
    )
    expect(page.locator("#board th[aria-sort=descending]")).to_contain_text("Mean (task)")
    expect(page.locator("#board table")).to_have_attribute("aria-rowcount", "5")
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Published rows").check()
    expect(page.locator("#board table")).not_to_have_attribute("aria-rowcount", "5")
    page.get_by_role("button", name="Mean (task)").dblclick()
    says(first.locator("th"), "published")  # a reference, for the eye alone
    page.get_by_label("Published rows").uncheck()
    expect(page.locator("#board table")).to_have_attribute("aria-rowcount", "5")
    write(page, "most_dimensions", "-5")
    says(page.get_by_test_id("toast-body"), "Most dimensions cannot be -5")
    page.keyboard.press("Escape")
    file = rows_saved(page.locator("#board").get_by_role("button", name="Download CSV"))
    rows = {row["Encoder"]: row for row in file}
    assert {*rows} == {*ACCURACIES, "random:32"}
    assert (rows["random:32"]["CR"], rows["random:256"]["Rank: 95 % interval"]) == ("", "1 to 2")
    page.get_by_role("button", name="Encoder", exact=True).click()
    first.get_by_role("button").nth(1).press("ArrowDown")  # random:32 lacks a score here
    expect(page.locator(ROWS, has_text="random:64").get_by_role("button").nth(1)).to_be_focused()
    page.get_by_label("Types", exact=True).check()
    says(page.locator("#board thead"), "Transfer")
    assert "most_dimensions" not in address_of(page, "columns=types", "sort=Encoder")
    page.reload()
    expect(page.locator("#board th[aria-sort=ascending]")).to_contain_text("Encoder")


def test_a_score_leads_to_the_examples_on_which_two_encoders_part(visitor, place):
    page = visitor(place).open("board?suite=transfer")
    says(page.locator("#apart"), "random:256 alone is right on")
    page.locator(ROWS, has_text="wordllama").get_by_role("button").nth(1).click()
    says(page.locator("#apart"), "of CR, ")
    address_of(page, "task=CR", "better=wordllama", "worse=random")
    page.reload()
    says(page.locator("#apart"), "wordllama alone is right on")


def test_published_results_are_opened_on_an_empty_board(visitor, tmp_path: Path):
    """A folder is brought, one of its models is let go of again; an archive is the same."""
    folder = tmp_path / "results"
    for model, task in zip(
        ("one", "one", "other"), ("STS17", "Banking77Classification", "STS17"), strict=True
    ):
        publish(folder, f"org/{model}", "r1", task, "d1", default=0.7)
    (folder / "org__one" / "r1" / "Broken.json").write_text("{")
    with served(starter_store(tmp_path / "store")) as address:
        visit = visitor(address)
        page = visit.open("board")
        page.get_by_role("button", name="Published results").click()
        said = page.locator("#published-results .block.t-notice-place")
        page.locator("#published-folder input").set_input_files(folder)
        says(said, "3 results of 2 models on 2 tasks imported", "Broken.json")
        page.locator("#published-here input").click()
        page.get_by_role("option", name="org/other").click()
        page.keyboard.press("Tab")
        page.locator("#published-remove").click()
        says(page.locator("#board h2"), "1 published model on 2 tasks")
        page.locator("#published-files input[type=file]").set_input_files(
            packed(folder, tmp_path / "results.zip")
        )
        says(said, "3 results of 2 models on 2 tasks imported")
        visit.fits()
