"""The workers and homes of a fleet, in the Postgres database that they share.

A worker holds its slot by an advisory lock of its connection: the server lets go of it however the
worker ends. Its row says what it has and what it is at. Times are those of the server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from store.postgres import LOCK, Postgres

SILENCE = 15.0
"""Seconds after which one that was not heard of is listed no more."""
FORSAKEN = 5.0
"""Seconds of silence after which a worker that has let go of its slot counts as gone."""


class Member(TypedDict):
    """A worker of a fleet.

    Attributes:
        slot: its name.
        host: of the machine.
        pid: of the process there.
        started: seconds since 1970.
        silent: seconds since it was last heard of.
        has: what it says that it has, JSON-able.
        doing: what it is at; empty for nothing.
    """

    slot: str
    host: str
    pid: int
    started: float
    silent: float
    has: dict[str, Any]
    doing: dict[str, Any]


class HomeRow(TypedDict):
    """A home that gives work away.

    Attributes:
        name: of its host and store.
        host: of the machine.
        silent: seconds since it was last heard of.
        runs: of each run that is away its `title`, how many units `wait`, and what is `said` of it.
    """

    name: str
    host: str
    silent: float
    runs: list[dict[str, Any]]


class Roster:
    """Slots and homes; each process has a connection of its own, which holds what it fills."""

    def __init__(self, database: Postgres) -> None:
        self.database = database
        self._rows = database.rows

    def fill(self, slot: str) -> bool:
        """Take a slot for as long as this process is connected; False when it is taken.

        Held already, it stays so. A worker whose connection was lost takes it anew by this.
        """
        held = self._rows(
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted"  # noqa: S608
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
        """Say that a process fills a slot and is alive, what it has, and what it is at.

        Args:
            slot: its name.
            host: of the machine.
            pid: of the process.
            has: what it has, JSON-able; None for what was said before, which costs less.
            doing: what it is at, JSON-able.
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
        """Say that the process in a slot leaves it."""
        self._rows("DELETE FROM theodolite.workers WHERE slot = %s", [slot])

    def list(self) -> list[Member]:
        """Those heard of lately, by slot."""
        rows = self._rows(
            "SELECT slot, host, pid, extract(epoch FROM started)::float AS started,"
            " extract(epoch FROM now() - seen)::float AS silent, has, doing"
            " FROM theodolite.workers WHERE seen > now() - make_interval(secs => %s) ORDER BY slot",
            [SILENCE],
        )
        return [Member(**row) for row in rows]  # type: ignore[typeddict-item]

    def forsaken(self, slots: Sequence[str]) -> set[str]:
        """Those of some slots that nobody fills: not heard of for a while, and not held."""
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
        """Say that a home is there, and what it has given away; see `HomeRow`."""
        self._rows(
            "INSERT INTO theodolite.homes VALUES (%s, %s, now(), %s) ON CONFLICT (name)"
            " DO UPDATE SET host = excluded.host, seen = now(), runs = excluded.runs",
            [name, host, json.dumps(list(map(dict, runs)))],
        )

    def homes(self) -> Sequence[HomeRow]:
        """Those heard of lately, by name."""
        rows = self._rows(
            "SELECT name, host, extract(epoch FROM now() - seen)::float AS silent, runs"
            " FROM theodolite.homes WHERE seen > now() - make_interval(secs => %s) ORDER BY name",
            [SILENCE],
        )
        return [HomeRow(**row) for row in rows]  # type: ignore[typeddict-item]

    def close(self) -> None:
        """Let go of everything that is held."""
        self.database.close()

    def _is_free(self, slot: str) -> bool:
        with self.database.turn:
            if not self._rows(f"SELECT 1 WHERE pg_try_advisory_lock({LOCK})", [slot]):
                return False
            self._rows(f"SELECT pg_advisory_unlock({LOCK})", [slot])
            return True
