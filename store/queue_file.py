"""The file of the queue of runs: derived from the store's rows, so that it can be made anew."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import time
from pathlib import Path
from typing import Any

from filelock import FileLock

from theodolite.store.errors import StoreDamaged, StoreDenied, StoreFull, StoreGone, as_store_errors

NAME = "jobs.db"
ASIDE = f"{NAME}.damaged-"
"""Beginning of the name of a damaged queue that was moved aside."""

log = logging.getLogger("theodolite.store")


def prepare(folder: Path) -> int:
    """Make the file if there is none, or it is damaged.

    Returns:
        Its inode.
    """
    path = folder / NAME
    with (
        as_store_errors(folder),
        FileLock(path.with_suffix(".lock")),
    ):  # several may find it damaged
        if fault(folder):
            for suffix in ("-wal", "-shm"):
                (folder / f"{NAME}{suffix}").unlink(missing_ok=True)
            aside = path.replace(folder / f"{ASIDE}{time.strftime('%Y%m%d-%H%M%S')}")
            log.warning("The queue was damaged and is made anew; the old one is %s.", aside)
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")  # kept in the file
        return path.stat().st_ino


def verify(folder: Path, inode: int) -> None:
    """Raise `StoreGone` if the file was replaced since `prepare`, as by another worker."""
    path = folder / NAME
    if not path.exists() or path.stat().st_ino != inode:
        raise StoreGone(f"{path} was replaced while it was in use.", "Start the worker again.")


def fault(folder: Path) -> str:
    """What is wrong with the file; empty when nothing is, or it cannot be opened."""
    path = folder / NAME
    if path.exists():
        try:
            with as_store_errors(folder), contextlib.closing(sqlite3.connect(path)) as connection:
                return sqlite_fault(connection)
        except StoreDamaged as error:
            return str(error.__cause__)
        except (StoreDenied, StoreFull):
            pass
    return ""


def sqlite_fault(connection: Any) -> str:
    """What SQLite finds wrong with a database; empty when nothing is."""
    answers = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
    return "" if answers == ["ok"] else answers[0]
