"""Published rows beside a comparison: references, never measurements."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from theodolite.app.blocks import Caveat
from theodolite.engine.errors import UserError
from theodolite.engine.protocols.published import (
    FURTHER,
    TABLE_B3,
    TABLE_E1,
    TABLE_INFERSENT,
    TABLE_MAIN,
    Published,
)


@dataclass(frozen=True, eq=False)
class Reference:
    """A published row with its label in lists."""

    label: str
    row: Published

    def score(self, task: str, under: Collection[str]) -> float | None:
        """The published score of a task; None if the results beside it are computed otherwise."""
        return self.row.scores.get(task) if set(under) <= set(self.row.protocols) else None


@cache
def references() -> dict[str, Reference]:
    """Every published row by its key in addresses."""
    tables = (
        ("all", TABLE_MAIN),
        ("wmean", TABLE_B3),
        ("transfer", TABLE_E1),
        ("transfer, InferSent", TABLE_INFERSENT),
        *FURTHER.items(),
    )
    return {
        f"{row.model}, {row.training}, {kind}": Reference(
            f"{row.model} ({row.training}, {row.table})", row
        )
        for kind, rows in tables
        for row in rows
    }


def reference(key: str) -> Reference:
    """The published row of a key."""
    if key not in references():
        raise UserError(
            f"There is no published row {key[:60]!r}.",
            f"Known are {', '.join(list(references())[:3])} and others.",
            code="unknown",
        )
    return references()[key]


def caveats(chosen: Sequence[Reference], under: Mapping[str, Collection[str]]) -> Iterator[Caveat]:
    """Caveats against reading published scores as one's own.

    Args:
        chosen: the rows.
        under: task -> the protocols of the results beside them.
    """
    if chosen:
        yield Caveat(
            "Published rows are numbers from a paper. They have no examples, so no interval and no "
            "verdict; the text they were computed on may have been prepared in another way."
        )
    for ref in chosen:
        hidden = [t for t in under if t in ref.row.scores and ref.score(t, under[t]) is None]
        if hidden:
            how = "by plain cosine" if ref.row.aggregation else "under protocol senteval"
            yield Caveat(
                f"{ref.row.model}: {ref.row.table} has {', '.join(hidden)} computed {how}; here it "
                "is computed otherwise, so the printed number is left out."
            )
    weighted = [ref.row.model for ref in chosen if ref.row.aggregation == "wmean"]
    if weighted and any(task.startswith("STS1") for task in under):
        yield Caveat(
            f"{', '.join(weighted)} from table B.3: STS12 to STS16 are weighted means over subsets "
            "there, and one correlation over all subsets here. Compare only STS-B and SICK-R."
        )
