"""The workers and homes of a fleet, in the Postgres database that they share.

A worker holds its slot by an advisory lock of its connection, which the server releases however the
worker ends. Its row describes its machine and its present work. Times are those of the server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from theodolite.store.nouns import SILENCE
from theodolite.store.postgres import LOCK, Postgres

FORSAKEN = 5.0
"""Seconds without a heartbeat after which a worker that has released its slot counts as gone."""

_Types = Mapping[str, type | tuple[type, ...]]
_HAS: _Types = {
    "only": list,
    "out": list,
    "devices": list,
    "data": dict,
    "packages": dict,
    "cores": int,
    "memory": int,
    "system": str,
}
_DOING: _Types = {
    "units": list,
    "unit": str,
    "label": str,
    "message": str,
    "share": (int, float),
    "since": (int, float),
}


class Member(TypedDict):
    """A worker of a fleet.

    Attributes:
        slot: its name.
        host: name of the machine.
        pid: of the process there.
        started: seconds since 1970.
        silent: seconds since its last heartbeat.
        has: what its machine has, as it reports, JSON-able; `_HAS` gives the types of its values.
        doing: its present work, JSON-able; likewise `_DOING`.
    """

    slot: str
    host: str
    pid: int
    started: float
    silent: float
    has: dict[str, Any]
    doing: dict[str, Any]


class HomeRow(TypedDict):
    """A home that sends work to the fleet.

    Attributes:
        name: its host and the folder of its store.
        host: name of the machine.
        silent: seconds since its last heartbeat.
        runs: for each run in the fleet its `title`, the number of units that `wait`, and a status
            message `said`.
    """

    name: str
    host: str
    silent: float
    runs: list[dict[str, Any]]


class Roster:
    """Slots and homes; each process has a connection of its own, which holds its slots."""

    def __init__(self, database: Postgres) -> None:
        self.database = database
        self._rows = database.rows

    def fill(self, slot: str) -> bool:
        """Take a slot for as long as this process is connected; False when another holds it.

        A slot that this process holds already stays held. Call it again after a lost connection.
        """
        held = self._rows(
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted"
            " AND pid = pg_backend_pid() AND objsubid = 1"
            f" AND ((classid::bigint << 32) | objid::bigint) = {LOCK}",
            [slot],
        )
        return bool(held or self._rows(f"SELECT 1 WHERE pg_try_advisory_lock({LOCK})", [slot]))

    def seen(
        self,
        slot: str,
        host: str,
        pid: int,
        has: Mapping[str, Any] | None,
        doing: Mapping[str, Any],
    ) -> None:
        """Record a heartbeat of the process in a slot, what it has, and its present work.

        Args:
            slot: its name.
            host: name of the machine.
            pid: of the process.
            has: what its machine has, JSON-able; None to keep the last report, which costs less.
            doing: its present work, JSON-able.
        """
        self._rows(
            "INSERT INTO theodolite.workers VALUES (%s, %s, %s, now(), now(), coalesce(%s::jsonb,"
            " (SELECT has FROM theodolite.workers WHERE slot = %s)), %s)"
            " ON CONFLICT (slot) DO UPDATE SET started = CASE WHEN workers.pid = excluded.pid"
            " AND workers.host = excluded.host THEN workers.started ELSE now() END,"
            " host = excluded.host, pid = excluded.pid, seen = now(), has = excluded.has,"
            " doing = excluded.doing",
            [slot, host, pid, has and json.dumps(dict(has)), slot, json.dumps(dict(doing))],
        )

    def gone(self, slot: str) -> None:
        """Record that the process in a slot leaves it."""
        self._rows("DELETE FROM theodolite.workers WHERE slot = %s", [slot])

    def list(self) -> list[Member]:
        """Workers with a heartbeat in the last `SILENCE` seconds, by slot."""
        rows = self._rows(
            "SELECT slot, host, pid, extract(epoch FROM started)::float AS started,"
            " extract(epoch FROM now() - seen)::float AS silent, has, doing"
            " FROM theodolite.workers WHERE seen > now() - make_interval(secs => %s) ORDER BY slot",
            [SILENCE],
        )
        for row in rows:
            row["has"], row["doing"] = _of_types(row["has"], _HAS), _of_types(row["doing"], _DOING)
        return [Member(**row) for row in rows]  # type: ignore[typeddict-item]

    def forsaken(self, slots: Sequence[str]) -> set[str]:
        """The slots among these that no process fills: without a recent heartbeat and unlocked."""
        gone = set()
        for slot in set(slots):
            recent = self._rows(
                "SELECT 1 FROM theodolite.workers WHERE slot = %s"
                " AND seen > now() - make_interval(secs => %s)",
                [slot, FORSAKEN],
            )
            if not recent and self._is_free(slot):
                gone.add(slot)
        return gone

    def home_seen(self, name: str, host: str, runs: Sequence[Mapping[str, Any]]) -> None:
        """Record a heartbeat of a home, and its runs in the fleet; see `HomeRow`."""
        self._rows(
            "INSERT INTO theodolite.homes VALUES (%s, %s, now(), %s) ON CONFLICT (name)"
            " DO UPDATE SET host = excluded.host, seen = now(), runs = excluded.runs",
            [name, host, json.dumps(list(map(dict, runs)))],
        )

    def homes(self) -> Sequence[HomeRow]:
        """Homes with a heartbeat in the last `SILENCE` seconds, by name."""
        rows = self._rows(
            "SELECT name, host, extract(epoch FROM now() - seen)::float AS silent, runs"
            " FROM theodolite.homes WHERE seen > now() - make_interval(secs => %s) ORDER BY name",
            [SILENCE],
        )
        for row in rows:
            runs = row["runs"] if isinstance(row["runs"], list) else []
            run: _Types = {"title": str, "wait": int, "said": str}
            row["runs"] = [one for one in runs if _of_types(one, run).keys() == run.keys()]
        return [HomeRow(**row) for row in rows]  # type: ignore[typeddict-item]

    def close(self) -> None:
        """Close the connection, which releases its slots."""
        self.database.close()

    def _is_free(self, slot: str) -> bool:
        with self.database.turn:
            if not self._rows(f"SELECT 1 WHERE pg_try_advisory_lock({LOCK})", [slot]):
                return False
            self._rows(f"SELECT pg_advisory_unlock({LOCK})", [slot])
            return True


def _of_types(said: Any, types: _Types) -> dict[str, Any]:
    """The values of what a process said that are of the expected types; texts in lists and dicts.

    Whatever else is in a row of another version, or of a damaged one, must harm nobody.
    """
    return {
        name: value
        for name, value in (said.items() if isinstance(said, dict) else ())
        if isinstance(value, types.get(name, ()))
        and all(isinstance(text, str) for text in _texts(value))
    }


def _texts(value: Any) -> Sequence[Any]:
    return (
        value if isinstance(value, list) else [*value.values()] if isinstance(value, dict) else []
    )
