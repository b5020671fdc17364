"""How many more examples would separate two encoders: predictive power by resampling.

Conditional power takes the observed difference for the true one and is too optimistic, as a
difference within the noise is mostly noise. Predictive power is used instead: each trial first
draws a true difference, then the result on further examples (Spiegelhalter, Freedman, Blackburn
1986, "Monitoring clinical trials: conditional or predictive power?", Controlled Clinical Trials 7),
both from the deviations of the paired bootstrap's resamples from the observed difference.
`benchmarks.choosing` measures how often the prediction comes true.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from engine.stats.bootstrap import Resampled
from engine.stats.significance import LEVEL

POWER = 0.8
REACH = 20
"""Most further examples considered, as a multiple of those available."""
TYPICAL = 5.0
"""Standard deviation of the normal prior of the difference, in points: that of two encoders of
similar quality. Without it, a chance lead on a few hundred examples would be believed."""

_SAME = 1e-6


@dataclass(frozen=True)
class MoreExamples:
    """The number of further examples that would separate two encoders.

    Attributes:
        n: to two significant figures; None where it exceeds `REACH`.
        power: probability of a significant difference with that many, or with the most considered.
    """

    n: int | None
    power: float


def more_examples(
    a: Resampled, b: Resampled, tests: int = 1, *, power: float = POWER, seed: int = 0
) -> MoreExamples:
    """Estimate how many more examples like these would tell A from B, whichever is better.

    Args:
        a: its score, resampled.
        b: its score, resampled on the same examples with the same seed.
        tests: number of tests made at once, for Bonferroni's correction.
        power: the probability required.
        seed: of the trials.
    """
    apart = a.draws - b.draws
    apart = apart[np.isfinite(apart)]
    spread = float(apart.std()) if len(apart) else 0.0
    if spread < _SAME:  # the same values on every example, up to rounding
        return MoreExamples(None, 0.0)
    n, delta, noise = a.n, a.statistic - b.statistic, apart - apart.mean()
    known = TYPICAL**2 / (TYPICAL**2 + spread**2)
    truth = known * delta + np.sqrt(known) * noise
    further = np.random.default_rng(seed).permutation(noise)
    least = NormalDist().inv_cdf(1.0 - (1.0 - LEVEL) / (2 * tests)) * spread

    def share(more: int) -> float:
        """Share of the trials with a significant difference after `more` examples."""
        whole = n * delta + more * truth + np.sqrt(n * more) * further
        return float((np.abs(whole) > least * np.sqrt(n * (n + more))).mean())

    low, high = 0, REACH * n
    if share(high) < power:
        return MoreExamples(None, share(high))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if share(middle) >= power else (middle, high)
    step = 10 ** max(len(str(high)) - 2, 0)
    shown = -(-high // step) * step
    return MoreExamples(shown, share(shown))
