"""The page Compare: verdicts, ties, fairness, published rows that are never tested."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.fakes.results import invent
from tests.fakes.stores import starter_store
from tests.ui.conftest import served
from tests.ui.steps import address_of, rows_saved, saved, says

TWO = "compare?encoder=random:256&encoder=random:64"
THREE = f"{TWO}&encoder=wordllama"
MANY = [f"random:{width}" for width in range(100, 130)]
ALL = "compare?" + "&".join(f"encoder={name}" for name in MANY)
ACCURACIES = {"random:256": 0.86, "random:64": 0.85, "wordllama": 0.60}


@pytest.fixture(scope="module")
def classified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an app over invented accuracies: two encoders close together, one far behind.

    MRPC was evaluated with two classifiers that disagree, MR with two seeds.
    """
    made = starter_store(tmp_path_factory.mktemp("classified"))
    for name, accuracy in ACCURACIES.items():
        for task in ("MR", "CR", "SUBJ", "MRPC"):
            invent(made, name, task, accuracy)
        invent(made, name, "MR", accuracy - 0.01, seed=2)
        turned = 0.95 if name == "random:64" else accuracy
        invent(made, name, "MRPC", turned, protocol="senteval-fast")
    for place, name in enumerate(MANY):
        for task in ("MR", "CR"):
            invent(made, name, task, 0.6 + 0.01 * place)
            invent(made, name, task, 0.6 + 0.01 * (place ^ 1), protocol="senteval-fast")
    with served(made) as address:
        yield address
    made.close()


def test_two_encoders_are_compared(visit):
    """With their difference, its interval and verdict; a number from a paper has none."""
    page = visit.open("compare?encoder=random:256")
    says(page.locator(".t-empty"), "Choose two encoders")
    page = visit.open(f"{TWO}&published=SimCSE-BERT-base,+unsupervised,+all")
    says(page.locator("#comparison thead th").last, "published")
    expect(page.locator("#comparison tbody td").last.locator(".t-tag")).to_have_count(0)
    says(page.locator("#cautions"), "numbers from a paper", "differ in size")

    page = visit.open(TWO)
    row = page.locator("#comparison tbody tr", has_text="StarterSTS")
    says(row, " to ")
    expect(row.locator(".t-tag")).to_have_text(re.compile("tie|worse|better"))
    says(page.locator("#comparison"), "tasks: those that all share", "not evaluated")
    page.wait_for_selector("#forest .main-svg")
    page.locator("#forest summary").click()
    rows = rows_saved(page, page.get_by_role("button", name="Download CSV"))
    assert "StarterSTS" in {row["task"] for row in rows}


def test_only_the_picture_is_styled_anew_while_it_is_drawn(visit):
    """A rule with `:has()` that ends in any element at all would style the whole page each time."""
    page = visit.open(TWO)
    page.wait_for_selector("#forest .main-svg")
    devtools = page.context.new_cdp_session(page)
    seen, ended = [], []
    devtools.on("Tracing.tracingComplete", lambda _: ended.append(True))
    devtools.on("Tracing.dataCollected", lambda part: seen.extend(part["value"]))
    devtools.send("Tracing.start", {"categories": "devtools.timeline"})
    everything = page.evaluate("""() => {
      const svg = document.querySelector("#forest .main-svg");
      svg.append(svg.querySelector("path").cloneNode());
      svg.getBBox();
      return document.querySelectorAll("body *").length;
    }""")
    devtools.send("Tracing.end")
    while not ended:
        page.evaluate("0")  # lets what was heard come through
    styled = [
        event["args"]["elementCount"] for event in seen if event["name"] == "UpdateLayoutTree"
    ]
    assert 0 < max(styled) < everything / 4


