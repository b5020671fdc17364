"""Progress callbacks for long work; a callback may raise to stop it."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with how many are done, and of how many."""
ProgressCallback = Callable[[float], None]
"""Called with the share that is done at least, 0 to 1."""


def nobody(done: float) -> None:
    """Be the callback where nobody follows."""
