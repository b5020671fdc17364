"""The tab Fairness of Compare: advice with nothing evaluated and with results, evidence, runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.fakes.measured import put, put_trained
from tests.fakes.stores import starter_store
from tests.ui.addresses import address_of
from tests.ui.conftest import LOOKS, served
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


def opened(visit, query: str = ""):
    """The page with its seven points; the first visit to an app also waits for its imports."""
    page = visit.open(f"fair-play{query}")
    page.locator("#seeds .t-point-head").wait_for()
    return page


def test_with_nothing_evaluated_it_says_what_to_do(visit):
    """Seven points, each with words; what can be evaluated here has a button and a command."""
    page = opened(visit, "?encoder=random:256&encoder=random:64")
    heads = page.locator(".t-point-head")
    expect(heads).to_have_count(7)
    size = page.locator("#size")
    expect(size).to_contain_text("64 to 256 dimensions")
    expect(size.get_by_role("button", name="Evaluate")).to_be_visible()
    size.get_by_text("The same on the command line").click()
    command = "theodolite evaluate 'random:256 | dims:64,pca,@task'"
    expect(size.locator(".t-command").first).to_contain_text(command)
    expect(page.locator("#baselines")).to_contain_text("There is no bag-of-words encoder")


def test_the_advice_is_that_of_the_numbers(visitor, place):
    """Two swap at 64 dimensions; one encoder turns the correlation."""
    page = opened(visitor(place))
    size = page.locator("#size")
    expect(size.locator(".t-tag")).to_have_text("look")
    expect(size).to_contain_text(f"{BAG} overtakes {BIG}")
    expect(page.locator("#transfer-probing")).to_contain_text("2 of 2 correlations change sign")
    expect(page.locator("#normalisation .t-tag")).to_have_text("fine")


def test_below_six_encoders_no_correlation_is_shown(visitor, place):
    """Unticking one takes the number away."""
    page = opened(visitor(place))
    relations = page.locator("#transfer-probing")
    expect(relations).to_contain_text("0.09")
    page.locator("#encoders .token-remove:not(.remove-all)").last.click()
    expect(relations).to_contain_text("over 5 encoders means nothing")
    expect(relations).not_to_contain_text("0.09")
    expect(relations.locator(".t-evidence")).to_be_hidden()


def test_the_keyboard_opens_the_evidence(visitor, place):
    """Enter on its line; the picture has its numbers as a table and as CSV."""
    page = opened(visitor(place))
    point = page.locator("#size")
    summary = point.locator(".t-evidence summary")
    expect(summary).to_be_visible()
    expect(point.locator(".t-chart").first).to_be_hidden()
    summary.focus()
    page.keyboard.press("Enter")
    point.locator(".main-svg").first.wait_for()
    point.locator(".t-chart .t-twin summary").first.click()
    row = point.locator(".t-chart tr", has_text=BIG).first
    expect(row).to_contain_text("384")
    with page.expect_download() as saved:
        point.get_by_role("button", name="Download CSV").first.click()
    text = saved.value.path().read_text(encoding="utf-8")
    assert text.startswith("task,encoder,dimensions,score,brought to")


def test_a_picture_opened_late_has_the_width_of_its_card(visitor, place):
    """It is drawn when it is seen, or its legend would lie in the picture."""
    page = opened(visitor(place))
    page.locator("#classifier .t-evidence summary").click()
    plot = page.locator("#classifier .t-plot").first
    plot.locator(".main-svg").first.wait_for()
    widths = plot.evaluate("(p) => [p._fullLayout.width, p.clientWidth]")
    assert abs(widths[0] - widths[1]) < 2


def test_the_choices_are_in_the_address(visitor, place):
    """A copied link shows the other projection, which was not evaluated."""
    page = opened(visitor(place), "?projection=random")
    expect(page.locator("#size .t-tag")).to_have_text("missing")
    expect(page.locator("#projection input").nth(1)).to_be_checked()


def test_the_button_queues_what_is_missing(visit, workspace):
    """The variants of one size, not listed; the run is followed on the page."""
    page = opened(visit, "?encoder=random:256&encoder=random:64")
    page.locator("#size").get_by_role("button", name="Evaluate").click()
    expect(page.locator("#following")).to_contain_text("Fairness, size")
    address_of(page, "run=")
    runs = [run for run in workspace.store.runs.list() if run["kind"] == "evaluate"]
    specs = {spec for run in runs for spec in run["spec"]["encoders"]}
    assert "random:256 | dims:64,pca,@task" in specs
    assert workspace.store.encoders.get("random:256 | dims:64,pca,@task") is None


def test_a_baseline_is_added_with_one_press(visit, workspace):
    """It is ticked, and the point no longer asks for it."""
    page = opened(visit, "?encoder=random:256&encoder=random:64")
    page.get_by_role("button", name="Add wordllama").click()
    expect(page.locator("#baselines")).to_contain_text("wordllama")
    expect(page.get_by_role("button", name="Add wordllama")).to_have_count(0)
    assert workspace.store.encoders.get("wordllama") is not None
    workspace.store.encoders.remove("wordllama")


@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_it_fits_with_everything_open(visitor, place, size, dark):
    """Nothing scrolls sideways, and every point's head is one line."""
    visit = visitor(place, dark=dark, size=size)
    page = opened(visit)
    for summary in page.locator(".t-evidence:visible summary").all():
        summary.click()
    page.locator("#transfer-probing .main-svg").first.wait_for()
    visit.picture(f"fair-play-{size[0]}-{'dark' if dark else 'light'}")
    assert not visit.scrolls_sideways()
    heights = page.locator(".t-point-head").evaluate_all("all => all.map(e => e.offsetHeight)")
    assert max(heights) < 34
