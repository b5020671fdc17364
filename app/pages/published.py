"""Published rows as the page Compare offers and shows them: references, never measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.comparison import Comparison
    from engine.published import Published


@dataclass(frozen=True, eq=False)
class Reference:
    """A printed row and the name it goes by in lists and addresses."""

    key: str
    label: str
    row: Published


@cache
def references() -> dict[str, Reference]:
    """Every printed row by a key that an address can hold."""
    from engine.published import TABLE_B3, TABLE_MAIN

    found = {}
    for row in (*TABLE_MAIN, *TABLE_B3):
        kind = "wmean" if row.aggregation == "wmean" else "all"
        key = f"{row.model}, {row.training}, {kind}"
        found[key] = Reference(key, f"{row.model} ({row.training}, {row.table})", row)
    return found


def cautions(report: Comparison, chosen: Sequence[Reference]) -> list[str]:
    """What keeps printed numbers from being read as measured ones."""
    said = []
    if chosen:
        said.append(
            "Published rows are numbers from a paper. They have no examples, so no interval and no "
            "verdict; the text they were measured on may have been prepared in another way."
        )
    weighted = [ref.row.model for ref in chosen if ref.row.aggregation == "wmean"]
    if weighted and any(task.startswith("STS1") for task in report.tasks):
        said.append(
            f"{', '.join(weighted)} from table B.3: STS12 to STS16 are weighted means over subsets "
            "there, and one correlation over all subsets here. Compare only STS-B and SICK-R."
        )
    return said
