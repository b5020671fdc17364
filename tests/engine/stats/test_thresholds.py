"""The best threshold of a pair task against trying every one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

from theodolite.engine.stats import thresholds

RNG = np.random.default_rng(5)


def tried(cosines: np.ndarray, positive: np.ndarray) -> list[tuple[float, float]]:
    """(accuracy, F1) at every cosine and above all of them, by scikit-learn."""
    cuts = [*np.unique(cosines), 2.0]
    return [
        (
            accuracy_score(positive, cosines >= cut),
            f1_score(positive, cosines >= cut, zero_division=0),
        )
        for cut in cuts
    ]


@pytest.mark.parametrize("n", [1, 2, 30, 200])
def test_the_best_is_the_best_of_all_tried(n: int) -> None:
    """Also where cosines are tied: they are rounded to one decimal here."""
    cosines = np.round(RNG.normal(size=n), 1)
    positive = cosines + RNG.normal(size=n) > 0
    found = thresholds.sweep(cosines, positive)
    for place, measure in enumerate(("accuracy", "f1")):
        best = found.best(measure)
        highest = max(scores[place] for scores in tried(cosines, positive))
        assert getattr(best, measure) == pytest.approx(highest)
        called = cosines >= best.threshold
        assert best.accuracy == pytest.approx(accuracy_score(positive, called))
        assert best.f1 == pytest.approx(f1_score(positive, called, zero_division=0))


def test_every_point_of_the_sweep_is_what_its_threshold_gives() -> None:
    """Precision and recall too, by scikit-learn."""
    cosines = np.round(RNG.normal(size=60), 1)
    positive = RNG.random(60) > 0.4
    found = thresholds.sweep(cosines, positive)
    for place, cut in enumerate(found.thresholds):
        called = cosines >= cut
        expected = (
            accuracy_score(positive, called),
            precision_score(positive, called, zero_division=0),
            recall_score(positive, called),
            f1_score(positive, called),
        )
        got = (found.accuracy[place], found.precision[place], found.recall[place], found.f1[place])
        assert got == pytest.approx(expected)
        again = thresholds.judge(cosines, positive, cut)
        assert (again.accuracy, again.precision, again.recall, again.f1) == pytest.approx(expected)


def test_no_positive_at_all() -> None:
    """Then the best is to call nothing positive."""
    found = thresholds.sweep(np.array([0.1, 0.9]), np.array([False, False]))
    assert found.best().threshold > 0.9
    assert found.best().accuracy == 1.0
    assert found.best("f1").f1 == 0.0
