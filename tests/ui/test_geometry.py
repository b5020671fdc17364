"""The pages Geometry and Distributions: charts with their sentences and numbers, runs followed."""

from __future__ import annotations

import numpy as np
from playwright.sync_api import expect

from tests.fakes.workers import work_off
from tests.ui.steps import address_of, says, write
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.pages.geometry import service as geometry


def test_every_chart_has_its_sentences_and_its_numbers(visit, workspace):
    """Of two encoders, under the rule and the cut that are chosen; one is unticked by key."""
    info = geometry.measure(workspace, "random:256", "starter-pairs").info
    geometry.measure(workspace, "random:64", "starter-pairs")
    page = visit.open("geometry?encoder=random:256&encoder=random:64&data=starter-pairs")
    for name in ("alignment", "spectrum", "hubs", "cosines", "thresholds"):
        expect(page.locator(f"#{name}-readings li")).to_have_count(2)
        expect(page.locator(f"#{name} .main-svg").first).to_be_visible()
    visit.fits("geometry")
    row = page.locator("#numbers tbody tr").first
    says(row, f"{info['alignment_over']:.3f}", str(info["n_over"]), f"{info['isoscore']:.3f}")
    page.get_by_role("button", name="More controls").click()
    page.get_by_label("4 and above").check()
    says(row, f"{info['alignment_from']:.3f}", str(info["n_from"]))
    address_of(page, "rule=from")
    page.keyboard.press("Escape")
    heading = page.locator(".t-section").last
    write(page, "cut", "2")
    says(heading, "graded from 2 on")
    write(page, "cut", "9")
    says(heading, "No threshold to find")
    page.locator("#encoders input").nth(1).press("Space")
    expect(page.locator("#hubs-readings li")).to_have_count(1)


def test_what_takes_long_is_a_run_that_is_followed(visit, workspace):
    """Once its units are done the charts are there: without pairs, a spectrum and no thresholds."""
    encoders.add(workspace, "random:24")
    page = visit.open("geometry?encoder=random:24&data=starter-topics")
    says(page.locator("#missing"), "None of them has been measured")
    expect(page.locator("#cut")).to_be_hidden()
    page.locator("#measure").click()
    says(page.locator("#following"), "waiting for its turn")
    run = next(r for r in workspace.store.runs.list() if r["kind"] == "geometry")
    work_off(workspace, run["id"])
    expect(page.locator("#hubs-readings li, #spectrum-readings li")).to_have_count(2)
    expect(page.locator("#thresholds-readings li")).to_have_count(0)


# The page Distributions: densities by gold score, one panel an encoder, numbers beside them.


def test_every_encoder_has_a_panel_its_words_and_its_numbers(visit, workspace):
    """Panels share the cosine axis; the mean of pairs graded 4 to 5 is that of what is stored."""
    page = visit.open("distributions?encoder=random:256&encoder=random:64&task=StarterSTS")
    page.wait_for_selector("#densities .main-svg")
    readings = page.locator(".t-readings li")
    says(readings.first, "of their area", "Two random sentences have cosine")
    page.locator("#densities summary").click()
    (result,) = workspace.store.results.table(encoders=["random:256"], tasks=["StarterSTS"])
    examples = workspace.store.results.examples(result["id"])
    mean = examples["cosine"][examples["gold"] >= 4].mean()
    cell = page.locator("#densities tr", has_text="random:256").locator("td").nth(6)
    assert np.isclose(float(cell.inner_text()), mean, atol=1e-4)
    visit.fits("distributions")
    for left in (1, 0):
        expect(readings).to_have_count(left + 1)
        page.locator("#encoders input").nth(left).uncheck()
    says(page.get_by_role("alert"), "Choose at least one encoder")


def test_what_is_not_measured_can_be_measured_here(visit, workspace):
    """The button queues just that encoder and the page follows the run."""
    encoders.add(workspace, "random:8")
    page = visit.open("distributions?encoder=random:256&encoder=random:8&task=StarterSTS")
    says(page.locator("#missing"), "random:8")
    page.locator("#measure").click()
    says(page.locator("#following"), "random:8 on StarterSTS")
    address_of(page, "run=")
    run = next(r for r in workspace.store.runs.list() if "random:8" in r["spec"]["encoders"])
    workspace.store.runs.start(run["id"], 1, "local-0", ["StarterSTS"])
    evaluated(workspace, "random:8", "StarterSTS")
    workspace.store.runs.end_unit(run["id"], 0, 0.1)
    workspace.store.runs.finish(run["id"], 1, "done")
    expect(page.locator(".t-readings li")).to_have_count(2)
