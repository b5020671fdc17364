"""Reports of a fleet's workers about units in progress, and requests to these workers.

A worker appends; the home that sent the unit reads, stores and deletes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from theodolite.store.postgres import Postgres

LOG = "log"
"""The kind of a report whose data are lines of the log; all others are events."""
_AT_ONCE = 500


class Report(TypedDict):
    """A report about a unit.

    Attributes:
        id: grows in the order in which a worker reported.
        unit: its name.
        kind: of the event, or `LOG`.
        data: of the event; for `LOG` its `lines`.
    """

    id: int
    unit: str
    kind: str
    data: dict[str, Any]


class Reports:
    """Reports about units, and requests to the workers that execute them."""

    def __init__(self, database: Postgres) -> None:
        self._rows = database.rows

    def add(self, unit: str, reports: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Append reports about a unit, as (kind, data)."""
        rows = [{"kind": kind, "data": dict(data)} for kind, data in reports]
        self._rows(
            "INSERT INTO theodolite.reports (unit, kind, data) SELECT %s, one.kind, one.data"
            " FROM jsonb_to_recordset(%s) AS one (kind text, data jsonb)",
            [unit, _json(rows)],
        )

    def of(self, units: Sequence[str]) -> list[Report]:
        """The oldest reports about some units, at most `_AT_ONCE`; what is no mapping is empty."""
        rows = self._rows(
            "SELECT id, unit, kind, data FROM theodolite.reports WHERE unit = ANY(%s)"
            " ORDER BY id LIMIT %s",
            [list(units), _AT_ONCE],
        )
        for row in rows:
            row["data"] = row["data"] if isinstance(row["data"], dict) else {}
        return [Report(**row) for row in rows]  # type: ignore[typeddict-item]

    def kept(self, ids: Sequence[int]) -> None:
        """Delete reports that the home has stored."""
        self._rows("DELETE FROM theodolite.reports WHERE id = ANY(%s)", [list(ids)])

    def ask(self, units: Sequence[str], word: str) -> None:
        """Send a request to the workers that execute some units."""
        self._rows(
            "INSERT INTO theodolite.asked SELECT unnest(%s::text[]), %s"
            " ON CONFLICT (unit) DO UPDATE SET word = excluded.word",
            [list(units), word],
        )

    def asked(self, unit: str) -> str:
        """The request to the worker of a unit; empty for none."""
        found = self._rows("SELECT word FROM theodolite.asked WHERE unit = %s", [unit])
        return str(found[0]["word"]) if found else ""

    def forget(self, prefix: str) -> None:
        """Delete all reports and requests of units whose names begin with `prefix`."""
        self._rows("DELETE FROM theodolite.reports WHERE starts_with(unit, %s)", [prefix])
        self._rows("DELETE FROM theodolite.asked WHERE starts_with(unit, %s)", [prefix])


def _json(data: Any) -> str:
    """JSON with null for NaN and infinity, which Postgres rejects."""
    return json.dumps(json.loads(json.dumps(data), parse_constant=lambda _: None))
