"""A training that is killed goes on from its checkpoint, and ends with the same weights."""

import signal
from pathlib import Path

import psutil
import pytest
from safetensors.numpy import load_file

from tests.app.jobs.conftest import Bench, child_of, until
from tests.app.jobs.test_kills import assert_gone, start_app, tree
from tests.fakes.small_training import small, write_sentences
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.training import TrainSpec


def checkpoint(spec: TrainSpec | DecoderSpec) -> int:
    """The update of the newest checkpoint; 0 for none."""
    found = Path(f"{spec.out}.training").glob("step-*[0-9]")
    return max((int(path.name.removeprefix("step-")) for path in found), default=0)


def killed_twice(bench: Bench, kind: str, spec: TrainSpec | DecoderSpec) -> str:
    """A training whose child is killed, then the app with all it started; its id once it is done.

    It went on from its checkpoint both times.
    """
    app = start_app(bench)
    run_id = bench.store.runs.create(kind, spec.to_dict(), "broken")
    until(lambda: checkpoint(spec) > 0)
    tree(app)[2].kill()
    first = checkpoint(spec)
    until(lambda: checkpoint(spec) > first)
    processes = tree(app)
    app.kill()
    app.wait()
    assert_gone(processes)
    before = checkpoint(spec)
    start_app(bench)
    run = bench.over(run_id)
    assert (run["state"], run["error"]) == ("done", None)
    starts = [e["data"]["step"] for e in bench.store.events.of(run_id) if e["kind"] == "started"]
    assert starts[0] == 0
    assert starts[1] >= first > 0
    assert starts[2] >= before > first
    assert bench.store.runs.units(run_id)[0]["crashes"] <= 1  # it got further after the first
    return run_id


@pytest.mark.long  # `test_resume` has the weights of a killed training, in one process
def test_a_killed_training_goes_on(bench: Bench, tmp_path: Path) -> None:
    """Its child is killed, then the app with all it started; the weights are as if unbroken."""
    file = write_sentences(tmp_path / "sentences.txt")
    spec = small(file, tmp_path / "broken", steps=400, dev_every=20)
    run_id = killed_twice(bench, "train", spec)
    assert bench.store.encoders.names() == [f"dir:{spec.out}"]
    unbroken = small(file, tmp_path / "unbroken", steps=400, dev_every=20)
    other_id = bench.store.runs.create("train", unbroken.to_dict(), "unbroken")
    assert bench.over(other_id)["state"] == "done"
    ends = [bench.store.events.last(number, "finished") for number in (run_id, other_id)]
    assert ends[0]["best_step"] == ends[1]["best_step"]
    assert ends[0]["best_score"] == ends[1]["best_score"]
    weights = [load_file(Path(s.out) / "model.safetensors") for s in (spec, unbroken)]
    assert weights[0].keys() == weights[1].keys()
    assert all((weights[0][name] == weights[1][name]).all() for name in weights[0])


@pytest.mark.parametrize(
    ("kind", "state", "done"),
    [
        ("continuing", "partly failed", 2),
        pytest.param("crashing", "failed", 0, marks=pytest.mark.long),
    ],
)
def test_a_unit_that_keeps_crashing(bench: Bench, kind: str, state: str, done: int) -> None:
    """Of a kind that continues it fails alone; of others the run fails with it."""
    bench.start_worker()
    notes = bench.notes.with_name(kind)
    spec = {"units": 3, "crashes": 99, "signal": signal.SIGKILL, "notes": str(notes)}
    run = bench.over(bench.store.runs.create(kind, spec, kind))
    assert (run["state"], run["done"]) == (state, done)
    assert len(notes.read_text().splitlines()) == 3
    units = [unit["state"] for unit in bench.store.runs.units(run["id"])]
    assert units == (["failed", "done", "done"] if kind == "continuing" else ["waiting"] * 3)
    if kind == "continuing":
        assert run["message"] == "Told."


def test_a_cancelled_training_is_gone_and_can_go_on(bench: Bench, tmp_path: Path) -> None:
    """Its process ends; tried again it begins at its checkpoint."""
    file = write_sentences(tmp_path / "sentences.txt")
    spec = small(file, tmp_path / "out", steps=100_000, dev_every=20)
    worker = bench.start_worker()
    run_id = bench.store.runs.create("train", spec.to_dict(), "long")
    until(lambda: checkpoint(spec) > 0)
    child = child_of(psutil.Process(worker.pid))
    assert child is not None
    bench.store.runs.cancel(run_id)
    assert_gone([child])
    kept = checkpoint(spec)
    bench.store.runs.retry(run_id)
    starts = lambda: [e for e in bench.store.events.of(run_id) if e["kind"] == "started"]  # noqa: E731
    until(lambda: len(starts()) == 2)
    assert starts()[1]["data"]["step"] >= kept
    assert bench.store.runs.ask(run_id, "stop")
    assert bench.over(run_id)["state"] == "done"
    assert bench.store.events.last(run_id, "finished")["why"] == "stopped"
