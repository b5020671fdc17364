"""The Postgres database that a fleet shares: workers, runs away from home, their units, reports.

A home adds the units of its runs, a worker claims one at a time in a single statement and adds the
answer, and the home reads, stores and deletes it. A worker holds its slot by an advisory lock of
its connection, which the server releases however the worker ends. Times are those of the server.
Everything that a program may look at is a column with a type, so whatever others write can be read.
"""

import json
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from theodolite.store.errors import StoreError
from theodolite.store.nouns import SILENCE

Row = dict[str, Any]
"""A row, with the columns of `_MAKE`."""

LOG = "log"
"""The kind of a report whose data are lines of the log; all others are events."""
FORSAKEN = 5.0
"""Seconds without a heartbeat after which a worker that has released its slot counts as gone."""
LOCK = "hashtextextended('theodolite worker ' || {}, 0)"
"""SQL for the key of the advisory lock of a slot."""
_HELD = (
    "SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database"
    " WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND datname = current_database()"
    " AND ((classid::bigint << 32) | objid::bigint) ="
)
_LACKING = (
    "SELECT FROM unnest(needs) AS need WHERE need <> ALL(%(has)s::text[])"
    r" AND regexp_replace(need, ' \([^(]*\)$', '') <> ALL(%(has)s::text[])"
)
"""What a unit needs that a worker does not have: neither as it is, nor with unknown contents."""
_FORSAKEN = (
    f"CASE WHEN pg_postmaster_start_time() > now() - make_interval(secs => {FORSAKEN}) OR EXISTS"
    " (SELECT FROM theodolite.workers WHERE workers.slot = units.slot"
    f" AND workers.seen > now() - make_interval(secs => {FORSAKEN}))"
    f" THEN false ELSE NOT EXISTS ({_HELD} {LOCK.format('units.slot')}) END"
)
"""Whether the worker that claimed a unit is gone for good."""
_AT_ONCE = 500
_CONNECT_SECONDS = 5
_ANSWER_MILLISECONDS = 10_000
_MAKE = """
CREATE SCHEMA IF NOT EXISTS theodolite;
CREATE TABLE IF NOT EXISTS theodolite.workers (
    slot text PRIMARY KEY,
    host text NOT NULL,
    pid integer NOT NULL,
    started timestamptz NOT NULL DEFAULT now(),
    seen timestamptz NOT NULL DEFAULT now(),
    takes text[] NOT NULL,
    has text[] NOT NULL,
    machine text NOT NULL,
    unit text NOT NULL,
    label text NOT NULL,
    message text NOT NULL,
    share float8 NOT NULL,
    since float8
);
CREATE TABLE IF NOT EXISTS theodolite.runs (
    id text PRIMARY KEY,
    home text NOT NULL,
    title text NOT NULL,
    waiting integer NOT NULL,
    message text NOT NULL,
    seen timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS theodolite.reports (
    id bigserial PRIMARY KEY,
    unit text NOT NULL,
    kind text NOT NULL,
    data jsonb NOT NULL
);
CREATE INDEX IF NOT EXISTS reports_unit ON theodolite.reports (unit, id);
CREATE TABLE IF NOT EXISTS theodolite.units (
    id text PRIMARY KEY,
    number bigserial,
    work text NOT NULL,
    version text NOT NULL,
    priority integer NOT NULL,
    needs text[] NOT NULL,
    given text NOT NULL,
    slot text,
    starts integer NOT NULL DEFAULT 0,
    word text NOT NULL DEFAULT '',
    answer text
);
CREATE INDEX IF NOT EXISTS units_open ON theodolite.units (priority, number) WHERE answer IS NULL;
CREATE INDEX IF NOT EXISTS units_claimed ON theodolite.units (slot) WHERE answer IS NULL
"""


class FleetAway(StoreError):
    """The database of the fleet does not answer; it may be back later."""

    code = "unreachable"


