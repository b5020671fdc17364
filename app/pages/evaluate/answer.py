"""The results of an evaluation: one for each encoder, task and seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from theodolite.app.blocks import Block, Table
from theodolite.app.metrics import metric
from theodolite.app.question import Answer
from theodolite.engine.stats.spread import Spread, words

if TYPE_CHECKING:
    from theodolite.engine.results import Result

COLUMNS = {
    "task": "task",
    "encoder": "encoder",
    "score": "score",
    "spread": "spread",
    "metric": "metric",
    "n": "examples",
    "protocol": "protocol",
    "seconds": "seconds",
    "error": "error",
}
"""Name of a value -> head of its column."""
MAX_SHOWN = 500


@dataclass(frozen=True, eq=False, repr=False)
class Results(Answer):
    """The results of an evaluation, in order; a sequence of `engine.results.Result`.

    Attributes:
        results: one for each encoder and task.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "encoder": str,
        "task": str,
        "score": float | None,
        "metric": str | None,
        "n": int | None,
        "protocol": str,
        "seed": int,
        "error": str | None,
        "hint": str | None,
    }

    results: tuple[Result, ...]

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, place: int) -> Result:
        return self.results[place]

    def rows(self) -> list[dict[str, Any]]:
        """A row per result: its main score, or its error."""
        mains = [None if one.error is not None else one.main for one in self.results]
        return [
            {
                "encoder": one.encoder,
                "task": one.task,
                "score": main and main.score,
                "metric": main and main.metric,
                "n": main and main.n,
                "protocol": one.protocol,
                "seed": one.seed,
                "error": one.error,
                "hint": one.hint,
            }
            for one, main in zip(self.results, mains, strict=True)
        ]

    def blocks(self) -> list[Block]:
        """The scores."""
        return [table(self.rows())]


def table(
    rows: Sequence[Mapping[str, Any]], spreads: Mapping[tuple[str, str, str], Spread] | None = None
) -> Table:
    """Results as a table, without the columns that are empty.

    Args:
        rows: main scores and errors, of a store or of `Results.rows`.
        spreads: (encoder, task, protocol) -> the spread of its score over seeds.
    """
    lines = [_line(row, spreads or {}) for row in rows]
    used = [name for name in COLUMNS if any(line[name] is not None for line in lines)]
    return Table(
        "results",
        [COLUMNS[name] for name in used],
        [[line[name] for name in used] for line in lines],
        MAX_SHOWN,
        decimals={"score": 2, "seconds": 1},
    )


def _line(row: Mapping[str, Any], spreads: Mapping[tuple[str, str, str], Spread]) -> dict[str, Any]:
    line = {name: row.get(name) for name in COLUMNS}
    if row["error"] is not None:
        return line | {"metric": None, "error": f"{row['error']} {row['hint'] or ''}".strip()}
    over = spreads.get((row["encoder"], row["task"], row["protocol"]))
    spread = None if over is None else f"mean {over.mean:.2f} {words(over)}"
    return line | {"metric": metric(row), "spread": spread}
