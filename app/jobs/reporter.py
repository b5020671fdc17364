"""How a running unit reports its progress, and receives requests such as to stop."""

import contextlib
import time
from collections.abc import Collection, Mapping
from typing import Any

from theodolite.store import Store, StoreError

_SAY_EVERY = 0.5  # seconds between two reports of progress
_POLL_EVERY = 0.5  # seconds between two reads of the request
_MAX_PAUSE = 30.0  # seconds, for each run that a person waits for
_OPENING = 1.0  # seconds for which a page that is opened pauses others, and most so at a time
_RESUME_WITHIN = 0.1  # seconds


class Cancelled(StoreError):
    """The run was cancelled; raised where no worker can kill the process."""


class Reporter:
    """Called with (done, total) it reports the progress of its unit; cheap, so call it often.

    A report that the store cannot take is dropped, so that the work goes on.

    Attributes:
        paused: seconds for which it was paused.
    """

    paused: float = 0.0

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
        """Report progress, with a message if that is not the unit's label.

        A message on what remains at the end is never dropped: it may stand for minutes.
        """
        now = time.monotonic()
        ends = bool(message) and done == total
        if total and (ends or now - self._said >= _SAY_EVERY):
            self._said = now
            with contextlib.suppress(StoreError):
                self._store.runs.progress(
                    self.run, self._attempt, done / total, message or self.label
                )

    def tick(self, share: float) -> None:
        """Report the fraction of the unit that is done."""
        self(round(1000 * share), 1000)

    def resumed(self, done: int, total: int, *, further: bool) -> None:
        """Report that the unit resumes where an earlier process left it.

        Args:
            done: of `total`, before now.
            total: in all.
            further: whether that process made progress, so that its crash does not count against
                the unit.
        """
        with contextlib.suppress(StoreError):
            self._store.runs.resumed(self.run, self._attempt, done / total if total else 0.0)
        if further:
            self.checkpointed()

    def checkpointed(self) -> None:
        """Report that the unit got further than in any process before, and that this is saved.

        A crash of this process counts as the first again.
        """
        with contextlib.suppress(StoreError):
            self._store.runs.checkpointed(self.run, self.position)

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        """Append an event of the unit."""
        with contextlib.suppress(StoreError):
            self._store.events.add(self.run, kind, data, self.position)

    def is_requested(self, word: str) -> bool:
        """Whether `word` is requested of the run; reads the store twice a second at most."""
        return self._poll() == word

    def cancelled(self) -> bool:
        """Whether the run was cancelled; a worker kills the process then, a terminal must ask."""
        return self._poll() is None

    def _poll(self) -> str | None:
        now = time.monotonic()
        if now - self._polled >= _POLL_EVERY:
            self._polled = now
            with contextlib.suppress(StoreError):
                self._word = self._store.runs.request(self.run, self._attempt)
        return self._word


class PausingReporter(Reporter):
    """Also pauses its unit while a page opens or the same worker has a run that a person waits for.

    Each such run pauses others during its first half minute only, and pages half of the time at
    most, so that neither keeps them from ever ending.

    Args:
        store, run, attempt, position, label: as for `Reporter`.
        worker: slot of the worker.
        kinds: names of the interactive kinds of jobs.
    """

    def __init__(
        self,
        store: Store,
        run: str,
        attempt: int,
        position: int,
        label: str,
        *,
        worker: str,
        kinds: Collection[str],
    ) -> None:
        super().__init__(store, run, attempt, position, label)
        self._worker = worker
        self._kinds = tuple(kinds)
        self._looked = self._stepped = time.monotonic()

    def __call__(self, done: int, total: int, message: str = "") -> None:
        """Report progress, and return when nobody waits."""
        super().__call__(done, total, message)
        self._step_aside()
        began = time.monotonic()
        if began - self._looked < _POLL_EVERY:
            return
        if self._somebody_waits():
            share = done / total if total else 0.0
            with contextlib.suppress(StoreError):
                self._store.runs.progress(
                    self.run, self._attempt, share, f"{self.label} · paused for a page"
                )
            while self._somebody_waits():
                time.sleep(_RESUME_WITHIN)
            self.paused += time.monotonic() - began
        self._looked = time.monotonic()

    def _step_aside(self) -> None:
        """Wait while a page opens, unless it did so less than a second ago."""
        began = time.monotonic()
        opens = self._store.visits.seconds_since
        if began - self._stepped < _OPENING or opens() >= _OPENING:
            return
        while opens() < _OPENING and time.monotonic() - began < _OPENING:
            time.sleep(_RESUME_WITHIN)
        self._stepped = time.monotonic()
        self.paused += self._stepped - began

    def _somebody_waits(self) -> bool:
        since = time.time() - _MAX_PAUSE
        with contextlib.suppress(StoreError):
            return any(
                run["worker"] == self._worker and (run["started"] or 0.0) > since
                for run in self._store.runs.list(["running"], kinds=self._kinds)
            )
        return False
