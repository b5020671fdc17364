"""The folder for what browsers upload and what pages let them download: this process's own.

By default all Gradio apps of a machine share one, and each serves whatever lies in it.
"""

import atexit
import contextlib
import functools
import os
import shutil
import tempfile
import time
from pathlib import Path

from filelock import FileLock, Timeout

_PREFIX, _LOCK = "theodolite-", ".in-use"
_JUST_MADE = 60.0
"""Seconds in which a folder may not be locked yet by the process that made it."""


@functools.cache
def folder() -> Path:
    """Make the folder, which only this user can read, and have Gradio use it.

    It goes when the process ends. What an earlier process left that was killed goes now.
    """
    root = Path(os.environ.get("GRADIO_TEMP_DIR") or tempfile.gettempdir()).resolve()
    root.mkdir(parents=True, exist_ok=True)
    for left in root.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError, Timeout):
            _remove(left)
    scratch = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
    lock = FileLock(scratch / _LOCK, timeout=0)
    lock.acquire()
    os.environ["GRADIO_TEMP_DIR"] = str(scratch)  # read at each use

    def end() -> None:
        lock.release()
        shutil.rmtree(scratch, ignore_errors=True)

    atexit.register(end)
    return scratch


def _remove(left: Path) -> None:
    """Remove a folder unless its process still holds the lock.

    Raises:
        Timeout: it does.
        OSError: it cannot be removed, such as that of another user.
    """
    lock = left / _LOCK
    if lock.is_file() and time.time() - left.stat().st_mtime > _JUST_MADE:
        with FileLock(lock, timeout=0):
            shutil.rmtree(left, ignore_errors=True)
