"""Waiting for what other processes do: for a state, however long a busy machine takes."""

import time
from collections.abc import Callable

PATIENCE = 600.0
"""Seconds after which something is taken to have gone wrong."""


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Look again and again until it holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
