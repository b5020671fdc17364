"""What a run will take: real updates, timed and forgotten."""

from __future__ import annotations

import gc
import random
import time
from pathlib import Path

import pytest
import torch

from theodolite.engine.cost.speed import extended
from theodolite.engine.errors import UserError
from theodolite.engine.train import train
from theodolite.engine.training.estimate import estimate
from theodolite.engine.training.events import Finished
from theodolite.engine.training.model import TrainingModel
from theodolite.engine.training.spec import TrainSpec

TINY = "new:layers=2,hidden=32,heads=2,vocab=300"


def spec(folder: Path, **changes) -> TrainSpec:
    """A small run on the starter set."""
    usual = {"batch_size": 32, "limit": 256, "dev": "starter-pairs", "dev_every": 3}
    given = {"objective": "unsup", "base": TINY, "train": "starter", "device": "cpu"}
    return TrainSpec.from_dict(given | usual | {"out": str(folder / "out")} | changes)


def test_updates_and_looks_are_counted_as_they_will_be(tmp_path, catalog) -> None:
    """256 sentences in batches of 32 are 8 updates, with looks after 3, 6 and 8."""
    found = estimate(spec(tmp_path), catalog, seconds=0.1)
    assert (found.steps, found.examples, found.evals) == (8, 256, 3)
    assert found.seconds >= found.steps * found.seconds_per_step + 3 * found.seconds_per_eval > 0
    assert found.sentences_per_second == pytest.approx(64 / found.seconds_per_step)
    assert found.device == "cpu"


def test_nothing_is_written_and_no_generator_is_touched(tmp_path, catalog, monkeypatch) -> None:
    """Not even where a packed file has to be unpacked: that folder is gone as well."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    torch.manual_seed(5)
    random.seed(5)
    before = torch.get_rng_state(), random.getstate()
    estimate(spec(tmp_path), catalog, seconds=0.1)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    assert [path.name for path in tmp_path.iterdir()] == ["temporary"]
    assert not list(temporary.iterdir())


def test_nothing_of_the_model_stays_in_memory(tmp_path, catalog) -> None:
    """Not even where modules refer to each other in a circle, until Python looks for such."""

    def living() -> int:
        return sum(type(found) is TrainingModel for found in gc.get_objects())

    gc.collect()
    before = living()
    gc.disable()
    try:
        estimate(spec(tmp_path), catalog, seconds=0.1)
        assert living() == before
    finally:
        gc.enable()


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


def test_memory_counts_the_process_and_the_model(tmp_path, catalog) -> None:
    """A model of 14 million parameters takes 70 MB more than its weights alone, at the least."""
    small = estimate(spec(tmp_path), catalog, seconds=0.1).bytes
    wide = spec(tmp_path, base="new:layers=4,hidden=512,heads=4,vocab=300", limit=64)
    large = estimate(wide, catalog, seconds=0.1).bytes
    assert 300e6 < small < 3e9
    assert large - small > 16 * 10e6


def test_the_number_of_updates_decides_when_it_is_given(tmp_path, catalog) -> None:
    """Then only as many examples are read as they need."""
    found = estimate(spec(tmp_path, steps=3, limit=None), catalog, seconds=0.1)
    assert (found.steps, found.examples) == (3, 96)


def test_a_real_run_takes_about_as_long(tmp_path, catalog) -> None:
    """Within a factor of eight, on a machine that may be busy with other things."""
    wanted = spec(tmp_path, epochs=6.0, dev_every=100)
    expected = estimate(wanted, catalog, seconds=1.0)
    began = time.perf_counter()
    *_, last = train(wanted, catalog)
    took = time.perf_counter() - began
    assert isinstance(last, Finished)
    assert last.step == expected.steps
    assert took / 8 < expected.seconds < took * 8


def test_what_cannot_be_trained_is_told_as_by_the_run(tmp_path, catalog) -> None:
    """Before anything is queued."""
    for changes, message in (
        ({"train": "nothing-here"}, "no data set named"),
        ({"batch_size": 1}, "batch size of 1"),
        ({"dev": "starter-topics"}, "scored pairs|pairs with scores"),
        ({"base": "dir:/nowhere/at/all"}, "nowhere"),
    ):
        with pytest.raises(UserError, match=message):
            estimate(spec(tmp_path, **changes), catalog, seconds=0.1)


def test_measurements_are_continued_in_a_straight_line() -> None:
    """With a fixed part where two sizes show one, through 0 where they do not."""
    assert extended(64, [(8, 1.0), (16, 1.5)]) == pytest.approx(4.5)
    assert extended(64, [(16, 2.0)]) == pytest.approx(8.0)
    assert extended(64, [(8, 3.0), (16, 2.0)]) == pytest.approx(8.0)  # noise: it cannot fall
    assert extended(64, [(8, 1.0), (16, 9.0)]) == pytest.approx(36.0)  # nor start below 0
    assert extended(16, [(8, 1.0), (16, 2.0), (16, 3.0), (16, 7.0)]) == pytest.approx(3.0)
