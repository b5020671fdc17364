"""Evaluations, corpora and trainings by the workers of a fleet: the same as on one machine."""

import json
import random
import signal
import time
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest

from tests.app.fleet.conftest import Lab, Postgres, begun, films, trained, weights
from tests.app.jobs.conftest import kill
from tests.fakes import decoders
from tests.fakes.bucket import FakeBucket
from tests.fakes.small_training import small, write_sentences
from tests.waiting import wait_until
from theodolite.app import corpora
from theodolite.app.fleet.address import Address
from theodolite.app.fleet.coordinator import Coordinator, SentRun
from theodolite.app.fleet.files import Files
from theodolite.app.jobs import submit
from theodolite.app.pages.encoders.corpus import EncodeCorpusJob
from theodolite.app.pages.evaluate.job import EvaluateJob, queue_evaluation
from theodolite.app.pages.jobs import service as jobs
from theodolite.app.pages.train.job import SweepJob, TrainDecoderJob, TrainJob
from theodolite.app.pages.trainings import service as trainings
from theodolite.app.workspace import Workspace
from theodolite.store import Store

TASKS = ["StarterSTS", "StarterTopics", "StarterSearch"]


def over(store: Store, run_id: str) -> None:
    """Wait for a run to be done, and whole; for as long as it gets on."""
    while (run := store.runs.get(run_id))["state"] in ("queued", "running"):
        wait_until(
            lambda before=run: (
                store.runs.get(run_id)["state"] not in ("queued", "running")
                or store.runs.get(run_id)["done"] > before["done"]
            )
        )
    assert (run["state"], run["error"]) == ("done", None), store.logs.lines(run_id)
    assert {unit["state"] for unit in store.runs.units(run_id)} == {"done"}


def assert_equal(store: Store, other: Store) -> None:
    """What the other has of its encoders is once in this one, with every number and value."""
    there = other.results.table(all_versions=True)
    encoders = {row["encoder"] for row in there}
    here = [row for row in store.results.table(all_versions=True) if row["encoder"] in encoders]
    question = itemgetter("encoder", "task", "protocol", "seed")
    own = {"id": 0, "created": 0, "seconds": 0}
    for row, same in zip(sorted(here, key=question), sorted(there, key=question), strict=True):
        assert {**row, **own} == {**same, **own}
        assert store.results.scores(row["id"]) == other.results.scores(same["id"])
        values = store.results.examples(row["id"]), other.results.examples(same["id"])
        np.testing.assert_equal(*values)


def on_one_machine(folder: Path, job: EvaluateJob) -> Store:
    """The same evaluation without a fleet."""
    alone = Workspace(folder)
    list(submit.perform(alone, job))
    return alone.store


def corpus_job(workspace: Workspace, text: Path, out: Path) -> EncodeCorpusJob:
    """A corpus of eight shards into a folder."""
    text.write_text("".join(f"sentence {number} of the corpus\n" for number in range(4000)))
    form = {"format": "npy", "dtype": "float32", "rows": 500}
    encoder = "random:256 | normalise"
    return EncodeCorpusJob.of(workspace, [text], None, encoder, out, form, lambda *_: None)


def write_vectors(file: Path) -> Path:
    """Vectors of a dozen words."""
    names = "the cat dog man woman child bird horse king sees likes finds".split()
    vectors = np.random.default_rng(0).normal(size=(len(names), 32)).round(4)
    lines = [f"{name} {' '.join(map(str, at))}" for name, at in zip(names, vectors, strict=True)]
    file.write_text("\n".join(lines))
    return file


@pytest.mark.long
def test_a_killed_worker_costs_nothing(
    lab: Lab, workspace: Workspace, postgres: Postgres, tmp_path: Path
) -> None:
    """One that comes back, then one that does not: every unit once, as on one machine.

    An encoder in files is among them, under its name here.
    """
    words = write_vectors(tmp_path / "words.txt")
    encoders = ["random:32", "random:64", f"words:{words} | center:starter-pairs"]
    run_id = queue_evaluation(workspace, encoders, TASKS)
    workers = [lab.start_worker(number) for number in (1, 2)]
    lab.start_home()
    wait_until(lambda: lab.home.runs.get(run_id)["done"] > 0)
    if postgres.network is not None:
        joined = {(postgres.network.address_of(number), True) for number in (1, 2)}
        wait_until(lambda: postgres.machines() == joined)
    kill(workers[0])
    lab.start_worker(1)
    over(lab.home, run_id)
    job = EvaluateJob.of(workspace, encoders, TASKS)
    assert_equal(lab.home, on_one_machine(tmp_path / "alone", job))
    assert "by lab-2: Took" in "\n".join(lab.home.logs.lines(run_id))

    run_id = submit.queue(
        workspace, corpus_job(workspace, tmp_path / "text.txt", tmp_path / "fleet")
    )
    wait_until(lambda: lab.home.runs.get(run_id)["done"] > 0)
    kill(workers[1])
    over(lab.home, run_id)
    alone = Workspace(tmp_path / "alone")
    list(submit.perform(alone, corpus_job(alone, tmp_path / "text.txt", tmp_path / "one")))
    here, there = (
        {file.name: file.read_bytes() for file in (tmp_path / out).rglob("*.*")}
        for out in ("fleet", "one")
    )
    assert here == there
    assert len([name for name in here if name.endswith(".npy")]) == 8
    assert corpora.folders(lab.home) == {"fleet": tmp_path / "fleet"}


