"""Correlations, averages and resamples against scipy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score

from tests.engine.samples import pairs
from theodolite.engine.stats.bootstrap import (
    Sample,
    average,
    average_precision,
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
    x, y = rng.normal(size=500), rng.normal(size=500)
    x = x if steps is None else np.round(x * steps)
    y = y + 0.3 * x
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    np.testing.assert_array_equal(ranks(x), stats.rankdata(x))
    assert np.isnan(spearman(np.ones(5), np.arange(5)))
    assert np.isnan(pearson(np.array([1.0]), np.array([2.0])))


def test_averages() -> None:
    """A missing task never counts; SimCSE rounds each score to 2 decimals, then their mean."""
    two = average({"A": 50.0, "B": 70.0, "other": 1.0}, ["A", "B", "C"])
    assert (two.score, two.label) == (60.0, "2 of 3 tasks")
    assert average({}, ["A"]).score is None
    scores = {"A": 0.006, "B": 0.008}
    assert average(scores, ["A", "B"], rounded=True).score == 0.01
    assert average(scores, ["A", "B"]).score == pytest.approx(0.007)


def test_each_resample_is_scored_as_scipy_would() -> None:
    """The counting of ranks gives spearmanr of the drawn pairs, duplicates and ties included."""
    sample = pairs(200, 1.0, seed=1)
    sample = Sample(np.round(sample.values, 1), sample.gold)
    drawn = np.random.default_rng(5).integers(0, 200, size=(4, 200))
    expected = [100 * stats.spearmanr(sample.values[i], sample.gold[i]).statistic for i in drawn]
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
    assert main_sample({"correct": np.array([True, False])}, {}).statistic == 50.0
    assert main_sample({"token_f1": np.array([0.5, 1.0])}, {}).statistic == 75.0


def test_learned_relatedness_is_resampled_by_its_own_correlation() -> None:
    """Pearson where the regressor was selected by Pearson; scipy on the drawn pairs agrees."""
    rng = np.random.default_rng(0)
    gold = rng.normal(size=40)
    examples = {"predicted": gold + rng.normal(size=40), "gold": gold}
    sample = main_sample(examples, {"selected_by": "pearson"})
    expected = 100 * stats.pearsonr(examples["predicted"], gold).statistic
    assert sample.statistic == pytest.approx(expected)
    found = bootstrap(sample, resamples=3, seed=0)
    drawn = np.random.default_rng(0).integers(0, 40, size=(3, 40))
    for value, rows in zip(found, drawn, strict=True):
        expected = 100 * stats.pearsonr(sample.values[rows], gold[rows]).statistic
        assert value == pytest.approx(expected)


@pytest.mark.parametrize("digits", [1, 8])
def test_average_precision_of_resamples(digits: int) -> None:
    """With ties and without."""
    rng = np.random.default_rng(0)
    values, right = rng.normal(size=400).round(digits), rng.integers(0, 2, 400)
    times = rng.multinomial(400, np.full(400, 1 / 400), size=5)
    expected = [
        average_precision_score(np.repeat(right, of), np.repeat(values, of)) for of in times
    ]
    np.testing.assert_allclose(average_precision(values, right, times.astype(float)), expected)


def test_pairs_are_resampled_by_average_precision() -> None:
    """A result's values per example give its score, and an interval around it."""
    rng = np.random.default_rng(1)
    right = rng.integers(0, 2, 300)
    examples = {"similarity": right + rng.normal(size=300), "label": right.astype(bool)}
    sample = main_sample(examples, {"by": "cosine"})
    expected = 100 * average_precision_score(right, examples["similarity"])
    assert sample.statistic == pytest.approx(expected)
    low, high = np.percentile(bootstrap(sample, 400), [2.5, 97.5])
    assert low < expected < high < low + 15
