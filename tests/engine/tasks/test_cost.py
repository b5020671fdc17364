"""What a measurement will cost: the work counted is the work done."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.errors import refused
from tests.fakes import folder
from tests.fakes.encoders import HashEncoder
from theodolite.engine import evaluate, protocols, tasks
from theodolite.engine.cost import classifiers
from theodolite.engine.cost.speed import Speed
from theodolite.engine.datasets import Catalog
from theodolite.engine.tasks import cost


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """MR, TREC and SST5 in miniature."""
    return Catalog(folder.write(tmp_path_factory.mktemp("data")))


def work(data: Catalog, name: str, protocol: str) -> cost.Work:
    task = tasks.get(name, data)
    how = tasks.type_of(task, protocols.get(protocol))
    return how.work(data.load(task.dataset), protocol, 1111)


@pytest.mark.parametrize(
    ("task", "protocol", "fits"),
    [
        ("MR", "senteval-exact", 410),  # as in the reference: 10 x (4 x 10 + 1)
        ("MR", "senteval", 440),  # every candidate for a final fit is trained along
        ("MR", "senteval-sklearn", 610),
        ("TREC", "senteval", 41),
        ("TREC", "senteval-sklearn", 71),
        ("SST5", "senteval-exact", 5),
        ("SST5", "senteval", 4),  # the reference's fifth gives the same classifier again
        ("SST5", "senteval-sklearn", 7),
        ("StarterSTS", "simcse-2021", 0),
        ("StarterTopics", "starter-1", 5),
    ],
)
def test_the_fits_of_a_plan(data: Catalog, task: str, protocol: str, fits: int) -> None:
    assert work(data, task, protocol).fits == fits


@pytest.mark.parametrize(
    ("task", "protocol"),
    [
        ("MR", "senteval"),
        ("MR", "senteval-fast"),
        ("TREC", "senteval"),
        ("SST5", "senteval-exact"),
        ("SST5", "pitfalls"),
    ],
)
def test_the_work_counted_is_the_work_done(data: Catalog, task: str, protocol: str) -> None:
    counted = work(data, task, protocol)
    (done,) = evaluate(HashEncoder(8), [task], protocol=protocol, data=data)
    assert (done.error, done.details["fits"]) == (None, counted.fits)
    assert len(counted.sentences) == len(data.load(task).sentences)
    passes = done.details["passes"] / counted.fits
    assert counted.passes == pytest.approx(passes, rel=1.0)  # what stops a fit is not foreseen


def test_rows_pairs_and_memory(data: Catalog) -> None:
    """MR has 80: inner folds see 9/10 of 9/10 of them, final fits 9/10, before any is held out.

    Its memory is 80 vectors kept twice (as features too), 440 columns of weights five times, masks.
    """
    found = work(data, "MR", "senteval-exact")
    assert found.rows == 80
    assert found.fit_rows == pytest.approx(400 * 0.81 * 80 + 10 * 0.9 * 80, rel=0.02)
    assert work(data, "StarterSearch", "starter-1").pairs == 2040**2
    found = work(data, "MR", "senteval")
    weights, masks = 4 * 5 * 440 * (100 + 1) * 2, 5 * 110 * 80
    assert cost.memory_bytes(found, 100) == 2 * 4 * 100 * len(found.sentences) + weights + masks
    # A fit that is trained alone is timed alone: forty are columns of one matrix, one follows.
    found = work(data, "TREC", "senteval")
    assert [call.fits for call in found.calls] == [40, 1]
    assert sum(call.fit_rows for call in found.calls) == found.fit_rows
    assert not work(data, "TREC", "senteval-exact").calls
    with refused("mismatch", "simcse-2021", "MR", "senteval-exact"):
        work(data, "MR", "simcse-2021")


def test_every_kind_of_work_has_a_speed(data: Catalog) -> None:
    """Also where nothing is trained, and where images are; twice the work takes longer."""
    probed: dict[object, Speed] = {}
    for counted in (
        work(data, "MR", "senteval-sklearn"),
        work(data, "StarterSTS", "simcse-2021"),
        work(data, "StarterTopics", "starter-1"),
        work(data, "StarterSearch", "starter-1"),
        cost.Work([], "retrieval", rows=5000, fits=1, fit_rows=5000, passes=2, image_dim=32),
        cost.Work([], pairs=1000),
    ):
        twice = replace(counted, pairs=2 * counted.pairs, fit_rows=2 * counted.fit_rows)
        seconds = [classifiers.training_seconds(one, 16, probed) for one in (counted, twice)]
        assert 0 < seconds[0] < seconds[1]
    assert len({key[0] for key in probed}) == 6  # type: ignore[index]


def test_a_sample_keeps_what_fits_share(data: Catalog) -> None:
    """Fits that share rows do so in the probe as well, or it would time another solver."""
    found = work(data, "MR", "senteval")
    fits, used = classifiers.sampled(found, 1024)
    assert len(fits) == found.fits
    assert len({id(fit.train) for fit in fits}) == len({id(fit.train) for fit in found.asked})
    assert max(int(fit.train.max()) for fit in fits) < len(used)
