"""The Postgres database that a fleet shares: units, workers and homes, reports.

A home adds the units of its runs, a worker claims one at a time in a single statement and adds the
answer, and the home reads, stores and deletes it. A worker holds its slot by an advisory lock of
its connection, which the server releases however the worker ends. Its row describes its machine and
its present work. It appends reports about the unit that it executes. Times are those of the server.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from theodolite.store.errors import StoreError
from theodolite.store.nouns import SILENCE

if TYPE_CHECKING:
    import psycopg

LOG = "log"
"""The kind of a report whose data are lines of the log; all others are events."""
_AT_ONCE = 500

LOCK = "hashtextextended('theodolite worker ' || %s, 0)"
"""SQL for the key of an advisory lock, with a placeholder for its name."""

_CONNECT_SECONDS = 5
_ANSWER_MILLISECONDS = 10_000
_TURN_SECONDS = 300.0
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
);
CREATE TABLE IF NOT EXISTS theodolite.homes (
    name text PRIMARY KEY,
    host text NOT NULL,
    seen timestamptz NOT NULL,
    runs jsonb NOT NULL
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
    given text NOT NULL,
    slots text[],
    slot text,
    starts integer NOT NULL DEFAULT 0,
    word text NOT NULL DEFAULT '',
    answer text
);
CREATE INDEX IF NOT EXISTS units_waiting ON theodolite.units (priority, number)
    WHERE slot IS NULL AND answer IS NULL;
CREATE INDEX IF NOT EXISTS units_claimed ON theodolite.units (slot) WHERE answer IS NULL
"""
FORSAKEN = 5.0
"""Seconds without a heartbeat after which a worker that has released its slot counts as gone."""

_Types = Mapping[str, type | tuple[type, ...]]
_HAS: _Types = {
    "only": list,
    "files": str,
    "devices": list,
    "data": dict,
    "packages": dict,
    "cores": int,
    "memory": int,
    "system": str,
}
_DOING: _Types = {
    "unit": str,
    "label": str,
    "message": str,
    "share": (int, float),
    "since": (int, float),
}


class FleetAway(StoreError):
    """The database of the fleet does not answer; it may be back later."""

    code = "unreachable"


class Postgres:
    """One connection, opened on demand and reopened when lost; threads take turns.

    Args:
        url: of the database, for libpq.
        name: of the database, for people, without a password.
    """

    def __init__(self, url: str, name: str) -> None:
        self.name = name
        self._url = url
        self._connection: psycopg.Connection[Any] | None = None
        self.turn = threading.RLock()
        self._made = False

    def rows(self, sql: str, given: Sequence[Any] | Mapping[str, Any] = ()) -> list[dict[str, Any]]:
        """Run a statement and return its rows, if any.

        Raises:
            FleetAway: when the database does not answer.
        """
        import psycopg

        with self.turn:
            old = self._connection is not None
            try:
                cursor = self._connected().execute(sql.encode(), given)
                return cursor.fetchall() if cursor.description else []
            except psycopg.Error as error:
                self.close()
                lost = isinstance(error, psycopg.OperationalError)  # as when the server restarts
                if old and lost and not isinstance(error, psycopg.errors.QueryCanceled):
                    return self.rows(sql, given)
                lines = str(error).strip().splitlines()
                raise FleetAway(
                    f"The fleet's database {self.name} does not answer: {(lines or ['?'])[0]}",
                    "What waits there goes on when it is back.",
                ) from error

    @contextlib.contextmanager
    def alone(self, what: str) -> Iterator[None]:
        """Hold the advisory lock of a name, as while tables are made.

        Raises:
            FleetAway: others hold the lock for minutes.
        """
        deadline = time.monotonic() + _TURN_SECONDS
        while not self.rows(f"SELECT 1 WHERE pg_try_advisory_lock({LOCK})", [what]):
            if time.monotonic() > deadline:
                raise FleetAway(
                    f"Others keep the fleet's database {self.name} busy.", "Try again later."
                )
            time.sleep(0.1)
        try:
            yield
        finally:
            self.rows(f"SELECT pg_advisory_unlock({LOCK})", [what])

    def close(self) -> None:
        """Close the connection, which releases its locks."""
        with self.turn:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _connected(self) -> psycopg.Connection[Any]:
        import psycopg
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
            if not self._made:
                # Two processes that create them at once would collide.
                with self._connection.transaction():
                    self._connection.execute(
                        f"SELECT pg_advisory_xact_lock({LOCK})".encode(), ["tables"]
                    )
                    self._connection.execute(_MAKE)
                self._made = True
        return self._connection


