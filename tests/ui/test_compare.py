"""The page Compare: verdicts, ties, fairness, published rows that are never tested."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect
from scipy.stats import spearmanr

from tests.fakes.results import invent
from tests.fakes.stores import starter_store
from tests.ui.addresses import address_of
from tests.ui.conftest import PHONES, served

PAIR = ("random:256", "random:64")
TWO = "compare?encoder=random:256&encoder=random:64"
MANY = [f"random:{width}" for width in range(100, 130)]
THREE = "compare?encoder=random:256&encoder=random:64&encoder=wordllama"
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


def test_the_difference_and_its_verdict_stand_beside_the_scores(visit, workspace):
    """The difference is that of two Spearman correlations; the interval holds it."""
    page = visit.open(TWO)
    row = page.locator("#comparison tbody tr", has_text="StarterSTS")
    scores = {}
    for result in workspace.store.results.table(encoders=PAIR, tasks=["StarterSTS"]):
        examples = workspace.store.results.examples(result["id"])
        scores[result["encoder"]] = 100 * spearmanr(examples["cosine"], examples["gold"]).statistic
    delta = f"{scores['random:64'] - scores['random:256']:+.2f}".replace("-", "−")
    expect(row).to_contain_text(delta)
    low, high = (
        float(end.replace("−", "-")) for end in row.locator("small").last.inner_text().split(" to ")
    )
    assert low <= float(delta.replace("−", "-")) <= high
    verdict = "tie" if low <= 0 <= high else "worse" if high < 0 else "better"
    expect(row.locator(".t-tag")).to_have_text(verdict)


def test_an_average_says_over_how_many_tasks(visit):
    """StarterSearch was evaluated for one of them only: the mean is over what both share."""
    page = visit.open(TWO)
    expect(page.locator("#comparison tfoot")).to_contain_text("tasks: those that all share")
    expect(page.locator("#comparison")).to_contain_text("not evaluated")


def test_unfair_comparisons_are_pointed_out(visit):
    """Sizes differ, and that is said in words."""
    page = visit.open(TWO)
    expect(page.locator("#cautions")).to_contain_text("differ in size")


def test_the_baseline_is_chosen_and_kept_in_the_address(visit, visitor, site):
    """Copying the address shows the same comparison."""
    page = visit.open(f"{TWO}&baseline=random:64")
    expect(page.locator("#comparison thead th").nth(1)).to_contain_text("random:64")
    other = visitor(site).open(address_of(page))
    expect(other.locator("#comparison thead th").nth(1)).to_contain_text("random:64")


def test_published_rows_are_marked_and_have_no_verdict(visit):
    """A printed number is a reference: no interval, and a note says where it is from."""
    page = visit.open(f"{TWO}&published=SimCSE-BERT-base,+unsupervised,+all")
    head = page.locator("#comparison thead th").last
    expect(head).to_contain_text("published")
    expect(page.locator("#comparison tbody td").last.locator(".t-tag")).to_have_count(0)
    expect(page.locator("#cautions")).to_contain_text("numbers from a paper")


def test_only_the_picture_is_styled_anew_while_it_is_drawn(visit):
    """A rule with `:has()` that ends in any element at all would style the whole page each time."""
    page = visit.open(TWO)
    page.wait_for_selector("#forest .main-svg")
    devtools = page.context.new_cdp_session(page)
    seen: list[dict[str, Any]] = []
    ended: list[bool] = []
    devtools.on("Tracing.dataCollected", lambda part: seen.extend(part["value"]))
    devtools.on("Tracing.tracingComplete", lambda _: ended.append(True))
    devtools.send("Tracing.start", {"categories": "devtools.timeline"})
    everything = page.evaluate("""() => {
      const svg = document.querySelector("#forest .main-svg");
      svg.append(svg.querySelector("path").cloneNode());
      svg.getBBox();
      return document.querySelectorAll("body *").length;
    }""")
    devtools.send("Tracing.end")
    while not ended:
        page.wait_for_timeout(20)
    styled = [
        event["args"]["elementCount"] for event in seen if event["name"] == "UpdateLayoutTree"
    ]
    assert 0 < max(styled) < everything / 4


def test_the_picture_has_a_table_and_a_csv(visit):
    """What is drawn can be read and taken away."""
    page = visit.open(TWO)
    page.wait_for_selector("#forest .main-svg")
    page.locator("#forest summary").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download CSV").click()
    text = saved.value.path().read_text(encoding="utf-8")
    assert text.startswith("task,encoder,score") and "StarterSTS" in text


def test_one_encoder_is_told_what_to_do(visit):
    """An empty state with the next step."""
    page = visit.open("compare?encoder=random:256")
    expect(page.locator(".t-empty")).to_contain_text("Choose two encoders")


def test_verdicts_and_ties_say_how_they_were_found(visitor, classified):
    """Letters mark who ties with the best; columns name the correction, the text explains both."""
    page = visitor(classified).open(THREE)
    table = page.locator("#comparison")
    expect(table.locator("thead th").nth(2)).to_contain_text("Holm over 4 tasks")
    last = table.locator("tfoot td")
    expect(last.nth(0).locator("sup")).to_have_text("a")
    expect(last.nth(2).locator("sup")).not_to_have_text("a")
    expect(table.locator("tbody .t-tag").first).to_have_attribute(
        "title", re.compile(r"McNemar p .*after Holm over 4 tasks")
    )
    expect(table.locator(".t-reading")).to_contain_text("tie with the best of their row")
    expect(table.locator("tbody tr").first).to_contain_text("over 2 seeds")


def test_ranks_have_intervals_of_two_kinds(visitor, classified):
    """Examples resampled, and the tasks too; the choice is in the address."""
    page = visitor(classified).open(f"{THREE}&view=ranks")
    page.wait_for_selector("#rank-intervals .main-svg")
    expect(page.locator("#ranks")).to_contain_text("is first in")
    page.get_by_label("Resample examples and tasks").check()
    expect(page.locator("#ranks")).to_contain_text("4 tasks are few to resample")
    expect(page).to_have_url(re.compile("drawn=over"))
    page.locator("#rank-intervals summary").click()
    rows = page.locator("#rank-intervals tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.last.locator("td")).to_have_text(["wordllama", "60", "3", "3", "3", "0"])


def test_the_order_under_another_classifier(visitor, classified):
    """What turns is said in words; what is not evaluated leads to Evaluate."""
    page = visitor(classified).open(THREE)
    expect(page.locator("#stability")).to_be_hidden()
    tabs = page.get_by_role("navigation", name="Compare")
    tabs.get_by_role("link", name="Stability").click()
    expect(page).to_have_url(re.compile("view=stability"))
    page.wait_for_selector("#bump .main-svg")
    expect(page.locator("#forest")).to_be_hidden()
    expect(page.locator("#stability")).to_contain_text(
        "The order of random:256 and random:64 turns with the classifier on MRPC"
    )
    gap = page.locator("#agreement a").first
    expect(gap).to_have_attribute("href", re.compile("evaluate.*protocol=senteval-mlp"))
    page.get_by_label("Size", exact=True).check()
    expect(page.locator("#stability")).to_contain_text("Nothing to compare by size yet")
    expect(page.locator("#stability a")).to_have_attribute("href", re.compile("fair-play"))
    tabs.get_by_role("link", name="Fairness").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Fairness")
    assert "random%3A256" in page.url and "view" not in page.url
    expect(page.locator("#encoders")).to_contain_text("random:64")
    tabs.get_by_role("link", name="Ranks").click()
    page.wait_for_selector("#rank-intervals .main-svg")
    expect(page.locator("#ranks")).to_contain_text("is first in")


def test_a_protocol_for_all_tasks(visitor, classified):
    """One task was evaluated under it; the address keeps it."""
    page = visitor(classified).open(f"{THREE}&protocol=senteval-fast")
    expect(page.locator("#comparison tbody tr")).to_have_count(1)
    expect(page.locator("#comparison tbody")).to_contain_text("senteval-fast")


def test_a_printed_accuracy_stands_beside_its_own_protocol_only(visitor, classified):
    """SimCSE's transfer rows are of the full setting: beside another they are left out, and why."""
    row = "published=SimCSE-BERT-base,+unsupervised,+transfer"
    page = visitor(classified).open(f"{THREE}&{row}")
    expect(page.locator("#comparison tbody tr").first.locator(".t-printed")).to_have_text("81.18")
    page = visitor(classified).open(f"{THREE}&{row}&protocol=senteval-fast")
    expect(page.locator("#comparison .t-printed").first).to_have_text("–")
    expect(page.locator("#cautions")).to_contain_text("computed otherwise")


