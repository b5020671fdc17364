"""Which differences between encoders are significant.

Paired tests on the same examples: a t-test with the bootstrap's standard error for every kind of
score, McNemar's test for examples that are right or wrong; Holm's correction for several tests at
once. A share of the resamples cannot be told from 0 where it matters: 2,000 of them resolve nothing
below 0.001, and 11 encoders are 55 tests. So p-values are those of the t-test. Pure functions from
arrays to numbers; knows neither encoders nor data sets.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from theodolite.engine.stats.bootstrap import Resampled

LEVEL = 0.95
ROUNDING = 1e-6
"""Differences up to this many points are rounding errors."""


def interval(
    draws: np.ndarray, units: Sequence[float], level: float = LEVEL
) -> tuple[np.ndarray, np.ndarray]:
    """Percentile intervals, as wide as Student's t asks for where there are few examples.

    The expanded percentile interval: Hesterberg 2015, "What Teachers Should Know About the
    Bootstrap", The American Statistician 69, section 4.2. Without it, 95 % of 20 examples are 92 %.

    Args:
        draws: float64 (k, resamples), of k scores or differences; nan is left out.
        units: number of independent examples of each task whose mean this is.
        level: of confidence.

    Returns:
        Two of float64 (k,), nan where all draws are or a task has nothing independent.
    """
    far = reach(units, level)
    if math.isnan(far):
        return np.full(len(draws), np.nan), np.full(len(draws), np.nan)
    tail = 100.0 * NormalDist().cdf(-far)
    low, high = _percentiles(draws, [tail, 100.0 - tail])
    return low, high


def reach(units: Sequence[float], level: float = LEVEL) -> float:
    """How many of the bootstrap's standard errors an interval reaches, by Student's t.

    nan where a task has one independent example: nothing is known of how its score varies.
    """
    from scipy.special import stdtrit

    freedom, factor = _student(units)
    if freedom <= 0.0:
        return math.nan
    return math.sqrt(factor) * float(stdtrit(freedom, (1.0 + level) / 2.0))


def p_values(
    apart: np.ndarray,
    errors: np.ndarray,
    units: Sequence[float],
    luck: Sequence[tuple[int, np.ndarray]] = (),
) -> np.ndarray:
    """Two-sided p-values of differences of means over tasks: Student's t-test.

    For the mean of one task this is the paired t-test, up to the noise of the standard error. Never
    below the p-value of the exact test that swaps two encoders' values on each example.

    Args:
        apart: differences in points.
        errors: standard errors of the bootstrap, of the same shape.
        units: number of independent examples of each task.
        luck: degrees of freedom and variances by luck, see `engine.stats.bootstrap`. The resamples
            have Student's t-distribution by it, whose variance is larger.

    Returns:
        float64 of the same shape; 1 where a difference is not known or has no standard error.
    """
    from scipy.special import stdtr

    freedom, factor = _student(units)
    if freedom <= 0.0:
        return np.ones(apart.shape)
    examples = factor * np.maximum(errors**2 - sum(v * of / (of - 2) for of, v in luck), 0.0)
    whole = examples + sum(v for _, v in luck)
    with np.errstate(divide="ignore", invalid="ignore"):
        fewer = whole**2 / (examples**2 / freedom + sum(v**2 / of for of, v in luck))
        freedoms = np.where(whole > 0.0, fewer, freedom)
        p = 2.0 * stdtr(freedoms, -np.abs(apart) / np.sqrt(whole))
    differ = (np.abs(apart) > ROUNDING) & ~np.isnan(p)  # false where nan
    return np.where(differ, np.clip(p, 2.0 ** (1.0 - sum(units)), 1.0), 1.0)


def _student(units: Sequence[float]) -> tuple[float, float]:
    """Degrees of freedom of a mean over tasks, and the factor its variance lacks.

    Those of Welch and Satterthwaite, if examples vary equally in all tasks; the bootstrap divides
    by n where the unbiased variance divides by n - 1.
    """
    n = np.asarray(units, dtype=np.float64)
    if n.min() < 1.0 + 1e-9:
        return 0.0, 1.0
    freedom = (1 / n).sum() ** 2 / (1 / n**2 / (n - 1)).sum()
    return float(freedom), float((1 / (n - 1)).sum() / (1 / n).sum())


def deviations(draws: np.ndarray) -> np.ndarray:
    """Standard deviation of each row, nan left out; nan for a row of nan."""
    spread = draws.std(axis=1)
    for row in np.flatnonzero(np.isnan(spread)):
        known = draws[row][~np.isnan(draws[row])]
        spread[row] = known.std() if len(known) else np.nan
    return np.asarray(spread)


def _percentiles(draws: np.ndarray, percents: Sequence[float]) -> np.ndarray:
    """Percentiles of each row, nan left out; nan for a row of nan: float64 (percents, rows)."""
    known = ~np.isnan(draws)
    percentiles = np.full((len(percents), len(draws)), np.nan)
    whole = known.all(axis=1)
    if whole.any():
        percentiles[:, whole] = np.percentile(draws[whole], percents, axis=1, overwrite_input=True)
    for row in np.flatnonzero(~whole & known.any(axis=1)):
        percentiles[:, row] = np.percentile(draws[row][known[row]], percents)
    return percentiles


@dataclass(frozen=True)
class Difference:
    """Score of A minus score of B, in points.

    Attributes:
        delta: observed difference.
        low, high: percentile interval of the paired bootstrap (`interval`).
        p: two-sided p-value of no difference, by the t-test with the bootstrap's standard error.
        n: number of examples.
        verdict: `a` or `b`, whichever is better, when the interval excludes 0, else `tie`.
    """

    delta: float
    low: float
    high: float
    p: float
    n: int
    verdict: Literal["a", "b", "tie"]


def difference(a: Sequence[Resampled], b: Sequence[Resampled], level: float = LEVEL) -> Difference:
    """Mean of A minus mean of B over the same tasks; with one task, the plain difference.

    The interval is the percentile interval of the paired bootstrap (Efron, Tibshirani 1993). For a
    year of STS the pairs are drawn from the concatenation of its subsets, which is what the `all`
    aggregation scores. Both must have been resampled on the same examples with the same seed, task
    by task, and different tasks with different seeds.

    Raises:
        ValueError: the numbers of examples differ.
    """
    return differences([a], b, level)[0]


def differences(
    suites: Sequence[Sequence[Resampled]], base: Sequence[Resampled], level: float = LEVEL
) -> list[Difference]:
    """`difference` between each of several encoders and one, all at once.

    Raises:
        ValueError: the numbers of examples differ.
    """
    if not suites:
        return []
    draws = mean_draws([*suites, base], less=base)[:-1]
    apart, units = _means(suites) - _means([base]), [part.units for part in base]
    low, high = interval(draws, units, level)
    p = p_values(apart, deviations(draws), units, _variances_by_luck(suites, base))
    results = []
    for i, delta in enumerate(apart.tolist()):
        ends = (float(low[i]), float(high[i]))
        if math.isnan(delta):
            ends = (math.nan, math.nan)
        verdict: Literal["a", "b", "tie"] = "a" if ends[0] > 0 else "b" if ends[1] < 0 else "tie"
        results.append(Difference(delta, *ends, float(p[i]), sum(x.n for x in base), verdict))
    return results


def mean_draws(
    suites: Sequence[Sequence[Resampled]],
    weights: np.ndarray | None = None,
    less: Sequence[Resampled] | None = None,
) -> np.ndarray:
    """Each encoder's mean over the same tasks on each resample: float64 (encoders, resamples).

    Args:
        suites: an encoder's results, task by task.
        weights: float64 (tasks, resamples), how often a resample has a task; None for once each.
        less: results that are subtracted from each encoder's.

    Raises:
        ValueError: the numbers of examples differ.
    """
    if len({tuple(part.n for part in suite) for suite in suites}) > 1:
        raise ValueError("a paired comparison needs the same examples for all")
    total = np.empty(())
    for task, parts in enumerate(zip(*suites, strict=True)):
        draws = np.stack([part.draws for part in parts])
        if less is not None:
            draws -= less[task].draws
        if weights is not None:
            draws *= weights[task]
        total = np.add(total, draws, out=total) if task else draws
    total /= len(suites[0])
    return total


def _means(suites: Sequence[Sequence[Resampled]]) -> np.ndarray:
    """Each encoder's mean over its tasks: float64 (encoders,)."""
    return np.array([np.mean([part.statistic for part in suite]) for suite in suites])


