"""The page Compare: verdicts, ties, fairness, published rows that are never tested."""

import re

import pytest
from playwright.sync_api import expect

from tests.fakes.stores import invent
from tests.ui.steps import rows_saved, saved, says

TWO = "compare?encoder=random:256&encoder=random:64"
MANY = [f"random:{width}" for width in range(100, 130)]
WIDE = [f"random:{width}" for width in range(200, 230)]
COLUMNS = 24


def all_of(names):
    """The address that compares them."""
    return "compare?" + "&".join(f"encoder={name}" for name in names)


@pytest.fixture(scope="module")
def desk(desk):
    """Two encoders close together, one far behind; many of them; and many with many tasks.

    MRPC was evaluated with two classifiers that disagree, MR with two seeds.
    """
    for name, accuracy in {"random:256": 0.86, "random:64": 0.85, "wordllama": 0.60}.items():
        for task in ("MR", "CR", "SUBJ", "MRPC"):
            invent(desk, name, task, accuracy)
        invent(desk, name, "MR", accuracy - 0.01, seed=2)
        invent(
            desk,
            name,
            "MRPC",
            0.95 if name == "random:64" else accuracy,
            protocol="senteval-fast",
        )
    for place, name in enumerate(MANY):
        for task in ("MR", "CR"):
            invent(desk, name, task, 0.6 + 0.01 * place)
    for name in WIDE:
        for task in range(COLUMNS):
            invent(desk, name, f"Own{task}", 0.6, n=20)
    return desk


def test_two_are_compared_beside_a_published_one_and_a_third_is_typed(visit):
    """A difference has its interval and verdict; a number from a paper has neither.

    The chart is of the page's colours and has its numbers beside it.
    """
    page = visit.open(f"{TWO}&published=SimCSE-BERT-base+/+unsupervised+/+all")
    says(page.locator("#comparison thead th").last, "published")
    row = page.locator("#comparison tbody tr", has_text="StarterSTS")
    says(row, " to ")
    expect(row.locator(".t-tag")).to_have_text(re.compile("tie|worse|better"))
    expect(row.locator("td").last.locator(".t-tag")).to_have_count(0)

    chart = page.locator("#comparison .t-chart").first
    title = chart.locator(".xtitle").first
    light = title.evaluate("node => getComputedStyle(node).fill")
    page.evaluate("theodolite.toggleTheme()")
    expect(title).not_to_have_css("fill", light)
    chart.locator("summary").click()
    rows = rows_saved(chart.get_by_role("button", name="Download CSV"))
    assert "StarterSTS" in {row["task"] for row in rows}

    box = page.locator("#encoders input")
    box.fill("minilmm")
    box.press("Enter")
    says(page.locator(".t-notice.t-bad"), "minilmm")
    expect(page.locator("#encoders .token", has_text="minilmm")).to_have_count(0)
    box.fill("random:64|normalise")
    box.press("Enter")
    says(page.locator("#comparison thead").last, "random:64 | normalise")
    page.locator("#encoders .token-remove").nth(2).focus()
    expect(page.get_by_role("button", name="Remove random:64 | normalise")).to_be_focused()


