"""Which differences between encoders are real.

Paired tests on the same examples: the bootstrap for every kind of score, McNemar's test for
examples that are right or wrong; Holm's correction where several are made at once. Pure functions
from arrays to numbers; knows neither encoders nor data sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.stats.bootstrap import Resampled

LEVEL = 0.95


@dataclass(frozen=True)
class Difference:
    """Score of A minus score of B, in points.

    Attributes:
        delta: observed difference.
        low, high: percentile interval of the paired bootstrap.
        p: two-sided bootstrap p-value of no difference; never below 2 / (resamples + 1).
        n: examples.
        verdict: `a` or `b` is better when the interval leaves out 0, else `tie`.
    """

    delta: float
    low: float
    high: float
    p: float
    n: int
    verdict: Literal["a", "b", "tie"]

    def words(self, a: str, b: str) -> str:
        """The verdict as a person reads it."""
        better = {"a": f"{a} is better", "b": f"{b} is better"}
        return better.get(self.verdict, "no real difference")


def difference(a: Sequence[Resampled], b: Sequence[Resampled], level: float = LEVEL) -> Difference:
    """Mean of A minus mean of B over the same tasks; with one task, the plain difference.

    The interval is the percentile interval of the paired bootstrap (Efron, Tibshirani 1993). For a
    year of STS the pairs are drawn from the concatenation of its subsets, which is what the `all`
    aggregation scores. Both must have been resampled on the same examples with the same seed, task
    by task, and different tasks with different seeds.

    Raises:
        ValueError: when the numbers of examples differ.
    """
    if [x.n for x in a] != [y.n for y in b]:
        raise ValueError("a paired comparison needs the same examples for both")
    delta = float(np.mean([x.statistic - y.statistic for x, y in zip(a, b, strict=True)]))
    draws = np.mean([x.draws - y.draws for x, y in zip(a, b, strict=True)], axis=0)
    n = sum(x.n for x in a)
    draws = draws[~np.isnan(draws)]
    if len(draws) == 0 or np.isnan(delta):
        return Difference(delta, float("nan"), float("nan"), 1.0, n, "tie")
    tail = 50.0 * (1.0 - level)
    low, high = (float(q) for q in np.percentile(draws, [tail, 100.0 - tail]))
    verdict: Literal["a", "b", "tie"] = "a" if low > 0 else "b" if high < 0 else "tie"
    return Difference(delta, low, high, _p_value(draws), n, verdict)


def mcnemar(a: np.ndarray, b: np.ndarray) -> float:
    """Two-sided p-value of McNemar's test that A and B are right equally often.

    Only the examples count on which one is right and the other wrong. The mid-p version of the
    exact test, at every number of them: it keeps its level where the exact one is needlessly
    cautious, and needs no threshold below which another formula takes over (Fagerland, Lydersen,
    Laake 2013, "The McNemar test for binary matched-pairs data: mid-p and asymptotic are better
    than exact conditional", BMC Medical Research Methodology 13:91).

    Args:
        a: bool (n,): whether encoder A was right on each example.
        b: bool (n,): the same of encoder B, on the same examples.

    Raises:
        ValueError: when the numbers of examples differ.
    """
    from scipy.stats import binom

    right, other = np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)
    if right.shape != other.shape:
        raise ValueError("a paired comparison needs the same examples for both")
    only_a, only_b = int(np.sum(right & ~other)), int(np.sum(other & ~right))
    if only_a == only_b:
        return 1.0
    fewer, n = min(only_a, only_b), only_a + only_b
    return float(2.0 * binom.cdf(fewer, n, 0.5) - binom.pmf(fewer, n, 0.5))


def pairwise(scores: Sequence[Resampled]) -> np.ndarray:
    """The p-value of `difference` for every pair of encoders on one task, all at once.

    Args:
        scores: of k encoders, resampled on the same examples with the same seed.

    Returns:
        float64 (k, k), symmetric.

    Raises:
        ValueError: when the numbers of examples differ.
    """
    if len({x.n for x in scores}) > 1:
        raise ValueError("a paired comparison needs the same examples for all")
    p = np.ones((len(scores), len(scores)))
    draws = np.stack([x.draws for x in scores])
    for i in range(len(scores) - 1):
        apart = draws[i] - draws[i + 1 :]  # nan is on neither side of 0
        below, above = (apart <= 0).sum(axis=1), (apart >= 0).sum(axis=1)
        counted = len(draws[i]) - np.isnan(apart).sum(axis=1)
        known = [not np.isnan(scores[i].statistic - x.statistic) for x in scores[i + 1 :]]
        found = np.minimum(1.0, 2.0 * (np.minimum(below, above) + 1) / (counted + 1))
        p[i, i + 1 :] = p[i + 1 :, i] = np.where(known, found, 1.0)
    return p


def pairwise_mcnemar(right: np.ndarray) -> np.ndarray:
    """The p-value of `mcnemar` for every pair of encoders, all at once: float64 (k, k), symmetric.

    Args:
        right: bool (k, n): whether each of k encoders was right on each example.
    """
    from scipy.stats import binom

    correct = np.asarray(right, dtype=np.float64)
    alone = np.rint(correct @ (1.0 - correct).T)  # [a, b]: a is right and b is not
    fewer, n = np.minimum(alone, alone.T), alone + alone.T
    p = 2.0 * binom.cdf(fewer, n, 0.5) - binom.pmf(fewer, n, 0.5)
    return np.where(alone == alone.T, 1.0, p)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (1979): p-values that control the family-wise error."""
    order = np.argsort(p_values, kind="stable")
    adjusted, highest = [0.0] * len(p_values), 0.0
    for step, index in enumerate(order.tolist()):
        highest = max(highest, min(1.0, (len(p_values) - step) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def tie_groups(
    scores: Mapping[str, float],
    p_values: Mapping[tuple[str, str], float],
    level: float = LEVEL,
) -> list[list[str]]:
    """Encoders in groups, best first; within a group nobody differs from the group's best.

    All pairs count, with Holm's correction. Being tied is not transitive, so the groups are built
    from the top: the best encoder opens a group, those tied with it join, the first that is not
    opens the next.

    Args:
        scores: encoder name to score, higher is better.
        p_values: of every pair of them, in either order.
        level: of confidence.
    """
    adjusted = holm(list(p_values.values()))
    differ = {
        frozenset(pair)
        for pair, p in zip(p_values, adjusted, strict=True)
        if p < 1.0 - level
    }  # fmt: skip
    groups: list[list[str]] = []
    for name in sorted(scores, key=lambda name: -scores[name]):
        if groups and frozenset((groups[-1][0], name)) not in differ:
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups


def _p_value(draws: np.ndarray) -> float:
    """Two-sided: twice the smaller tail around 0, with the observed sample counted in."""
    below, above = int(np.sum(draws <= 0)), int(np.sum(draws >= 0))
    return min(1.0, 2.0 * (min(below, above) + 1) / (len(draws) + 1))