class Fleet:
    """One connection, opened on demand and reopened when lost; threads take turns.

    Args:
        url: of the database, for libpq.
        name: of the database, for people, without a password.
    """

    def __init__(self, url: str, name: str) -> None:
        self.name, self._url = name, url
        self._connection: psycopg.Connection[Any] | None = None
        self._turn = threading.RLock()

    def rows(self, sql: str, given: Sequence[Any] | Mapping[str, Any] = ()) -> list[Row]:
        """Run a statement and return its rows, if any.

        Raises:
            FleetAway: when the database does not answer.
        """
        with self._turn:
            old = self._connection is not None
            try:
                cursor = self._connect().execute(sql.encode(), given)
                return cursor.fetchall() if cursor.description else []
            except psycopg.Error as error:
                self.close()
                lost = isinstance(error, psycopg.OperationalError)  # as when the server restarts
                if old and lost and not isinstance(error, psycopg.errors.QueryCanceled):
                    return self.rows(sql, given)
                reason = (str(error).strip().splitlines() or ["?"])[0].rstrip(".")
                if re.search(r'database ".*" does not exist', reason):
                    raise FleetAway(
                        f"The fleet's database {self.name} does not exist on its server.",
                        "Make it: createdb --encoding UTF8 --template template0 NAME",
                    ) from error
                raise FleetAway(
                    f"The fleet's database {self.name} does not answer: {reason}.",
                    "What waits there goes on when it is back.",
                ) from error

    def close(self) -> None:
        """Close the connection, which releases its slots."""
        with self._turn:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _connect(self) -> psycopg.Connection[Any]:
        from psycopg.rows import dict_row

        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                self._url,
                autocommit=True,
                row_factory=dict_row,
                connect_timeout=_CONNECT_SECONDS,
                application_name="theodolite",
                keepalives_idle=10,
                keepalives_interval=5,
                keepalives_count=3,
                options=f"-c statement_timeout={_ANSWER_MILLISECONDS}"
                " -c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3",
            )
            encoding = self._connection.info.parameter_status("server_encoding")
            if encoding != "UTF8":
                self.close()
                raise StoreError(
                    f"The fleet's database {self.name} keeps text as {encoding}, which cannot hold"
                    " every sentence.",
                    "Make one that can: createdb --encoding UTF8 --template template0 NAME",
                    code="unsupported",
                )
            with self._connection.transaction():
                # Two processes that create them at once would collide.
                lock = "SELECT pg_advisory_xact_lock(hashtextextended('theodolite', 0))"
                self._connection.execute(lock.encode())
                self._connection.execute(_MAKE)
        return self._connection

    def fill(self, slot: str) -> bool:
        """Take a slot for as long as this process is connected; False when another holds it.

        A slot that this process holds already stays held. Call it again after a lost connection.
        """
        key = LOCK.format("%s")
        return bool(
            self.rows(f"{_HELD} {key} AND pid = pg_backend_pid()", [slot])
            or self.rows(f"SELECT 1 WHERE pg_try_advisory_lock({key})", [slot])
        )

    def beat(self, worker: Mapping[str, Any]) -> None:
        """Record a heartbeat of the worker in a slot: its columns but `started` and `seen`."""
        new = ", ".join(f"{name} = excluded.{name}" for name in (*worker, "seen"))
        self.rows(
            f"INSERT INTO theodolite.workers ({', '.join(worker)})"
            f" VALUES ({', '.join(f'%({name})s' for name in worker)}) ON CONFLICT (slot)"
            " DO UPDATE SET started = CASE WHEN (workers.pid, workers.host)"
            f" = (excluded.pid, excluded.host) THEN workers.started ELSE now() END, {new}",
            worker,
        )

    def leave(self, slot: str) -> None:
        """Record that the process in a slot leaves it."""
        self.rows("DELETE FROM theodolite.workers WHERE slot = %s", [slot])

    def workers(self) -> list[Row]:
        """Workers with a heartbeat in the last `SILENCE` seconds, by slot.

        `started` is in seconds since 1970, and `silent` those since the heartbeat.
        """
        return self.rows(
            "SELECT slot, host, pid, extract(epoch FROM started)::float8 AS started,"
            " extract(epoch FROM now() - seen)::float8 AS silent, takes, has, machine, unit,"
            " label, message, share, since FROM theodolite.workers"
            " WHERE seen > now() - make_interval(secs => %s) ORDER BY slot",
            [SILENCE],
        )

    def announce(self, run: str, home: str, title: str, waiting: int, message: str) -> None:
        """Record how far a run is that is away from its home."""
        self.rows(
            "INSERT INTO theodolite.runs VALUES (%s, %s, %s, %s, %s) ON CONFLICT (id) DO UPDATE"
            " SET waiting = excluded.waiting, message = excluded.message, seen = excluded.seen",
            [run, home, title, waiting, message],
        )

    def runs(self, home: str | None = None) -> list[Row]:
        """All runs of a home, or those of any that was heard in the last `SILENCE` seconds."""
        return self.rows(
            "SELECT id, home, title, waiting, message FROM theodolite.runs WHERE home = %(home)s"
            " OR (%(home)s::text IS NULL AND seen > now() - make_interval(secs => %(silence)s))"
            " ORDER BY home, title",
            {"home": home, "silence": SILENCE},
        )

    def send(
        self,
        unit: str,
        work: str,
        version: str,
        task: Mapping[str, Any],
        needs: Sequence[str] = (),
        priority: int = 0,
    ) -> None:
        """Add a unit, once.

        Args:
            unit: its id.
            work: the kind of work.
            version: of `given`; workers claim those of their version.
            task: JSON-able.
            needs: what a worker must have that claims it.
            priority: lower is claimed earlier.
        """
        self.rows(
            "INSERT INTO theodolite.units (id, work, version, given, needs, priority)"
            " VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            [unit, work, version, json.dumps(task), list(needs), priority],
        )

    def claim(
        self, slot: str, takes: Sequence[str], version: str, has: Sequence[str] = ()
    ) -> tuple[str, str] | None:
        """Claim a unit for a worker; return its id and what is given. None if there is none.

        What the worker claimed before and did not answer comes first, as after a crash. The units
        of workers that are gone for good are open to all.
        """
        rows = self.rows(
            "UPDATE theodolite.units SET slot = %(slot)s, starts = starts + 1 WHERE id = coalesce("
            "(SELECT id FROM theodolite.units WHERE slot = %(slot)s AND answer IS NULL LIMIT 1),"
            "(SELECT id FROM theodolite.units WHERE answer IS NULL"
            " AND version = %(version)s AND work = ANY(%(takes)s)"
            f" AND (slot IS NULL OR {_FORSAKEN}) AND NOT EXISTS ({_LACKING})"
            " ORDER BY priority, number LIMIT 1 FOR UPDATE SKIP LOCKED)) RETURNING id, given",
            {"slot": slot, "takes": list(takes), "version": version, "has": list(has)},
        )
        return (str(rows[0]["id"]), str(rows[0]["given"])) if rows else None

    def release(self, unit: str, slot: str) -> None:
        """Leave a unit to others, as if it had not been claimed."""
        self.rows(
            "UPDATE theodolite.units SET slot = NULL, starts = starts - 1"
            " WHERE id = %s AND slot = %s",
            [unit, slot],
        )

    def answer(self, unit: str, slot: str, answer: Mapping[str, Any]) -> None:
        """Answer a unit, unless it is no longer the worker's."""
        self.rows(
            "UPDATE theodolite.units SET answer = %s WHERE id = %s AND slot = %s",
            [json.dumps(answer), unit, slot],
        )

    def ask(self, units: Sequence[str], word: str) -> None:
        """Ask something of the workers of some units."""
        self.rows("UPDATE theodolite.units SET word = %s WHERE id = ANY(%s)", [word, list(units)])

    def word(self, unit: str, slot: str) -> str | None:
        """What the home asks of a unit's worker, else empty; None if the unit is not the worker's.

        See `ask`.
        """
        rows = self.rows(
            "SELECT word FROM theodolite.units WHERE id = %s AND slot = %s", [unit, slot]
        )
        return str(rows[0]["word"]) if rows else None

    def units(self, units: Sequence[str]) -> dict[str, Row]:
        """Those of some units that are in the database, by id."""
        sql = "SELECT id, needs, slot, starts, answer FROM theodolite.units WHERE id = ANY(%s)"
        return {row["id"]: row for row in self.rows(sql, [list(units)])}

    def remove(self, units: Sequence[str]) -> None:
        """Delete units; a worker stops within seconds."""
        self.rows("DELETE FROM theodolite.units WHERE id = ANY(%s)", [list(units)])

    def end(self, run: str) -> None:
        """Delete a run, its units, whose ids begin with its own, and all reports about them."""
        for table, column in (("units", "id"), ("reports", "unit"), ("runs", "id")):
            self.rows(f"DELETE FROM theodolite.{table} WHERE starts_with({column}, %s)", [run])

    def report(self, unit: str, reports: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Append reports about a unit, as (kind, data), with null for NaN and infinity.

        A NUL, which Postgres cannot hold in a text, becomes the sign for what cannot be shown.
        """
        rows = json.dumps([{"kind": kind, "data": data} for kind, data in reports])
        finite = json.dumps(json.loads(rows, parse_constant=lambda _: None))
        self.rows(
            "INSERT INTO theodolite.reports (unit, kind, data) SELECT %s, one.kind, one.data"
            " FROM jsonb_to_recordset(%s) AS one (kind text, data jsonb)",
            [unit, re.sub(r"(?<!\\)((?:\\\\)*)\\u0000", r"\1\\ufffd", finite)],
        )

    def reports(self, units: Sequence[str]) -> list[Row]:
        """The oldest reports about some units, at most `_AT_ONCE`, in the order of their ids."""
        return self.rows(
            "SELECT id, unit, kind, CASE jsonb_typeof(data) WHEN 'object' THEN data ELSE '{}' END"
            " AS data FROM theodolite.reports WHERE unit = ANY(%s) ORDER BY id LIMIT %s",
            [list(units), _AT_ONCE],
        )

    def remove_reports(self, ids: Sequence[int]) -> None:
        """Delete reports that the home has stored."""
        self.rows("DELETE FROM theodolite.reports WHERE id = ANY(%s)", [list(ids)])
