"""Runs and results from a terminal: queued, let go, failed, trained, interrupted."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.command_line import objects, theodolite
from tests.fakes.small_training import small, write_sentences
from tests.fakes.terminals import heed_interrupts
from theodolite.app.jobs.unit import conclude
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.store import Store


def queued(tasks: str) -> str:
    """The id of a run that waits."""
    (run,) = objects(theodolite("jobs", "add", "random:16", "--tasks", tasks, "--json"))
    return str(run["id"])


def test_runs_and_results_can_be_let_go(home: Path) -> None:
    """Each with its size; what is not there, or not over, is said. A run that waits is moved."""
    theodolite("evaluate", "random:16", "random:24", "--tasks", "StarterSTS,StarterTopics")
    listed = objects(theodolite("results", "list", "--json"))
    assert len(listed) == 4
    assert all(row["bytes"] > 0 for row in listed)
    one = str(listed[0]["id"])
    (output,) = objects(theodolite("results", "remove", one, "--json"))
    assert output == {"removed": [listed[0]["id"]], "bytes": listed[0]["bytes"]}
    for words, code in (([one], "unknown"), ([], "missing")):
        (error,) = objects(theodolite("results", "remove", *words, "--json", code=2)[:1])
        assert error["code"] == code
    theodolite("results", "remove", "--encoder", "random:24", "--task", "StarterSTS")
    rest = objects(theodolite("results", "list", "--encoder", "random:24", "--json"))
    assert [row["task"] for row in rest] == ["StarterTopics"]
    run = queued("StarterSTS")
    (moved,) = objects(theodolite("jobs", "prioritise", run, "--priority", "-3", "--json"))
    assert moved == {"id": run, "priority": -3}
    assert run in theodolite("jobs", "remove", run, code=2)[-1], "it has not ended yet"
    theodolite("jobs", "cancel", run)
    first = objects(theodolite("jobs", "list", "--json"))[0]
    assert first["state"] == "cancelled" and "bytes" in first
    assert objects(theodolite("jobs", "remove", run, "--json"))[0]["removed"] == run
    (left,) = objects(theodolite("jobs", "list", "--json"))
    assert left["worker"] == "terminal", "the evaluation above is a run as well"
    assert objects(theodolite("store", "check", "--json")) == []
    aged = ["store", "clean", "--runs-older-than", "0", "--results-older-than", "0", "--json"]
    cleaned = objects(theodolite(*aged))[0]
    assert (cleaned["runs"], cleaned["results"]) == (1, 2)
    assert theodolite("results", "list", "--json") == []


@pytest.mark.parametrize(("failing", "state"), [(0, "done"), (7, "partly failed"), (9, "failed")])
def test_a_run_with_failed_parts_is_no_success(home: Path, failing: int, state: str) -> None:
    """In the list, in JSON and in the exit status of those who wait for it."""
    tasks = "STS12,STS13,STS14,STS15,STS16,MR,CR,SUBJ,MPQA"
    run = queued(tasks)
    store = Store.open(home / "store")
    store.runs.start(run, 1, "local-0", tasks.split(","))
    for position in range(9):
        failed = position < failing
        store.runs.end_unit(run, position, 1.0, "No space is left." if failed else None)
    conclude(store, run, 1, EvaluateJob(("random:16",), ("MR",)))
    store.close()
    lines = theodolite("jobs", "wait", run, "--json", code=0 if state == "done" else 1)
    for row in (json.loads(lines[0]), objects(theodolite("jobs", "list", "--json"))[0]):
        assert (row["state"], row["done"], row["failed"]) == (state, 9 - failing, failing)
        assert row["error"] == ("No space is left." if failing else None)
    assert state in " ".join(theodolite("jobs", "list"))


def test_a_training_streams_its_events_and_ends_with_the_outcome(home: Path) -> None:
    """One object an event; an evaluation can name what was trained."""
    spec = small(write_sentences(home / "s.txt"), home / "out", steps=10)
    lines = objects(theodolite(*spec.command()[1:], "--json"))
    kinds = [row["kind"] for row in lines]
    assert set(kinds[1:-1]) == {"stepped", "looked"}
    assert (kinds[0], kinds[-1]) == ("started", "finished")
    encoder = lines[-1]["encoder"]
    assert encoder in [row["name"] for row in objects(theodolite("encoders", "list", "--json"))]
    (row,) = objects(theodolite("runs", "--json"))
    assert (row["score"], row["out"]) == (lines[-1]["best_score"], spec.out)
    curves = objects(theodolite("runs", row["key"], "--json"))
    assert [c["score"] for c in curves if c["kind"] == "looked"] == [
        event["score"] for event in lines if event["kind"] == "looked"
    ]


def test_an_interrupted_training_says_how_to_go_on(home: Path) -> None:
    """Ctrl-C ends it with 130; the checkpoint stays."""
    spec = small(write_sentences(home / "s.txt"), home / "out", steps=100_000)
    words = [sys.executable, "-m", "theodolite.app", *spec.command()[1:], "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        words, stdout=pipe, stderr=pipe, text=True, preexec_fn=heed_interrupts
    ) as training:
        looks = (line for line in training.stdout or () if json.loads(line)["kind"] == "looked")
        assert next(looks) and next(looks)  # the checkpoint of the first is written
        training.send_signal(signal.SIGINT)
        rest, output = training.communicate()
    assert training.returncode == 130
    last = json.loads(rest.splitlines()[-1])
    assert last["kind"] == "interrupted"
    assert 0 < last["checkpoint"] <= last["step"]
    assert "Traceback" not in output
    assert "theodolite train unsup" in output and "theodolite jobs retry" in output
    assert [*(home / "out.training").glob("step-*")]


def test_a_run_whose_terminal_was_killed_is_over_at_the_next_look(home: Path) -> None:
    """Without a worker, which would notice it as well."""
    store = Store(home / "store")
    run = store.runs.create("evaluate", {}, "killed", queue=False)
    store.runs.start(run, 1, "terminal", ["one"])
    (row,) = objects(theodolite("jobs", "list", "--json"))
    assert (row["id"], row["state"]) == (run, "failed")
    assert "terminal" in row["error"]
    other = store.runs.create("evaluate", {"a": 1}, "killed too", queue=False)
    store.runs.start(other, 1, "terminal", ["one"])
    theodolite("jobs", "remove", other)
