"""Cut-offs with a guarantee, against mapie's."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

from theodolite.engine.stats import cutoffs, thresholds

RNG = np.random.default_rng(0)
COSINES = RNG.random(600).round(4)
"""Of pairs, of which the higher more often mean the same."""
POSITIVE = RNG.random(600) < COSINES**0.5


@pytest.mark.parametrize("recall", [0.8, 0.9, 0.95, 0.99])
def test_recall_is_the_bound_of_mapies_split_conformal_regressor(recall: float) -> None:
    """A model that predicts a cosine of 1, whose errors are how much less the positives have."""
    from mapie.regression import SplitConformalRegressor
    from sklearn.dummy import DummyRegressor

    own = COSINES[POSITIVE]
    one = DummyRegressor(strategy="constant", constant=1.0).fit([[0.0]], [1.0])
    model = SplitConformalRegressor(one, confidence_level=recall, prefit=True)
    model.conformalize(np.zeros((len(own), 1)), own)
    _, bounds = model.predict_interval(np.zeros((1, 1)))
    assert cutoffs.for_recall(COSINES, POSITIVE, recall) == pytest.approx(bounds[0, 0, 0])


@pytest.mark.parametrize("precision", [0.65, 0.72, 0.78, 0.83])
def test_precision_is_controlled_as_by_mapie(precision: float) -> None:
    """The same cut-offs, corrected in the same way; mapie's bound on scipy's p-value is looser."""
    from mapie.risk_control import BinaryClassificationController

    at = cutoffs.grid(COSINES)
    control = BinaryClassificationController(
        lambda rows: np.column_stack([1 - np.ravel(rows), np.ravel(rows)]),
        "precision",
        precision,
        confidence_level=cutoffs.CONFIDENCE,
        list_predict_params=at,
        fwer_method="bonferroni",
    )
    control.calibrate(COSINES[:, None], POSITIVE.astype(int))
    theirs = np.asarray(control.valid_predict_params)
    above = [POSITIVE[COSINES >= cut] for cut in at]
    p = [binomtest(int(s.sum()), len(s), precision, alternative="greater").pvalue for s in above]
    ours = cutoffs.for_precision(COSINES, POSITIVE, precision)
    assert ours == at[np.array(p) <= (1 - cutoffs.CONFIDENCE) / len(at)].min() <= theirs.min()
    assert precision < POSITIVE[COSINES >= ours].mean() < 1


ENOUGH = cutoffs.pairs_needed(0.95, 120)
UPPER_HALF = np.repeat([False, True], 300)


@pytest.mark.parametrize(
    ("cutoff", "cosines", "positive", "share", "expected"),
    [
        (cutoffs.for_recall, np.linspace(0, 1, 18), np.ones(18, bool), 0.95, None),
        (cutoffs.for_recall, np.linspace(0, 1, 19), np.ones(19, bool), 0.95, 0.0),
        (cutoffs.for_precision, np.linspace(0, 1, 18), np.ones(18, bool), 0.9, None),
        (cutoffs.for_precision, np.linspace(0, 1, 900), np.zeros(900, bool), 0.9, None),
        # As many pairs as are needed are enough.
        (cutoffs.for_precision, np.linspace(0, 1, 120), np.ones(120, bool), 0.95, 0.0),
        (
            cutoffs.for_precision,
            np.linspace(0, 1, 120)[: ENOUGH // 2],
            np.ones(ENOUGH // 2, bool),
            0.95,
            None,
        ),
        # What is read, in four decimals, is what holds.
        (cutoffs.for_recall, np.linspace(0.19867, 1, 19), np.ones(19, bool), 0.95, 0.1986),
        (cutoffs.for_precision, np.linspace(0.19863, 1, 900), np.ones(900, bool), 0.9, 0.1987),
        # Equal cosines are on one side.
        (cutoffs.for_precision, np.repeat([0.2, 0.8], 300), UPPER_HALF, 0.9, 0.8),
        (cutoffs.for_recall, np.repeat([0.2, 0.8], 300), UPPER_HALF, 0.9, 0.8),
    ],
)
def test_too_few_pairs_guarantee_nothing(
    cutoff: Callable[..., float | None],
    cosines: np.ndarray,
    positive: np.ndarray,
    share: float,
    expected: float | None,
) -> None:
    assert cutoff(cosines, positive, share) == expected and ENOUGH < 120


def test_a_cosine_on_another_scale_is_translated(rng: np.random.Generator) -> None:
    first = rng.random(4000)
    positive = rng.random(4000) < first
    for cutoff in (0.3, 0.5, 0.85):
        there = cutoffs.translate(cutoff, first, first / 2 + 0.3, positive)
        assert there == pytest.approx(cutoff / 2 + 0.3, abs=0.02)
    assert cutoffs.translate(1.1, first, first, positive) is None
    assert cutoffs.translate(0.999, first, np.zeros(4000), positive) is None


# --- the best threshold of a pair task ---


@pytest.mark.parametrize("n", [1, 2, 30, 90])
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
    none = thresholds.sweep(cosines, np.zeros(n, bool))  # then the best is to call none positive
    assert none.best().threshold > cosines.max()
    assert (none.best().accuracy, none.best("f1").f1) == (1.0, 0.0)
