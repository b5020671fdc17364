"""A lock between processes that the operating system releases when its holder dies."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import IO

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FileLock:
    """An exclusive lock on a file, between processes and between threads.

    The file itself is left in place: were it removed, two processes could lock
    two files of one name.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    def acquire(self, timeout: float = 0.0) -> bool:
        """Take the lock, waiting up to `timeout` seconds; say whether it was got."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("ab")
        deadline = time.monotonic() + timeout
        while True:
            try:
                _lock(file.fileno())
            except OSError:
                if time.monotonic() >= deadline:
                    file.close()
                    return False
                time.sleep(0.005)
            else:
                self._file = file
                return True

    def release(self) -> None:
        """Give the lock back; without effect when it is not held."""
        if self._file is not None:
            self._file.close()  # closing releases
            self._file = None

    def __enter__(self) -> FileLock:
        if not self.acquire(timeout=60.0):
            raise TimeoutError(f"{self._path} was held by another process for a minute")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
