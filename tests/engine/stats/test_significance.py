"""Paired tests, Holm's correction and tie groups against scipy, by hand and on simulated data."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from tests.engine.samples import pairs, resample, right
from theodolite.engine.stats.bootstrap import Resampled, Sample, resample_all
from theodolite.engine.stats.choice import choose
from theodolite.engine.stats.gate import gate
from theodolite.engine.stats.ranks import rank_intervals
from theodolite.engine.stats.significance import (
    Difference,
    difference,
    differences,
    holm,
    mcnemar,
    mean_draws,
    pairwise,
    pairwise_mcnemar,
    tie_groups,
)


def all_ties(drawn: list[Resampled]) -> list[list[int]]:
    """Groups by the paired bootstrap, of places in the list."""
    return tie_groups([one.statistic for one in drawn], pairwise([[one] for one in drawn]))


def paired(a: Sample, b: Sample, resamples: int = 2000, seed: int = 0) -> Difference:
    """The same examples drawn for both."""
    return difference([resample(a, resamples, seed)], [resample(b, resamples, seed)])


def answers(only_a: int, only_b: int) -> tuple[np.ndarray, np.ndarray]:
    """Who was right on examples of which so many were told apart by one alone."""
    a = [True] * only_a + [False] * only_b + [True] * 7
    return np.array(a), np.array([False] * only_a + [True] * only_b + [True] * 7)


@pytest.mark.parametrize(("a", "b"), [(0, 1), (2, 9), (40, 71), (900, 1010), (4000, 4300)])
def test_mcnemar_is_the_mid_p_of_the_binomial_test(a: int, b: int) -> None:
    """That of scipy, exact and two-sided, less the probability of the outcome itself."""
    exact = stats.binomtest(a, a + b, 0.5).pvalue - stats.binom.pmf(a, a + b, 0.5)
    assert mcnemar(*answers(a, b)) == mcnemar(*answers(b, a)) == pytest.approx(exact)


def test_mcnemar_looks_at_what_differs() -> None:
    """What both have right says nothing; as many on either side is no difference."""
    assert mcnemar(*answers(3, 3)) == mcnemar(*answers(0, 0)) == 1.0


def test_mcnemar_by_cluster_by_hand() -> None:
    """Every answer given twice: 14 against 4 are 7 against 2 of twice the weight."""
    one, other = np.r_[np.ones(7), np.zeros(2)] > 0, np.r_[np.zeros(7), np.ones(2)] > 0
    twice, pairs = [np.repeat(side, 2) for side in (one, other)], np.repeat(np.arange(9), 2)
    assert mcnemar(*twice, pairs) == pytest.approx(mcnemar(one, other))
    assert mcnemar(*twice) < mcnemar(*twice, pairs) / 2
    # Two that cancel in each cluster do not make the rest surer than independent examples.
    assert mcnemar(one, other, np.r_[0, 1, 2, 3, 4, 5, 6, 0, 1]) == mcnemar(one, other)
    assert mcnemar(one, other, np.r_[0, 0, 1, 1, 2, 3, 4, 5, 6]) > mcnemar(one, other)


def test_mcnemar_of_all_pairs_is_that_of_each(rng: np.random.Generator) -> None:
    """Also of equals, and of examples in two clusters, of which one may be the same for all."""
    right = rng.random((5, 60)) < np.array([[0.5], [0.6], [0.7], [0.9], [0.9]])
    right[4] = right[3]
    one_each = np.r_[np.arange(20), rng.integers(0, 20, 40)]
    two_each = np.r_[np.arange(40), rng.integers(0, 40, 80)].reshape(60, 2)
    for codes in (None, one_each, two_each):
        p = pairwise_mcnemar(right, codes)
        alone = [mcnemar(right, right[other], codes) for other in range(5)]
        for a, b in combinations(range(5), 2):
            assert p[a, b] == p[b, a] == pytest.approx(float(mcnemar(right[a], right[b], codes)))
            assert alone[b][a] == pytest.approx(p[a, b])
        assert p[3, 4] == 1.0


NINE = Sample(np.arange(9.0), np.arange(9.0))
CLUSTERED = Sample(np.arange(9.0), np.arange(9.0), clusters=np.arange(9) // 3)


@pytest.mark.parametrize(
    "compare",
    [
        lambda: mcnemar(np.ones(3, bool), np.ones(4, bool)),
        lambda: paired(pairs(50, 1.0, seed=1), pairs(51, 1.0, seed=1)),
        lambda: mean_draws([[resample(NINE)], [resample(Sample(np.zeros(8)))]]),
        lambda: resample_all([NINE, Sample(np.zeros(8))]),
        lambda: resample_all([CLUSTERED, NINE]),
        lambda: resample_all([CLUSTERED, replace(CLUSTERED, clusters=np.arange(9) % 3)]),
    ],
)
def test_only_the_same_examples_are_compared(compare: Callable[[], object]) -> None:
    """Equally many, in the same clusters."""
    with pytest.raises(ValueError, match="same examples"):
        compare()


def correlation(cosines: np.ndarray, gold: np.ndarray, axis: int = -1) -> np.ndarray:
    """Spearman's: of scipy's ranks, those of many resamples at once."""
    x, y = (stats.zscore(stats.rankdata(side, axis=axis), axis=axis) for side in (cosines, gold))
    return (x * y).mean(axis)


def by_scipy(score, resamples: int, *values: np.ndarray) -> np.ndarray:
    """The ends of its paired percentile bootstrap of a difference, in points."""
    found = stats.bootstrap(
        values,
        lambda x, y, *gold, axis: 100 * (score(x, *gold, axis=axis) - score(y, *gold, axis=axis)),
        paired=True,
        method="percentile",
        n_resamples=resamples,
        rng=1,
    )
    return np.array(found.confidence_interval)


def test_the_interval_is_that_of_scipy(rng: np.random.Generator) -> None:
    """scipy.stats.bootstrap, of accuracies and of two Spearman correlations with one gold."""
    right = (rng.random(150) < 0.8).astype(float)
    other = np.where(rng.random(150) < 0.8, right, 1 - right)
    found = paired(Sample(right), Sample(other), resamples=20_000)
    expected = by_scipy(np.mean, 20_000, right, other)
    assert (found.low, found.high) == pytest.approx(expected, abs=0.4)
    a, b = pairs(80, 1.0, seed=1), pairs(80, 2.0, seed=2)
    found = paired(a, b, resamples=10_000)
    expected = by_scipy(correlation, 3000, a.values, b.values, a.gold)
    assert (found.low, found.high) == pytest.approx(expected, abs=0.08 * np.ptp(expected))


def test_a_point_an_equal_and_the_other_side() -> None:
    """A right on all four, B on none: every resample says 100, so the interval is that point."""
    exact = Difference(100.0, 100.0, 100.0, 2 / 2**4, 4, "a")  # p as of the exact test
    assert paired(Sample(np.ones(4)), Sample(np.zeros(4)), resamples=99) == exact
    a, b = pairs(500, 0.5, seed=1), pairs(500, 2.0, seed=2)
    assert paired(a, a) == Difference(0.0, 0.0, 0.0, 1.0, 500, "tie")
    ab, ba = paired(a, b), paired(b, a)
    assert (ab.verdict, ba.verdict) == ("a", "b")
    assert (ab.low, ab.high) == pytest.approx((-ba.high, -ba.low))
    # The last bits of the same values all point the same way; of one example nothing is known.
    values = np.random.default_rng(0).random(100)
    assert paired(Sample(values), Sample(values - 1e-12)).p == 1.0


@pytest.mark.parametrize(
    "clusters", [None, np.zeros(40, np.int64)], ids=["one example", "one cluster"]
)
@pytest.mark.parametrize("correlates", [False, True])
def test_of_a_single_independent_example_nothing_is_known(
    clusters: np.ndarray | None, correlates: bool
) -> None:
    """The variance of one number is 0 / 0: no interval, no verdict, and every rank is possible."""
    n = 1 if clusters is None else len(clusters)
    gold = np.arange(float(n)) if correlates else None
    values = {"good": np.linspace(0.0, 1.0, n), "bad": -np.linspace(0.0, 1.0, n)}
    samples = {name: Sample(one, gold, clusters=clusters) for name, one in values.items()}
    drawn = {name: [resample(one)] for name, one in samples.items()}
    found = difference(*drawn.values())
    assert np.isnan([found.low, found.high]).all() and (found.p, found.verdict) == (1.0, "tie")
    ranked = rank_intervals(drawn, over_tasks=False)
    assert [(row.low, row.high) for row in ranked] == [(1, 2), (1, 2)]
    chosen = choose(samples)
    assert chosen.ties == (chosen.names[1],) and not chosen.apart
    assert np.isnan([chosen.intervals[name][1:] for name in samples]).all()


def test_all_pairs_at_once_are_the_pairs_one_by_one(rng: np.random.Generator) -> None:
    """The same p-values: of correlations, of equals, and where a draw is nan."""
    gold = rng.random(30)
    drawn = [
        resample(Sample(gold + noise * rng.normal(size=30), gold), 500)
        for noise in (0.1, 0.3, 1, 1)
    ]
    rare, flat = np.r_[np.zeros(26), rng.random(4)], np.zeros(30)
    drawn += [drawn[1], *(resample(Sample(values, gold), 500) for values in (rare, flat))]
    assert np.isnan(drawn[-2].draws).any() and np.isnan(drawn[-1].statistic)
    p = pairwise([[one] for one in drawn])
    for a, b in combinations(range(len(drawn)), 2):
        assert p[a, b] == p[b, a] == pytest.approx(difference([drawn[a]], [drawn[b]]).p, rel=1e-6)
    against = differences([[one] for one in drawn], [drawn[0]])
    alone = [difference([one], [drawn[0]]) for one in drawn]
    assert [str(one) for one in against] == [str(one) for one in alone]  # of nan, too


@pytest.mark.parametrize("correlation", ["spearman", "pearson", None])
def test_encoders_resampled_together_are_those_resampled_alone(
    correlation, rng: np.random.Generator
) -> None:
    """To the digit: with ties, without spread, and with golds of their own."""
    gold = None if correlation is None else rng.integers(0, 6, 40) / 2
    values = [rng.random(40), rng.integers(0, 3, 40), np.zeros(40), rng.integers(0, 2, 40)]
    samples = [Sample(v.astype(float), gold, correlation or "spearman") for v in values]
    own = [] if gold is None else [Sample(values[0], rng.random(40), correlation)]
    for sample, together in zip(samples + own, resample_all(samples + own, 300, 5), strict=True):
        assert np.array_equal(together.draws, resample(sample, 300, 5).draws, equal_nan=True)


@pytest.mark.parametrize("k", [11, 30])
def test_many_encoders_can_still_differ(k: int) -> None:
    """Holm's correction over 55 or 435 pairs needs p-values that no share of 2,000 draws can be."""
    alike = [pairs(400, 1.0, i) for i in range(k - 1)]
    worse = pairs(400, 20.0, 99)
    assert all_ties(resample_all([*alike, worse]))[-1] == [k - 1]


