"""What a fleet does while nobody is killed: decoders, encoders in files, work for two homes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.app.fleet.conftest import Lab, Postgres, trained, weights
from tests.app.fleet.test_fleet import TASKS, assert_equal, on_one_machine, over
from tests.engine.encoders.models import save_sentence_transformer
from tests.fakes import decoders
from tests.waiting import wait_until
from theodolite.app.jobs import submit
from theodolite.app.pages.evaluate.job import EvaluateJob, queue_evaluation
from theodolite.app.pages.train.job import TrainDecoderJob
from theodolite.app.workspace import Workspace


@pytest.fixture(scope="module")
def lab(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A home and a worker for all tests here: starting them takes longer than what they do."""
    made = Lab(tmp_path_factory.mktemp("lab"), postgres.make("elsewhere"), postgres)
    made.start_worker(1)
    made.start_home()
    yield made
    print(made.close())  # noqa: T201 - shown when a test fails


@pytest.mark.long
def test_a_decoder_is_trained_elsewhere(lab: Lab, workspace: Workspace, tmp_path: Path) -> None:
    """And is a decoder of the encoder as it is called here, which came as a file."""
    words = tmp_path / "words.txt"
    names = "the cat dog man woman child bird horse king sees likes finds".split()
    vectors = np.random.default_rng(0).normal(size=(len(names), 32)).round(4)
    lines = [f"{name} {' '.join(map(str, at))}" for name, at in zip(names, vectors, strict=True)]
    words.write_text("\n".join(lines))
    spec = replace(decoders.random_spec(tmp_path), encoder=f"words:{words}", epochs=1)
    job = TrainDecoderJob.of(workspace, spec)
    over(lab.home, submit.queue(workspace, job))
    (row,) = lab.home.decoders.list()
    assert (row["encoder"], row["folder"]) == (f"words:{words}", Path(spec.out))
    alone = Workspace(tmp_path / "alone")
    here = trained(alone, TrainDecoderJob(replace(job.spec, out=str(tmp_path / "here"))))
    assert weights(Path(spec.out)) == weights(here)


def test_an_encoder_in_files_is_measured_elsewhere(
    lab: Lab, workspace: Workspace, tmp_path: Path
) -> None:
    """As on one machine to the digit, and under its name here."""
    folder = save_sentence_transformer(tmp_path / "model", "mean")
    encoders = [f"dir:{folder}", f"dir:{folder}?pooling=avg | center:starter-pairs"]
    run_id = queue_evaluation(workspace, encoders, ["StarterSTS"])
    over(lab.home, run_id)
    assert "by lab-1: Took" in "\n".join(lab.home.logs.lines(run_id))
    job = EvaluateJob.of(workspace, encoders, ["StarterSTS"])
    assert_equal(lab.home, on_one_machine(tmp_path / "alone", job))


def test_two_homes_do_not_disturb_each_other(
    lab: Lab, workspace: Workspace, tmp_path: Path
) -> None:
    """They ask the same at once: each has it once, though one calls something off meanwhile."""
    other = Workspace(tmp_path / "other")
    lab.start_home(other.store.folder)
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
