"""The spread of scores over several seeds of one evaluation."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Spread:
    """Scores in points of one encoder on one task under one protocol, over at least two seeds.

    The standard deviation is that of a sample, with n - 1 in the denominator.
    """

    seeds: int
    mean: float
    deviation: float
    lowest: float
    highest: float


def spreads(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, str], Spread]:
    """(encoder, task, protocol) -> spread, where one version of both has at least two seeds.

    Other weights or data under the same name are another version: where several versions have
    enough seeds, the one measured last counts.

    Args:
        rows: from `store.results.table`, the oldest first.
    """
    versions: dict[tuple[str, ...], dict[int, float]] = {}
    for row in rows:
        if row["error"] is None and row["score"] is not None and not math.isnan(row["score"]):
            key = tuple(
                row[name] for name in ("encoder", "task", "protocol", "fingerprint", "data_hash")
            )
            scores = versions.pop(key, {})  # keeps the version measured last at the end
            versions[key] = scores | {row["seed"]: row["score"]}
    return {
        (encoder, task, protocol): _spread(list(scores.values()))
        for (encoder, task, protocol, *_), scores in versions.items()
        if len(scores) > 1
    }


def words(spread: Spread) -> str:
    """`± 0.24 over 5 seeds`: the standard deviation, in points."""
    return f"± {spread.deviation:.2f} over {spread.seeds} seeds"


def _spread(scores: Sequence[float]) -> Spread:
    return Spread(
        len(scores), statistics.fmean(scores), statistics.stdev(scores), min(scores), max(scores)
    )