@pytest.mark.parametrize("effect", [0.03, 0.1, 0.3, 0.6])
def test_p_of_a_mean_is_that_of_the_paired_t_test(effect: float, rng: np.random.Generator) -> None:
    """By scipy's `ttest_rel`, from 0.7 to 1e-9, up to the bootstrap's noise."""
    shared, values = rng.random(120), rng.normal(0, 0.1, (2, 120))
    a, b = shared + values[0] + 0.1 * effect, shared + values[1]
    expected = stats.ttest_rel(a, b)
    p = paired(Sample(a), Sample(b), resamples=4000).p
    z, theirs = stats.norm.isf([p / 2, expected.pvalue / 2])
    assert z == pytest.approx(theirs, rel=0.04)


def test_p_of_a_correlation_is_that_of_the_permutation_test() -> None:
    """scipy's, which swaps the ranks of the two encoders' cosines on each pair."""
    a, b = pairs(150, 1.0, seed=1), pairs(150, 1.4, seed=2)
    expected = stats.permutation_test(
        (stats.rankdata(a.values), stats.rankdata(b.values)),
        lambda x, y, axis: correlation(x, a.gold, axis) - correlation(y, a.gold, axis),
        vectorized=True,
        permutation_type="samples",
        n_resamples=600,
        rng=1,
    ).pvalue
    assert 0.01 < expected < 0.3
    assert paired(a, b).p == pytest.approx(expected, abs=0.04)