def test_many_encoders_are_a_row_each_with_marks_for_verdicts(visitor, classified):
    """The best first; the frame scrolls by keyboard, with encoders and tasks staying in view."""
    visit = visitor(classified)
    page = visit.open("compare?" + "&".join(f"encoder={name}" for name in MANY))
    rows = page.locator("#board tbody tr:not(.t-gap)")
    expect(page.locator("#board table")).to_have_attribute("aria-rowcount", str(len(MANY) + 1))
    expect(page.locator("#board table")).to_have_attribute("aria-colcount", "4")
    expect(rows.first.locator("th")).to_have_text(MANY[-1])
    expect(page.locator("#headline")).to_contain_text("By their mean over 2 tasks")
    assert rows.first.locator("td.t-up").count() == 3
    assert "; p " in (rows.first.locator("td").nth(1).get_attribute("title") or "")
    ticks = page.locator("#forest .yaxislayer-above text")
    expect(ticks.first).to_be_visible()
    assert all(name in " ".join(ticks.all_text_contents()) for name in MANY[1:])
    page.locator("#forest summary").click()
    expect(page.locator("#forest .t-twin tbody tr")).to_have_count(len(MANY))
    frame = page.locator("#board .t-board")
    frame.focus()
    page.keyboard.press("End")
    expect(rows.last.locator("th")).to_contain_text(MANY[0])
    expect(rows.last).to_have_attribute("aria-rowindex", str(len(MANY) + 1))
    apart = frame.evaluate(  # in one go: the rows are drawn anew as the frame scrolls
        "(frame) => frame.querySelector('thead th').getBoundingClientRect().top"
        " - frame.getBoundingClientRect().top"
    )
    assert abs(apart) < 3
    visit.picture("compare-many")
    page.get_by_role("button", name="Encoder", exact=True).press("Enter")
    expect(page.locator("#board th[aria-sort=ascending]")).to_have_text("Encoder")
    page.keyboard.press("Enter")
    frame.evaluate("(frame) => frame.scrollTo(0, 0)")
    expect(rows.first.locator("th")).to_have_text(MANY[-1])
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download all numbers").click()
    text = saved.value.path().read_text(encoding="utf-8")
    assert text.startswith("task,encoder,score") and len(text.splitlines()) == 1 + 3 * len(MANY)
    for view, picture in (("ranks", "rank-intervals"), ("stability", "bump")):
        page.get_by_role("link", name=view.capitalize()).click()
        ticks = page.locator(f"#{picture} .yaxislayer-above text")
        expect(ticks.first).to_be_visible()
        assert all(name in " ".join(ticks.all_text_contents()) for name in MANY), view


