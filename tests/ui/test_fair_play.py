"""The tab Fairness of Compare: advice with nothing evaluated and with results, evidence, runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.fakes.measured import put, put_trained
from tests.fakes.stores import starter_store
from tests.ui.conftest import served
from tests.ui.steps import address_of, saved, says
from theodolite.app.workspace import Workspace

BIG, SMALL, BAG = "minilm", "random:64", "wordllama"
SIX = ("minilm", "wordllama", "random:64", "random:128", "random:256", "random:512")
LENGTH = (5.0, 2.0, 3.0, 4.0, 1.0, 6.0)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Six encoders with invented results: two change places at 64 dimensions."""
    made = starter_store(tmp_path_factory.mktemp("fair"))
    dims = (384, 256, 64, 128, 256, 512)
    for place, (name, dim) in enumerate(zip(SIX, dims, strict=True)):
        made.store.encoders.add(name, {"dim": dim})
        put(made.store, name, "StarterSTS", 80.0 - place, "simcse-2021", dim=dim)
        for protocol in ("pitfalls", "pitfalls-mlp"):
            for task, score in (("MR", 50.0 + place), ("Length", LENGTH[place])):
                put_trained(made.store, name, task, score, 0.0, protocol=protocol, dim=dim)
    for name, score in ((BIG, 60.0), (BAG, 70.0)):
        put(made.store, f"{name} | dims:64,pca,@task", "StarterSTS", score, "simcse-2021", dim=64)
    yield made
    made.close()


@pytest.fixture(scope="module")
def place(evaluated: Workspace) -> Iterator[str]:
    """Address of the app over these results."""
    with served(evaluated) as address:
        yield address


def test_with_nothing_evaluated_it_says_what_to_do_and_does_it(visit, workspace):
    """Seven points, each with words; what can be evaluated here has a button and a command."""
    page = visit.open("fair-play?encoder=random:256&encoder=random:64")
    expect(page.locator(".t-point-head")).to_have_count(7)
    size = page.locator("#size")
    says(size, "64 to 256 dimensions")
    size.get_by_text("The same on the command line").click()
    says(size.locator(".t-command").first, "theodolite evaluate 'random:256 | dims:64,pca,@task'")
    says(page.locator("#baselines"), "There is no bag-of-words encoder")
    page.get_by_role("button", name="Add wordllama").click()
    expect(page.get_by_role("button", name="Add wordllama")).to_have_count(0)
    assert workspace.store.encoders.get("wordllama") is not None
    size.get_by_role("button", name="Evaluate").click()
    says(page.locator("#following"), "Fairness, size")
    address_of(page, "run=")
    runs = [run for run in workspace.store.runs.list() if run["kind"] == "evaluate"]
    variant = "random:256 | dims:64,pca,@task"
    assert variant in {spec for run in runs for spec in run["spec"].get("encoders", ())}
    assert workspace.store.encoders.get(variant) is None


def test_the_advice_is_that_of_the_numbers(visitor, place):
    """Two swap at 64 dimensions; one encoder turns the correlation; the choices are kept."""
    visit = visitor(place)
    page = visit.open("fair-play")
    size, relations = page.locator("#size"), page.locator("#transfer-probing")
    expect(size.locator(".t-tag")).to_have_text("look")
    says(size, f"{BAG} overtakes {BIG}")
    says(relations, "2 of 2 correlations change sign", "0.09")
    expect(page.locator("#normalisation .t-tag")).to_have_text("fine")

    expect(size.locator(".t-chart").first).to_be_hidden()
    size.locator(".t-evidence summary").press("Enter")
    size.locator(".main-svg").first.wait_for()
    size.locator(".t-chart .t-twin summary").first.click()
    says(size.locator(".t-chart tr", has_text=BIG).first, "384")
    file = saved(page, size.get_by_role("button", name="Download CSV").first)
    assert file.read_text("utf-8").startswith("task,encoder,dimensions,score,brought to")
    page.locator("#classifier .t-evidence summary").click()  # drawn late, as wide as its card
    plot = page.locator("#classifier .t-plot").first
    plot.locator(".main-svg").first.wait_for()
    widths = plot.evaluate("(p) => [p._fullLayout.width, p.clientWidth]")
    assert abs(widths[0] - widths[1]) < 2
    visit.fits("fair-play")
    heights = page.locator(".t-point-head").evaluate_all("all => all.map(e => e.offsetHeight)")
    assert max(heights) < 34

    page.locator("#encoders .token-remove:not(.remove-all)").last.click()
    says(relations, "over 5 encoders means nothing")
    expect(relations).not_to_contain_text("0.09")
    expect(relations.locator(".t-evidence")).to_be_hidden()
    page = visit.open("fair-play?projection=random")
    expect(size.locator(".t-tag")).to_have_text("missing")
    expect(page.locator("#projection input").nth(1)).to_be_checked()
