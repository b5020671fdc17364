"""The tab Fairness of Compare: advice with nothing evaluated and with results, evidence, runs."""

import pytest
from playwright.sync_api import expect

from tests.fakes.stores import put, put_trained
from tests.ui.steps import saved, says

BIG, BAG = "minilm", "wordllama"
LENGTH = {BIG: 5.0, BAG: 2.0, "random:64": 3.0, "random:128": 4.0, "random:256": 1.0}
DIMENSIONS = (384, 256, 64, 128, 256, 512)


@pytest.fixture(scope="module")
def desk(desk):
    """Six encoders with invented results: two change places at 64 dimensions."""
    for place, (name, score) in enumerate([*LENGTH.items(), ("random:512", 6.0)]):
        dim = DIMENSIONS[place]
        desk.store.encoders.add(name, {"dim": dim})
        put(desk.store, name, "StarterSTS", 80.0 - place, "simcse-2021", dim=dim)
        for protocol in ("pitfalls", "pitfalls-mlp"):
            put_trained(desk.store, name, "MR", 50.0 + place, 0.0, protocol=protocol, dim=dim)
            put_trained(desk.store, name, "Length", score, 0.0, protocol=protocol, dim=dim)
    for name, score in ((BIG, 60.0), (BAG, 70.0)):
        put(desk.store, f"{name} | dims:64,pca,@task", "StarterSTS", score, "simcse-2021", dim=64)
    return desk


def test_with_nothing_evaluated_it_says_what_to_do_and_does_it(visit, workspace):
    page = visit.open("fair-play?encoder=random:256&encoder=random:64")
    expect(page.locator(".t-card-head")).to_have_count(7)
    page.get_by_role("button", name="Add wordllama").click()
    expect(page.get_by_role("button", name="Add wordllama")).to_have_count(0)
    assert workspace.store.encoders.get("wordllama") is not None
    page.locator("#size").get_by_role("button", name="Evaluate").click()
    says(page.locator("#following"), "Fairness, size")
    runs = workspace.store.runs.list(("queued", "running"), kinds=["evaluate"])
    queued = [encoder for run in runs for encoder in run["spec"]["encoders"]]
    assert "random:256 | dims:64,pca,@task" in queued


def test_the_advice_is_read_with_its_evidence(visitor, place):
    """Charts are drawn when they are unfolded; fewer encoders are other advice."""
    page = visitor(place).open("fair-play")
    size, relations = page.locator("#size"), page.locator("#transfer-probing")
    says(size, f"The order of {BIG} and {BAG} changes")
    says(relations, "2 of 2 correlations change sign")
    expect(size.locator(".t-chart").first).to_be_hidden()
    size.get_by_text("Evidence", exact=True).press("Enter")
    size.locator(".main-svg").first.wait_for()
    size.locator(".t-chart .t-twin summary").first.click()
    numbers = saved(size.get_by_role("button", name="Download CSV").first).read_text("utf-8")
    assert numbers.startswith("task,encoder,full size")
    page.locator("#classifier").get_by_text("Evidence", exact=True).click()
    plot = page.locator("#classifier .t-plot").first  # drawn late, as wide as its card
    plot.locator(".main-svg").first.wait_for()
    widths = plot.evaluate("(p) => [p._fullLayout.width, p.clientWidth]")
    assert abs(widths[0] - widths[1]) < 2
    assert (
        max(page.locator(".t-card-head").evaluate_all("all => all.map(e => e.offsetHeight)")) < 34
    )

    page.locator("#encoders .token-remove:not(.remove-all)").last.click()
    says(relations, "at least 6, not 5")
    expect(relations.get_by_text("Evidence", exact=True)).to_have_count(0)
