"""What workers of a fleet report about units in progress, and requests to them.

A worker appends, the home that gave the unit away reads, keeps and deletes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from store.postgres import Postgres

LOG = "log"
"""The kind of a report whose data are lines of the log; all others are events."""
_AT_ONCE = 500


class Report(TypedDict):
    """One thing that was told.

    Attributes:
        id: they grow in the order in which a worker told.
        unit: which it is of.
        kind: of the event, or `LOG`.
        data: of the event; of a log its `lines`.
    """

    id: int
    unit: str
    kind: str
    data: dict[str, Any]


class Reports:
    """Reports of units, and words for those who are at them."""

    def __init__(self, database: Postgres) -> None:
        self._rows = database.rows

    def add(self, unit: str, reports: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Tell (kind, data) of a unit."""
        rows = [{"kind": kind, "data": dict(data)} for kind, data in reports]
        self._rows(
            "INSERT INTO theodolite.reports (unit, kind, data) SELECT %s, one.kind, one.data"
            " FROM jsonb_to_recordset(%s) AS one (kind text, data jsonb)",
            [unit, _json(rows)],
        )

    def of(self, units: Sequence[str]) -> list[Report]:
        """The oldest of what was told of some units."""
        rows = self._rows(
            "SELECT id, unit, kind, data FROM theodolite.reports WHERE unit = ANY(%s)"
            " ORDER BY id LIMIT %s",
            [list(units), _AT_ONCE],
        )
        return [Report(**row) for row in rows]  # type: ignore[typeddict-item]

    def kept(self, ids: Sequence[int]) -> None:
        """Delete what the home has in its own store."""
        self._rows("DELETE FROM theodolite.reports WHERE id = ANY(%s)", [list(ids)])

    def ask(self, units: Sequence[str], word: str) -> None:
        """Ask something of those who are at some units."""
        self._rows(
            "INSERT INTO theodolite.asked SELECT unnest(%s::text[]), %s"
            " ON CONFLICT (unit) DO UPDATE SET word = excluded.word",
            [list(units), word],
        )

    def asked(self, unit: str) -> str:
        """The word for who is at a unit; empty for none."""
        found = self._rows("SELECT word FROM theodolite.asked WHERE unit = %s", [unit])
        return str(found[0]["word"]) if found else ""

    def forget(self, prefix: str) -> None:
        """Delete all that was told of units whose names begin so, and asked of them."""
        self._rows("DELETE FROM theodolite.reports WHERE starts_with(unit, %s)", [prefix])
        self._rows("DELETE FROM theodolite.asked WHERE starts_with(unit, %s)", [prefix])


def _json(data: Any) -> str:
    """JSON without NaN, which Postgres does not take: what is no number is null."""
    return json.dumps(json.loads(json.dumps(data), parse_constant=lambda _: None))
