"""The best threshold of a pair task against trying every one."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

from theodolite.engine.stats import thresholds

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("n", [1, 2, 30, 200])
def test_every_threshold_and_the_best_of_them(n: int) -> None:
    """By scikit-learn, also where cosines are tied: they are rounded to one decimal here."""
    cosines = np.round(RNG.normal(size=n), 1)
    positive = cosines + RNG.normal(size=n) > 0
    found = thresholds.sweep(cosines, positive)
    assert len(found.thresholds) == len(np.unique(cosines)) + 1
    columns = (found.thresholds, found.accuracy, found.precision, found.recall, found.f1)
    for cut, *got in zip(*columns, strict=True):
        called = cosines >= cut
        expected = [
            accuracy_score(positive, called),
            *(of(positive, called, zero_division=0) for of in (precision_score, recall_score)),
            f1_score(positive, called, zero_division=0),
        ]
        again = thresholds.judge(cosines, positive, cut)
        assert got == pytest.approx(expected)
        assert [again.accuracy, again.precision, again.recall, again.f1] == pytest.approx(got)
    for measure in ("accuracy", "f1"):
        best = found.best(measure)
        assert getattr(best, measure) == getattr(found, measure).max()
        assert best == thresholds.judge(cosines, positive, best.threshold)


def test_no_positive_at_all() -> None:
    """Then the best is to call nothing positive."""
    found = thresholds.sweep(np.array([0.1, 0.9]), np.array([False, False]))
    assert found.best().threshold > 0.9
    assert (found.best().accuracy, found.best("f1").f1) == (1.0, 0.0)
