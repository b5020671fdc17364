"""What a measurement will cost: the work counted is the work done."""

from __future__ import annotations

import numpy as np
import pytest

from engine import cost, evaluate, tasks
from engine.datasets import Catalog
from engine.errors import UserError
from tests.fakes import folder
from tests.fakes.encoders import HashEncoder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """MR, TREC and SST5 in miniature."""
    return Catalog(folder.write(tmp_path_factory.mktemp("data")))


def work(data: Catalog, name: str, protocol: str) -> cost.Work:
    """What a task asks for under a protocol."""
    task = tasks.get(name, data)
    return cost.work_of(task, data.load(task.dataset), protocol, 1111)


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
    ],
)
def test_the_fits_of_a_plan(data: Catalog, task: str, protocol: str, fits: int) -> None:
    """As many classifiers as the reference trains, where the plan is the reference's."""
    assert work(data, task, protocol).fits == fits


@pytest.mark.parametrize(
    ("task", "protocol"),
    [("MR", "senteval"), ("MR", "senteval-fast"), ("TREC", "senteval"), ("SST5", "senteval-exact"),
     ("SST5", "pitfalls")],
)  # fmt: skip
def test_the_work_counted_is_the_work_done(data: Catalog, task: str, protocol: str) -> None:
    """A real run notes as many fits; every pass of them goes through the rows counted."""
    counted = work(data, task, protocol)
    (done,) = evaluate(HashEncoder(8), [task], protocol=protocol, data=data)
    assert done.error is None
    assert counted.fits == done.details["fits"]
    assert len(counted.sentences) == len(data.load(task).sentences)
    passes = done.details["passes"] / counted.fits
    assert counted.passes == pytest.approx(passes, rel=1.0)  # what stops a fit is not foreseen


def test_rows_of_the_fits(data: Catalog) -> None:
    """MR has 80: inner folds see 9/10 of 9/10 of them, final fits 9/10, before any is held out."""
    found = work(data, "MR", "senteval-exact")
    assert found.rows == 80
    assert found.fit_rows == pytest.approx(400 * 0.81 * 80 + 10 * 0.9 * 80, rel=0.02)


def test_what_trains_nothing_compares(data: Catalog) -> None:
    """The starter set's pairs and its search have no classifier; its topics have five fits."""
    assert work(data, "StarterSTS", "simcse-2021").fits == 0
    assert work(data, "StarterSearch", "starter-1").pairs == 2040**2
    assert work(data, "StarterTopics", "starter-1").fits == 5


def test_a_protocol_that_does_not_fit_is_said(data: Catalog) -> None:
    """As the run would say it."""
    with pytest.raises(UserError, match="does not say how to score"):
        work(data, "MR", "simcse-2021")


@pytest.mark.parametrize(
    ("task", "protocol"),
    [("MR", "senteval"), ("SST5", "senteval-exact"), ("StarterTopics", "starter-1")],
)
def test_seconds_are_of_the_right_magnitude(data: Catalog, task: str, protocol: str) -> None:
    """Within a factor of ten of a real run on this very machine: more is not promised."""
    encoder = HashEncoder(32)
    evaluation = evaluate(encoder, [task], protocol=protocol, data=data)
    next(evaluate(HashEncoder(4), [task], protocol=protocol, data=data))  # libraries are loaded
    (done,) = evaluation
    estimated = cost.training_seconds(work(data, task, protocol), 32)
    assert done.seconds / 10 < estimated < done.seconds * 10


def test_a_sample_keeps_what_fits_share(data: Catalog) -> None:
    """Fits that share rows do so in the probe as well, or it would time another solver."""
    found = work(data, "MR", "senteval")
    fits, used = cost._sampled(found)
    assert len(fits) == found.fits
    assert len({id(fit.train) for fit in fits}) == len({id(fit.train) for fit in found._asked})
    assert max(int(fit.train.max()) for fit in fits) < len(used)


def test_memory_holds_vectors_and_classifiers(data: Catalog) -> None:
    """80 vectors kept twice (as features too), 440 columns of weights five times, masks."""
    found = work(data, "MR", "senteval")
    vectors = 4 * 100 * len(found.sentences)
    weights = 4 * 5 * 440 * (100 + 1) * 2
    masks = 5 * 110 * 80
    assert cost.memory_bytes(found, 100) == 2 * vectors + weights + masks


def test_the_speed_of_an_encoder() -> None:
    """More sentences than fit into the time are not encoded."""

    class Slow(HashEncoder):
        """Takes a millisecond a sentence, at least."""

        def encode(self, sentences, progress=None):
            import time

            time.sleep(0.001 * len(sentences))
            return np.zeros((len(sentences), self.dim), np.float32)

    speed = cost.sentences_per_second(Slow(4), [f"s {i}" for i in range(5000)], 0.2)
    assert 100 < speed < 1000
