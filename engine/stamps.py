"""Whether files have changed since they were read, so that cached objects follow the disk.

A stamp costs a look at the folder, where a hash reads every byte.
"""

from __future__ import annotations

import os
from pathlib import Path

from engine.errors import UserError

Stamp = tuple[object, ...]
"""Equal as long as no file has changed."""


def stamp(*paths: Path) -> Stamp:
    """Of files and folders: of a folder its files and those of the folders in it, no deeper."""
    return tuple((str(path), *_stamp(path, depth=2)) for path in paths)


def of_file(path: Path) -> tuple[int, int, int, int]:
    """Size, times of change and number of a file.

    The time of the inode cannot be set: a copy that keeps the older time is seen all the same.
    """
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def check_unchanged(before: object, now: object, name: str) -> None:
    """Refuse files that are no longer what they were when a name or hash was made of them.

    Args:
        before: their stamp or hashes then.
        now: the same today.
        name: what was read from them.

    Raises:
        UserError: they differ.
    """
    if now != before:
        raise UserError(
            f"The files of {name} have changed since it was opened.",
            "Ask again: they are read anew.",
        )


def _stamp(path: Path, depth: int) -> Stamp:
    try:
        if not path.is_dir():
            return of_file(path)
        if not depth:
            return ()
        with os.scandir(path) as entries:
            inside = sorted(entry.name for entry in entries)
    except OSError:  # not there, or not for us: whoever reads it will say so
        return ()
    return tuple((name, *_stamp(path / name, depth - 1)) for name in inside)
