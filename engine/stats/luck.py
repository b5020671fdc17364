"""How much a score varies by luck: by draws of training sentences, or by the seeds of k-means.

The examples vary independently of it, so the variances add up. Pure functions from arrays to
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

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
