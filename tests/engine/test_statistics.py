"""Correlations, averages and paired tests against scipy, by hand and on simulated data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from engine.statistics import (
    Sample,
    average,
    average_difference,
    bootstrap,
    holm,
    main_sample,
    paired_bootstrap,
    pearson,
    ranks,
    spearman,
    tie_groups,
)


def pairs(n: int, noise: float, seed: int) -> Sample:
    """Simulated cosines: one gold of 0 to 5 in steps, seen through noise."""
    gold = np.round(np.random.default_rng(0).uniform(0, 5, n) * 4) / 4
    return Sample(gold + np.random.default_rng(seed).normal(0, noise, n), gold)


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


def test_a_constant_has_no_correlation() -> None:
    """nan, without a warning."""
    assert np.isnan(spearman(np.ones(5), np.arange(5)))
    assert np.isnan(pearson(np.array([1.0]), np.array([2.0])))


def test_an_average_never_counts_a_missing_task() -> None:
    """Two of three tasks: their mean, said so, and not comparable with a mean of three."""
    two = average({"A": 50.0, "B": 70.0, "other": 1.0}, ["A", "B", "C"])
    three = average({"A": 50.0, "B": 70.0, "C": 60.0}, ["A", "B", "C"])
    assert (two.score, two.label) == (60.0, "2 of 3 tasks")
    assert not two.comparable(three)
    assert two.comparable(average({"B": 1.0, "A": 2.0}, ["A", "B", "C"]))


def test_an_average_of_nothing_is_no_number() -> None:
    """None, and comparable with nothing, itself included."""
    empty = average({}, ["A"])
    assert empty.score is None
    assert not empty.comparable(empty)


def test_rounding_as_simcse_prints() -> None:
    """evaluation.py rounds each score to 2 decimals, then their mean: here 0.01 more."""
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


def test_the_interval_is_that_of_scipy() -> None:
    """scipy.stats.bootstrap, paired, percentile, on accuracies: within the noise of resampling."""
    rng = np.random.default_rng(11)
    right = (rng.random(150) < 0.8).astype(float)
    other = np.where(rng.random(150) < 0.8, right, 1 - right)
    found = paired_bootstrap(Sample(right), Sample(other), resamples=20_000)
    expected = stats.bootstrap(
        (right, other), lambda x, y, axis: 100 * (x.mean(axis) - y.mean(axis)),
        paired=True, method="percentile", n_resamples=20_000, rng=1,
    ).confidence_interval  # fmt: skip
    assert found.low == pytest.approx(expected.low, abs=0.4)
    assert found.high == pytest.approx(expected.high, abs=0.4)


def test_the_interval_of_a_correlation_is_that_of_scipy() -> None:
    """The same for the difference of two Spearman correlations with one gold."""
    a, b = pairs(80, 1.0, seed=1), pairs(80, 2.0, seed=2)

    def difference(x: np.ndarray, y: np.ndarray, gold: np.ndarray) -> float:
        return 100 * (stats.spearmanr(x, gold).statistic - stats.spearmanr(y, gold).statistic)

    expected = stats.bootstrap(
        (a.values, b.values, a.gold), difference,
        paired=True, vectorized=False, method="percentile", n_resamples=3000, rng=1,
    ).confidence_interval  # fmt: skip
    found = paired_bootstrap(a, b, resamples=10_000)
    width = expected.high - expected.low
    assert found.low == pytest.approx(expected.low, abs=0.08 * width)
    assert found.high == pytest.approx(expected.high, abs=0.08 * width)


def test_by_hand_every_example_differs() -> None:
    """A right on all four, B on none: every resample says 100, so the interval is that point."""
    found = paired_bootstrap(Sample(np.ones(4)), Sample(np.zeros(4)), resamples=99)
    assert (found.delta, found.low, found.high) == (100.0, 100.0, 100.0)
    assert found.p == pytest.approx(2 / 100)
    assert found.words("A", "B") == "A is better"


def test_an_encoder_ties_with_itself() -> None:
    """No difference, p of 1."""
    sample = pairs(100, 1.0, seed=4)
    found = paired_bootstrap(sample, sample)
    assert (found.delta, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)
    assert found.words("A", "B") == "no real difference"


def test_the_verdict_turns_with_the_sides() -> None:
    """Swapping A and B mirrors the interval and the verdict."""
    a, b = pairs(500, 0.5, seed=1), pairs(500, 2.0, seed=2)
    ab, ba = paired_bootstrap(a, b), paired_bootstrap(b, a)
    assert (ab.verdict, ba.verdict) == ("a", "b")
    assert (ab.low, ab.high) == pytest.approx((-ba.high, -ba.low))


@pytest.mark.parametrize("kind", ["correlation", "accuracy"])
def test_coverage(kind: str) -> None:
    """Equally good encoders: the 95 % interval holds 0 in about 95 of 100 simulated sets."""
    held, trials = 0, 300
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        gold = rng.normal(size=120) if kind == "correlation" else None
        values = rng.normal(size=(2, 120)) + (gold if gold is not None else 0.0)
        values = values if gold is not None else (values > -0.5).astype(float)
        found = paired_bootstrap(
            Sample(values[0], gold), Sample(values[1], gold), resamples=400, seed=trial
        )
        held += found.low <= 0.0 <= found.high
    assert 0.90 <= held / trials <= 0.985


def test_different_examples_are_refused() -> None:
    """Another number of examples, or another gold."""
    a = pairs(50, 1.0, seed=1)
    with pytest.raises(ValueError, match="same examples"):
        paired_bootstrap(a, pairs(51, 1.0, seed=1))
    with pytest.raises(ValueError, match="same gold"):
        paired_bootstrap(a, Sample(a.values, a.gold + 1))


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


def test_holm_by_hand() -> None:
    """0.01 * 3; 0.02 * 2; 0.03 * 1 but not below the one before; order kept."""
    assert holm([0.03, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.6, 0.9]) == pytest.approx([1.0, 1.0])


def test_tie_groups_best_first() -> None:
    """Two good encoders that differ by nothing real, and one that is clearly worse."""
    samples = {"poor": pairs(600, 6.0, 1), "good": pairs(600, 1.0, 2), "equal": pairs(600, 1.02, 3)}
    groups = tie_groups(samples)
    assert [set(group) for group in groups] == [{"good", "equal"}, {"poor"}]


def test_many_encoders_can_still_differ() -> None:
    """Holm over 78 pairs needs small p-values: enough resamples are drawn to reach them."""
    samples = {f"e{k}": pairs(400, 1.0, k) for k in range(12)} | {"bad": pairs(400, 20.0, 99)}
    assert tie_groups(samples)[-1] == ["bad"]


def test_the_difference_of_averages() -> None:
    """The mean of the tasks' differences; tasks are drawn apart, so their noise averages out."""
    a = [pairs(200, 1.0, seed) for seed in (1, 2, 3, 4)]
    b = [pairs(200, 1.2, seed) for seed in (5, 6, 7, 8)]
    found = average_difference(a, b)
    singles = [paired_bootstrap(x, y) for x, y in zip(a, b, strict=True)]
    assert found.delta == pytest.approx(np.mean([single.delta for single in singles]))
    alike = average_difference([a[0]] * 4, [b[0]] * 4)
    width = singles[0].high - singles[0].low
    assert alike.high - alike.low == pytest.approx(width / 2, rel=0.15)
