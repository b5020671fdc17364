"""How many more examples would decide: predictive power.

Conditional power takes the observed difference for the true one and is too optimistic, as a
difference within the noise is mostly noise. Predictive power is used instead: the true difference
is uncertain, too, and is drawn towards 0 (Spiegelhalter, Freedman, Blackburn 1986, "Monitoring
clinical trials: conditional or predictive power?", Controlled Clinical Trials 7). What is predicted
is the verdict of a new and larger sheet, with the same correction for all of its comparisons.
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
EQUAL = NormalDist(0.0, 12.0)
CHEAPER, SMALLER = NormalDist(0.0, 3.0), NormalDist(0.0, 0.5)
"""Priors of a difference in points: of two encoders; of a cheaper one that nearly ties with the
best; of an encoder in smaller vectors. Without them, a chance lead on a few hundred examples would
be believed."""

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


def to_show(behind: Behind, margin: float, *, smaller: bool) -> MoreExamples:
    """Estimate how many more examples would show that less than a margin is lost.

    Args:
        behind: the difference of another encoder, or of smaller vectors of the same.
        margin: in points.
        smaller: whether it is the same encoder.
    """
    prior = SMALLER if smaller else CHEAPER
    return _more(behind, prior, lambda middle, spread, bar: _PHI((margin + middle - bar) / spread))


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
        prior: of the difference.
        power: called with the mean and the standard deviation of the difference in a new sheet, and
            with half the width of the interval that it will have there.
    """
    n, variance, least = behind.n, behind.error**2, behind.least**2
    known = prior.variance / (prior.variance + variance)
    likely = known * behind.delta + (1.0 - known) * prior.mean

    def share(more: int) -> float:
        part = n / (n + more)
        new = (variance - least) * part
        spread = math.sqrt(known * variance + new)
        return power(likely, spread, behind.critical * math.sqrt(new + least * part**2))

    low, high = 0, MAX_MORE * n
    if not behind.error or math.isnan(behind.critical):
        return MoreExamples(None, 0.0)
    if share(high) < POWER:
        return MoreExamples(None, share(high))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if share(middle) >= POWER else (middle, high)
    step = 10 ** max(len(str(high)) - 2, 0)
    shown = -(-high // step) * step
    return MoreExamples(shown if shown >= MIN_MORE * n else None, share(shown))
