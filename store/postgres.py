"""The Postgres database that a fleet shares: one connection, and our tables in it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from theodolite.store.errors import StoreError

if TYPE_CHECKING:
    import psycopg

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
CREATE TABLE IF NOT EXISTS theodolite.asked (
    unit text PRIMARY KEY,
    word text NOT NULL
);
CREATE TABLE IF NOT EXISTS theodolite.chunks (
    file text NOT NULL,
    number integer NOT NULL,
    digest text NOT NULL,
    data bytea NOT NULL,
    used timestamptz NOT NULL,
    PRIMARY KEY (file, number)
)
"""


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

    def rows(self, sql: str, given: Sequence[Any] = ()) -> list[dict[str, Any]]:
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
