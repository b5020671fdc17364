"""Correlations, averages and resamples against scipy and by hand."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score

from tests.engine.samples import pairs
from theodolite.engine.stats.betting import Observations, confidence_sequence, log_capital
from theodolite.engine.stats.bootstrap import (
    Sample,
    average,
    bootstrap,
    main_sample,
    pearson,
    ranks,
    spearman,
)


@pytest.mark.parametrize("steps", [None, 20, 2])
def test_correlations_are_those_of_scipy(steps: int | None) -> None:
    """With few or many ties, to 1e-12."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=500) if steps is None else np.round(rng.normal(size=500) * steps)
    y = rng.normal(size=500) + 0.3 * x
    expected = stats.spearmanr(x, y).statistic, stats.pearsonr(x, y).statistic
    assert (spearman(x, y), pearson(x, y)) == pytest.approx(expected, abs=1e-12)
    np.testing.assert_array_equal(ranks(x), stats.rankdata(x))
    none = spearman(np.ones(5), np.arange(5)), pearson(np.array([1.0]), np.array([2.0]))
    assert np.isnan(none).all()


def test_averages() -> None:
    """A missing task never counts; SimCSE rounds each score to 2 decimals, then their mean."""
    two = average({"A": 50.0, "B": 70.0, "other": 1.0}, ["A", "B", "C"])
    assert (two.score, two.label, average({}, ["A"]).score) == (60.0, "2 of 3 tasks", None)
    scores = {"A": 0.006, "B": 0.008}
    means = [average(scores, ["A", "B"], rounded=rounded).score for rounded in (True, False)]
    assert means == [0.01, pytest.approx(0.007)]


KEPT: dict[str, Callable[[np.ndarray, np.ndarray], tuple[dict[str, Any], dict[str, Any]]]] = {
    "spearman": lambda values, gold: (
        {"cosine": values, "gold": gold, "part": np.zeros(len(gold), np.int16)},
        {"main_parts": [0]},
    ),
    "pearson": lambda values, gold: (
        {"predicted": values, "gold": gold},
        {"selected_by": "pearson"},
    ),
    "average_precision": lambda values, gold: (
        {"similarity": values, "label": gold > 2},
        {"by": "cosine"},
    ),
}
SCORED = {
    "spearman": lambda values, gold: stats.spearmanr(values, gold).statistic,
    "pearson": lambda values, gold: stats.pearsonr(values, gold).statistic,
    "average_precision": lambda values, gold: average_precision_score(gold > 2, values),
}


@pytest.mark.parametrize("digits", [1, 8])
@pytest.mark.parametrize("statistic", SCORED)
def test_each_resample_is_scored_as_scipy_would(statistic: str, digits: int) -> None:
    """The drawn examples, duplicates and ties included, by what a result keeps."""
    given = pairs(200, 1.0, seed=1)
    values, gold, score = given.values.round(digits), given.gold, SCORED[statistic]
    sample = main_sample(*KEPT[statistic](values, gold))
    assert sample.statistic == pytest.approx(100 * score(values, gold))
    drawn = np.random.default_rng(5).integers(0, 200, size=(4, 200))
    expected = [100 * score(values[rows], gold[rows]) for rows in drawn]
    np.testing.assert_allclose(bootstrap(sample, 4, seed=5), expected, atol=1e-9)


def test_the_main_sample_is_the_part_of_the_main_score() -> None:
    """STS-B: the test split only; a year: all of its subsets."""
    examples = {
        "cosine": np.array([0.1, 0.2, 0.3, 0.4]),
        "gold": np.array([1.0, 2.0, 3.0, 4.0]),
        "part": np.array([0, 1, 1, 0], dtype=np.int16),
    }
    assert main_sample(examples, {"main_parts": [1]}).values.tolist() == [0.2, 0.3]
    assert main_sample(examples, {"main_parts": [0, 1]}).gold.tolist() == [1, 2, 3, 4]
    for name, kept, score in (("correct", [True, False], 50.0), ("token_f1", [0.5, 1.0], 75.0)):
        assert main_sample({name: np.array(kept)}, {}).statistic == score
    draws = bootstrap(Sample(np.array([1.0, 2, 0]), clusters=np.array([[0, 0], [1, 0], [0, 1]])))
    assert np.isnan(draws).any(), "a resample may draw none of the examples"


# --- confidence sequences by betting ---


def test_a_game_worked_by_hand() -> None:
    """Nothing is bet before anything is seen; after a 1, three fifths on more of them.

    The guess of 1/2 counts twice: the mean is guessed at 2/3, its gap to 1/2 is 1/6, the variance
    1/4, so the bet is (1/6) / (1/4 + 1/36) = 0.6, and another 1 makes 1 + 0.6 * 0.5 of 1.
    """
    seen = Observations.between(np.array([1.0, 1.0]), 0.0, 1.0)
    assert np.exp(log_capital(seen, np.array([0.5]))[:, 0]) == pytest.approx([1.0, 1.3])


@pytest.mark.parametrize("mean", [0.2, 0.5, 0.9])
def test_at_the_true_mean_no_bet_wins(mean: float) -> None:
    """Over all sequences of nine coins the expected capital is 1 after each."""
    total = np.zeros(9)
    for coins in itertools.product([0.0, 1.0], repeat=9):
        values = np.array(coins)
        chance = np.prod(np.where(values > 0, mean, 1 - mean))
        seen = Observations.between(values, 0.0, 1.0)
        total += chance * np.exp(log_capital(seen, np.array([mean]))[:, 0])
    assert total == pytest.approx(np.ones(9), abs=1e-9)


def test_it_narrows_with_the_variance() -> None:
    """Observations that vary little give a narrower interval, as no bound by the range would."""
    rng = np.random.default_rng(0)
    widths = []
    for a, b in ((1.0, 1.0), (10.0, 10.0)):
        low, high = confidence_sequence(Observations.between(rng.beta(a, b, 300), 0.0, 1.0), 0.05)
        widths.append(high[-1] - low[-1])
    assert widths[1] < 0.55 * widths[0] < 0.1


def test_a_bound_alone_excludes() -> None:
    """A mean below what can be observed is impossible."""
    seen = Observations(np.array([0.5]), np.array([0.4]), np.array([0.6]), np.array([0.01]))
    assert np.isinf(log_capital(seen, np.array([0.3, 0.7]))).all()
    low, high = confidence_sequence(seen, 0.05)
    assert low[0] == pytest.approx(0.4, abs=0.002) and high[0] == pytest.approx(0.6, abs=0.002)
    nothing = confidence_sequence(Observations.between(np.empty(0), 0.0, 1.0), 0.05)
    assert [len(side) for side in nothing] == [0, 0]
