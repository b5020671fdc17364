"""Ranks of encoders over a suite of tasks: with intervals, by group of tasks, and the Borda count.

Pure functions from scores, resampled or in a table where nan is a missing one, which is never
counted as zero. Knows neither encoders nor data sets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite.engine.stats.bootstrap import Resampled, ranks
from theodolite.engine.stats.significance import mean_draws


@dataclass(frozen=True)
class RankInterval:
    """The rank of one encoder by its mean over the tasks.

    Attributes:
        name: of the encoder.
        score: its mean over the tasks, in points.
        rank: observed, from 1; equal means share the better rank.
        low, high: percentile interval of the rank over the resamples, 95 % by default.
        first: share of the resamples in which it is first; a shared first rank is split.
    """

    name: str
    score: float
    rank: int
    low: int
    high: int
    first: float


def rank_intervals(
    scores: Mapping[str, Sequence[Resampled]],
    *,
    over_tasks: bool,
    seed: int = 0,
    level: float = 0.95,
) -> list[RankInterval]:
    """Rank encoders by their mean over the tasks, with bootstrap intervals of the ranks.

    Within tasks alone, the examples of each task are resampled: how certain is the order on exactly
    these tasks? Over tasks, the tasks are drawn with replacement as well: how certain is it on
    tasks like these? (Percentile intervals; resampling at two levels as in Davison, Hinkley 1997,
    section 3.8.) Encoders are resampled together, so a hard draw is hard for all.

    Args:
        scores: encoder name to its resampled score on each task: for all the same tasks in the
            same order, each resampled with one seed for all encoders and another for each task.
        over_tasks: resample the tasks too.
        seed: of the draw of tasks.
        level: of confidence.

    Returns:
        Best first.

    Raises:
        ValueError: no encoder, no task, or different examples for one of the encoders.
    """
    names, suites = list(scores), list(scores.values())
    if not names or not suites[0]:
        raise ValueError("ranks need at least one encoder and one task")
    observed = np.array([np.mean([part.statistic for part in suite]) for suite in suites])
    means = mean_draws(suites)
    known = ~np.isnan(means).any(axis=0)  # a resample without spread is left out
    known &= min(part.units for part in suites[0]) > 1.0  # one example tells nothing
    if over_tasks:
        tasks, rng = len(suites[0]), np.random.default_rng(seed)
        picks = rng.integers(0, tasks, size=(int(known.sum()), tasks))
        weights = np.zeros((tasks, len(known)))
        weights[:, known] = [(picks == task).sum(axis=1) for task in range(tasks)]
        means = mean_draws(suites, weights)
    means = means[:, known]
    places, first = rank(means), _first(means)
    tail = (1.0 - level) / 2.0
    ends = np.array([[1] * len(names), [len(names)] * len(names)])  # nothing is known
    if places.size:
        ends = np.quantile(places, [tail, 1.0 - tail], axis=1, method="inverted_cdf")
    rows = [
        RankInterval(name, float(mean), int(rank), int(low), int(high), float(share))
        for name, mean, rank, low, high, share in zip(
            names, observed, rank(observed), *ends, first, strict=True
        )
    ]
    return sorted(rows, key=lambda row: (row.rank, names.index(row.name)))


def _first(means: np.ndarray) -> np.ndarray:
    """Share of columns in which each row is the highest: (encoders,), with sum 1."""
    if not means.shape[1]:
        return np.full(len(means), np.nan)
    best = means == means.max(axis=0)
    return np.asarray((best / best.sum(axis=0)).mean(axis=1))


def rank(values: np.ndarray) -> np.ndarray:
    """Ranks from 1 along the first axis, the highest first; equal values share the better rank."""
    return np.stack([1 + (values > mine).sum(axis=0) for mine in values])


def borda(scores: np.ndarray) -> np.ndarray:
    """Points of each row, float64 (encoders,): n - rank on every task, n being all encoders.

    As in MTEB (Colombo et al. 2022): equal scores share their mean rank, and a missing score gives
    no points, so that an encoder with missing scores can only rank too low.

    Args:
        scores: float64 (encoders, tasks).
    """
    points = np.zeros(len(scores))
    for column in scores.T:
        known = ~np.isnan(column)
        points[known] += len(scores) - ranks(-column[known])
    return points
