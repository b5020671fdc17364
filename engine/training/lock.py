"""A lock on a folder: two processes that train into the same one would damage each other's work."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from theodolite.engine.errors import UserError, first_line


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Lock a folder, created if missing; the system releases the lock when the process dies.

    A folder left empty is removed.
    """
    # A generator is closed by whichever thread drops it, which need not be the one that began it.
    held = FileLock(folder / "lock", thread_local=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held.acquire(timeout=0)
    except Timeout as error:
        raise UserError(
            f"Another process is at work in {folder}.",
            "Wait until it is done or stop it; or choose another folder for the trained model.",
            code="conflict",
        ) from error
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written: {first_line(error)}",
            "Choose another folder.",
            code="no-file",
        ) from error
    try:
        yield
    finally:
        held.release()
        if not any(found.name != "lock" for found in folder.glob("*")):
            shutil.rmtree(folder, ignore_errors=True)
