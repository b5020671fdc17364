"""Training runs: done in a terminal, stopped, gone on with, swept, listed, set side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.small_training import small, write_sentences
from theodolite.app.jobs import submit
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.jobs.submit import perform
from theodolite.app.pages.jobs import service as jobs
from theodolite.app.pages.train.job import TrainJob
from theodolite.app.pages.train.options import about_fields
from theodolite.app.pages.train.service import EncoderTraining
from theodolite.app.pages.train.sweep_job import LEFT_OUT, SweepJob
from theodolite.app.pages.trainings import service as runs
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.training import Evaluated, Event, Finished, Started, TrainSpec
from theodolite.engine.training.fields import read
from theodolite.store import StoreError


@pytest.fixture
def spec(tmp_path: Path) -> TrainSpec:
    """A training that takes a second."""
    return small(write_sentences(tmp_path / "sentences.txt"), tmp_path / "out")


def here(workspace: Workspace, spec: TrainSpec) -> Iterator[Event]:
    """Train in this process."""
    for _, _, event in perform(workspace, TrainJob(spec)):
        if event is not None:
            assert isinstance(event, Event)
            yield event


def swept(workspace: Workspace, sweep: SweepJob) -> Iterator[tuple[int, Any]]:
    """Sweep in this process."""
    for _, position, event in perform(workspace, sweep):
        if event is not None:
            yield position, event


def column(events: list[dict[str, Any]], name: str) -> list[Any]:
    """One field of each event."""
    return [event[name] for event in events]


def past_a_checkpoint(events: Iterator[Event], spec: TrainSpec) -> None:
    """Go on until there is a checkpoint."""
    next(event for event in events if [*Path(f"{spec.out}.training").glob("step-*[0-9]")])


def test_a_training_is_a_run_with_curves_and_an_encoder(
    workspace: Workspace, spec: TrainSpec
) -> None:
    """What was said is in the store, by step; the encoder is listed."""
    events = list(here(workspace, spec))
    (run,) = workspace.store.runs.list()
    assert (run["kind"], run["state"], run["fraction"]) == ("train", "done", 1.0)
    assert workspace.store.encoders.names() == [f"dir:{spec.out}"]
    assert workspace.load(f"dir:{spec.out}").encode(["the cat sleeps"]).shape == (1, 32)
    found = runs.curves(workspace, run["id"])
    assert found.started is not None
    assert found.started["steps"] == 30
    looks = [event for event in events if isinstance(event, Evaluated)]
    assert column(found.evals, "step") == [10, 20, 30]
    assert column(found.evals, "score") == [event.score for event in looks]
    assert column(found.evals, "uniformity") == [event.uniformity for event in looks]
    assert column(found.steps, "step") == sorted(column(found.steps, "step"))
    assert found.steps[-1]["step"] == 30
    (row,) = runs.table(workspace)
    best = max(looks, key=lambda look: look.score)
    assert (row.key, row.state, row.why) == (run["id"], "done", "done")
    assert (row.score, row.best_step, row.step) == (best.score, best.step, 30)
    assert row.settings["batch_size"] == 8
    assert (row.out, row.encoder) == (spec.out, f"dir:{spec.out}")
    assert row.seconds is not None and row.seconds > 0
    # A process may be killed between the last event and the note that its unit ended.
    workspace.store.encoders.remove(f"dir:{spec.out}")
    reporter = Reporter(workspace.store, run["id"], run["attempt"], 0, "small")
    assert list(TrainJob(spec).work(workspace, 0, reporter)) == []
    assert workspace.store.encoders.names() == [f"dir:{spec.out}"]


def test_an_interrupted_training_goes_on_in_its_row(workspace: Workspace, spec: TrainSpec) -> None:
    """Its curves go on too, and hold no step twice."""
    spec = replace(spec, steps=100)
    events = here(workspace, spec)
    past_a_checkpoint(events, spec)
    events.close()  # type: ignore[attr-defined]
    (run,) = workspace.store.runs.list()
    assert run["state"] == "cancelled"
    started, *_, finished = here(workspace, spec)
    assert isinstance(started, Started)
    assert 0 < started.step < 100
    assert isinstance(finished, Finished)
    (again,) = workspace.store.runs.list()
    assert (again["id"], again["state"]) == (run["id"], "done")
    found = runs.curves(workspace, run["id"])
    assert column(found.evals, "step") == list(range(10, 101, 10))
    assert len(set(column(found.steps, "step"))) == len(found.steps)


def test_stopped_now_it_keeps_the_best(workspace: Workspace, spec: TrainSpec) -> None:
    """The word is in the store, so that any page or terminal can give it."""
    events = here(workspace, replace(spec, steps=100_000))
    next(event for event in events if isinstance(event, Evaluated))
    (run,) = workspace.store.runs.list()
    jobs.stop(workspace, run["id"])
    (row,) = runs.table(workspace)
    assert (row.state, row.stopping) == ("running", True)
    *_, last = events
    assert isinstance(last, Finished)
    assert last.why == "stopped"
    assert last.step < 100_000
    (row,) = runs.table(workspace)
    assert (row.state, row.stopping, row.why) == ("done", False, "stopped")
    with pytest.raises(UserError, match="already ended"):
        jobs.stop(workspace, run["id"])


def test_a_run_that_waits_is_cancelled_when_it_is_to_stop(
    workspace: Workspace, spec: TrainSpec
) -> None:
    """There is no best yet."""
    run = EncoderTraining(workspace).queue(spec)
    assert "had not started" in jobs.stop(workspace, run)
    assert workspace.store.runs.get(run)["state"] == "cancelled"


def test_cancelled_from_elsewhere_it_ends_here(workspace: Workspace, spec: TrainSpec) -> None:
    """The terminal says so; the checkpoint stays."""
    events = here(workspace, replace(spec, steps=100_000))
    past_a_checkpoint(events, spec)
    (run,) = workspace.store.runs.list()
    workspace.store.runs.cancel(run["id"])
    with pytest.raises(StoreError, match="cancelled"):
        list(events)
    assert workspace.store.runs.get(run["id"])["state"] == "cancelled"
    assert [*Path(f"{spec.out}.training").glob("step-*")]


def test_one_trains_at_a_time(workspace: Workspace, spec: TrainSpec) -> None:
    """What another terminal is at is followed, event by event; a dead worker's is refused."""
    run = EncoderTraining(workspace).queue(spec)
    workspace.store.runs.start(run, 1, "local-0", ["small"])
    with pytest.raises(StoreError, match=run):
        next(here(workspace, spec))
    assert workspace.store.runs.get(run)["state"] == "running"
    workspace.store.runs.cancel(run)
    mine, followed = here(workspace, spec), here(workspace, spec)
    events = [next(mine), next(followed), *mine]
    assert events == [events[1], events[1], *followed]
    assert isinstance(events[1], Started)
    assert isinstance(events[-1], Finished)
    assert [row["id"] for row in workspace.store.runs.list()] == [run]


