"""What a run will take: real updates, timed and forgotten."""

import random
from pathlib import Path

import pytest
import torch

from theodolite.engine.cost.speed import extended
from theodolite.engine.training.estimate import estimate
from theodolite.engine.training.spec import TrainSpec


def spec(folder: Path, **changes) -> TrainSpec:
    """A small run on the starter set."""
    usual = {
        "objective": "unsup",
        "base": "new:layers=2,hidden=32,heads=2,vocab=300",
        "train": "starter",
        "out": str(folder / "out"),
        "batch_size": 32,
        "limit": 256,
        "dev": "starter-pairs",
        "dev_every": 3,
        "device": "cpu",
    }
    return TrainSpec.from_dict(usual | changes)


def test_updates_and_evaluations_are_counted_and_nothing_stays(
    tmp_path, catalog, monkeypatch
) -> None:
    """256 sentences in batches of 32 are 8 updates, with evaluations after 3, 6 and 8."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    torch.manual_seed(5)
    random.seed(5)
    before = torch.get_rng_state().tolist(), random.getstate()
    found = estimate(spec(tmp_path), catalog, seconds=0.1)
    assert (torch.get_rng_state().tolist(), random.getstate()) == before
    assert list(tmp_path.rglob("*")) == [temporary]
    assert (found.steps, found.examples, found.evals) == (8, 256, 3)
    assert found.seconds >= found.steps * found.seconds_per_step + 3 * found.seconds_per_eval > 0
    assert found.sentences_per_second == pytest.approx(64 / found.seconds_per_step)
    few = estimate(spec(tmp_path, steps=3, limit=None), catalog, seconds=0.1)
    assert (few.steps, few.examples) == (3, 96)  # no more than the updates need


@pytest.mark.parametrize(
    "changes",
    [
        {"objective": "sup"},
        {"objective": "mlm"},
        {"batch_size": 16, "micro_batch": 4},
        {"dev": None},
        {"batch_size": 2, "limit": 3},
        {"compile": True},
    ],
)
def test_every_kind_of_run_can_be_estimated(tmp_path, catalog, changes) -> None:
    """Also one whose batch is smaller than what is tried first."""
    found = estimate(spec(tmp_path, **changes), catalog, seconds=0.1)
    assert found.seconds > 0
    assert found.micro_batch == changes.get("micro_batch")
    assert (found.evals, found.seconds_per_eval) == (0, 0) or found.seconds_per_eval > 0
    assert bool(found.notes) == ("compile" in changes or changes.get("objective") == "sup")


@pytest.mark.parametrize(
    ("size", "measured", "expected"),
    [
        (64, [(8, 1.0), (16, 1.5)], 4.5),
        (64, [(16, 2.0)], 8.0),
        (64, [(8, 3.0), (16, 2.0)], 8.0),  # noise: it cannot fall
        (64, [(8, 1.0), (16, 9.0)], 36.0),  # nor start below 0
        (16, [(8, 1.0), (16, 2.0), (16, 3.0), (16, 7.0)], 3.0),
    ],
)
def test_measurements_are_continued_in_a_straight_line(size, measured, expected) -> None:
    """With a fixed part where two sizes show one, through 0 where they do not."""
    assert extended(size, measured) == pytest.approx(expected)