def test_results_appear_as_they_come(visitor, tmp_path):
    """Of an evaluation that waits it says so; nobody has to load the page again."""
    made = starter_store(tmp_path)
    made.store.runs.create("evaluate", {}, title="waiting")
    with served(made) as address:
        page = visitor(address).open("compare?encoder=random:64&encoder=random:32")
        expect(page.locator("#busy")).to_contain_text("being computed")
        for name, accuracy in (("random:64", 0.9), ("random:32", 0.5)):
            invent(made, name, "MR", accuracy)
        expect(page.locator("#headline")).to_contain_text("random:32 is worse on 1 of 1 task")
        expect(page.locator("#forest .js-plotly-plot")).to_be_visible()
        invent(made, "random:64", "CR", 0.9)
        expect(page.locator("#comparison tbody tr")).to_have_count(2)
    made.close()


def test_of_a_large_table_only_what_is_in_view_is_drawn(visitor, tmp_path):
    """Scrolled both ways, the right cells stand there."""
    made = starter_store(tmp_path)
    tasks = [f"Own{place}" for place in range(24)]
    for name in MANY:
        for task in tasks:
            invent(made, name, task, 0.6, n=20)
    with served(made) as address:
        page = visitor(address, size=(1024, 768)).open(
            "compare?" + "&".join(f"encoder={name}" for name in MANY)
        )
        cells = page.locator("#board tbody td:not(.t-gap)")
        expect(cells.first).to_be_visible()
        assert cells.count() < len(MANY) * len(tasks) / 2
        page.locator("#board .t-board").evaluate("(f) => f.scrollTo(f.scrollWidth, f.scrollHeight)")
        head = page.locator("#board thead th").locator("visible=true").last
        expect(head).to_have_attribute("aria-colindex", str(len(tasks) + 2))
        box, below = head.bounding_box(), cells.last.bounding_box()
        assert abs(box["x"] - below["x"]) < 1 and abs(box["width"] - below["width"]) < 1
    made.close()


@pytest.mark.parametrize("dark", PHONES)
def test_on_a_phone_nothing_is_wider_than_the_page(visitor, classified, dark):
    """Wide tables scroll inside their frames."""
    visit = visitor(classified, dark=dark, size=(390, 844))
    page = visit.open(THREE)
    page.wait_for_selector("#forest .main-svg")
    assert not visit.scrolls_sideways()
    assert page.locator("#forest").bounding_box()["y"] < 420
    visit.picture(f"compare-phone-{'dark' if dark else 'light'}")
    page = visit.open("compare?" + "&".join(f"encoder={name}" for name in MANY))
    page.wait_for_selector("#forest .main-svg")
    assert not visit.scrolls_sideways()
    assert page.locator("#encoders").bounding_box()["height"] < 120
