"""Scores that papers printed, beside those evaluated here; never part of a test."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean

from theodolite.app import formats
from theodolite.app.blocks import Caveat, Cell
from theodolite.engine.errors import UserError
from theodolite.engine.protocols import published as papers


@dataclass(frozen=True, eq=False)
class Reference:
    """A published row with its label in lists."""

    label: str
    row: papers.Published

    def score(self, task: str, under: Collection[str]) -> float | None:
        """The published score of a task; None if the results beside it are computed otherwise."""
        return self.row.scores.get(task) if set(under) <= set(self.row.protocols) else None

    def cell(self, tasks: Sequence[str], under: Mapping[str, Collection[str]]) -> Cell:
        """The score of a task, or the mean of several if all are published and can be averaged."""
        known = [one for task in tasks if (one := self.score(task, under[task])) is not None]
        whole = len(known) == len(tasks) and (len(tasks) == 1 or self.row.aggregation != "wmean")
        score = fmean(known) if whole else None
        return Cell(score, formats.score(score), kind="printed")


@cache
def references() -> dict[str, Reference]:
    """Every published row by its key in addresses."""
    tables = (
        ("all", papers.TABLE_MAIN),
        ("wmean", papers.TABLE_B3),
        ("transfer", papers.TABLE_E1),
        ("transfer, InferSent", papers.TABLE_INFERSENT),
        *papers.FURTHER.items(),
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


def published_caveats(
    chosen: Sequence[Reference], under: Mapping[str, Collection[str]]
) -> Iterator[Caveat]:
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