def mcnemar(a: np.ndarray, b: np.ndarray, clusters: np.ndarray | None = None) -> np.ndarray:
    """Two-sided p-value of McNemar's test that A and B are right equally often.

    Only discordant examples count, on which one is right and the other wrong. The mid-p version of
    the exact test, for any number of them: it keeps its level where the exact one is needlessly
    conservative, and needs no threshold below which another formula is used (Fagerland, Lydersen,
    Laake 2013, "The McNemar test for binary matched-pairs data: mid-p and asymptotic are better
    than exact conditional", BMC Medical Research Methodology 13:91).

    Examples of one cluster are not independent: the counts are divided by the design effect, the
    variance of their difference over clusters by that over examples (Rao, Scott 1992, "A simple
    method for the analysis of clustered binary data", Biometrics 48), where it is above 1.

    Args:
        a: bool (n,) or (k, n): whether encoder A, or each of several, was right on each example.
        b: bool (n,): the same for encoder B, on the same examples.
        clusters: int (n,) or (n, 2), as in `Sample`; None for independent examples.

    Returns:
        float64 () or (k,).

    Raises:
        ValueError: the numbers of examples differ.
    """
    right, other = np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)
    if right.shape[-1:] != other.shape:
        raise ValueError("a paired comparison needs the same examples for both")
    only_a, only_b = (right & ~other).sum(axis=-1), (other & ~right).sum(axis=-1)
    if clusters is None:
        return _mid_p(only_a, only_b)
    leads = sums_of_clusters(right.astype(np.float64) - other, clusters)
    squares = (leads**2).sum(axis=-1) - (clusters.ndim - 1) * (only_a + only_b)
    return _clustered_mid_p(only_a, only_b, squares)


