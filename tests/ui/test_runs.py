"""The page Trainings: curves that follow, runs over each other, verbs, the paper's tables."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.ui.addresses import address_of
from tests.ui.conftest import LOOKS
from theodolite.app.pages.train.service import EncoderTraining
from theodolite.engine.training import Evaluated, Finished, Noted, Started, Stepped, TrainSpec
from theodolite.engine.training.ablations import ABLATIONS

SPEC = TrainSpec("unsup", "minilm", "starter", "", dev="starter-pairs", dev_every=20)


def say(desk, run, *events, position=0):
    """Store events as the worker does."""
    for event in events:
        data = event.to_dict()
        desk.store.events.add(run, data.pop("kind"), data, position)


def learn(desk, run, scores, *, first=1, position=0):
    """Twenty updates and a look for each score."""
    for number, score in enumerate(scores, first):
        step = 20 * number
        best = score == max(scores[: number - first + 1])
        say(
            desk,
            run,
            *(
                Stepped(
                    step - back, 200, 2.0 - step / 200, 3e-5, 1.0, 400.0, float(step), 9.0, None
                )
                for back in (10, 0)
            ),
            Evaluated(step, best, score, 0.5 - step / 1000, -2.0 - step / 1000),
            position=position,
        )


def begin(desk, run, labels=("training",)):
    """Have a worker take a run up."""
    desk.store.runs.start(run, 1, "local-0", list(labels))
    for position in range(len(labels)):
        say(
            desk, run, Started(0, 200, 2040, 22_000_000, "cpu", "fp32", "0" * 32), position=position
        )


def end(desk, run, score, step=60, *, position=0, why="done"):
    """Say that a training is over, its encoder the run's own base."""
    say(
        desk,
        run,
        Finished(step, step, score, 12.0, "somewhere", f"random:{64 + position}", why, None),
        position=position,
    )
    desk.store.runs.end_unit(run, position, 12.0)


def rows_of(page, button):
    """The rows that a button hands out as a file."""
    with page.expect_download() as saved:
        page.get_by_role("button", name=button).click()
    with saved.value.path().open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def running(desk):
    """A run that has looked three times and goes on."""
    run = EncoderTraining(desk).queue(replace(SPEC, seed=1))
    begin(desk, run)
    learn(desk, run, [60.0, 66.0, 64.0])
    yield run
    desk.store.runs.cancel(run)


@pytest.fixture
def finished(desk):
    """A run that is over, from another seed."""
    run = EncoderTraining(desk).queue(replace(SPEC, seed=2, batch_size=128))
    begin(desk, run)
    learn(desk, run, [61.0, 65.0, 70.25])
    say(desk, run, Noted(40, "Out of memory: the micro-batch is now 16."))
    end(desk, run, 70.25)
    desk.store.runs.finish(run, 1, "done")
    return run


@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_curves_of_several_runs_lie_over_each_other(visitor, place, running, finished, size, dark):
    """One line a run in every chart, and nothing wider than the window."""
    visit = visitor(place, size=size, dark=dark)
    page = visit.open(f"runs?run={running},{finished}")
    for name in ("score", "trajectory", "loss", "rate", "speed"):
        expect(page.locator(f"#chart-{name} .scatterlayer .js-line")).to_have_count(2)
    expect(page.locator("#chart-memory")).to_be_hidden()
    visit.picture(f"runs-over-{size[0]}-{'dark' if dark else 'light'}")
    assert not visit.scrolls_sideways()


def test_a_running_run_is_followed_without_drawing_anew(visitor, place, desk, running):
    """New numbers move into the same picture; the focus stays on the button that has it."""
    page = visitor(place).open(f"runs?run={running}")
    expect(page.locator("#chart-score .point")).to_have_count(4)  # three looks and the star
    page.evaluate("document.querySelector('#chart-score .main-svg').dataset.mark = 'mine'")
    stop = page.get_by_role("button", name="Stop unsup from minilm on starter now")
    stop.focus()
    learn(desk, running, [71.5], first=4)
    expect(page.locator("#chart-score .point")).to_have_count(5)
    expect(page.locator("#runs .t-open")).to_contain_text("best dev score 71.50 at step 80")
    assert page.locator("#chart-score .main-svg[data-mark=mine]").count() == 1
    expect(stop).to_be_focused()


def test_settings_that_differ_stand_side_by_side(visitor, place, running, finished):
    """Only those; a note of a run is read beside them."""
    page = visitor(place).open(f"runs?run={running},{finished}")
    table = page.locator("#differences table")
    expect(table.locator("tbody tr")).to_have_count(3)  # batch size, seed, best score
    expect(table.locator("tbody tr", has_text="batch size")).to_contain_text("128")
    expect(page.locator("#noted")).to_contain_text("the micro-batch is now 16")


def test_pressing_a_name_lays_its_curve_over(visitor, place, running, finished):
    """The choice is in the address, and another press takes it away."""
    page = visitor(place).open(f"runs?run={running}")
    expect(page.locator("#chart-loss .js-line")).to_have_count(1)
    name = page.locator(f"#runs [data-id='{finished}']").first
    name.press("Enter")
    expect(page.locator("#chart-loss .js-line")).to_have_count(2)
    address_of(page, "%2C")
    name.press("Enter")
    expect(page.locator("#chart-loss .js-line")).to_have_count(1)


def test_every_picture_has_its_numbers(visitor, place, finished):
    """The CSV of the dev score is what was looked at."""
    page = visitor(place).open(f"runs?run={finished}")
    figure = page.locator("#chart-score figure")
    figure.locator("summary").click()
    with page.expect_download() as download:
        figure.get_by_role("button", name="Download CSV").click()
    with Path(download.value.path()).open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["run", "step", "dev score"]
    assert [(row[1], float(row[2])) for row in rows[1:]] == [("20", 61), ("40", 65), ("60", 70.25)]