def test_a_terminal_that_died_leaves_a_run_to_go_on_with(
    workspace: Workspace, spec: TrainSpec
) -> None:
    """A worker notes it; retried, it is in the queue."""
    runs_of = workspace.store.runs
    events = here(workspace, replace(spec, steps=100_000))
    next(events)
    workspace.store.terminals.end_forsaken()
    (run,) = runs_of.list()
    assert run["state"] == "running"  # its terminal is there
    events.close()  # type: ignore[attr-defined]
    workspace.store.database.change("UPDATE runs SET state = 'running'")  # as after kill -9
    workspace.store.terminals.end_forsaken()
    (run,) = runs_of.list()
    assert (run["state"], run["error"]) == ("failed", "The terminal that it ran in is gone.")
    workspace.store.runs.retry(run["id"])
    assert [row["id"] for row in runs_of.not_enqueued()] == [run["id"]]


def test_what_cannot_be_trained_leaves_no_run(workspace: Workspace, spec: TrainSpec) -> None:
    """The terminal says why, and the list of runs stays clean."""
    with pytest.raises(UserError, match="/nowhere/at/all"):
        list(here(workspace, replace(spec, train="/nowhere/at/all.txt")))
    assert workspace.store.runs.list() == []


def test_a_sweep_trains_its_children_and_tells_the_best(
    workspace: Workspace, spec: TrainSpec
) -> None:
    """One that fails does not end it."""
    children = [
        ("hot", {"temperature": 1.0}),
        ("alone", {"batch_size": 1}),
        ("cold", {"temperature": 0.05}),
    ]
    sweep = SweepJob.of(workspace, spec, children)
    events = list(swept(workspace, sweep))
    scores = {at: event.best_score for at, event in events if isinstance(event, Finished)}
    assert scores.keys() == {0, 2}
    best = max(scores, key=lambda at: scores[at])
    (run,) = workspace.store.runs.list()
    assert (run["state"], run["done"], run["failed"]) == ("partly failed", 2, 1)
    name = children[best][0]
    expected = f"Best of 2: {name}, {scores[best]:.2f} on starter-pairs dev. 1 failed."
    assert run["message"] == expected
    rows = runs.table(workspace)
    assert [row.key for row in rows] == [f"{run['id']}:{at}" for at in range(3)]
    assert [row.state for row in rows] == ["done", "failed", "done"]
    assert [row.score for row in rows] == [scores[0], None, scores[2]]
    assert "batch size of 1" in (rows[1].error or "")
    assert [Path(row.out).name for row in rows] == ["1-hot", "2-alone", "3-cold"]
    assert len(workspace.store.encoders.list()) == 2
    assert column(runs.curves(workspace, rows[2].key).evals, "step") == [10, 20, 30]
    assert runs.differences([row.settings for row in rows]) == {
        "batch_size": [8, 1, 8],
        "temperature": [1.0, 0.05, 0.05],
    }
    assert runs.differences([row.settings for row in rows[:1]]) == {}


