"""Errors of the disk and the store, with messages that users can act on. Knows no SQL."""

import copyreg
import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}

DATABASE = "theodolite.db"
"""Name of the database's file in the folder of a store."""


class StoreError(Exception):
    """An operation on the store failed.

    Args:
        message: what happened, one sentence.
        hint: what to do about it, one sentence; may be empty.
        code: the kind of error for programs, as that of a `UserError`; empty for that of the class.
    """

    code = "failed"

    def __init__(self, message: str, hint: str = "", *, code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or self.code

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self),), vars(self)  # type: ignore[attr-defined]


class StoreGone(StoreError):
    """The folder was removed or replaced while it was in use; retrying cannot help."""

    code = "stale"


class StoreClosed(StoreError):
    """The store is read-only, as in a demonstration."""

    code = "denied"

    def __init__(self) -> None:
        super().__init__(
            "This demonstration shows what was worked out before, and keeps nothing.",
            "Start Theodolite on a machine of your own to work this out.",
        )


class StoreFull(StoreError):
    """The disk is full."""


class StoreDenied(StoreError):
    """The disk, or the rights on it, do not let us write."""

    code = "denied"


class StoreDamaged(StoreError):
    """The database, or a value in it, cannot be read."""

    code = "damaged"


class NoSuchRun(StoreError):
    """There is no run of that id, or it was removed."""

    code = "unknown"


class RunAtWork(StoreError):
    """A worker or another terminal is executing the same job."""

    code = "conflict"

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"This is being done already, as run {run_id}.",
            f"Follow it with `theodolite jobs wait {run_id}`, or cancel it first.",
        )
        self.run_id = run_id


@contextmanager
def as_store_errors(place: Path) -> Iterator[None]:
    """Turn errors of the disk and of SQLite into a `StoreError` about `place`."""
    try:
        yield
    except sqlite3.Error as error:
        raise _of_sqlite(error, place) from error
    except UnicodeDecodeError as error:  # SQLite quotes the bytes that it cannot read
        raise damage(place, "its text cannot be read") from error
    except OSError as error:
        raise _of_disk(error, place) from error


def damage(place: Path | None, why: object) -> StoreDamaged:
    """The error that the database of the store, at `place` if given, is damaged."""
    return StoreDamaged(
        f"{place / DATABASE if place else DATABASE} is damaged: {why}.",
        "Put it back from a copy of the store. Without one, SQLite's `.recover` saves the rows that"
        " can be read.",
    )


def _of_disk(error: OSError, place: Path) -> StoreError:
    if error.errno in FULL:
        return _full(place)
    if error.errno in DENIED:
        return _denial(place, error.strerror)
    return StoreError(
        f"The store at {place} cannot be used: {error.strerror or error}.",
        "Choose another folder with --store.",
    )


def _of_sqlite(error: sqlite3.Error, place: Path) -> StoreError:
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF  # without the extended part
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _no_room(place)):
        return _full(place)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(
            f"The store at {place} is held by another program.",
            "Wait for its work to end and try again.",
        )
    unreadable = code == 0 and "decode" in str(error)  # raised by Python, without a code
    if unreadable or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damage(place, error)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return _denial(place, error)
    return StoreError(f"The database of the store at {place} answered: {error}.")


def _denial(place: Path, why: object) -> StoreDenied:
    return StoreDenied(
        f"The store at {place} cannot be written: {why}.",
        "Give this user the right to write there, or choose another folder with --store. What is"
        " there can be looked at: `theodolite --demo`.",
    )


def _full(place: Path) -> StoreFull:
    return StoreFull(
        f"No space is left on the disk of the store at {place}; nothing was changed.",
        "Free some space and try again: `theodolite store clean` removes what nothing refers to,"
        " and the store's folder `vectors` is a cache, which you can delete.",
    )


def _no_room(place: Path) -> bool:
    import shutil

    try:
        return shutil.disk_usage(place).free < 1 << 20
    except OSError:
        return False