def test_p_of_a_mean_over_tasks_is_that_of_welch(rng: np.random.Generator) -> None:
    """Two tasks of very different sizes: scipy's `ttest_ind` of one against the other, negated."""
    few, many = rng.normal(0.3, 0.5, 12), rng.normal(0.3, 0.5, 400)
    drawn = [
        resample_all([Sample(values), Sample(0 * values)], seed=k)
        for k, values in enumerate((few, many))
    ]
    suites = [[task[encoder] for task in drawn] for encoder in (0, 1)]
    expected = stats.ttest_ind(few, -many, equal_var=False).pvalue
    assert pairwise(suites)[0, 1] == pytest.approx(expected, rel=0.25)
    assert difference(*suites).p == pytest.approx(pairwise(suites)[0, 1])


@pytest.mark.parametrize(("k", "shape"), [(11, "bounded"), (11, "rare"), (30, "bounded")])
def test_encoders_that_are_equally_good_tie(k: int, shape: str) -> None:
    """Some pair of them differs in at most 5 % of simulated sets, within the binomial bound."""
    trials, wrong, changed = 100, 0, {"bounded": 0.3, "rare": 0.05}[shape]
    for trial in range(trials):
        rng = np.random.default_rng([trial, k])
        shared, own = rng.beta(0.3, 0.3, 100), rng.beta(0.3, 0.3, (k, 100))
        values = np.where(rng.random((k, 100)) < changed, own, shared)
        wrong += len(all_ties(resample_all([Sample(mine) for mine in values], 500, trial))) > 1
    assert wrong <= stats.binom.ppf(0.999, trials, 0.05)


