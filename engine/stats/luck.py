"""How much a score varies by luck: by draws of training sentences, or by the seeds of k-means.

The examples vary independently of it, so the variances add up. Pure functions from arrays to
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from theodolite.engine.stats.bootstrap import Resampled

_MIN_DRAWS = 4
"""Draws from which Student's t has a variance."""


def of_result(examples: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Return `Sample.luck` of a result that has `draws` or `seeds`; None without."""
    scores = np.asarray(examples.get("seeds", examples.get("draws", ())), dtype=np.float64)
    r = len(scores)
    if r < _MIN_DRAWS:
        return None
    averaged = 1 if "seeds" in examples else r
    return (scores - scores.mean()) / 100.0 / math.sqrt((r - 1) * averaged)


@lru_cache(maxsize=16)
def factors(r: int, resamples: int, seed: int, own: int = 0) -> np.ndarray:
    """Factors of r deviations by luck on each resample: float64 (r, resamples).

    The sum of deviations times factors has Student's t-distribution with r - 1 degrees of freedom
    and the deviations' standard error as its scale, as few draws tell little of their spread. Its
    variance is exact, so that `variances` can be taken out. Encoders that are not paired by luck
    have factors of their `own`.
    """
    rng = np.random.default_rng([seed, r, own])
    found = rng.standard_normal((r, resamples)) / np.sqrt(rng.chisquare(r - 1, resamples))
    found -= found.mean(axis=1, keepdims=True)
    exact = np.linalg.solve(np.linalg.cholesky(found @ found.T / resamples), found)
    return np.asarray(exact * math.sqrt((r - 1) / (r - 3)))


def variances(
    suites: Sequence[Sequence[Resampled]], less: Sequence[Resampled] | None = None
) -> list[tuple[int, np.ndarray]]:
    """Variances by luck of differences of means over tasks, in points squared.

    Args:
        suites: the results of k encoders, task by task.
        less: those of the encoder that they differ from; None for every pair of them.

    Returns:
        Of each task with luck, degrees of freedom and float64 (k,) or (k, k).
    """
    found = []
    for task, parts in enumerate(zip(*suites, strict=True)):
        luck = np.stack([part.luck for part in parts])
        if luck.shape[1]:
            other = luck[:, None] if less is None else less[task].luck
            apart = ((luck - other) ** 2).sum(axis=-1)
            if not parts[0].paired:
                same, both = apart == 0.0, (luck**2).sum(axis=-1) + (other**2).sum(axis=-1)
                apart = np.where(same, 0.0, both)
            found.append((luck.shape[1] - 1, apart / len(suites[0]) ** 2))
    return found
