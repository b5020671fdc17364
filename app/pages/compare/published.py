"""Published rows as the page Compare offers and shows them: references, never measurements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from theodolite.app.pages.compare.cautions import Caution
from theodolite.app.pages.compare.service import Comparison
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
    """A published row with its key in addresses and its label in lists."""

    key: str
    label: str
    row: Published

    def score(self, report: Comparison, task: str) -> float | None:
        """The published score of a task; None if the results beside it are computed otherwise."""
        return self.row.scores.get(task) if self._alike(report, task) else None

    def mean(self, report: Comparison) -> float | None:
        """Mean over the tasks that all encoders share; None unless all of them are published."""
        scores = [self.score(report, task) for task in report.common]
        printed = [score for score in scores if score is not None]
        if self.row.aggregation == "wmean" or not scores or len(printed) < len(scores):
            return None
        return sum(printed) / len(printed)

    def hidden(self, report: Comparison) -> list[str]:
        """Tasks with a published score that is computed otherwise than the results shown."""
        return [t for t in report.tasks if t in self.row.scores and not self._alike(report, t)]

    def _alike(self, report: Comparison, task: str) -> bool:
        under = {cell["protocol"] for (_, name), cell in report.cells.items() if name == task}
        return under <= set(self.row.protocols)


@cache
def references() -> dict[str, Reference]:
    """Every published row by its key."""
    tables = (
        ("all", TABLE_MAIN),
        ("wmean", TABLE_B3),
        ("transfer", TABLE_E1),
        ("transfer, InferSent", TABLE_INFERSENT),
        *FURTHER.items(),
    )
    found = {}
    for kind, rows in tables:
        for row in rows:
            key = f"{row.model}, {row.training}, {kind}"
            found[key] = Reference(key, f"{row.model} ({row.training}, {row.table})", row)
    return found


def cautions(report: Comparison, chosen: Sequence[Reference]) -> Iterator[Caution]:
    """Cautions against reading published scores as one's own."""
    if chosen:
        yield Caution(
            "Published rows are numbers from a paper. They have no examples, so no interval and no "
            "verdict; the text they were computed on may have been prepared in another way."
        )
    for ref in chosen:
        if hidden := ref.hidden(report):
            how = "by plain cosine" if ref.row.aggregation else "under protocol senteval"
            yield Caution(
                f"{ref.row.model}: {ref.row.table} has {', '.join(hidden)} computed {how}; here it "
                "is computed otherwise, so the printed number is left out."
            )
    weighted = [ref.row.model for ref in chosen if ref.row.aggregation == "wmean"]
    if weighted and any(task.startswith("STS1") for task in report.tasks):
        yield Caution(
            f"{', '.join(weighted)} from table B.3: STS12 to STS16 are weighted means over subsets "
            "there, and one correlation over all subsets here. Compare only STS-B and SICK-R."
        )
