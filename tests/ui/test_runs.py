"""The page Trainings: curves that follow, runs over each other, verbs, the paper's tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from tests.ui.steps import HOSTILE, address_of, rows_saved, says, stays_text
from theodolite.app.pages.train.service import EncoderTraining
from theodolite.engine.training import Evaluated, Finished, Noted, Started, Stepped, TrainSpec

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


def test_runs_lie_over_each_other(visitor, place, running, finished):
    """One line a run in every chart, beside the settings that differ; a name adds a run by key."""
    visit = visitor(place)
    page = visit.open(f"runs?run={running}")
    expect(page.locator("#chart-loss .js-line")).to_have_count(1)
    name = page.locator(f"#runs [data-id='{finished}']").first
    name.press("Enter")
    for chart in ("score", "trajectory", "loss", "rate", "speed"):
        expect(page.locator(f"#chart-{chart} .scatterlayer .js-line")).to_have_count(2)
    address_of(page, "%2C")
    expect(page.locator("#chart-memory")).to_be_hidden()
    table = page.locator("#differences table")
    expect(table.locator("tbody tr")).to_have_count(3)  # batch size, seed, best score
    says(table.locator("tbody tr", has_text="batch size"), "128")
    says(page.locator("#noted"), "the micro-batch is now 16")
    visit.fits("runs")
    name.press("Enter")
    expect(page.locator("#chart-loss .js-line")).to_have_count(1)


def test_a_running_run_is_followed_stopped_and_tried_again(visitor, place, desk, running):
    """New numbers move into the same picture; the focus stays on the button that has it."""
    page = visitor(place).open(f"runs?run={running}")
    row, points = page.locator("#runs .t-open"), page.locator("#chart-score .point")
    expect(points).to_have_count(4)  # three looks and the star
    page.evaluate("document.querySelector('#chart-score .main-svg').dataset.mark = 'mine'")
    stop = page.get_by_role("button", name="Stop unsup from minilm on starter now")
    stop.focus()
    learn(desk, running, [71.5], first=4)
    expect(points).to_have_count(5)
    says(row, "best dev score 71.50 at step 80")
    expect(page.locator("#chart-score .main-svg[data-mark=mine]")).to_have_count(1)
    expect(stop).to_be_focused()
    stop.press("Enter")
    says(row, "stopping")
    assert desk.store.runs.asked(running, 1) == "stop"
    row.get_by_role("button", name="Cancel").click()
    says(row, "cancelled")
    row.get_by_role("button", name="Retry").click()
    says(row, "waiting for its turn")
    assert desk.store.runs.get(running)["state"] == "queued"


def test_a_finished_encoder_has_its_numbers_and_opens_elsewhere(visitor, place, finished):
    """Evaluate has it, Compare has it beside its base, Map draws it; its form can be had again."""
    page = visitor(place).open(f"runs?run={finished}")
    row = page.locator("#runs .t-open")
    for name, query in (
        ("Evaluate", "encoder=random%3A64"),
        ("Compare", "encoder=minilm&encoder=random%3A64"),
        ("Map", "encoder=random%3A64"),
    ):
        assert query in row.get_by_role("link", name=name).get_attribute("href")
    row.get_by_role("link", name="Train again").click()
    says(page.locator("#command pre >> nth=0"), "--batch-size 128", "--seed 2")


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

    begin(desk, run, [c["label"] for c in children])
    scores = {"p = 0 ·": (50.0, 51.0), "p = 0.1 ·": (70.0, 71.0)}
    for position, child in enumerate(children):
        for start, pair in scores.items():
            if child["label"].startswith(start):
                learn(desk, run, [pair[position % 2]], position=position)
                end(desk, run, pair[position % 2], 20, position=position)
    table = page.get_by_role("region", name="Comparison with the paper")
    row = table.locator("tr").filter(has=page.locator("td:first-child", has_text="p = 0"))
    says(row.first, "71.1", "50.50 ± 0.71", "agrees")
    saved = rows_saved(page, page.get_by_role("button", name="The paper's table as CSV"))
    (first,) = [row for row in saved if row["row"] == "p = 0"]
    assert [float(first[name]) for name in ("paper", "mean", "seeds")] == [71.1, 50.5, 2]
    desk.store.runs.cancel(run)


def test_an_error_and_a_name_with_markup_are_shown_as_they_are(visitor, place, desk):
    """What a run failed of, with what to do; no text becomes part of the page."""
    run = EncoderTraining(desk).queue(replace(SPEC, seed=77), title=HOSTILE)
    begin(desk, run)
    learn(desk, run, [50.0])
    desk.store.runs.finish(run, 1, "failed", error="The loss is <nan>.", hint="Lower the rate.")
    page = visitor(place).open(f"runs?run={run}")
    says(page.locator("#runs .t-open"), "The loss is <nan>.", HOSTILE)
    expect(page.locator("#chart-score .main-svg").first).to_be_visible()
    stays_text(page)


def test_a_training_that_ships_stands_where_nothing_was_trained(visit, workspace):
    """With its curves, said to be an example; it is no run of the store."""
    page = visit.open("runs")
    says(page.locator("#runs"), "Nothing was trained here yet", "ships as an example")
    expect(page.locator("#chart-score .scatterlayer .js-line")).to_have_count(1)
    assert workspace.store.runs.list(kinds=["train", "sweep"]) == []
