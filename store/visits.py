"""When somebody last began to wait: work that nobody waits for steps aside then."""

from __future__ import annotations

import contextlib
import math
import time
from pathlib import Path


class Visits:
    """When a page was last opened or asked for an interactive run, shared between processes.

    Args:
        file: its time of modification says it, so that looking costs microseconds.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def note(self) -> None:
        """Note that somebody waits; where nothing can be written, nothing is noted."""
        with contextlib.suppress(OSError):
            self._file.touch()

    def seconds_since(self) -> float:
        """Seconds since the last one, infinite if there was none."""
        try:
            return time.time() - self._file.stat().st_mtime
        except OSError:
            return math.inf