def test_a_sweep_goes_on_with_the_child_that_was_at_work(
    workspace: Workspace, spec: TrainSpec
) -> None:
    """A child that is done is not trained again."""
    children = [("one", {"seed": 1}), ("two", {"seed": 2})]
    sweep = SweepJob.of(workspace, spec, children)
    events = swept(workspace, sweep)
    next(None for at, _ in events if at == 1)
    events.close()  # type: ignore[attr-defined]
    assert [row.state for row in runs.table(workspace)] == ["done", "cancelled"]
    assert {at for at, _ in swept(workspace, sweep)} == {1}
    assert [row.state for row in runs.table(workspace)] == ["done", "done"]
    assert len(workspace.store.runs.list()) == 1


def test_a_stopped_sweep_leaves_the_rest_out(workspace: Workspace, spec: TrainSpec) -> None:
    """The child at work keeps its best."""
    children = [(f"seed {n}", {"seed": n, "steps": 100_000}) for n in (1, 2, 3)]
    events = swept(workspace, SweepJob.of(workspace, spec, children))
    next(None for _, event in events if isinstance(event, Evaluated))
    (run,) = workspace.store.runs.list()
    jobs.stop(workspace, run["id"])
    happened = list(events)
    assert [event.why for _, event in happened if isinstance(event, Finished)] == ["stopped"]
    assert [event.message for _, event in happened if isinstance(event, UserError)] == [
        LEFT_OUT
    ] * 2
    ended = workspace.store.runs.get(run["id"])
    assert ended["message"].endswith("2 left out.")
    assert (ended["state"], ended["done"], ended["failed"]) == ("done", 1, 0)
    assert [row.state for row in runs.table(workspace)] == ["done", "left out", "left out"]


def test_a_page_names_no_folder(workspace: Workspace, spec: TrainSpec) -> None:
    """It is one of the store, the same for the same question; files get their whole paths."""
    wanted = replace(spec, out="")
    run = EncoderTraining(workspace).queue(wanted)
    kept = workspace.store.runs.get(run)["spec"]
    assert Path(kept["out"]).parent == workspace.store.folder / "encoders"
    assert EncoderTraining(workspace).queue(wanted) == run
    other = EncoderTraining(workspace).queue(replace(wanted, seed=7))
    assert workspace.store.runs.get(other)["spec"]["out"] != kept["out"]
    swept = SweepJob.of(workspace, wanted, [("a", {}), ("b", {"seed": 7})])
    sweep = workspace.store.runs.get(submit.queue(workspace, swept))
    folders = [Path(child["spec"]["out"]) for child in sweep["spec"]["children"]]
    assert {folder.parent.parent for folder in folders} == {workspace.store.folder / "encoders"}


