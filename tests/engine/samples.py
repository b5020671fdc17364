"""Samples for the tests of statistics."""

import numpy as np

from theodolite.engine.stats.bootstrap import Resampled, Sample, resample_all


def pairs(n: int, noise: float, seed: int) -> Sample:
    """Simulated cosines: one gold of 0 to 5 in steps, seen through noise."""
    gold = np.round(np.random.default_rng(0).uniform(0, 5, n) * 4) / 4
    return Sample(gold + np.random.default_rng(seed).normal(0, noise, n), gold)


def right(n: int, wrong: int, start: int = 0) -> Sample:
    """Right on n examples but for some, which begin somewhere."""
    values = np.ones(n)
    values[start : start + wrong] = 0.0
    return Sample(values)


def resample(sample: Sample, resamples: int = 2000, seed: int = 0) -> Resampled:
    """As `resample_all` of it alone, where a test needs no second one."""
    return resample_all([sample], resamples, seed)[0]