def test_verdicts_ranks_and_stability(visitor, classified):
    """Verdicts say how they were found, ranks what was resampled, the order where it turns."""
    visit = visitor(classified)
    page = visit.open(THREE)
    table = page.locator("#comparison")
    expect(table.locator("tfoot sup").first).to_have_text("a")
    says(table.locator("thead th").nth(2), "Holm over 4 tasks")
    says(table.locator(".t-reading"), "tie with the best of their row")
    says(table.locator("tbody tr").first, "over 2 seeds")
    page.wait_for_selector("#forest .main-svg")
    visit.fits("compare")
    expect(page.locator("#stability")).to_be_hidden()

    tabs = page.get_by_role("navigation", name="Compare")
    tabs.get_by_role("link", name="Ranks").click()
    page.wait_for_selector("#rank-intervals .main-svg")
    says(page.locator("#ranks"), "is first in")
    page.get_by_label("Resample examples and tasks").check()
    says(page.locator("#ranks"), "4 tasks are few to resample")
    page.locator("#rank-intervals summary").click()
    rows = page.locator("#rank-intervals tbody tr")
    expect(rows.last.locator("td")).to_have_text(["wordllama", "60", "3", "3", "3", "0"])

    tabs.get_by_role("link", name="Stability").click()
    address_of(page, "view=stability")
    page.wait_for_selector("#bump .main-svg")
    expect(page.locator("#forest")).to_be_hidden()
    says(
        page.locator("#stability"),
        "The order of random:256 and random:64 turns with the classifier on MRPC",
    )
    page.get_by_label("Size", exact=True).check()
    says(page.locator("#stability"), "Nothing to compare by size yet")
    tabs.get_by_role("link", name="Fairness").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Fairness")
    says(page.locator("#encoders"), "random:64")
    assert "view" not in address_of(page, "random%3A256")


def test_many_encoders_are_a_row_each_with_marks_for_verdicts(visitor, classified):
    """The best first; the frame scrolls by keyboard, with encoders and tasks staying in view."""
    visit = visitor(classified)
    page = visit.open(ALL)
    rows = page.locator("#board tbody tr:not(.t-gap)")
    expect(page.locator("#board table")).to_have_attribute("aria-rowcount", str(len(MANY) + 1))
    expect(rows.first.locator("th")).to_have_text(MANY[-1])
    says(page.locator("#headline"), "By their mean over 2 tasks")
    expect(rows.first.locator("td.t-up")).to_have_count(3)
    says(page.locator("#forest .yaxislayer-above"), *MANY[1:])
    frame = page.locator("#board .t-board")
    frame.focus()
    page.keyboard.press("End")
    says(rows.last.locator("th"), MANY[0])
    expect(rows.last).to_have_attribute("aria-rowindex", str(len(MANY) + 1))
    apart = frame.evaluate(  # in one go: the rows are drawn anew as the frame scrolls
        "(frame) => frame.querySelector('thead th').getBoundingClientRect().top"
        " - frame.getBoundingClientRect().top"
    )
    assert abs(apart) < 3
    page.get_by_role("button", name="Encoder", exact=True).press("Enter")
    expect(page.locator("#board th[aria-sort=ascending]")).to_have_text("Encoder")
    page.keyboard.press("Enter")
    frame.evaluate("(frame) => frame.scrollTo(0, 0)")
    expect(rows.first.locator("th")).to_have_text(MANY[-1])
    text = saved(page, page.get_by_role("button", name="Download all numbers")).read_text("utf-8")
    assert text.startswith("task,encoder,score") and len(text.splitlines()) == 1 + 3 * len(MANY)
    visit.fits("compare-many")


def test_of_a_large_table_only_what_is_in_view_is_drawn(visitor, tmp_path):
    """Scrolled both ways, the right cells stand there."""
    made = starter_store(tmp_path)
    tasks = [f"Own{place}" for place in range(24)]
    for name in MANY:
        for task in tasks:
            invent(made, name, task, 0.6, n=20)
    with served(made) as address:
        page = visitor(address, size=(1024, 768)).open(ALL)
        cells = page.locator("#board tbody td:not(.t-gap)")
        expect(cells.first).to_be_visible()
        assert cells.count() < len(MANY) * len(tasks) / 2
        page.locator("#board .t-board").evaluate("(f) => f.scrollTo(f.scrollWidth, f.scrollHeight)")
        head = page.locator("#board thead th").locator("visible=true").last
        expect(head).to_have_attribute("aria-colindex", str(len(tasks) + 2))
        above, below = head.bounding_box(), cells.last.bounding_box()
        assert abs(above["x"] - below["x"]) < 1 and abs(above["width"] - below["width"]) < 1
    made.close()


def test_results_appear_as_they_come(visitor, tmp_path):
    """Of an evaluation that waits it says so; nobody has to load the page again."""
    made = starter_store(tmp_path)
    made.store.runs.create("evaluate", {}, title="waiting")
    with served(made) as address:
        page = visitor(address).open("compare?encoder=random:64&encoder=random:32")
        says(page.locator("#busy"), "being computed")
        for name, accuracy in (("random:64", 0.9), ("random:32", 0.5)):
            invent(made, name, "MR", accuracy)
        says(page.locator("#headline"), "random:32 is worse on 1 of 1 task")
        expect(page.locator("#forest .js-plotly-plot")).to_be_visible()
        invent(made, "random:64", "CR", 0.9)
        expect(page.locator("#comparison tbody tr")).to_have_count(2)
    made.close()