@pytest.mark.long
@pytest.mark.parametrize(("encoders", "kills"), [(24, 6), (200, 30)])
def test_anything_may_be_killed(
    lab: Lab, workspace: Workspace, postgres: Postgres, tmp_path: Path, encoders: int, kills: int
) -> None:
    """Workers, home and database, at random: nothing lost, nothing doubled, equal to the digit."""
    specs = [f"random:{16 + dim}" for dim in range(encoders)]
    run_id = queue_evaluation(workspace, specs, TASKS)
    rng = random.Random(2021)
    workers = {number: lab.start_worker(number) for number in (1, 2)}
    home = lab.start_home()
    wait_until(lambda: lab.home.runs.get(run_id)["done"] > 0)
    for number in range(kills):
        done = lab.home.runs.get(run_id)["done"]
        wait_until(lambda before=done: lab.home.runs.get(run_id)["done"] > before)
        time.sleep(rng.uniform(0.0, 1.0))
        if number % 6 == 4:
            kill(home)
            home = lab.start_home()
        elif number % 6 == 5:
            postgres.stop(signal.SIGQUIT)
            time.sleep(rng.uniform(0.0, 3.0))
            postgres.start()
        else:
            slot = rng.choice(list(workers))
            kill(workers[slot])
            workers[slot] = lab.start_worker(slot)
    over(lab.home, run_id)
    job = EvaluateJob.of(workspace, specs, TASKS)
    assert_equal(lab.home, on_one_machine(tmp_path / "alone", job))


# --- trainings: killed, stopped, and others passing them by ---


@pytest.mark.long
def test_a_sweep_is_trained_elsewhere(lab: Lab, workspace: Workspace, tmp_path: Path) -> None:
    """By whoever is there, one of them killed: the very weights, with curves, log and records."""
    spec = small(write_sentences(tmp_path / "text.txt"), tmp_path / "out", steps=60)
    sweep = SweepJob.of(workspace, spec, [(f"seed {seed}", {"seed": seed}) for seed in (1, 2, 3)])
    workers = [lab.start_worker(number) for number in (1, 2)]
    lab.start_home()
    run_id = submit.queue(workspace, sweep)
    wait_until(lambda: any(unit["share"] > 0 for unit in lab.home.runs.units(run_id)))
    kill(workers[0])
    lab.start_worker(1)
    over(lab.home, run_id)
    rows = trainings.table(workspace)
    assert [row.state for row in rows] == ["done"] * 3
    assert lab.home.runs.get(run_id)["message"].startswith("Best of 3: seed ")
    listed = {row["name"] for row in lab.home.encoders.list()}
    alone = Workspace(tmp_path / "alone")
    for at, row in enumerate(rows):
        assert row.encoder == f"dir:{row.out}"
        assert row.encoder in listed
        curves = trainings.curves(workspace, row.key)
        assert {event["step"] for event in curves.evals} == set(range(10, 61, 10))
        wanted = sweep.trainings()[at].spec
        record = json.loads((Path(row.out) / "theodolite.json").read_text())
        assert (record["hash"], record["spec"]["train"]) == (wanted.hash, "text.txt")
        here = trained(alone, TrainJob(replace(wanted, out=str(tmp_path / f"here-{at}"))))
        assert weights(Path(row.out)) == weights(here)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["file", "s3"])
def test_a_training_stops_elsewhere_and_keeps_its_best(
    lab: Lab, workspace: Workspace, tmp_path: Path, scheme: str
) -> None:
    """And stays at an address, where one below that for files was named."""
    text = write_sentences(tmp_path / "text.txt")
    root = f"file://{lab.files}" if scheme == "file" else "s3://files"
    spec = replace(small(text, tmp_path, steps=100_000), out=f"{root}/models/mine")
    with FakeBucket(tmp_path, lab.host) as bucket:
        more = {"THEODOLITE_FILES": root, **(bucket.environment if scheme == "s3" else {})}
        lab.start_worker(1, THEODOLITE_FILES="")
        lab.start_home(**more)
        run_id = submit.queue(workspace, TrainJob.of(workspace, spec))
        wait_until(lambda: "--files" in lab.home.runs.get(run_id)["message"])
        lab.start_worker(2, **more)
        wait_until(lambda: trainings.curves(workspace, run_id).evals)
        jobs.act(workspace, "stop", run_id)
        over(lab.home, run_id)
    assert lab.home.runs.get(run_id)["message"] == f"It is at {root}/models/mine."
    (row,) = trainings.table(workspace)
    assert (row.why, row.out, row.encoder) == ("stopped", f"{root}/models/mine", "")
    model = lab.files / "models" / "mine"
    assert weights(model)
    record = json.loads((model / "theodolite.json").read_text())
    assert (record["hash"], record["spec"]["train"]) == (spec.hash, "text.txt")
    assert lab.home.encoders.list() == []


