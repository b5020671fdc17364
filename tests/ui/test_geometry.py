"""The pages Geometry and Distributions: charts with their sentences and numbers, runs followed."""

import numpy as np
from playwright.sync_api import expect

from tests.ui.steps import done, says, write
from theodolite.app.pages.geometry import service as geometry


def test_every_chart_has_its_sentences_and_its_numbers(visit, workspace):
    """Of two encoders, under the rule and the cut that are chosen; one is removed by key."""
    info = geometry.measure(workspace, "random:256", "starter-pairs").info
    geometry.measure(workspace, "random:64", "starter-pairs")
    page = visit.open("geometry?encoder=random:256&encoder=random:64&data=starter-pairs")
    charts = page.locator(".t-chart")
    expect(charts).to_have_count(5)
    for place in range(5):
        charts.nth(place).scroll_into_view_if_needed()
        expect(charts.nth(place).locator(".main-svg").first).to_be_visible()
    row = page.get_by_role("region", name="geometry").locator("tbody tr").first
    says(row, f"{info['alignment_over']:.4g}", str(info["n_over"]))
    page.get_by_role("button", name="More controls").click()
    page.get_by_label("4 and above").check()
    says(row, f"{info['alignment_from']:.4g}", str(info["n_from"]))
    write(page, "cut", "2")
    says(page.locator(".t-section").last, "graded from 2 on")
    page.keyboard.press("Escape")
    page.locator("#encoders .token-remove").nth(1).press("Enter")
    expect(page.locator(".t-readings").nth(2).locator("li")).to_have_count(1)


def test_what_takes_long_is_a_run_that_is_followed(visit, workspace):
    """Once its units are done the charts are there: without pairs, a spectrum and no thresholds."""
    workspace.store.encoders.add("random:24")
    page = visit.open("geometry?encoder=random:24&data=starter-topics")
    says(page.locator("#answer"), "None of them has been measured")
    expect(page.locator("#cut")).to_have_count(0)
    done(page, workspace, "#compute")
    expect(page.locator(".t-readings li")).to_have_count(2)


def test_distributions_have_panels_numbers_and_a_way_to_measure_what_is_missing(visit, workspace):
    """The mean of pairs graded 4 to 5 is that of what is stored; the page follows the run."""
    workspace.store.encoders.add("random:8")
    page = visit.open("distributions?encoder=random:256&encoder=random:8&task=StarterSTS")
    densities = page.locator(".t-chart").first
    densities.locator("summary").click()
    (result,) = workspace.store.results.table(encoders=["random:256"], tasks=["StarterSTS"])
    examples = workspace.store.results.examples(result["id"])
    mean = examples["cosine"][examples["gold"] >= 4].mean()
    cell = densities.locator("tr", has_text="random:256").locator("td").nth(6)
    assert np.isclose(float(cell.inner_text()), mean, atol=1e-4)
    says(page.locator("#answer"), "Not measured on StarterSTS yet: random:8")
    done(page, workspace, "#compute")
    readings = page.locator(".t-readings").first.locator("li")
    expect(readings).to_have_count(2)
    says(readings.first, "of their area", "Two random sentences have cosine")
    for left, name in ((1, "random:256"), (0, "random:8")):
        expect(readings).to_have_count(left + 1)
        page.locator("#encoders .token", has_text=name).locator(".token-remove").click()
    says(page.get_by_role("alert"), "Choose at least one encoder")
