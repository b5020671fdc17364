"""Stamps of files, by which cached objects notice that the files on disk have changed.

A stamp costs a scan of the folder, where a hash reads every byte.
"""

import os
from pathlib import Path

from theodolite.engine.errors import UserError

Stamp = tuple[object, ...]
"""Equal for as long as no file has changed."""


def stamp(*paths: Path) -> Stamp:
    """Return the stamp of files and folders; a folder is scanned two levels deep."""
    return tuple((str(path), *_stamp(path, depth=2)) for path in paths)


def of_file(path: Path) -> tuple[int, int, int, int]:
    """Return a file's size, modification time, inode change time and inode number.

    The inode change time cannot be set, so a copy that keeps the modification time is noticed too.
    """
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def check_unchanged(before: object, now: object, name: str) -> None:
    """Refuse files that have changed since a name or hash was derived from them.

    Args:
        before: their stamp or hashes then.
        now: their stamp or hashes now.
        name: of the object that was read from them.
    """
    if now != before:
        raise UserError(
            f"The files of {name} have changed since it was opened.",
            "Ask again: they are read anew.",
            code="stale",
        )


def _stamp(path: Path, depth: int) -> Stamp:
    try:
        if not path.is_dir():
            return of_file(path)
        if not depth:
            return ()
        with os.scandir(path) as entries:
            inside = sorted(entry.name for entry in entries)
    except OSError:  # missing or not permitted: reading it will raise
        return ()
    return tuple((name, *_stamp(path / name, depth - 1)) for name in inside)
