"""Let the queues rest while no run waits.

The queues of `dbos` ask their database several times a second, which costs milliseconds each time.
Whether a run waits is known from the store, whose version costs microseconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

LONGEST = 30.0
"""Seconds after which a queue that rests asks all the same."""


class Rest:
    """A gate in front of each poll of the queues: open while a run waits."""

    def __init__(self) -> None:
        self._open = threading.Event()

    def keep(self, dbos: Any) -> None:
        """Let the queues of a launched `DBOS` wait at the gate, too, before each poll.

        They pause between polls by waiting for the event that ends them. Should another version of
        `dbos` have no such events, its queues poll all the time.
        """
        for end in getattr(dbos, "background_thread_stop_events", ()):
            end.wait = partial(self._wait, end, end.wait)

    def wake(self, waiting: bool) -> None:
        """Let the queues poll if a run waits, else rest."""
        if waiting:
            self._open.set()
        else:
            self._open.clear()

    def _wait(
        self, end: threading.Event, pause: Callable[..., bool], timeout: float | None = None
    ) -> bool:
        pause(timeout=timeout)
        if not end.is_set():
            self._open.wait(LONGEST)
        return end.is_set()
