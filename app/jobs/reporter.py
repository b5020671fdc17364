"""How a running unit reports its progress, and receives requests such as to stop."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from store import Store, StoreError

_SAY_EVERY = 0.5  # seconds between two words on progress
_POLL_EVERY = 0.5  # seconds between two readings of what is asked


class Cancelled(StoreError):
    """The work is not wanted any more; raised where no worker could kill it."""


class Reporter:
    """Called with (done, total) it moves the progress of its unit; cheap, so call it often.

    A word that the store cannot take just now is lost, as no work may be lost for it.

    Attributes:
        run: id of the run.
        position: of the unit.
        label: of the unit.
    """

    def __init__(self, store: Store, run: str, attempt: int, position: int, label: str) -> None:
        self.run = run
        self.position = position
        self.label = label
        self._store = store
        self._attempt = attempt
        self._said = time.monotonic()
        self._polled = 0.0
        self._word: str | None = ""

    def __call__(self, done: int, total: int, message: str = "") -> None:
        """Say how far the unit is, and what it is at if that is not its label."""
        now = time.monotonic()
        if now - self._said >= _SAY_EVERY and total:
            self._said = now
            with contextlib.suppress(StoreError):
                self._store.runs.progress(
                    self.run, self._attempt, done / total, message or self.label
                )

    def tick(self, share: float) -> None:
        """Say which share of the unit is done."""
        self(round(1000 * share), 1000)

    def resumed(self, done: int, total: int, *, further: bool) -> None:
        """Say that the unit goes on from where an earlier process left it.

        Args:
            done: of `total`, before now.
            total: in all.
            further: whether that process got anywhere, so that its death does not count against
                the unit.
        """
        with contextlib.suppress(StoreError):
            self._store.runs.resumed(self.run, self._attempt, done / total if total else 0.0)
        if further:
            self.got_on()

    def got_on(self) -> None:
        """Say that the unit got where no process before got, and that this is kept.

        Should this one crash, it is the first again.
        """
        with contextlib.suppress(StoreError):
            self._store.runs.got_on(self.run, self.position)

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        """Append an event for whoever reads along."""
        with contextlib.suppress(StoreError):
            self._store.events.add(self.run, kind, data, self.position)

    def asked(self, word: str) -> bool:
        """Whether the run is asked this; the store is read twice a second at most."""
        return self._poll() == word

    def cancelled(self) -> bool:
        """Whether the work is not wanted any more; a worker kills it then, a terminal must ask."""
        return self._poll() is None

    def _poll(self) -> str | None:
        now = time.monotonic()
        if now - self._polled >= _POLL_EVERY:
            self._polled = now
            with contextlib.suppress(StoreError):
                self._word = self._store.runs.asked(self.run, self._attempt)
        return self._word
