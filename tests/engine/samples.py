"""Simulated samples for the tests of statistics."""

import numpy as np

from theodolite.engine.stats.bootstrap import Sample


def pairs(n: int, noise: float, seed: int) -> Sample:
    """Simulated cosines: one gold of 0 to 5 in steps, seen through noise."""
    gold = np.round(np.random.default_rng(0).uniform(0, 5, n) * 4) / 4
    return Sample(gold + np.random.default_rng(seed).normal(0, noise, n), gold)
