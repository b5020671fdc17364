"""What pages show on a fresh launch, before anybody has asked anything."""

from __future__ import annotations

from playwright.sync_api import expect


def test_a_training_that_ships_stands_where_nothing_was_trained(visit, workspace):
    """With its curves, said to be an example; it is no run of the store."""
    page = visit.open("runs")
    expect(page.locator("#runs")).to_contain_text("Nothing was trained here yet")
    expect(page.locator("#runs")).to_contain_text("ships as an example")
    expect(page.locator("#chart-score .scatterlayer .js-line")).to_have_count(1)
    assert workspace.store.runs.list(kinds=["train", "sweep"]) == []