def test_relative_paths_become_whole(
    workspace: Workspace, spec: TrainSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker has another folder; the name of a data set stays a name."""
    monkeypatch.chdir(tmp_path)
    made = TrainJob.of(workspace, replace(spec, train="sentences.txt", base="dir:b", out="o")).spec
    assert (made.train, made.base, made.out) == (
        str(tmp_path / "sentences.txt"),
        f"dir:{tmp_path / 'b'}",
        str(tmp_path / "o"),
    )
    named = TrainJob.of(workspace, replace(spec, train="starter-topics")).spec
    assert named.train == "starter-topics"


def test_a_child_that_cannot_be_is_refused_at_once(workspace: Workspace, spec: TrainSpec) -> None:
    """Before anything is queued."""
    for children in ([], [("cold", {"temperature": 0.0})], [("odd", {"temprature": 1.0})]):
        with pytest.raises(UserError):
            submit.queue(workspace, SweepJob.of(workspace, spec, children))
    assert workspace.store.runs.list() == []


def test_visitors_start_and_stop_nothing(workspace: Workspace, spec: TrainSpec) -> None:
    """They may look."""
    run = EncoderTraining(workspace).queue(spec)
    visiting = Workspace(workspace.store.folder, read_only=True)
    for refused in (
        lambda: EncoderTraining(visiting).queue(spec),
        lambda: EncoderTraining(visiting).start_sweep(spec, [("a", {})]),
        lambda: submit.queue(visiting, SweepJob.of(visiting, spec, [("a", {})])),
        lambda: jobs.stop(visiting, run),
    ):
        with pytest.raises(UserError, match="Visitors"):
            refused()
    assert len(runs.table(visiting)) == 1


def test_curves_forget_the_steps_that_are_done_over(workspace: Workspace) -> None:
    """A run that went on repeats what came after its checkpoint; each read adds a little."""
    run = workspace.store.runs.create("train", {"objective": "unsup"}, title="by hand")
    add = workspace.store.events.add
    add(run, "started", {"step": 0, "steps": 9})
    for step in (2, 4, 6):
        add(run, "stepped", {"step": step, "loss": 1.0 / step})
    first = runs.curves(workspace, run)
    assert column(first.steps, "step") == [2, 4, 6]
    add(run, "started", {"step": 4, "steps": 9})
    add(run, "stepped", {"step": 5, "loss": 0.5})
    second = runs.curves(workspace, run)
    assert column(second.steps, "step") == [2, 4, 5]
    assert column(second.steps, "loss") == [0.5, 0.25, 0.5]
    assert column(first.steps, "step") == [2, 4, 6]  # what was given out stays as it was
    assert second.cursor > first.cursor
    assert runs.curves(workspace, run).cursor == runs.cursor(workspace, run) == second.cursor
    assert runs.curves(workspace, f"{run}:1").steps == []


def parsed(command: list[str]) -> dict[str, Any]:
    """What the command line makes of a command: arguments and options that were given."""
    import click
    from typer.main import get_command

    from theodolite.app.cli import app

    program, verb, *rest = command
    assert program == "theodolite"
    group = get_command(app)
    assert isinstance(group, click.Group) or hasattr(group, "commands")
    context = group.commands[verb].make_context(verb, rest)  # type: ignore[attr-defined]
    return {name: value for name, value in context.params.items() if value is not None}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"hard_negatives": False, "dual": True, "dev": None, "steps": None, "epochs": 2.5},
        {"train": "/a folder/it's a file.txt", "base": "new:layers=2,hidden=32", "dropout": 0.0},
        {"objective": "sup", "micro_batch": 4, "learning_rate": 1e-5, "head": "mlp", "patience": 3},
    ],
)
def test_the_command_of_a_training_trains_the_same(
    spec: TrainSpec, changes: dict[str, Any]
) -> None:
    """Pasted into a terminal it says every field that is not as usual."""
    wanted = replace(spec, **changes)
    given = parsed(wanted.command())
    names = json.loads(json.dumps(wanted.to_dict())).keys() - {"version"}
    given = {name: read(TrainSpec, name, str(given[name])) for name in names & given.keys()}
    assert TrainSpec.from_dict(given) == wanted


def test_every_field_has_words() -> None:
    """The help of the command line is the docstring's."""
    assert about_fields().keys() >= TrainSpec.__dataclass_fields__.keys() - {"uniformity"}
    assert all(len(text) > 10 for text in about_fields().values())
