"""The workers of a fleet, in the Postgres database that they share with their homes.

A worker holds its slot by an advisory lock of its connection: the server lets go of it however the
worker ends. Its row says what it has and what it is at. Times are those of the server.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from store.errors import StoreError

if TYPE_CHECKING:
    import psycopg

SILENCE = 15.0
"""Seconds after which a worker that was not heard of is listed no more."""
FORSAKEN = 5.0
"""Seconds of silence after which a worker that has let go of its slot counts as gone."""

_CONNECT_SECONDS = 5
_ANSWER_MILLISECONDS = 10_000
_TURN_SECONDS = 300.0
_LOCK = "hashtextextended('theodolite worker ' || %s, 0)"
_MAKE = """
CREATE SCHEMA IF NOT EXISTS theodolite;
CREATE TABLE IF NOT EXISTS theodolite.workers (
    slot text PRIMARY KEY,
    host text NOT NULL,
    pid integer NOT NULL,
    started timestamptz NOT NULL,
    seen timestamptz NOT NULL,
    has jsonb NOT NULL,
    doing jsonb NOT NULL
)
"""


class FleetAway(StoreError):
    """The database of the fleet does not answer; it may be back later."""


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


class Roster:
    """Who works in a fleet. One connection, opened when it is needed; threads take turns.

    Args:
        url: of the database, for libpq.
        name: of the database, for people: without a password.
    """

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self._connection: psycopg.Connection[Any] | None = None
        self._turn = threading.RLock()
        self._made = False

    def fill(self, slot: str) -> bool:
        """Take a slot for as long as this process is connected; False when it is taken.

        Held already, it stays so. A worker whose connection was lost takes it anew by this.
        """
        held = self._rows(
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted"  # noqa: S608
            " AND pid = pg_backend_pid() AND objsubid = 1"
            f" AND ((classid::bigint << 32) | objid::bigint) = {_LOCK}",
            [slot],
        )
        return bool(held or self._rows(f"SELECT 1 WHERE pg_try_advisory_lock({_LOCK})", [slot]))

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
            " doing = excluded.doing RETURNING 1",
            [slot, host, pid, has and json.dumps(dict(has)), slot, json.dumps(dict(doing))],
        )

    def gone(self, slot: str) -> None:
        """Say that the process in a slot leaves it."""
        self._rows("DELETE FROM theodolite.workers WHERE slot = %s RETURNING 1", [slot])

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

    @contextlib.contextmanager
    def alone(self, what: str) -> Iterator[None]:
        """Do something that no other process does at the same time, as making tables is.

        Raises:
            FleetAway: others are at it for minutes.
        """
        deadline = time.monotonic() + _TURN_SECONDS
        while not self._rows(f"SELECT 1 WHERE pg_try_advisory_lock({_LOCK})", [what]):
            if time.monotonic() > deadline:
                raise FleetAway(
                    f"Others keep the fleet's database {self._name} busy.", "Try again later."
                )
            time.sleep(0.1)
        try:
            yield
        finally:
            self._rows(f"SELECT pg_advisory_unlock({_LOCK})", [what])

    def close(self) -> None:
        """Let go of everything that is held."""
        with self._turn:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _is_free(self, slot: str) -> bool:
        free = f"SELECT 1 WHERE pg_try_advisory_lock({_LOCK})"
        with self._turn:
            if not self._rows(free, [slot]):
                return False
            self._rows(f"SELECT pg_advisory_unlock({_LOCK})", [slot])
            return True

    def _rows(self, sql: str, given: Sequence[Any]) -> Sequence[dict[str, Any]]:
        """Run a statement and return its rows.

        Raises:
            FleetAway: when the database does not answer.
        """
        import psycopg

        with self._turn:
            old = self._connection is not None
            try:
                return self._connected().execute(sql, given).fetchall()
            except psycopg.Error as error:
                self.close()
                if old and isinstance(error, psycopg.OperationalError):  # it was restarted since
                    return self._rows(sql, given)
                said = str(error).strip().splitlines()
                raise FleetAway(
                    f"The fleet's database {self._name} does not answer: {(said or ['?'])[0]}",
                    "What waits there goes on when it is back.",
                ) from error

    def _connected(self) -> psycopg.Connection[Any]:
        import psycopg
        from psycopg.rows import dict_row

        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                self._url, autocommit=True, row_factory=dict_row, connect_timeout=_CONNECT_SECONDS,
                application_name="theodolite", keepalives_idle=10, keepalives_interval=5,
                keepalives_count=3, options=f"-c statement_timeout={_ANSWER_MILLISECONDS}"
                " -c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3",
            )  # fmt: skip
            if not self._made:
                # Two that make them at once would trip over each other.
                with self._connection.transaction():
                    self._connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})", ["tables"])
                    self._connection.execute(_MAKE)
                self._made = True
        return self._connection
