"""Which encoder is best on given examples, which tie with it, and what is shown to be as good.

All comparisons of a sheet are made at once: their bounds hold together, since the largest of all
studentised differences on the resamples sets how wide they are (max-t; Westfall, Young 1993,
"Resampling-based multiple testing"). Two tie if the bounds of their difference include 0. Pure
functions from per-example values to numbers; knows neither encoders nor data sets.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np

from theodolite.engine.stats.bootstrap import Sample, resample_all
from theodolite.engine.stats.significance import (
    LEVEL,
    ROUNDING,
    interval,
    reach,
    sums_of_clusters,
)

RESAMPLES = 2000
REFIT = 0.5
"""What training on other examples adds to the variance in five folds, as a share of what testing
on others does. Nadeau and Bengio (2003, "Inference for the generalization error", Machine Learning
52) have at least 1/4, the examples tested over those trained on; measured, it is more."""


@dataclass(frozen=True)
class Behind:
    """What an encoder scores more than another, in points; negative where it scores less.

    Attributes:
        delta: observed difference.
        low, high: simultaneous 95 % interval: with this probability all of a sheet's hold.
        error: standard error.
        critical: half the interval's width in standard errors; nan, as are its bounds, if all
            examples are in one cluster.
        n: number of examples.
        least: the part of `error` that falls with n and not with its square root, see `_least`.
    """

    delta: float
    low: float
    high: float
    error: float
    critical: float
    n: int
    least: float = 0.0

    def within(self, margin: float) -> bool:
        """Return whether it is shown to lose less than a margin."""
        return self.low > -margin


@dataclass(frozen=True, eq=False)
class Choice:
    """Encoders on the same examples.

    Attributes:
        names: best first.
        ties: those that tie with the best, all pairs tested at once.
        intervals: name -> (score, low, high) in points, of each by itself.
        optimism: points by which selecting the best on the same examples overestimates its score
            (the bootstrap's estimate: Efron, Tibshirani 1993, section 10.2).
        behind: name -> its difference from the best, with the critical value of the test of pairs.
        apart: pairs of names that differ significantly.
    """

    names: tuple[str, ...]
    ties: tuple[str, ...]
    intervals: Mapping[str, tuple[float, float, float]]
    optimism: float
    behind: Mapping[str, Behind]
    apart: frozenset[frozenset[str]]


def choose(samples: Mapping[str, Sample], refit: float = 0.0, seed: int = 0) -> Choice:
    """Rank encoders, and test all pairs of them.

    Args:
        samples: name -> its values on the same examples; at least one encoder.
        refit: `REFIT` if the values are of classifiers trained in folds, else 0.
        seed: of the resamples.
    """
    names, values = list(samples), list(samples.values())
    scores, noise, units = _resample(values, refit, seed)
    order = sorted(range(len(names)), key=lambda i: (math.isnan(scores[i]), -scores[i]))
    best, pairs = order[0], list(combinations(range(len(names)), 2))
    differences = [_difference(scores, noise, values, units, *pair) for pair in pairs]
    critical = _critical(differences, values[best], units)
    apart = {
        frozenset((names[i], names[j]))
        for (i, j), (delta, error, *_) in zip(pairs, differences, strict=True)
        if abs(delta) > critical * error + ROUNDING
    }
    by_pair = dict(zip(pairs, differences, strict=True))
    others = {i: (min(i, best), max(i, best)) for i in order[1:]}
    low, high = interval(noise, [units])
    first = (scores[:, None] + noise).argmax(axis=0)
    return Choice(
        tuple(names[i] for i in order),
        tuple(names[i] for i in others if frozenset((names[i], names[best])) not in apart),
        {
            n: _within_bounds(samples[n], float(scores[i]), float(low[i]), float(high[i]))
            for i, n in enumerate(names)
        },
        max(0.0, float(np.nanmean(noise[first, np.arange(noise.shape[1])]))),
        {
            names[i]: _behind(by_pair[pair], -1 if pair[0] == best else 1, critical, values[best])
            for i, pair in others.items()
        },
        frozenset(apart),
    )


def behind(
    best: Sample, others: Mapping[str, Sample], refit: float = 0.0, seed: int = 0
) -> dict[str, Behind]:
    """Compare the best with others that might take its place, all at once.

    Which of them are then taken does not matter, as all intervals hold together. Nor does it that
    the best was chosen on the same examples: that makes it look better than it is, and the others
    worse.

    Args:
        best: the encoder to compare with.
        others: name -> its values on the same examples.
        refit: see `choose`.
        seed: of the resamples.
    """
    samples = [best, *others.values()]
    scores, noise, units = _resample(samples, refit, seed)
    differences = [_difference(scores, noise, samples, units, i, 0) for i in range(1, len(samples))]
    critical = _critical(differences, best, units)
    return {
        name: _behind(difference, 1, critical, best)
        for name, difference in zip(others, differences, strict=True)
    }


_Difference = tuple[float, float, float, np.ndarray]
"""A difference in points, its standard error, the part of that which is `_least`, and its
studentised deviations on the resamples."""


def _resample(
    samples: Sequence[Sample], refit: float, seed: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Scores (k,), deviations of the resamples from their mean (k, resamples), and units."""
    resamples = resample_all(samples, RESAMPLES, seed)
    draws = np.stack([resample.draws for resample in resamples])
    known = np.isfinite(draws)
    means = np.where(known, draws, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    noise = np.where(known, draws - means[:, None], 0.0) * math.sqrt(1.0 + refit)
    return np.array([resample.statistic for resample in resamples]), noise, resamples[0].units


def _least(a: Sample, b: Sample, units: float) -> float:
    """The least standard error of a difference of means, in points.

    On few examples two encoders may agree on all by chance. As in Agresti's and Min's interval
    (2005, Statistics in Medicine 24), one more counts on which either is better. How much better it
    is, is the root mean square of those that differ and one that is right for one alone: of answers
    that are right or wrong 1, of graded scores the less the more of them differ.
    """
    if a.gold is not None:
        return 0.0
    apart = a.plain - b.plain
    if a.clusters is not None:
        apart = sums_of_clusters(apart, a.clusters) * units / len(apart)
    differ = apart[np.abs(apart) > ROUNDING]
    square = (float(differ @ differ) + 1.0) / (len(differ) + 1)
    return 100.0 * math.sqrt(2.0 * square) / units


def _difference(
    scores: np.ndarray, noise: np.ndarray, samples: Sequence[Sample], units: float, a: int, b: int
) -> _Difference:
    """A minus B."""
    apart, least = noise[a] - noise[b], _least(samples[a], samples[b], units)
    spread = float(apart.std())
    studentised = apart / spread if spread > ROUNDING else np.zeros_like(apart)
    return float(scores[a] - scores[b]), math.hypot(spread, least), least, studentised


def _critical(differences: Sequence[_Difference], sample: Sample, units: float) -> float:
    """Return what the largest of all studentised differences exceeds in 5 % of the resamples.

    The standard error of a correlation is itself uncertain where clusters are few: it is then as
    far out in Student's t-distribution. For means, `_least` sees to that.
    """
    normal = NormalDist()
    every = [np.abs(studentised) for *_, studentised in differences] or [np.zeros(1)]
    largest = float(np.percentile(np.max(every, axis=0), 100.0 * LEVEL))
    critical = max(normal.inv_cdf((1.0 + LEVEL) / 2.0), largest)
    if sample.gold is None or sample.clusters is None:
        return critical
    return reach([units], 2.0 * normal.cdf(critical) - 1.0)


def _behind(difference: _Difference, sign: int, critical: float, sample: Sample) -> Behind:
    delta, error, least, _ = difference
    low, high = sign * delta - critical * error, sign * delta + critical * error
    return Behind(sign * delta, low, high, error, critical, len(sample.values), least)


def _within_bounds(
    sample: Sample, score: float, low: float, high: float
) -> tuple[float, float, float]:
    """A score and its interval; no share is below 0, no correlation below -100, none above 100."""
    is_share = sample.gold is None or sample.correlation == "average_precision"
    least = min(score, 0.0) if is_share else -100.0
    return score, max(score + low, least), min(score + high, max(score, 100.0))