def test_the_difference_of_averages() -> None:
    """The mean of the tasks' differences; tasks are drawn apart, so their noise averages out."""
    a = [pairs(200, 1.0, seed) for seed in (1, 2, 3, 4)]
    b = [pairs(200, 1.2, seed) for seed in (5, 6, 7, 8)]
    found = difference(*([resample(x, seed=k) for k, x in enumerate(side)] for side in (a, b)))
    singles = [paired(x, y) for x, y in zip(a, b, strict=True)]
    assert found.delta == pytest.approx(np.mean([single.delta for single in singles]))
    alike = difference(*([resample(x, seed=k) for k in range(4)] for x in (a[0], b[0])))
    width = singles[0].high - singles[0].low
    assert alike.high - alike.low == pytest.approx(width / 2, rel=0.15)


def test_tie_groups_by_hand() -> None:
    """B ties with A and C with B, but C not with A: C opens a group of its own."""
    c, a, b = 0, 1, 2
    p = np.array([[1, 0.001, 0.5], [0.001, 1, 0.5], [0.5, 0.5, 1]])
    assert tie_groups([70.0, 90.0, 80.0], p) == [[a, b], [c]]
    # 0.02 alone would tell them apart; as the smallest of three it becomes 0.06.
    p = np.array([[1, 0.02, 0.9], [0.02, 1, 0.9], [0.9, 0.9, 1]])
    assert tie_groups([2.0, 1.0], p[:2, :2]) == [[0], [1]]
    assert tie_groups([3.0, 2.0, 1.0], p) == [[0, 1, 2]]
    assert tie_groups([2.0, 1.0], np.full((2, 2), 0.5), 0.5) == [[0, 1]], "below the level alone"
    # 0.01 * 3; 0.02 * 2; 0.03 * 1 but not below the one before; order kept.
    for given, corrected in (([0.03, 0.01, 0.02], [0.04, 0.03, 0.04]), ([0.6, 0.9], [1.0, 1.0])):
        assert holm(given) == pytest.approx(corrected)


# --- the three verdicts of a gate ---


def test_a_loss_is_tested_as_scipy_tests_it() -> None:
    """The mid-p of the one-sided sign test of the examples that differ, all tasks together."""
    lost = stats.binomtest(10, 10, 0.5, alternative="greater").pvalue / 2
    pair = right(200, 20), right(200, 30)
    (alone,), (first, *_) = gate([pair], 1.0), gate([pair, (right(200, 0),) * 2] * 3, 1.0)
    assert (alone.verdict, first.verdict) == ("worse", "worse")
    assert (alone.change.delta, alone.p, first.p) == pytest.approx((-5.0, lost, 6 * lost))


def test_too_few_examples_say_how_many_more() -> None:
    (one,) = gate([(right(500, 50), right(500, 50, 6))], least=1.0)
    (hopeless,) = gate([(right(20, 10), right(20, 10, 5))], least=0.0)
    assert one.verdict == hopeless.verdict == "unclear"
    assert one.more > 50 and hopeless.more is None
    # A loss of 4 points amid other changes: what would show it is no more of an all-clear.
    (lost,) = gate([(right(200, 25), right(200, 33, 12))], least=1.0)
    assert lost.verdict == "unclear" and 100 < lost.more < 2000


def test_no_change_a_gain_and_a_small_loss_are_fine() -> None:
    (same,) = gate([(right(20, 5), right(20, 5))], least=0.0)
    assert (same.verdict, same.change.delta, same.p) == ("fine", 0.0, 0.5)
    others = [(right(200, 40), right(200, 20)), (right(9000, 900), right(9000, 910))]
    assert [one.verdict for one in gate(others, least=1.0)] == ["fine", "fine"]
