"""Whether an encoder is as good as it was: worse, not worse by more than a margin, or unknown.

Knows per-example values; neither encoders nor data sets. Both must be of the same examples.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from theodolite.engine.stats.bootstrap import Sample, resample_all
from theodolite.engine.stats.choice import RESAMPLES, Behind
from theodolite.engine.stats.power import MIN_MORE, POWER, to_settle
from theodolite.engine.stats.significance import Difference, differences, holm, mcnemar

ALPHA = 0.05
"""Probability of a false alarm on any of the tasks, and of each wrong all-clear."""
_CRITICAL = 1.6449  # of a normal distribution: one side, 95 %


@dataclass(frozen=True)
class Gated:
    """The verdict on one task.

    Attributes:
        change: score now minus score then, in points, with its 90 % interval: each end by itself
            holds with 95 %.
        p: one-sided p-value of no loss, after Holm's correction over all tasks.
        verdict: `worse` if a loss is significant and at least the margin, `fine` if the interval
            excludes a loss of the margin, else `unclear`.
        more: if unclear, further examples that would probably settle it, one way or the other; None
            if there would have to be more than 20 times as many.
    """

    change: Difference
    p: float
    verdict: Literal["worse", "fine", "unclear"]
    more: int | None = None


def gate(pairs: Sequence[tuple[Sample, Sample]], least: float, seed: int = 0) -> list[Gated]:
    """Judge every task at once.

    The hypothesis that a loss refutes: the score now is no lower than the score then, on all that
    the examples were drawn from. It is tested on one side at 5 % for all tasks together, by
    McNemar's test where examples are right or wrong, else by the paired t-test with the bootstrap's
    standard error. As the difference of both scores on the same examples is the efficient estimate,
    no test finds a loss d with a probability much above Φ(d / error - 1.64).

    The all-clear is a test of non-inferiority: its error is that of one task, as all tasks must
    pass (Berger 1982, "Multiparameter Hypothesis Testing and Acceptance Sampling", Technometrics
    24).

    Args:
        pairs: for each task the examples then and now.
        least: smallest loss that counts, in points.
        seed: of the bootstrap.
    """
    tested = [_test(then, now, seed) for then, now in pairs]
    results = []
    for (change, error, _), p in zip(tested, holm([p for *_, p in tested]).tolist(), strict=True):
        if p < ALPHA and change.delta <= -least:
            results.append(Gated(change, p, "worse"))
        elif change.low > -least or change.delta == error == 0.0:
            results.append(Gated(change, p, "fine"))
        else:
            ends = change.delta, change.low, change.high
            behind = Behind(*ends, error, _CRITICAL, change.n)
            more = to_settle(behind, least)
            few = math.ceil(MIN_MORE * change.n) if more.power >= POWER else None
            results.append(Gated(change, p, "unclear", more.n or few))
    return results


def _test(then: Sample, now: Sample, seed: int) -> tuple[Difference, float, float]:
    """The difference, its standard error, and the one-sided p-value of no loss."""
    before, after = resample_all([then, now], RESAMPLES, seed)
    (change,) = differences([[after]], [before], 1.0 - 2.0 * ALPHA)
    p = change.p
    if all(map(_right_or_wrong, (then, now))):
        p = float(mcnemar(now.values == 1.0, then.values == 1.0, then.clusters))
    error = float(np.nanstd(after.draws - before.draws))
    return change, error, p / 2.0 if change.delta < 0.0 else 1.0 - p / 2.0


def _right_or_wrong(sample: Sample) -> bool:
    plain = sample.gold is None and sample.beside is None and sample.luck is None
    return plain and bool(np.isin(sample.values, (0.0, 1.0)).all())
