"""Which encoder is best on given examples, which tie with it, and how certain its lead is.

Pure functions from per-example values to numbers; knows neither encoders nor data sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engine.stats.bootstrap import Resampled, Sample, resample_all
from engine.stats.intervals import LEVEL, interval
from engine.stats.significance import (
    Difference,
    difference,
    mcnemar,
    pairwise,
    pairwise_mcnemar,
    tie_groups,
)

RESAMPLES = 2000


@dataclass(frozen=True, eq=False)
class Choice:
    """Encoders on the same examples.

    Attributes:
        names: best first.
        ties: those that tie with the best, all pairs tested with Holm's correction.
        intervals: name -> (score, low, high) in points, of each by itself.
        optimism: points by which selecting the best on the same examples overestimates its score
            (the bootstrap's estimate: Efron, Tibshirani 1993, section 10.2).
        test: name of the test of pairs.
        resampled: name -> its score on the resamples.
    """

    names: tuple[str, ...]
    ties: tuple[str, ...]
    intervals: Mapping[str, tuple[float, float, float]]
    optimism: float
    test: str
    resampled: Mapping[str, Resampled]


def choose(samples: Mapping[str, Sample], seed: int = 0) -> Choice:
    """Rank encoders.

    Args:
        samples: name -> its values on the same examples; at least one encoder.
        seed: of the resamples.
    """
    drawn = resample_all(list(samples.values()), RESAMPLES, seed)
    scores = np.array([one.statistic for one in drawn])
    draws = np.stack([one.draws for one in drawn])
    right = all(map(is_right_or_wrong, samples.values()))
    p = (
        pairwise_mcnemar(
            np.stack([sample.values > 0 for sample in samples.values()]),
            next(iter(samples.values())).clusters,
        )
        if right
        else pairwise([[one] for one in drawn])
    )
    names, group = list(samples), tie_groups(scores, p)[0]
    low, high = interval(draws, [drawn[0].units])
    first = np.nan_to_num(draws, nan=-np.inf).argmax(axis=0)
    order = sorted(range(len(names)), key=lambda i: -scores[i])
    return Choice(
        tuple(names[i] for i in order),
        tuple(names[i] for i in group[1:]),
        {n: (float(scores[i]), float(low[i]), float(high[i])) for i, n in enumerate(names)},
        max(0.0, float(np.nanmean(draws[first, np.arange(draws.shape[1])] - scores[first]))),
        "McNemar's test" if right else "the paired bootstrap",
        dict(zip(names, drawn, strict=True)),
    )


def is_right_or_wrong(sample: Sample) -> bool:
    """Return whether each example is either right or wrong."""
    return sample.gold is None and bool(np.isin(sample.values, (0.0, 1.0)).all())


def against(a: Sample, b: Sample, seed: int = 0) -> tuple[Difference, bool]:
    """A minus B on the same examples, and whether A is worse: one test, without correction.

    A correction would turn more of the worse encoders into ties.
    """
    first, second = resample_all([a, b], RESAMPLES, seed)
    found = difference([first], [second])
    p = found.p
    if is_right_or_wrong(a) and is_right_or_wrong(b):
        p = float(mcnemar(a.values > 0, b.values > 0, a.clusters))
    return found, found.delta < 0 and p < 1.0 - LEVEL