def sums_of_clusters(values: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Sums over the examples of each cluster: float64 (..., clusters).

    If examples are in two, their squares count each example once too often (Cameron, Gelbach,
    Miller 2011, "Robust Inference With Multiway Clustering").
    """
    values, clusters = np.concatenate([values] * clusters.ndim, axis=-1), clusters.T.ravel()
    order = np.argsort(clusters, kind="stable")
    starts = np.flatnonzero(np.diff(clusters[order], prepend=-1))
    return np.asarray(np.add.reduceat(values[..., order], starts, axis=-1))


def _clustered_mid_p(only_a: np.ndarray, only_b: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Mid-p where the squares of the differences of both counts in each cluster have this sum."""
    effect = np.maximum(squares / np.maximum(only_a + only_b, 1), 1.0)
    p = _both_tails((only_a + only_b) / effect, np.minimum(only_a, only_b) / effect)
    return np.where(only_a == only_b, 1.0, p)


def _mid_p(only_a: np.ndarray, only_b: np.ndarray) -> np.ndarray:
    """Mid-p of the binomial test with p = 1/2, computed once per distinct pair of counts."""
    n, fewer = only_a + only_b, np.minimum(only_a, only_b)
    base = int(n.max(initial=0)) + 1
    pairs, places = np.unique(n * base + fewer, return_inverse=True)
    p = _both_tails(*np.divmod(pairs.astype(np.float64), base))
    return np.where(only_a == only_b, 1.0, p[places].reshape(n.shape))


def _both_tails(n: np.ndarray, fewer: np.ndarray) -> np.ndarray:
    """Mid-p of so many of n, fewer than half; neither needs to be whole."""
    from scipy.special import betaincc

    # P(X <= k) for k of n is betaincc(k + 1, n - k, 1/2); the mid-p is P(X <= k) + P(X <= k - 1).
    more = np.maximum(n - fewer, 1e-9)
    before = np.where(fewer > 0, betaincc(np.maximum(fewer, 1e-9), more + 1, 0.5), 0.0)
    return np.asarray(betaincc(fewer + 1, more, 0.5) + before)


def pairwise(suites: Sequence[Sequence[Resampled]]) -> np.ndarray:
    """The p-value of `difference` for every pair of encoders, all at once.

    Args:
        suites: the results of k encoders, task by task.

    Returns:
        float64 (k, k), symmetric.

    Raises:
        ValueError: the numbers of examples differ.
    """
    draws, means = mean_draws(suites), _means(suites)
    some = np.flatnonzero(np.isnan(draws).any(axis=1))  # of the few, pair by pair
    centred = draws - draws.mean(axis=1, keepdims=True)
    products = centred @ centred.T / draws.shape[1]
    variances = np.diag(products)
    errors = np.sqrt(np.maximum(variances[:, None] + variances - 2.0 * products, 0.0))
    for one in some:
        errors[one] = errors[:, one] = deviations(draws - draws[one])
    apart, units = means[:, None] - means, [part.units for part in suites[0]]
    return p_values(apart, errors, units, _variances_by_luck(suites))


def pairwise_mcnemar(right: np.ndarray, clusters: np.ndarray | None = None) -> np.ndarray:
    """The p-value of `mcnemar` for every pair of encoders, all at once: float64 (k, k), symmetric.

    Args:
        right: bool (k, n): whether each of k encoders was right on each example.
        clusters: as for `mcnemar`.
    """
    correct = np.asarray(right, dtype=np.float64)
    alone = np.rint(correct @ (1.0 - correct).T).astype(np.int64)  # [a, b]: a is right, b is not
    a, b = np.triu_indices(len(alone), 1)
    p = np.ones(alone.shape)
    if clusters is None:
        p[a, b] = p[b, a] = _mid_p(alone[a, b], alone[b, a])
        return p
    sums = sums_of_clusters(correct, clusters)
    products = sums @ sums.T
    squares = np.diag(products)[a] + np.diag(products)[b] - 2.0 * products[a, b]
    squares -= (clusters.ndim - 1) * (alone[a, b] + alone[b, a])
    p[a, b] = p[b, a] = _clustered_mid_p(alone[a, b], alone[b, a], squares)
    return p


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Holm's step-down adjustment (1979): p-values that control the family-wise error."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    left = len(p) - np.arange(len(p))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, left * p[order]))
    return adjusted


def tie_groups(
    scores: Sequence[float] | np.ndarray, p_values: np.ndarray, level: float = LEVEL
) -> list[list[int]]:
    """Encoders in groups, best first; within a group none differs from the group's best.

    All pairs count, with Holm's correction. Ties are not transitive, so the groups are built from
    the top: the best encoder opens a group, those tied with it join, the first that is not opens
    the next.

    Args:
        scores: of k encoders, higher is better.
        p_values: float64 (k, k), symmetric, of every pair of them.
        level: of confidence.

    Returns:
        Their positions in `scores`.
    """
    pairs = np.triu_indices(len(scores), 1)
    differ = np.zeros((len(scores), len(scores)), dtype=bool)
    differ[pairs] = holm(p_values[pairs]) < 1.0 - level
    differ |= differ.T
    groups: list[list[int]] = []
    for place in sorted(range(len(scores)), key=lambda place: -scores[place]):
        if groups and not differ[groups[-1][0], place]:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def _variances_by_luck(
    suites: Sequence[Sequence[Resampled]], less: Sequence[Resampled] | None = None
) -> list[tuple[int, np.ndarray]]:
    """Variances by luck of differences of means over tasks, in points squared.

    Args:
        suites: the results of k encoders, task by task.
        less: those of the encoder that they differ from; None for every pair of them.

    Returns:
        Of each task with luck, degrees of freedom and float64 (k,) or (k, k).
    """
    variances = []
    for task, parts in enumerate(zip(*suites, strict=True)):
        luck = np.stack([part.luck for part in parts])
        if luck.shape[1]:
            other = luck[:, None] if less is None else less[task].luck
            apart = ((luck - other) ** 2).sum(axis=-1)
            if not parts[0].paired:
                same, both = apart == 0.0, (luck**2).sum(axis=-1) + (other**2).sum(axis=-1)
                apart = np.where(same, 0.0, both)
            variances.append((luck.shape[1] - 1, apart / len(suites[0]) ** 2))
    return variances
