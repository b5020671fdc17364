"""Trainings and encoders in files, done by workers of a fleet."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.jobs import submit
from app.jobs.submit import perform
from app.pages.evaluate.job import EvaluateJob, queue_evaluation
from app.pages.jobs import service as jobs
from app.pages.train.job import TrainDecoderJob, TrainJob
from app.pages.train.sweep_job import SweepJob
from app.pages.trainings import service as trainings
from app.workspace import Workspace
from tests.app.fleet.conftest import Lab
from tests.app.fleet.test_fleet import assert_equal, on_one_machine, over
from tests.app.jobs.conftest import until
from tests.fakes import decoder_training
from tests.fakes.small_training import small, write_sentences

pytestmark = pytest.mark.slow


@pytest.fixture
def workspace(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """What the pages of the home have."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    return Workspace(lab.home.folder)


def weights(folder: Path) -> bytes:
    """Of what was trained."""
    return (folder / "model.safetensors").read_bytes()


def trained(workspace: Workspace, job: TrainJob | TrainDecoderJob) -> Path:
    """The same training, done here."""
    for _ in perform(workspace, job):
        pass
    return Path(job.spec.out)


@pytest.mark.long
def test_a_sweep_is_trained_elsewhere(lab: Lab, workspace: Workspace, tmp_path: Path) -> None:
    """By whoever is there, one of them killed: the very weights, with curves, log and records."""
    spec = small(write_sentences(tmp_path / "text.txt"), tmp_path / "out", steps=60)
    children = [(f"seed {seed}", {"seed": seed}) for seed in (1, 2, 3)]
    sweep = SweepJob.of(workspace, spec, children)
    workers = [lab.start_worker(number) for number in (1, 2)]
    lab.start_home()
    run_id = submit.queue(workspace, sweep)
    until(lambda: any(unit["share"] > 0 for unit in lab.home.runs.units(run_id)))
    lab.kill(workers[0])
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
        asked = sweep.child(at)
        record = json.loads((Path(row.out) / "theodolite.json").read_text())
        assert (record["hash"], record["spec"]["train"]) == (asked.hash, "text.txt")
        here = trained(alone, TrainJob(replace(asked, out=str(tmp_path / f"here-{at}"))))
        assert weights(Path(row.out)) == weights(here)


def test_a_decoder_is_trained_elsewhere(lab: Lab, workspace: Workspace, tmp_path: Path) -> None:
    """And is a decoder of the encoder as it is called here, which came as a file."""
    words = tmp_path / "words.txt"
    rng = np.random.default_rng(0)
    words.write_text(
        "".join(
            f"{word} {' '.join(f'{x:.4f}' for x in rng.normal(size=32))}\n"
            for word in "the cat dog man woman child bird horse king sees likes finds".split()
        )
    )
    spec = replace(decoder_training.small(tmp_path), encoder=f"words:{words}")
    job = TrainDecoderJob.of(workspace, spec)
    lab.start_worker(1)
    lab.start_home()
    run_id = submit.queue(workspace, job)
    over(lab.home, run_id)
    (row,) = lab.home.decoders.list()
    assert (row["encoder"], row["folder"]) == (f"words:{words}", Path(spec.out))
    alone = Workspace(tmp_path / "alone")
    here = trained(alone, TrainDecoderJob(replace(job.spec, out=str(tmp_path / "here"))))
    assert weights(Path(spec.out)) == weights(here)


@pytest.mark.long
def test_a_training_stops_elsewhere_and_keeps_its_best(
    lab: Lab, workspace: Workspace, tmp_path: Path
) -> None:
    """And stays at an address, where one was named that the worker may write to."""
    text, root = write_sentences(tmp_path / "text.txt"), f"file://{tmp_path}/models"
    spec = replace(small(text, tmp_path, steps=100_000), out=f"{root}/mine")
    lab.start_worker(1)
    lab.start_home()
    run_id = submit.queue(workspace, TrainJob.of(workspace, spec))
    until(lambda: "leave to write to" in lab.home.runs.get(run_id)["message"])
    lab.start_worker(2, "--out", root)
    until(lambda: trainings.curves(workspace, run_id).evals)
    jobs.stop(workspace, run_id)
    over(lab.home, run_id)
    run = lab.home.runs.get(run_id)
    assert run["message"] == f"It is at {root}/mine."
    (row,) = trainings.table(workspace)
    assert (row.why, row.out, row.encoder) == ("stopped", f"{root}/mine", "")
    assert (tmp_path / "models" / "mine" / "model.safetensors").is_file()
    assert lab.home.encoders.list() == []


@pytest.mark.long
def test_nothing_waits_behind_a_training(lab: Lab, workspace: Workspace, tmp_path: Path) -> None:
    """A unit that its worker claimed too early is done by another."""
    spec = small(write_sentences(tmp_path / "text.txt"), tmp_path / "out", steps=100_000)
    lab.start_worker(1)
    lab.start_home()
    training = submit.queue(workspace, TrainJob.of(workspace, spec))
    until(lambda: any(unit["share"] > 0 for unit in lab.home.runs.units(training)))
    evaluation = queue_evaluation(workspace, ["random:8", "random:16"], ["StarterTopics"])
    until(lambda: lab.home.runs.get(evaluation)["state"] == "running")
    lab.start_worker(2)
    over(lab.home, evaluation)
    assert lab.home.runs.get(training)["state"] == "running"
    workspace.store.runs.cancel(training)
    evaluation = queue_evaluation(workspace, ["random:24"], ["StarterTopics"])
    over(lab.home, evaluation)


def test_an_encoder_in_files_is_measured_elsewhere(
    lab: Lab, workspace: Workspace, tmp_path: Path
) -> None:
    """As on one machine to the digit, and under its name here."""
    text = write_sentences(tmp_path / "text.txt")
    folder = trained(workspace, TrainJob(small(text, tmp_path / "model")))
    encoders = [f"dir:{folder}", f"dir:{folder}?pooling=avg | center:starter-pairs"]
    tasks = ["StarterSTS", "StarterTopics"]
    lab.start_worker(1)
    lab.start_home()
    run_id = queue_evaluation(workspace, encoders, tasks)
    over(lab.home, run_id)
    assert "by lab-1: Took" in "\n".join(lab.home.logs.lines(run_id))
    job = EvaluateJob.of(workspace, encoders, tasks)
    assert_equal(lab.home, on_one_machine(tmp_path / "alone", job))
