"""How many more examples would separate two encoders: predictive power by resampling.

A sheet with a tie asks what would end it. The usual answer takes the observed difference for the
true one and is too hopeful, as a difference that is within the noise is mostly noise. So each trial
first draws how large the difference may be in truth, then what further examples would show
(Spiegelhalter, Freedman, Blackburn 1986, "Monitoring clinical trials: conditional or predictive
power?", Controlled Clinical Trials 7): both by how far the paired bootstrap's resamples lie from
the observed difference. `benchmarks.choosing` measures how often what is promised comes true.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from engine.stats.bootstrap import Resampled
from engine.stats.significance import LEVEL

POWER = 0.8
REACH = 20
"""Times the examples that there are: more are out of reach."""
TYPICAL = 5.0
"""Points by which two encoders of about one quality differ: the deviation of the normal prior of
the difference. Without it, one chance lead in a few hundred examples would be believed."""

_SAME = 1e-6


@dataclass(frozen=True)
class MoreExamples:
    """What would end a tie.

    Attributes:
        n: how many more, in two figures; None where they are out of reach.
        power: the probability that a difference shows with so many, or with all in reach.
    """

    n: int | None
    power: float


def more_examples(
    a: Resampled, b: Resampled, tests: int = 1, *, power: float = POWER, seed: int = 0
) -> MoreExamples:
    """How many more examples like these would tell A from B, whichever is better.

    Args:
        a: its score, resampled.
        b: its score, resampled on the same examples with the same seed.
        tests: made at once; each must then hold at its share of the error.
        power: the probability that is asked for.
        seed: of the trials.
    """
    apart = a.draws - b.draws
    apart = apart[np.isfinite(apart)]
    spread = float(apart.std()) if len(apart) else 0.0
    if spread < _SAME:  # they do the same on every example, but for rounding
        return MoreExamples(None, 0.0)
    n, delta, noise = a.n, a.statistic - b.statistic, apart - apart.mean()
    known = TYPICAL**2 / (TYPICAL**2 + spread**2)
    truth = known * delta + np.sqrt(known) * noise
    further = np.random.default_rng(seed).permutation(noise)
    least = NormalDist().inv_cdf(1.0 - (1.0 - LEVEL) / (2 * tests)) * spread

    def share(more: int) -> float:
        """Of the trials in which a difference shows with so many more."""
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
