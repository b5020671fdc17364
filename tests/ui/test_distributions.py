"""The page Distributions: densities by gold score, one panel an encoder, numbers beside them."""

from __future__ import annotations

import numpy as np
from playwright.sync_api import expect

from tests.ui.addresses import address_of
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.results import evaluated

TWO = "distributions?encoder=random:256&encoder=random:64&task=StarterSTS"


def test_each_encoder_has_a_panel_on_one_axis(visit):
    """Small multiples share the cosine axis, and have a scale of their own for the densities."""
    page = visit.open(TWO)
    page.wait_for_selector("#densities .main-svg")
    axes = page.evaluate(
        "(() => { const l = document.querySelector('#densities .t-plot')._fullLayout;"
        " return Object.keys(l).filter((name) => /^[xy]axis/.test(name)).sort(); })()"
    )
    assert axes == ["xaxis", "yaxis", "yaxis2"]


def test_the_table_has_the_means_of_the_groups(visit, workspace):
    """The mean cosine of pairs graded 4 to 5 is that of the stored cosines."""
    page = visit.open(TWO)
    page.locator("#densities summary").click()
    (result,) = workspace.store.results.table(encoders=["random:256"], tasks=["StarterSTS"])
    examples = workspace.store.results.examples(result["id"])
    mean = examples["cosine"][examples["gold"] >= 4].mean()
    cell = page.locator("#densities tr", has_text="random:256").locator("td").nth(6)
    assert np.isclose(float(cell.inner_text()), mean, atol=1e-4)


def test_every_encoder_is_read_in_words(visit):
    """Overlap and random pairs, in a sentence or two each."""
    page = visit.open(TWO)
    readings = page.locator(".t-readings li")
    expect(readings).to_have_count(2)
    expect(readings.first).to_contain_text("of their area")
    expect(readings.first).to_contain_text("Two random sentences have cosine")


def test_what_is_not_measured_can_be_measured_here(visit, workspace):
    """The button queues just that encoder and the page follows the run."""
    encoders.add(workspace, "random:8")
    page = visit.open("distributions?encoder=random:256&encoder=random:8&task=StarterSTS")
    expect(page.locator("#missing")).to_contain_text("random:8")
    page.locator("#measure").click()
    expect(page.locator("#following")).to_contain_text("random:8 on StarterSTS")
    address_of(page, "run=")
    run = next(r for r in workspace.store.runs.list() if "random:8" in r["spec"]["encoders"])
    workspace.store.runs.start(run["id"], 1, "local-0", ["StarterSTS"])
    evaluated(workspace, "random:8", "StarterSTS")
    workspace.store.runs.end_unit(run["id"], 0, 0.1)
    workspace.store.runs.finish(run["id"], 1, "done")
    expect(page.locator(".t-readings li")).to_have_count(2)
    workspace.store.encoders.remove("random:8")


def test_no_encoder_is_said_calmly(visit):
    """Nothing ticked: what to do."""
    page = visit.open(TWO)
    for left in (1, 0):
        expect(page.locator(".t-readings li")).to_have_count(left + 1)
        page.locator("#encoders input").nth(left).uncheck()
    expect(page.get_by_role("alert")).to_contain_text("Choose at least one encoder")