class Member(TypedDict):
    """A worker of a fleet.

    If `has` is None the last report stays, which costs less.
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


class Report(TypedDict):
    """A report about a unit.

    Ids grow in the order in which a worker reported. The data of a `LOG` are its `lines`.
    """

    id: int
    unit: str
    kind: str
    data: dict[str, Any]


class Reports:
    """Reports about units, from the workers that execute them to their homes."""

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

    def remove(self, ids: Sequence[int]) -> None:
        """Delete reports that the home has stored."""
        self._rows("DELETE FROM theodolite.reports WHERE id = ANY(%s)", [list(ids)])


class UnitState(TypedDict):
    """Where a unit is.

    Attributes:
        slots: names of the workers that may claim it; None for all.
        slot: of the worker that claimed it.
        starts: times that it was claimed.
        answer: JSON, as its worker wrote it.
    """

    id: str
    slots: list[str] | None
    slot: str | None
    starts: int
    answer: str | None


class Units:
    """Units that wait for a worker, are with one, or wait for their home to read the answer."""

    def __init__(self, database: Postgres) -> None:
        self._rows = database.rows

    def add(
        self,
        unit: str,
        work: str,
        version: str,
        given: Mapping[str, Any],
        priority: int = 0,
        slots: Sequence[str] | None = None,
    ) -> None:
        """Add a unit, once.

        Args:
            unit: its id.
            work: the kind of work.
            version: of `given`; workers claim those of their version.
            given: JSON-able.
            priority: lower is claimed earlier.
            slots: names of the workers that may claim it; None for all.
        """
        self._rows(
            "INSERT INTO theodolite.units (id, work, version, priority, given, slots)"
            " VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            [unit, work, version, priority, json.dumps(given), slots and list(slots)],
        )

    def claim(self, slot: str, works: Sequence[str], version: str) -> tuple[str, str] | None:
        """Claim a unit for a worker; return its id and what is given. None if there is none.

        What the worker claimed before and did not answer comes first, as after a crash.
        """
        rows = self._rows(
            "UPDATE theodolite.units SET slot = %(slot)s, starts = starts + 1 WHERE id = coalesce("
            "(SELECT id FROM theodolite.units WHERE slot = %(slot)s AND answer IS NULL LIMIT 1),"
            "(SELECT id FROM theodolite.units WHERE slot IS NULL AND answer IS NULL"
            " AND version = %(version)s AND work = ANY(%(works)s)"
            " AND (slots IS NULL OR %(slot)s = ANY(slots))"
            " ORDER BY priority, number LIMIT 1 FOR UPDATE SKIP LOCKED)) RETURNING id, given",
            {"slot": slot, "works": list(works), "version": version},
        )
        return (str(rows[0]["id"]), str(rows[0]["given"])) if rows else None

    def answer(self, unit: str, slot: str, answer: Mapping[str, Any]) -> None:
        """Answer a unit, unless it is no longer the worker's."""
        self._rows(
            "UPDATE theodolite.units SET answer = %s WHERE id = %s AND slot = %s",
            [json.dumps(answer), unit, slot],
        )

    def word(self, unit: str, slot: str) -> str | None:
        """What the home asks of a unit's worker, else empty; None if the unit is not the worker's.

        See `ask`.
        """
        rows = self._rows(
            "SELECT word FROM theodolite.units WHERE id = %s AND slot = %s", [unit, slot]
        )
        return str(rows[0]["word"]) if rows else None

    def ask(self, units: Sequence[str], word: str) -> None:
        """Ask something of the workers of some units."""
        self._rows("UPDATE theodolite.units SET word = %s WHERE id = ANY(%s)", [word, list(units)])

    def of(self, units: Sequence[str]) -> dict[str, UnitState]:
        """Those of some units that are in the database, by id."""
        rows = self._rows(
            "SELECT id, slots, slot, starts, answer FROM theodolite.units WHERE id = ANY(%s)",
            [list(units)],
        )
        return {row["id"]: UnitState(**row) for row in rows}  # type: ignore[typeddict-item]

    def remove(self, units: Sequence[str]) -> None:
        """Delete units; a worker stops within seconds."""
        self._rows("DELETE FROM theodolite.units WHERE id = ANY(%s)", [list(units)])

    def remove_all(self, prefix: str) -> None:
        """Delete the units whose ids begin with `prefix`, and all reports about them."""
        for table, column in (("units", "id"), ("reports", "unit")):
            self._rows(f"DELETE FROM theodolite.{table} WHERE starts_with({column}, %s)", [prefix])


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


def _json(data: Any) -> str:
    """JSON with null for NaN and infinity, which Postgres rejects."""
    return json.dumps(json.loads(json.dumps(data), parse_constant=lambda _: None))
