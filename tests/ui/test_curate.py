"""The page Curate: tables, what they lead to, and runs for what takes long."""

from __future__ import annotations

import httpx
from playwright.sync_api import expect

from tests.fakes.workers import work_off
from tests.ui.steps import HOSTILE, bring, rows_saved, says, stays_text
from theodolite.app.pages.encoders import service as encoders


def test_a_collection_is_looked_through(visit, workspace, tmp_path):
    """Duplicates are listed and saved, found on the map; sentences stay text and lead to Search."""
    lines = ["A cat.", "a cat", "A dog.", "A boat at sea.", HOSTILE]
    twins = bring(workspace, tmp_path, "twins", lines)
    page = visit.open(f"curate?job=exact&in={twins}")
    found = page.locator("#found")
    says(found, "not checked yet")
    expect(page.locator("#encoder")).to_be_hidden()
    page.locator("#look").click()
    says(found.locator("h2"), "1 group of duplicates among 5 sentences")
    expect(found.locator("tbody tr")).to_have_count(2)
    rows = rows_saved(page, page.get_by_role("link", name="as CSV"))
    assert [row["sentence"] for row in rows] == ["A cat.", "a cat"]
    ways = page.get_by_role("link", name="on the map").get_attribute("href")
    assert "ids=0%2C1" in ways

    page.get_by_label("Leaks").check()
    expect(page.locator("#against")).to_be_visible()
    page = visit.open(f"curate?job=typical&in={twins}&encoder=random:256&many=2")
    says(found, "not checked yet")
    page.locator("#look").click()
    expect(found.locator("tbody tr")).to_have_count(4)
    stays_text(page)
    visit.fits("curate")
    found.locator("tbody tr a").first.click()
    says(page.locator("#hits li").first, "the query itself")
    workspace.store.uploads.remove("twins")


def test_a_large_job_is_a_run_that_is_followed_and_found_on_the_map(visit, workspace):
    encoders.add(workspace, "random:20")
    page = visit.open("curate?job=typical&in=starter-topics&encoder=random:20&many=3")
    says(page.locator("#found"), "not checked yet")
    page.locator("#look").click()
    says(page.locator("#following"), "waiting for its turn")
    run = next(r for r in workspace.store.runs.list() if r["kind"] == "curate")
    work_off(workspace, run["id"])
    expect(page.locator("#found tbody tr")).to_have_count(6)
    page.get_by_role("link", name="on the map").click()
    says(page.locator("#map"), "6 selected")


def test_a_table_that_is_not_there_is_404(site):
    for key in ("0" * 32, "..%2Fx", "x"):
        assert httpx.get(f"{site}/theodolite/curation/{key}.csv").status_code == 404


def test_it_opens_with_an_answer_that_ships(visitor, place):
    """What lies alone in the starter set, by MiniLM; its CSV holds all of it."""
    page = visitor(place).open("curate")
    says(page.locator("#found h2"), "2,040 sentences")
    says(page.locator("#found"), "Good comments explain why, not what.")
    assert len(rows_saved(page, page.get_by_role("link", name="as CSV"))) == 100
    page = visitor(place).open("curate?job=leaks&encoder=random:256")
    says(page.get_by_role("alert"), "two different parts")
