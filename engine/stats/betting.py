"""Confidence sequences for the mean of bounded observations, valid at any stopping time.

Waudby-Smith and Ramdas 2024, Estimating means of bounded random variables by betting (JRSS B 86):
for each candidate mean a gambler bets that it is wrong. At the true mean no strategy wins, so the
capital ever exceeds 1/alpha with probability at most alpha (Ville), and the candidates against
which it never did form a confidence sequence. Bets are aGRAPA's (their appendix B.3): approximately
optimal for the mean and variance seen so far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

STEP = 0.001
"""Spacing of the candidates."""
_MAX_LOSS = 0.75
"""Largest share of the capital that may be lost in one bet."""
_PRIOR = 2.0
"""Weight of the prior mean and variance, in observations."""


@dataclass(frozen=True, eq=False)
class Observations:
    """Observations, each unbiased for the same mean given those before it.

    Attributes:
        values: float64 (n,).
        low, high: (n,), bounds of each, known before it is observed; the mean lies within.
        variances: (n,), expected beforehand; wrong ones cost power, never validity.
    """

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    variances: np.ndarray

    @classmethod
    def between(cls, values: np.ndarray, low: float, high: float) -> Observations:
        """Build observations with constant bounds, such as marks from 0 to 1."""
        whole = np.ones(len(values))
        at_most = ((high - low) / 2.0) ** 2
        return cls(np.asarray(values, float), low * whole, high * whole, at_most * whole)

    def guesses(self) -> tuple[np.ndarray, np.ndarray]:
        """Predict the mean and variance before each observation, and the mean after the last.

        Returns:
            (n + 1,) means, weighted by the inverse of the expected variances, and (n,) variances:
            the expected ones, scaled by the fit of the observations before.
        """
        if not len(self.values):
            return np.zeros(1), np.empty(0)
        expected = np.maximum(self.variances, 1e-12)
        first = (self.low[0] + self.high[0]) / 2.0
        weights = np.concatenate([[_PRIOR / expected[0]], 1.0 / expected])
        means = np.cumsum(weights * np.concatenate([[first], self.values])) / np.cumsum(weights)
        off = np.concatenate([[_PRIOR], (self.values - means[:-1]) ** 2 / expected])[:-1]
        return means, expected * np.cumsum(off) / (np.arange(len(expected)) + _PRIOR)


def log_capital(observed: Observations, candidates: np.ndarray) -> np.ndarray:
    """Capital of a gambler who began with 1, after each observation, by candidate mean.

    Returns:
        float64 (n, candidates), logarithms; infinite where a bound alone excludes a candidate.
    """
    means, variances = observed.guesses()
    gap = means[:-1, None] - candidates
    below, above = candidates - observed.low[:, None], observed.high[:, None] - candidates
    with np.errstate(divide="ignore", invalid="ignore"):
        bets = gap / (variances[:, None] + gap**2)
        bets = np.clip(
            bets, -_MAX_LOSS / np.maximum(above, 0.0), _MAX_LOSS / np.maximum(below, 0.0)
        )
        won = np.log1p(np.nan_to_num(bets) * (observed.values[:, None] - candidates))
    won[(below < -1e-12) | (above < -1e-12)] = np.inf
    return np.cumsum(won, axis=0)


def confidence_sequence(
    observed: Observations, alpha: float, low: float = 0.0, high: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the mean after each observation, which hold simultaneously.

    Args:
        observed: observations.
        alpha: probability that any of the intervals misses the mean.
        low: lower bound of the mean.
        high: upper bound of the mean.

    Returns:
        float64 (n,) lower and upper bounds, which never widen.
    """
    candidates = STEP * np.arange(np.floor(low / STEP), np.ceil(high / STEP) + 1)
    capital = np.maximum.accumulate(log_capital(observed, candidates), axis=0)
    inside = capital < np.log(1.0 / alpha)
    first, last = inside.argmax(axis=1), len(candidates) - 1 - inside[:, ::-1].argmax(axis=1)
    # One step wider on either side: the mean may lie between a kept candidate and the next. If so,
    # all candidates may be excluded in the end: then the last interval before that stays.
    some = int(inside.any(axis=1).sum())
    at = np.minimum(np.arange(len(inside)), some - 1)
    lower, upper = (
        candidates[np.maximum(first - 1, 0)],
        candidates[np.minimum(last + 1, len(candidates) - 1)],
    )
    if not some:
        return np.full(len(inside), low), np.full(len(inside), high)
    return np.maximum(lower[at], low), np.minimum(upper[at], high)
