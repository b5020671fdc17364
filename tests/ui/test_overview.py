"""The overview: the store's numbers, where they come from, and the view in the address."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.fakes.results import invent
from tests.ui.addresses import address_of

GRID = ".t-heat-table tbody tr"


@pytest.fixture
def page(visit):
    """The overview with its table."""
    page = visit.open()
    page.wait_for_selector(GRID)
    return page


def cell(page, row, column):
    """The cell of an encoder and a task."""
    heads = page.locator(".t-heat-table thead th").all()
    position = [head.get_attribute("data-key") for head in heads].index(column)
    return page.locator(GRID, has_text=row).locator("td").nth(position - 1)


def test_it_shows_the_numbers_of_the_store(page, workspace):
    """Each cell is the main score, to two decimals; what was not evaluated is a dash."""
    (row,) = workspace.store.results.table(encoders=["random:256"], tasks=["StarterSTS"])
    expect(cell(page, "random:256", "StarterSTS")).to_have_text(f"{row['score']:.2f}")
    expect(cell(page, "random:64", "StarterSearch")).to_have_text("–")


def test_an_average_says_how_many_tasks_it_has(page):
    """It is over those that both have: what one alone was evaluated on counts for nobody."""
    expect(cell(page, "random:256", "average:starter")).to_contain_text("1 of 3 tasks")
    expect(cell(page, "random:64", "average:starter")).to_contain_text("1 of 3 tasks")


def test_a_result_can_be_removed(visit, workspace):
    """From its card; the table is drawn without it."""
    row = invent(workspace, "random:40", "StarterTopics", 0.5, protocol="starter-1")
    try:
        page = visit.open(f"?result={row['id']}")
        page.get_by_text("Remove this result").click()
        expect(page.get_by_role("status").filter(has_text="Removed: random:40")).to_be_visible()
        expect(page.locator("th[data-key=StarterTopics]")).to_have_count(0)
        expect(page.get_by_text("Remove this result")).to_have_count(0)
        assert workspace.store.results.table(encoders=["random:40"]) == []
    finally:
        workspace.store.encoders.remove("random:40")


def test_averages_are_compared(page):
    """They are over the same tasks: a common tint, a common order."""
    for row in ("random:256", "random:64"):
        assert "--heat" in cell(page, row, "average:starter").get_attribute("style")
    cell(page, "random:64", "average:starter").hover()
    expect(page.locator(".t-tip")).to_contain_text("mean of")
    head = page.locator("th[data-key='average:starter'] button")
    for first in ("random:256", "random:64"):
        head.click()
        expect(page.locator(f"{GRID} th").first).to_contain_text(first)


def test_a_column_sorts_and_the_address_keeps_it(page):
    """The second click turns the order; a copied address shows the same."""
    head = page.locator("th[data-key=StarterSTS]")
    head.locator("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    head.locator("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    first = page.locator(f"{GRID} th").first.inner_text()
    address_of(page, "order=up")
    page.reload()
    expect(page.locator("th[data-key=StarterSTS]")).to_have_attribute("aria-sort", "ascending")
    expect(page.locator(f"{GRID} th").first).to_have_text(first, use_inner_text=True)


def test_hover_tells_protocol_number_and_interval(page):
    """What the number stands on; the interval comes from the examples."""
    cell(page, "random:256", "StarterSTS").hover()
    tip = page.locator(".t-tip")
    expect(tip).to_contain_text("simcse-2021")
    expect(tip).to_contain_text("480")
    expect(tip.locator("dd").last).to_contain_text(" to ")


def test_the_keyboard_walks_the_cells_and_opens_one(page):
    """Arrows move, Enter opens the protocol card, and the address names the result."""
    cell(page, "random:256", "StarterSTS").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    card = page.get_by_role("region", name="Result", exact=True)
    expect(card).to_contain_text("Protocol simcse-2021")
    address_of(page, "result=")
    page.reload()
    expect(page.get_by_role("region", name="Result", exact=True)).to_contain_text("StarterSTS")


def test_the_csv_holds_the_table(page):
    """Full precision, one line an encoder."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    with Path(download.value.path()).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["encoder"] for row in rows] == ["random:256", "random:64"]
    assert {row["origin"] for row in rows} == {"evaluated"}
    assert rows[1]["StarterSearch"] == ""


def test_the_starter_set_is_called_ours(page):
    """Nobody takes the starter set for a benchmark."""
    expect(page.locator("#t-main")).to_contain_text("which was written for this app")
