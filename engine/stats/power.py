"""How many more examples would decide: predictive power.

Conditional power takes the observed difference for the true one and is too optimistic, as a
difference within the noise is mostly noise. Predictive power is used instead: the true difference
is uncertain, too, and is drawn towards what is usual (Spiegelhalter, Freedman, Blackburn 1986,
"Monitoring clinical trials: conditional or predictive power?", Controlled Clinical Trials 7). What
is predicted is the verdict of a new and larger sheet, with the same correction for all of its
comparisons.
`benchmarks.choosing` measures how often the prediction comes true.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from theodolite.engine.stats.choice import Behind

POWER = 0.8
MIN_MORE, MAX_MORE = 0.1, 20
"""Fewest and most further examples worth a sentence, as multiples of those available."""
EQUAL, CHEAPER = NormalDist(0.0, 0.5), NormalDist(-0.15, 0.3)
"""Priors of a difference, of two encoders and of a cheaper one from the best, as a share of what it
were if one of the two were better on all examples on which they differ. That share is much the same
for encoders that differ on half of the examples and for int8 vectors that differ from the full ones
on one of 300: a prior in points would expect too much of near equals, and too little of others."""

_PHI = NormalDist().cdf


@dataclass(frozen=True)
class MoreExamples:
    """The number of further examples that would decide.

    Attributes:
        n: to two significant figures; None if it is below `MIN_MORE` or exceeds `MAX_MORE`.
        power: probability of the verdict with that many, or with the most considered.
    """

    n: int | None
    power: float


def to_tell_apart(behind: Behind) -> MoreExamples:
    """Estimate how many more examples would make a difference significant, whoever is better.

    Nothing is expected of two that score the same.
    """
    if not behind.delta:
        return MoreExamples(None, 0.0)

    def power(middle: float, spread: float, bar: float) -> float:
        return _PHI((middle - bar) / spread) + _PHI((-middle - bar) / spread)

    return _more(behind, EQUAL, power)


def to_show(behind: Behind, margin: float) -> MoreExamples:
    """Estimate how many more examples would show that less than a margin is lost.

    Args:
        behind: the difference of a cheaper encoder, or of smaller vectors, from the best.
        margin: in points.
    """

    def power(middle: float, spread: float, bar: float) -> float:
        return _PHI((margin + middle - bar) / spread)

    return _more(behind, CHEAPER, power)


def to_settle(behind: Behind, margin: float) -> MoreExamples:
    """Estimate how many more examples would show a loss, or that less than a margin is lost.

    Args:
        behind: the difference of an encoder of which anything may be expected.
        margin: in points; a smaller loss is none.
    """

    def power(middle: float, spread: float, bar: float) -> float:
        worse = _PHI((-max(bar, margin) - middle) / spread)
        return worse + _PHI((margin + middle - bar) / spread)

    return _more(behind, EQUAL, power)


def _more(
    behind: Behind, prior: NormalDist, power: Callable[[float, float, float], float]
) -> MoreExamples:
    """Find the fewest further examples with the required power.

    Args:
        behind: the difference on the examples available.
        prior: of the share, see `EQUAL`.
        power: called with the mean and the standard deviation of the difference in a new sheet, and
            with half the width of the interval that it will have there.
    """
    n, variance, least = behind.n, behind.error**2, behind.least**2
    if not behind.error or math.isnan(behind.critical):
        return MoreExamples(None, 0.0)
    # The difference if one were better wherever they differ. `least` tells by how much they differ
    # on an example; where it is unknown, by all that is possible.
    whole = math.sqrt(2.0) * variance / behind.least if least else n * variance / 100.0
    expected = prior * whole
    known = expected.variance / (expected.variance + variance)
    likely = known * behind.delta + (1.0 - known) * expected.mean

    def share(more: int) -> float:
        part = n / (n + more)
        new = (variance - least) * part
        spread = math.sqrt(known * variance + new)
        return power(likely, spread, behind.critical * math.sqrt(new + least * part**2))

    low, high = 0, MAX_MORE * n
    if share(high) < POWER:
        return MoreExamples(None, share(high))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if share(middle) >= POWER else (middle, high)
    step = 10 ** max(len(str(high)) - 2, 0)
    rounded = -(-high // step) * step
    return MoreExamples(rounded if rounded >= MIN_MORE * n else None, share(rounded))
