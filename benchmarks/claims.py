"""The last lines of a benchmark: one claim a line, as JSON, and whether its target is met."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from typing import Literal

Clock = Literal["cpu", "wall"]


def claim(name: str, ratios: Sequence[float], target: float, clock: Clock) -> bool:
    """Print how many times as long the peer took, the median of the rounds.

    Args:
        name: of the benchmark and of what it claims.
        ratios: the peer's time over ours, one a round: above 1 we are faster.
        target: what the median is to reach.
        clock: which seconds were compared.
    """
    ratio = statistics.median(ratios)
    line = {
        "name": name, "ratio": round(ratio, 4), "target": round(target, 4), "clock": clock,
        "repeats": len(ratios), "min": round(min(ratios), 4), "max": round(max(ratios), 4),
    }  # fmt: skip
    print(json.dumps(line))
    return ratio >= target


def within(name: str, limit: float, seconds: Sequence[float]) -> bool:
    """The same for a limit of so many wall seconds, which stands in the peer's place."""
    return claim(f"{name} within {limit:g} s", [limit / s for s in seconds], 1.0, "wall")


def at_least(what: str, value: float, bound: float) -> bool:
    """Print something that is no time and is to reach a bound; whether it does."""
    print(f"{what}: {value:.7g} (at least {bound:g})")
    return value >= bound


def at_most(what: str, value: float, bound: float) -> bool:
    """Print something that is no time and is not to pass a bound; whether it does not."""
    print(f"{what}: {value:.7g} (at most {bound:g})")
    return value <= bound