def test_a_finished_encoder_opens_elsewhere(visitor, place, finished):
    """Evaluate has it, Compare has it beside its base, Map draws it; its form can be had again."""
    page = visitor(place).open(f"runs?run={finished}")
    row = page.locator("#runs .t-open")
    assert "encoder=random%3A64" in row.get_by_role("link", name="Evaluate").get_attribute("href")
    compare = row.get_by_role("link", name="Compare").get_attribute("href")
    assert "encoder=minilm&encoder=random%3A64" in compare
    assert "encoder=random%3A64" in row.get_by_role("link", name="Map").get_attribute("href")
    row.get_by_role("link", name="Train again").click()
    expect(page.locator("#command pre >> nth=0")).to_contain_text(
        "--batch-size 128", timeout=30_000
    )
    expect(page.locator("#command pre >> nth=0")).to_contain_text("--seed 2")


def test_stopping_keeps_the_best(visitor, place, desk, running):
    """The run is asked, and the page says that it is at it."""
    page = visitor(place).open(f"runs?run={running}")
    page.get_by_role("button", name="Stop unsup from minilm on starter now").click()
    expect(page.locator("#runs .t-open")).to_contain_text("stopping")
    assert desk.store.runs.asked(running, 1) == "stop"


def test_a_run_is_cancelled_and_tried_again(visitor, place, desk, running):
    """It goes on from its checkpoint, says the page."""
    page = visitor(place).open(f"runs?run={running}")
    row = page.locator("#runs .t-open")
    row.get_by_role("button", name="Cancel").click()
    expect(row).to_contain_text("cancelled")
    row.get_by_role("button", name="Retry").click()
    expect(row).to_contain_text("waiting for its turn")
    assert desk.store.runs.get(running)["state"] == "queued"


def test_a_table_of_the_paper_is_one_click(visitor, place, desk):
    """All of its rows with two seeds, as one run; its outcome stands beside the paper's."""
    page = visitor(place).open("train")
    page.get_by_role("button", name="Ablations of the paper").click()
    page.locator("#ablation-seeds").get_by_label("2", exact=True).check()
    page.get_by_role("button", name="Queue 16 runs: Table 3").click()
    expect(page.locator("#runs .t-children")).to_be_visible()
    run = address_of(page, "sweep=").split("sweep=")[1].split("&")[0]
    children = desk.store.runs.get(run)["spec"]["children"]
    assert [c["spec"]["dropout"] for c in children[:3]] == [0.0, 0.0, 0.01]
    assert {c["spec"]["limit"] for c in children} == {2000}

    begin(desk, run, [c["label"] for c in children])
    scores = {"p = 0 ·": (50.0, 51.0), "p = 0.1 ·": (70.0, 71.0), "p = 0.15 ·": (70.2, 70.9)}
    for position, child in enumerate(children):
        for start, pair in scores.items():
            if child["label"].startswith(start):
                learn(desk, run, [pair[position % 2]], position=position)
                end(desk, run, pair[position % 2], 20, position=position)
    table = page.get_by_role("region", name="Comparison with the paper")
    row = table.locator("tr").filter(has=page.locator("td:first-child", has_text="p = 0"))
    expect(row.first).to_contain_text("71.1")
    expect(row.first).to_contain_text("50.50 ± 0.71")
    expect(row.first).to_contain_text("agrees")
    expect(table.locator("tr", has_text="p = 0.15")).to_contain_text("within the spread")
    assert len(table.locator("tbody tr").all()) == len(ABLATIONS["dropout"].rows)
    saved = rows_of(page, "The paper's table as CSV")
    (first,) = [row for row in saved if row["row"] == "p = 0"]
    assert [float(first[name]) for name in ("paper", "mean", "seeds")] == [71.1, 50.5, 2]
    assert first["verdict"] == "agrees"
    saved = rows_of(page, "Runs as CSV")
    assert [row["label"] for row in saved] == [child["label"] for child in children]
    assert page.evaluate(
        "(() => { const box = document.querySelector('#runs');"
        " return box.scrollHeight > box.clientHeight && box.clientHeight <= 640; })()"
    )
    desk.store.runs.cancel(run)


def test_an_error_and_a_name_with_markup_are_shown_as_they_are(visitor, place, desk):
    """What a run failed of, with what to do; no text becomes part of the page."""
    run = EncoderTraining(desk).queue(replace(SPEC, seed=77), title="<img src=x onerror=alert(1)>")
    begin(desk, run)
    learn(desk, run, [50.0])
    desk.store.runs.finish(run, 1, "failed", error="The loss is <nan>.", hint="Lower the rate.")
    page = visitor(place).open(f"runs?run={run}")
    row = page.locator("#runs .t-open")
    expect(row).to_contain_text("The loss is <nan>.")
    expect(row).to_contain_text("<img src=x")
    expect(page.locator("#chart-score .main-svg").first).to_be_visible()
    assert page.locator("img[src=x]").count() == 0


def test_visitors_look_and_touch_nothing(visitor, showcase, finished):
    """The curves are there; no verb, no table to queue."""
    page = visitor(showcase).open(f"runs?run={finished}")
    expect(page.locator("#chart-score .main-svg").first).to_be_visible()
    assert page.locator("[data-act=stop], [data-act=cancel], [data-act=retry]").count() == 0
    assert page.locator("#ablations, .t-verbs a").count() == 0