@pytest.mark.long  # `test_files.py` has damage that is found and mended
def test_weights_that_are_damaged_on_their_way_are_sent_again(
    lab: Lab, workspace: Workspace, tmp_path: Path
) -> None:
    spec = small(write_sentences(tmp_path / "text.txt"), tmp_path / "out", steps=20)
    job, runs = TrainJob.of(workspace, spec), workspace.store.runs
    run_id = begun(workspace, job)["id"]
    home = Coordinator(workspace, Address.parse(lab.address), Files(str(lab.files)))
    sent = SentRun(home, runs.get(run_id), 1, job)
    lab.start_worker(1)
    damaged = False

    def look() -> bool:
        nonlocal damaged
        state = home.fleet.units([f"{run_id}-1-0"]).get(f"{run_id}-1-0")
        if state is not None and state["answer"] is None:
            return False  # `round` might read the answer before it is damaged
        if state is not None and not damaged:
            made = [path for path in (lab.files / "made").rglob("*") if path.is_file()]
            largest = max(made, key=lambda file: file.stat().st_size)
            largest.write_bytes(b"x" * largest.stat().st_size)
            damaged = True
        sent.round(sent.waiting())
        return not sent.waiting()

    wait_until(look)
    (unit,) = runs.units(run_id)
    assert unit["error"] is None
    assert weights(Path(spec.out))


@pytest.mark.long
def test_nothing_waits_behind_a_training(lab: Lab, workspace: Workspace, tmp_path: Path) -> None:
    """A unit that its worker claimed too early is done by another, if another can do it."""
    spec = small(write_sentences(tmp_path / "text.txt"), tmp_path / "out", steps=100_000)
    data = films(tmp_path)
    lab.start_worker(1, "--data", str(data))
    lab.start_home(None, "--data", str(data))
    training = submit.queue(workspace, TrainJob.of(workspace, spec))
    wait_until(lambda: any(unit["share"] > 0 for unit in lab.home.runs.units(training)))
    evaluation = queue_evaluation(workspace, ["random:8", "random:16"], ["StarterTopics"])
    wait_until(lambda: lab.home.runs.get(evaluation)["state"] == "running")
    lab.start_worker(2)
    over(lab.home, evaluation)
    assert lab.home.runs.get(training)["state"] == "running"
    there_only = queue_evaluation(Workspace(lab.home.folder, data), ["random:8"], ["MR"])
    wait_until(lambda: lab.home.runs.get(there_only)["state"] == "running")
    time.sleep(2.0)
    workspace.store.runs.cancel(training)
    evaluation = queue_evaluation(workspace, ["random:24"], ["StarterTopics"])
    over(lab.home, evaluation)
    over(lab.home, there_only)
    assert "Traceback" not in lab.printed()


@pytest.mark.long
def test_a_decoder_is_trained_elsewhere(lab: Lab, workspace: Workspace, tmp_path: Path) -> None:
    """And is a decoder of the encoder as it is called here, which came as a file."""
    lab.start_worker(1)
    lab.start_home()
    words = write_vectors(tmp_path / "words.txt")
    spec = replace(decoders.random_spec(tmp_path), encoder=f"words:{words}", epochs=1)
    job = TrainDecoderJob.of(workspace, spec)
    over(lab.home, submit.queue(workspace, job))
    (row,) = lab.home.decoders.list()
    assert (row["encoder"], row["folder"]) == (f"words:{words}", Path(spec.out))
    alone = Workspace(tmp_path / "alone")
    here = trained(alone, TrainDecoderJob(replace(job.spec, out=str(tmp_path / "here"))))
    assert weights(Path(spec.out)) == weights(here)


@pytest.mark.long
def test_two_homes_do_not_disturb_each_other(
    lab: Lab, workspace: Workspace, tmp_path: Path
) -> None:
    """They ask the same at once: each has it once, though one calls something off meanwhile."""
    other = Workspace(tmp_path / "other")
    lab.start_worker(1)
    for home in (None, other.store.folder):
        lab.start_home(home)
    encoders = ["random:20", "random:21", "random:22"]
    called_off = queue_evaluation(other, ["random:23"], TASKS)
    fields = {
        place: queue_evaluation(place, encoders, ["StarterSTS"]) for place in (workspace, other)
    }
    wait_until(lambda: other.store.runs.get(called_off)["state"] == "running")
    other.store.runs.cancel(called_off)
    for place, run_id in fields.items():
        over(place.store, run_id)
    alone = on_one_machine(tmp_path / "alone", EvaluateJob.of(workspace, encoders, ["StarterSTS"]))
    for place in fields:
        assert_equal(place.store, alone)
    assert not any(row["encoder"] == "random:23" for row in workspace.store.results.table())
    wait_until(lambda: lab.rows("units") == lab.rows("reports") == 0)
