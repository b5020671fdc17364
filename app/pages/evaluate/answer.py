"""The results of an evaluation, one for each encoder, task and seed, and cards of protocols."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from theodolite.app.blocks import Block, Facts, Fold, Table
from theodolite.app.metrics import metric
from theodolite.app.question import Answer
from theodolite.engine import protocols
from theodolite.engine.results import Result
from theodolite.engine.stats.spread import Spread, words

MAX_SHOWN = 500
Spreads = Mapping[tuple[str, str, str], Spread]
"""(encoder, task, protocol) -> the spread of its score over seeds."""


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
        rows = []
        for result in self.results:
            main = None if result.error is not None else result.main
            row = {name: getattr(result, name, None) for name in self.columns}
            rows.append(
                row | {name: getattr(main, name, None) for name in ("score", "metric", "n")}
            )
        return rows

    def blocks(self) -> list[Block]:
        """The scores."""
        return [table(self.rows(), {})]


def table(rows: Sequence[Mapping[str, Any]], spreads: Spreads) -> Table:
    """Results as a table, without the columns that are empty.

    Args:
        rows: main scores and errors, of a store or of `Results.rows`.
        spreads: of those with several seeds.
    """
    lines = []
    for row in rows:
        over = spreads.get((row["encoder"], row["task"], row["protocol"]))
        failed = row["error"] is not None
        lines.append(
            {
                "Task": row["task"],
                "Encoder": row["encoder"],
                "Score": row["score"],
                "Spread": f"mean {over.mean:.2f} {words(over)}" if over and not failed else None,
                "Metric": None if failed else metric(row),
                "Examples": row["n"],
                "Protocol": row["protocol"],
                "Seconds": row.get("seconds"),
                "Error": f"{row['error']} {row['hint'] or ''}".strip() if failed else None,
            }
        )
    used = [name for name in (lines or [{}])[0] if any(line[name] is not None for line in lines)]
    return Table(
        "results",
        used,
        [[line[name] for name in used] for line in lines],
        MAX_SHOWN,
        decimals={"Score": 2, "Seconds": 2},
    )


def protocol_card(name: str, more: Sequence[tuple[str, str]] = ()) -> list[Block]:
    """Every setting of a protocol that affects a score, and other papers' choices.

    Args:
        name: of the protocol.
        more: names and values to add, such as the seed of a result.
    """
    from theodolite.engine.protocols.published import TABLE_B1

    protocol = protocols.get(name)
    facts = [pair for pair in protocol.card() if "table B.1" not in pair[0]]  # which stands below
    blocks: list[Block] = [Facts([("what it is", protocol.description), *facts, *more])]
    if "sts" in protocol.types:
        heads = ("paper", "regressor", "correlation", "aggregation")
        rows = [(one.paper, one.regressor, one.metric, one.aggregation) for one in TABLE_B1]
        title = "How other papers evaluate STS (SimCSE, table B.1)"
        blocks.append(Fold(title, [Table("theodolite-table-b1", heads, rows)]))
    return blocks
