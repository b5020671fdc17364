"""Print the claims of a benchmark, one JSON object per line, and check their targets."""

import json
import statistics
from collections.abc import Sequence
from typing import Literal

Clock = Literal["cpu", "wall"]


def claim(name: str, ratios: Sequence[float], target: float, clock: Clock) -> bool:
    """Print the median ratio of the peer's time to ours; return whether it reaches the target.

    Args:
        name: name of the benchmark and the claim.
        ratios: the peer's time over ours, one per round: above 1 we are faster.
        target: the least median.
        clock: which seconds were compared.
    """
    ratio = statistics.median(ratios)
    line = {
        "name": name,
        "ratio": round(ratio, 4),
        "target": round(target, 4),
        "clock": clock,
        "repeats": len(ratios),
        "min": round(min(ratios), 4),
        "max": round(max(ratios), 4),
    }
    print(json.dumps(line))
    return ratio >= target


def within(name: str, limit: float, seconds: Sequence[float]) -> bool:
    """As `claim`, with a limit in wall seconds in place of the peer's time."""
    return claim(f"{name} within {limit:g} s", [limit / s for s in seconds], 1.0, "wall")


def at_least(what: str, value: float, bound: float) -> bool:
    """Print a value; return whether it reaches a lower bound."""
    print(f"{what}: {value:.7g} (at least {bound:g})")
    return value >= bound


def at_most(what: str, value: float, bound: float) -> bool:
    """Print a value; return whether it keeps an upper bound."""
    print(f"{what}: {value:.7g} (at most {bound:g})")
    return value <= bound
