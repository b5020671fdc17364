"""kill -9 of anything at any moment, and a full disk: nothing is lost or counted twice."""

import contextlib
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from safetensors.numpy import load_file

from tests.app.jobs.conftest import KINDS, Bench, alive, child_of, kill
from tests.engine.encoders.models import save_sentence_transformer
from tests.fakes.decoders import small_spec
from tests.fakes.small_training import small, write_sentences
from tests.waiting import wait_until
from theodolite.app.jobs.supervisor import Supervisor
from theodolite.engine.decode import open_decoder
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.training import TrainSpec
from theodolite.store.check import check

APP = """
import sys, time
from pathlib import Path
from theodolite.app.jobs.supervisor import Supervisor
with Supervisor(Path(sys.argv[1]), kinds=sys.argv[2]):
    time.sleep(1000)
"""


def start_app(bench: Bench) -> subprocess.Popen[bytes]:
    """A process that keeps a worker, as the app does."""
    return bench.keep(subprocess.Popen([sys.executable, "-c", APP, bench.store.folder, KINDS]))


def tree(app: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """App, worker and child, once all three are there."""
    wait_until(lambda: (worker := child_of(app)) and child_of(worker))
    worker = child_of(app)
    child = worker and child_of(worker)
    return [psutil.Process(app.pid), worker, child] if worker and child else tree(app)


def kill_app(app: subprocess.Popen[bytes], processes: list[psutil.Process]) -> None:
    """Kill an app alone: what it started ends by itself, long before it has nothing more to do."""
    kill(app)
    wait_until(lambda: not any(alive(process.pid) for process in processes), seconds=60.0)


def assert_done_once(bench: Bench, run_id: str, units: int, kills: int) -> None:
    """Every unit has one result, and no more work was done over than was killed."""
    run = bench.over(run_id)
    assert (run["state"], run["error"]) == ("done", None)
    assert (run["done"], run["total"]) == (units, units)
    assert [u["state"] for u in bench.store.runs.units(run_id)] == ["done"] * units
    rows = bench.store.results.table(encoders=[run["title"]], all_versions=True)
    assert Counter(row["task"] for row in rows) == {f"t{n}": 1 for n in range(units)}
    begun = [line[1] for line in bench.begun() if line[0] == run["title"]]
    assert len(set(begun)) == units
    assert len(begun) <= units + kills  # a kill costs one unit at most
    assert check(bench.store) == []


@pytest.mark.parametrize("each", [1, pytest.param(20, marks=pytest.mark.long)])
def test_anything_may_be_killed_at_any_moment(bench: Bench, each: int) -> None:
    """App, worker and child, so many times each, with two units for every kill."""
    units = 6 * each
    rng = random.Random(2021)
    app = start_app(bench)
    run_id = bench.under_way("kills", units, 0.4)
    targets = [0, 1, 2] * each
    rng.shuffle(targets)
    done = 0
    for target in targets:
        if target == 2:  # one unit over which three children die is given up, as it should be
            wait_until(lambda before=done: bench.store.runs.get(run_id)["done"] > before)
            done = bench.store.runs.get(run_id)["done"]
        processes = tree(app)
        time.sleep(rng.uniform(0.0, 0.8))
        if target == 0:
            kill_app(app, processes)
            app = start_app(bench)
            continue
        with contextlib.suppress(psutil.NoSuchProcess):  # it was between two children
            processes[target].kill()
    assert_done_once(bench, run_id, units, len(targets))
    kill_app(app, tree(app))


def test_the_rows_are_the_truth(bench: Bench) -> None:
    """After a crash what a row says is over stays over, of a unit and of a run."""
    worker = bench.start_worker()
    run_id = bench.under_way("between", 4, 0.5)
    kill(worker)
    runs, at, begun = bench.store.runs, bench.store.runs.get(run_id)["done"], len(bench.begun())
    runs.end_unit(run_id, at, 0.5)
    other = bench.measure("other", 1, 0.01)
    assert runs.claim(other, 1, "local-0")
    assert not runs.claim(other, 1, "extra-1")
    runs.finish(other, 1, "done")
    bench.start_worker()
    assert bench.over(run_id)["state"] == "done"
    again = [line[:2] for line in bench.begun()[begun:]]
    assert again == [["between", str(position)] for position in range(at + 1, 4)]


@pytest.mark.long
def test_workers_share_the_queue_and_take_over(bench: Bench) -> None:
    """Two runs run beside each other; what a worker left that is gone for good, the other does."""
    workers = {slot: bench.start_worker(slot) for slot in ("local-0", "extra-1")}
    runs = [bench.measure(name, 4, 1.0) for name in ("one", "two")]
    wait_until(lambda: all(bench.store.runs.get(r)["done"] > 0 for r in runs))
    assert {bench.store.runs.get(r)["worker"] for r in runs} == set(workers)
    kill(workers["extra-1"])
    bench.store.database.change("UPDATE workers SET seen = 0 WHERE slot = 'extra-1'")
    for run_id, name in zip(runs, ("one", "two"), strict=True):
        assert bench.over(run_id)["title"] == name
        assert_done_once(bench, run_id, 4, 1)


@pytest.mark.long
def test_two_apps_on_one_store(bench: Bench) -> None:
    """One keeps the worker, the other looks on and takes over when the first goes."""
    first = Supervisor(bench.store.folder, kinds=KINDS)
    second = Supervisor(bench.store.folder, kinds=KINDS)
    first.start()
    wait_until(lambda: first.keeps_worker)
    second.start()
    run_id = bench.under_way("shared", 6, 0.4)
    (worker,) = bench.store.workers.list()
    assert not second.keeps_worker
    first.stop()
    assert not alive(worker["pid"])
    wait_until(lambda: second.keeps_worker)
    assert_done_once(bench, run_id, 6, 1)
    assert [unit["crashes"] for unit in bench.store.runs.units(run_id)] == [0] * 6
    second.stop()
    assert not child_of(psutil.Process())


def test_the_apps_worker_is_ready_and_ends_with_its_store(bench: Bench) -> None:
    """The first run that a person waits for waits for no import: a child is there before it.

    Where the store is removed no empty one is begun; put back, the work goes on.
    """
    away = bench.store.folder.with_name("away")
    with Supervisor(bench.store.folder, kinds=KINDS):
        wait_until(bench.store.workers.list)
        worker = psutil.Process(bench.store.workers.list()[0]["pid"])
        wait_until(worker.children)
        (child,) = worker.children()
        bench.over(bench.measure("first", 1, 0.01, kind="awaited"))
        assert {int(line[2]) for line in bench.begun()} == {child.pid}
        bench.store.folder.rename(away)
        wait_until(lambda: not alive(worker.pid))
        time.sleep(1.5)  # a supervisor that starts another does so after 0.5 s and one
        assert not bench.store.folder.exists()
        away.rename(bench.store.folder)
        assert_done_once(bench, bench.measure("back", 2, 0.05), 2, 0)


def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    """The run pauses or fails in words; once there is room all is done, and once."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(small)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode != 0:
        pytest.skip("only root can mount a small disk")
    bench = Bench(small)
    try:
        bench.notes = tmp_path / "notes"
        bench.start_worker()
        run_id = bench.under_way("full", 6, 0.3)
        with contextlib.suppress(OSError), (small / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(4096))
        time.sleep(1.5)
        assert bench.store.runs.get(run_id)["done"] < 6
        (small / "filler").unlink()
        run = bench.over(run_id)
        if run["state"] == "failed" or "failed" in run["message"]:
            bench.store.runs.retry(run_id)
        assert_done_once(bench, run_id, 6, 6)
    finally:
        print(bench.close())  # noqa: T201
        wait_until(lambda: subprocess.run(["umount", str(small)], check=False).returncode == 0)


# A training that is killed goes on from its checkpoint, and ends with the same weights.


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
    wait_until(lambda: checkpoint(spec) > 0)
    tree(app)[2].kill()
    first = checkpoint(spec)
    wait_until(lambda: checkpoint(spec) > first)
    kill_app(app, tree(app))
    before = checkpoint(spec)
    start_app(bench)
    run = bench.over(run_id)
    assert (run["state"], run["error"]) == ("done", None)
    events = bench.store.events.of(run_id)
    starts = [event["data"]["step"] for event in events if event["kind"] == "started"]
    assert starts[0] == 0
    assert starts[1] >= first > 0
    assert starts[2] >= before > first
    assert bench.store.runs.units(run_id)[0]["crashes"] <= 1  # it got further after the first
    return run_id


@pytest.mark.long  # `test_checkpoint` has the weights of a killed training, in one process
@pytest.mark.parametrize("changes", [{}, {"objective": "st", "train": "starter", "lora": 4}])
def test_a_killed_training_goes_on(bench: Bench, tmp_path: Path, changes: dict) -> None:
    """Its child is killed, then the app with all it started; the weights are as if unbroken."""
    file = write_sentences(tmp_path / "sentences.txt")
    base = f"dir:{save_sentence_transformer(tmp_path / 'base', 'mean')}"
    of_base = {"base": base} if "lora" in changes else {}
    spec = small(file, tmp_path / "broken", steps=400, dev_every=20, **changes, **of_base)
    run_id = killed_twice(bench, "train", spec)
    assert bench.store.encoders.names() == [f"dir:{spec.out}"]
    unbroken = replace(spec, out=str(tmp_path / "unbroken"))
    other_id = bench.store.runs.create("train", unbroken.to_dict(), "unbroken")
    assert bench.over(other_id)["state"] == "done"
    ends = [bench.store.events.last(number, "finished") for number in (run_id, other_id)]
    assert [end["best_step"] for end in ends] == [ends[0]["best_step"]] * 2
    assert [end["best_score"] for end in ends] == [ends[0]["best_score"]] * 2
    weights = [load_file(Path(s.out) / "model.safetensors") for s in (spec, unbroken)]
    np.testing.assert_equal(*weights)


@pytest.mark.long
def test_a_killed_training_of_a_decoder_goes_on(bench: Bench, tmp_path: Path) -> None:
    """It ends as a decoder in the list."""
    spec = small_spec(tmp_path / "broken", epochs=40.0)
    killed_twice(bench, "train-decoder", spec)
    (row,) = bench.store.decoders.list()
    assert (row["encoder"], row["folder"]) == (spec.encoder, Path(spec.out))
    assert open_decoder(row["folder"]).facts["hash"] == spec.hash
    assert checkpoint(spec) == 0
