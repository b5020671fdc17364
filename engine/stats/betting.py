"""Means of bounded observations, with intervals that are valid at any number of looks.

Waudby-Smith and Ramdas 2024, Estimating means of bounded random variables by betting (JRSS B 86):
for each candidate mean a gambler bets that it is wrong. At the true one no way of betting wins, so
the capital exceeds 1/alpha at any time with probability alpha at most (Ville), and the candidates
against which it never did are a confidence sequence. Bets are aGRAPA's (their appendix B.3): what
would have been best for the mean and the variance seen so far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

STEP = 0.001
"""Between candidates."""
_MOST = 0.75
"""Share of the capital that may be lost in one bet."""
_PRIOR = 2.0
"""Observations that the first guess of mean and variance counts for."""


@dataclass(frozen=True, eq=False)
class Observations:
    """What was observed, each unbiased for one mean given what came before it.

    Attributes:
        values: float64 (n,).
        low, high: (n,), bounds of each; known before it is observed, as the mean lies within.
        variances: (n,), as they were expected before; wrong ones cost power, never validity.
    """

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    variances: np.ndarray

    @classmethod
    def between(cls, values: np.ndarray, low: float, high: float) -> Observations:
        """Of the same bounds throughout, such as marks from 0 to 1."""
        whole = np.ones(len(values))
        at_most = ((high - low) / 2.0) ** 2
        return cls(np.asarray(values, float), low * whole, high * whole, at_most * whole)

    def guesses(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance as they are guessed before each observation and after the last.

        Returns:
            (n + 1,) means, weighted by the inverse of the expected variances, and (n,) variances:
            those expected, times how far the observations before kept to them.
        """
        if not len(self.values):
            return np.zeros(1), np.empty(0)
        expected = np.maximum(self.variances, 1e-12)
        first = (self.low[0] + self.high[0]) / 2.0
        weights = np.concatenate([[_PRIOR / expected[0]], 1.0 / expected])
        means = np.cumsum(weights * np.concatenate([[first], self.values])) / np.cumsum(weights)
        off = np.concatenate([[_PRIOR], (self.values - means[:-1]) ** 2 / expected])[:-1]
        return means, expected * np.cumsum(off) / (np.arange(len(expected)) + _PRIOR)


def log_capital(seen: Observations, candidates: np.ndarray) -> np.ndarray:
    """What a gambler who began with 1 has after each observation, by candidate mean.

    Returns:
        float64 (n, candidates), logarithms; infinite where a bound alone excludes a candidate.
    """
    means, variances = seen.guesses()
    gap = means[:-1, None] - candidates
    below, above = candidates - seen.low[:, None], seen.high[:, None] - candidates
    with np.errstate(divide="ignore", invalid="ignore"):
        bets = gap / (variances[:, None] + gap**2)
        bets = np.clip(bets, -_MOST / np.maximum(above, 0.0), _MOST / np.maximum(below, 0.0))
        won = np.log1p(np.nan_to_num(bets) * (seen.values[:, None] - candidates))
    won[(below < -1e-12) | (above < -1e-12)] = np.inf
    return np.cumsum(won, axis=0)


def confidence_sequence(
    seen: Observations, alpha: float, low: float = 0.0, high: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the mean after each observation; all of them hold together.

    Args:
        seen: observations.
        alpha: how often any of the intervals may miss the mean.
        low: lower bound of the mean.
        high: upper bound of the mean.

    Returns:
        float64 (n,) lower and upper bounds, which never widen.
    """
    candidates = STEP * np.arange(np.floor(low / STEP), np.ceil(high / STEP) + 1)
    capital = np.maximum.accumulate(log_capital(seen, candidates), axis=0)
    kept = capital < np.log(1.0 / alpha)
    first, last = kept.argmax(axis=1), len(candidates) - 1 - kept[:, ::-1].argmax(axis=1)
    # One further on either side: the mean may lie between a candidate that is kept and the next.
    # When it does and all are excluded at last, the interval before that stays.
    some = int(kept.any(axis=1).sum())
    at = np.minimum(np.arange(len(kept)), some - 1)
    lower, upper = (
        candidates[np.maximum(first - 1, 0)],
        candidates[np.minimum(last + 1, len(candidates) - 1)],
    )
    if not some:
        return np.full(len(kept), low), np.full(len(kept), high)
    return np.maximum(lower[at], low), np.minimum(upper[at], high)