def test_only_the_picture_is_styled_anew_while_it_is_drawn(visit):
    """A rule with `:has()` that ends in any element at all would style the whole page each time."""
    page = visit.open(TWO)
    page.locator("#comparison .t-chart").nth(1).locator(".main-svg").first.wait_for()
    devtools = page.context.new_cdp_session(page)
    seen, ended = [], []
    devtools.on("Tracing.tracingComplete", lambda _: ended.append(True))
    devtools.on("Tracing.dataCollected", lambda part: seen.extend(part["value"]))
    devtools.send("Tracing.start", {"categories": "devtools.timeline"})
    everything = page.evaluate("""() => {
      const svg = document.querySelector("#comparison .main-svg");
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
    assert 0 < max(styled) < everything / 2


def test_verdicts_and_ranks_stand_below_each_other(visitor, place):
    """Each says how it was found; what is chosen goes along to the checks of fairness."""
    page = visitor(place).open(f"{TWO}&encoder=wordllama")
    answer = page.locator("#comparison")
    says(answer, "Holm over 4 tasks", "over 2 seeds")
    expect(answer.locator(".t-unfold .t-chart")).to_be_hidden()
    answer.get_by_text("With the tasks resampled too").click()
    answer.locator(".t-unfold .main-svg").first.wait_for()
    says(answer, "4 tasks are few to resample")
    page.get_by_role("navigation", name="Results").get_by_role("link", name="Fairness").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Fairness")
    says(page.locator("#encoders"), "random:64")
    says(page.locator("#classifier"), "changes with it on MRPC")


def test_many_encoders_are_a_row_each_with_marks_for_verdicts(visitor, place):
    """The best first; the frame scrolls by keyboard, with encoders and tasks staying in view."""
    visit = visitor(place)
    page = visit.open(all_of(MANY))
    rows = page.locator("#comparison tbody tr:not(.t-gap)")
    expect(page.locator("#comparison table")).to_have_attribute("aria-rowcount", str(len(MANY) + 1))
    expect(rows.first.locator("th")).to_have_text(MANY[-1])
    expect(rows.first.locator("td.t-up")).to_have_count(3)
    frame = page.locator("#comparison .t-board")
    frame.press("End")
    says(rows.last.locator("th"), MANY[0])
    apart = frame.evaluate(  # in one go: the rows are drawn anew as the frame scrolls
        "(frame) => frame.querySelector('thead th').getBoundingClientRect().top"
        " - frame.getBoundingClientRect().top"
    )
    assert abs(apart) < 3
    page.get_by_role("button", name="Encoder", exact=True).press("Enter")
    expect(page.locator("#comparison th[aria-sort=ascending]")).to_have_text("Encoder")
    page.keyboard.press("Enter")
    frame.evaluate("(frame) => frame.scrollTo(0, 0)")
    expect(rows.first.locator("th")).to_have_text(MANY[-1])
    text = saved(page.get_by_role("button", name="Download all numbers")).read_text("utf-8")
    assert len(text.splitlines()) == 1 + 3 * len(MANY)
    visit.fits()


def test_of_a_large_table_only_what_is_in_view_is_drawn(visitor, place):
    """Scrolled both ways, the right cells stand there."""
    page = visitor(place, size=(1024, 768)).open(all_of(WIDE))
    cells = page.locator("#comparison tbody td:not(.t-gap)")
    expect(cells.first).to_be_visible()
    assert cells.count() < len(WIDE) * COLUMNS / 2
    page.locator("#comparison .t-board").evaluate(
        "(f) => f.scrollTo(f.scrollWidth, f.scrollHeight)"
    )
    head = page.locator("#comparison thead th").locator("visible=true").last
    expect(head).to_have_attribute("aria-colindex", str(COLUMNS + 2))
    above, below = head.bounding_box(), cells.last.bounding_box()
    assert abs(above["x"] - below["x"]) < 1 and abs(above["width"] - below["width"]) < 1


def test_results_appear_as_they_come(visitor, place, desk):
    """Of an evaluation that waits it says so; nobody has to load the page again."""
    run = desk.store.runs.create("evaluate", {}, title="waiting")
    page = visitor(place).open(all_of(["random:8", "random:4"]))
    says(page.locator("#comparison"), "being computed")
    for name, accuracy in (("random:8", 0.9), ("random:4", 0.5)):
        invent(desk, name, "MR", accuracy)
    says(page.locator("#comparison"), "random:4 is worse on 1 of 1 task")
    expect(page.locator("#comparison .js-plotly-plot").first).to_be_visible()
    invent(desk, "random:8", "CR", 0.9)
    expect(page.locator("#comparison tbody tr")).to_have_count(2)
    desk.store.runs.cancel(run)
