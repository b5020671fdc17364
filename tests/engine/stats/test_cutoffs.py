"""Cut-offs with a guarantee, against mapie's."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

from theodolite.engine.stats import cutoffs, thresholds


@pytest.fixture(scope="module")
def pairs() -> tuple[np.ndarray, np.ndarray]:
    """Cosines from 0 to 1 of 600 pairs, of which the higher more often mean the same."""
    rng = np.random.default_rng(0)
    cosines = rng.random(600).round(4)
    return cosines, rng.random(600) < cosines**0.5


@pytest.mark.parametrize("recall", [0.8, 0.9, 0.95, 0.99])
def test_recall_is_the_bound_of_mapies_split_conformal_regressor(
    recall: float, pairs: tuple[np.ndarray, np.ndarray]
) -> None:
    """A model that predicts a cosine of 1, whose errors are how much less the positives have."""
    from mapie.regression import SplitConformalRegressor
    from sklearn.dummy import DummyRegressor

    cosines, positive = pairs
    own = cosines[positive]
    one = DummyRegressor(strategy="constant", constant=1.0).fit([[0.0]], [1.0])
    model = SplitConformalRegressor(one, confidence_level=recall, prefit=True)
    model.conformalize(np.zeros((len(own), 1)), own)
    _, bounds = model.predict_interval(np.zeros((1, 1)))
    assert cutoffs.for_recall(cosines, positive, recall) == pytest.approx(bounds[0, 0, 0])


@pytest.mark.parametrize("precision", [0.6, 0.7, 0.8, 0.85])
def test_precision_is_controlled_as_by_mapie(
    precision: float, pairs: tuple[np.ndarray, np.ndarray]
) -> None:
    """The same cut-offs, corrected in the same way; mapie's bound on the p-value is looser."""
    from mapie.risk_control import BinaryClassificationController

    cosines, positive = pairs
    at = cutoffs.tried(cosines)
    control = BinaryClassificationController(
        lambda rows: np.column_stack([1 - np.ravel(rows), np.ravel(rows)]),
        "precision",
        precision,
        confidence_level=cutoffs.CONFIDENCE,
        list_predict_params=at,
        fwer_method="bonferroni",
    )
    control.calibrate(cosines[:, None], positive.astype(int))
    theirs = np.asarray(control.valid_predict_params)
    ours = cutoffs.for_precision(cosines, positive, precision)
    assert len(theirs) and ours is not None and ours <= theirs.min()
    above = positive[cosines >= ours]
    assert precision < above.mean() < 1 and ours in at


def test_too_few_pairs_guarantee_nothing() -> None:
    cosines, positive = np.linspace(0, 1, 18), np.ones(18, bool)
    assert cutoffs.for_recall(cosines, positive, 0.95) is None
    assert cutoffs.for_recall(np.linspace(0, 1, 19), np.ones(19, bool), 0.95) == 0.0
    assert cutoffs.for_precision(cosines, positive, 0.9) is None
    assert cutoffs.for_precision(np.linspace(0, 1, 900), np.zeros(900, bool), 0.9) is None


def test_as_many_pairs_as_are_needed_are_enough() -> None:
    n, cosines = cutoffs.needed(0.95, 120), np.linspace(0, 1, 120)
    assert n < 120 and cutoffs.for_precision(cosines, np.ones(120, bool), 0.95) == 0.0
    assert cutoffs.for_precision(cosines[: n // 2], np.ones(n // 2, bool), 0.95) is None


def test_equal_cosines_are_on_one_side() -> None:
    cosines = np.repeat([0.2, 0.8], 300)
    for cutoff in (cutoffs.for_precision, cutoffs.for_recall):
        assert cutoff(cosines, cosines > 0.5, 0.9) == 0.8


def test_a_cosine_on_another_scale_is_translated() -> None:
    rng = np.random.default_rng(1)
    first = rng.random(4000)
    positive = rng.random(4000) < first
    for cutoff in (0.3, 0.5, 0.85):
        there = cutoffs.translated(cutoff, first, first / 2 + 0.3, positive)
        assert there == pytest.approx(cutoff / 2 + 0.3, abs=0.02)
    assert cutoffs.translated(1.1, first, first, positive) is None
    assert cutoffs.translated(0.999, first, np.zeros(4000), positive) is None


# --- the best threshold of a pair task ---


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
