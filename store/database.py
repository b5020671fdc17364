"""The SQLite file: one connection per thread, transactions, columns of JSON."""

import contextlib
import copy
import os
import shutil
import sqlite3
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from theodolite.store.errors import (
    StoreClosed,
    StoreDenied,
    StoreError,
    StoreFull,
    StoreGone,
    as_store_errors,
    damage,
)
from theodolite.store.hashing import from_json, to_json
from theodolite.store.schema import bring_up_to_date

Parameters = Sequence[Any] | Mapping[str, Any]

_PRAGMAS = """
PRAGMA busy_timeout = 10000;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA foreign_keys = ON;
"""
_READING = "PRAGMA query_only = ON;"

sqlite3.register_converter("JSON_TEXT", lambda text: from_json(text.decode()))


class _Held:
    """A connection that is closed with the last reference to it.

    `sqlite3.Connection` is part of a reference cycle: left to itself it would stay open until the
    next garbage collection, and a server's threads come and go by the thousand.
    """

    def __init__(self, name: str, pragmas: str) -> None:
        self.connection = sqlite3.connect(
            name,
            detect_types=sqlite3.PARSE_DECLTYPES,
            isolation_level=None,
            check_same_thread=False,
            uri=name.startswith("file:"),
        )
        self.connection.executescript(pragmas)

    def __del__(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()


class Database:
    """A database file shared by threads and processes.

    SQLite connections must not cross threads, so each thread gets its own; it is closed when the
    thread ends or by `close`.

    Where it cannot be opened for want of room or of the right to write, a copy is opened for
    reading: SQLite writes beside what it reads.

    Args:
        path: of the file, which is created, or brought up to date, in any case.
        reading: whether to refuse writes after that; SQLite refuses them as well.
        immutable: whether nobody writes to it, as to what is installed: it is opened as it is, and
            nothing is written beside it.
    """

    def __init__(self, path: Path, *, reading: bool = False, immutable: bool = False) -> None:
        self.path = path
        self.refusal: StoreError | None = None
        self._name = str(path)
        self._local = threading.local()
        self._opened: weakref.WeakSet[_Held] = weakref.WeakSet()
        self._file: tuple[int, int] | None = None
        self._pragmas = _READING if immutable else _PRAGMAS
        if immutable:
            self._name = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
            self.refusal = StoreClosed()
            return
        refusal: StoreError | None = None
        try:
            self._open()
        except (StoreDenied, StoreFull) as error:
            folder = _copied(path)
            if folder is None:
                raise
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self.close()
            self._name = str(folder / path.name)
            self._open()
            refusal = error
        self.refusal = StoreClosed() if reading else refusal
        if self.refusal is not None:
            self._pragmas = _PRAGMAS + _READING
            self.close()

    def _open(self) -> None:
        with (
            as_store_errors(self.path.parent),
            FileLock(Path(self._name).with_suffix(".lock"), timeout=60.0),
        ):
            if _was_emptied(self.path):
                raise damage(self.path.parent, "it is empty, though the folder is not")
            bring_up_to_date(self.connection, self.path.parent)
            self._file = _identity(self._name)

    @property
    def reading(self) -> bool:
        """Whether writes are refused."""
        return self.refusal is not None

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection, in autocommit mode; `write` begins transactions.

        Raises:
            StoreGone: when the file was removed or replaced. An open connection would still
                answer, and everything written to it would be lost.
        """
        if self._file is not None and _identity(self._name) != self._file:
            raise StoreGone(
                f"The store at {self.path.parent} was removed or replaced while it was in use.",
                "Put it back, or start Theodolite again to use what is there now.",
            )
        held: _Held | None = getattr(self._local, "held", None)
        if held is None:
            held = self._local.held = _Held(self._name, self._pragmas)
            self._opened.add(held)
        return held.connection

    def rows(self, sql: str, parameters: Parameters = ()) -> list[dict[str, Any]]:
        """Run a query and return its rows."""
        with as_store_errors(self.path.parent):
            cursor = self.connection.execute(sql, parameters)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row)) for row in cursor]  # noqa: B905 - as many, by SQLite

    def row(self, sql: str, parameters: Parameters = ()) -> dict[str, Any] | None:
        """The first row of a query, or None."""
        rows = self.rows(sql, parameters)
        return rows[0] if rows else None

    def edition(self, table: str) -> tuple[int, int]:
        """A version of a table with AUTOINCREMENT that changes with every added or removed row.

        It is the highest id ever assigned, as ids are never reused, and the number of rows.
        """
        newest = "SELECT seq FROM sqlite_sequence WHERE name = ?"
        sql = f"SELECT ({newest}) AS newest, count(*) AS many FROM {table}"
        row = self.row(sql, [table])
        return (int(row["newest"] or 0), int(row["many"])) if row else (0, 0)

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction, holding the write lock from the start.

        A transaction that reads first and asks for the lock later is refused at once when another
        one wrote in between, however long the timeout; `BEGIN IMMEDIATE` waits instead.
        """
        self.refuse_writing()
        with as_store_errors(self.path.parent):
            connection = self.connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                connection.rollback()
                raise

    def change(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one writing statement; return how many rows it touched."""
        self.refuse_writing()
        with as_store_errors(self.path.parent):
            return int(self.connection.execute(sql, parameters).rowcount)

    def version(self) -> int:
        """A number that changes with whatever is written by others than this thread."""
        return int(self.rows("PRAGMA data_version")[0]["data_version"])

    def refuse_writing(self) -> None:
        """Raise if the database is read-only; call this before writing files beside it."""
        if self.refusal is not None:
            raise copy.copy(self.refusal)  # the same one would keep the traceback of each time

    def close(self) -> None:
        """Close every thread's connection."""
        for held in list(self._opened):
            held.connection.close()
        self._local = threading.local()


class Table:
    """Rows of one kind."""

    def __init__(self, database: Database) -> None:
        self._database = database


class Filed(Table):
    """Rows that name files in a folder."""

    def __init__(self, database: Database, folder: Path) -> None:
        super().__init__(database)
        self.folder = folder


def where(**columns: Iterable[Any] | None) -> tuple[str, list[str]]:
    """The condition that each column is among its values, or anything for None; its parameters."""
    present = {column: list(values) for column, values in columns.items() if values is not None}
    tests = [f"{column} IN (SELECT value FROM json_each(?))" for column in present]
    return " AND ".join(tests) or "1", [to_json(values) for values in present.values()]


def _identity(path: str) -> tuple[int, int] | None:
    """Device and inode of the file at a path; None when there is no file."""
    try:
        stat = os.stat(path)  # noqa: PTH116 - before every query: `Path.stat` takes four times as long
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def _was_emptied(path: Path) -> bool:
    """Whether a database lost its content: SQLite takes an empty file for a new database."""
    beside = ("examples", "uploads", "vectors", "derived", "decoders", "encoders")
    return (
        path.is_file()
        and path.stat().st_size == 0
        and any(any((path.parent / name).glob("*")) for name in beside)
    )


def _copied(path: Path) -> Path | None:
    """The folder of a copy of a database; None when there is no database, or no room."""
    for place in (None, "/dev/shm") if path.is_file() else ():  # noqa: S108 - made for us alone
        folder = None
        try:
            folder = Path(tempfile.mkdtemp(prefix="theodolite-", dir=place))
            for file in (path, path.with_name(f"{path.name}-wal")):
                if file.exists():
                    shutil.copyfile(file, folder / file.name)
            return folder
        except OSError:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
    return None
