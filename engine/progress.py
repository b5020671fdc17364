"""Progress callbacks for long work; a callback may raise to stop it."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with the number done and the total."""
ProgressCallback = Callable[[float], None]
"""Called with a lower bound of the share done, 0 to 1."""


def nobody(done: float) -> None:
    """Ignore progress: the default callback."""
