"""The page Geometry: every chart with its sentence and its numbers, runs followed, switches."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.fakes.workers import work_off
from tests.ui.addresses import address_of
from tests.ui.conftest import LOOKS
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.geometry import service as geometry

TWO = "geometry?encoder=random:256&encoder=random:64&data=starter-pairs"


@pytest.fixture(scope="module")
def measured(workspace):
    """Two baselines measured on the starter pairs."""
    return {
        name: geometry.measure(workspace, name, "starter-pairs").info
        for name in ("random:256", "random:64")
    }


@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_every_chart_has_its_sentences(visitor, site, measured, dark, size):
    """One for each encoder below each of five charts, and nothing is cut at the side."""
    visit = visitor(site, dark=dark, size=size)
    page = visit.open(TWO)
    for name in ("alignment", "spectrum", "hubs", "cosines", "thresholds"):
        expect(page.locator(f"#{name}-readings li")).to_have_count(2, timeout=30_000)
        expect(page.locator(f"#{name} .main-svg").first).to_be_visible(timeout=30_000)
    assert not visit.scrolls_sideways()
    visit.picture(f"geometry-{size[0]}-{'dark' if dark else 'light'}")


def test_the_numbers_are_those_measured(visit, measured):
    """In the table, under the rule that is chosen."""
    page = visit.open(TWO)
    row = page.locator("#numbers tbody tr").first
    info = measured["random:256"]
    for value in (f"{info['alignment_over']:.3f}", str(info["n_over"]), f"{info['isoscore']:.3f}"):
        expect(row).to_contain_text(value)
    page.get_by_role("button", name="More controls").click()
    page.get_by_label("4 and above").check()
    expect(row).to_contain_text(f"{info['alignment_from']:.3f}")
    expect(row).to_contain_text(str(info["n_from"]))
    address_of(page, "rule=from")


def test_another_cut_changes_the_threshold(visit, measured):
    """And a cut that no pair reaches is said."""
    page = visit.open(f"{TWO}&cut=2")
    page.wait_for_selector("#thresholds-readings li")
    heading = page.locator(".t-section").last
    expect(heading).to_contain_text("graded from 2 on")
    cut = page.locator("#cut input")
    cut.fill("9")
    cut.press("Enter")
    expect(heading).to_contain_text("No threshold to find")


def test_what_takes_long_is_a_run_that_is_followed(visit, workspace):
    """The button queues one; once its units are done the charts are there."""
    encoders.add(workspace, "random:24")
    page = visit.open("geometry?encoder=random:24&data=starter-pairs")
    expect(page.locator("#missing")).to_contain_text("None of them has been measured")
    expect(page.locator("#cut")).to_be_hidden()
    page.locator("#measure").click()
    expect(page.locator("#following")).to_contain_text("waiting for its turn")
    run = next(r for r in workspace.store.runs.list() if r["kind"] == "geometry")
    work_off(workspace, run["id"])
    expect(page.locator("#hubs-readings li")).to_have_count(1)
    workspace.store.encoders.remove("random:24")


def test_a_collection_without_pairs_has_its_spectrum(visit, workspace):
    """No alignment, no densities, no thresholds, and no error."""
    geometry.measure(workspace, "random:64", "starter-topics")
    page = visit.open("geometry?encoder=random:64&data=starter-topics")
    expect(page.locator("#spectrum-readings li")).to_have_count(1)
    expect(page.locator("#thresholds-readings li")).to_have_count(0)
    expect(page.locator("#cut")).to_be_hidden()


def test_it_works_by_keyboard(visit, measured):
    """From the first box on: untick an encoder with the space bar, and its line is gone."""
    page = visit.open(TWO)
    page.wait_for_selector("#hubs-readings li")
    box = page.locator("#encoders input").nth(1)
    box.focus()
    page.keyboard.press("Space")
    expect(page.locator("#hubs-readings li")).to_have_count(1)
