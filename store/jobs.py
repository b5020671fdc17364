"""The queue as a person sees it: put work in, stop it, start it again.

A run is queued by its row in the store, in one transaction. Workers move rows into the durable
queue of `dbos` (see `app/jobs/worker.py`), which therefore need not exist when the first run is
asked for, and a crash between the two loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from store import forget
from store.run_rows import LIVE, RunRow
from store.workers import WorkerRow

if TYPE_CHECKING:
    from store import Store


class Status(TypedDict):
    """The queue at a glance."""

    queued: int
    running: int
    workers: list[WorkerRow]


class Jobs:
    """The verbs of the queue."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def enqueue(self, kind: str, spec: Mapping[str, Any], title: str, priority: int = 0) -> str:
        """Queue a run and return its id; the same work still waiting or running is not doubled.

        Args:
            kind: `evaluate`, `encode`, …: a key of the table in `app/jobs/kinds.py`.
            spec: what exactly is asked; JSON.
            title: for people.
            priority: lower runs earlier; 0 is usual.
        """
        return self._store.runs.create(kind, spec, title=title, priority=priority)

    def cancel(self, run_id: str) -> bool:
        """Stop a run: its processes are gone within two seconds, what it finished stays."""
        return self._store.runs.cancel(run_id)

    def retry(self, run_id: str) -> str:
        """Queue a run that is over once more, skipping what is done; return its id.

        Raises:
            StoreError: when there is no such run.
        """
        self._store.runs.retry(run_id)
        return self._store.runs.get(run_id)["id"]

    def remove(self, run_id: str) -> bool:
        """Forget a run that is over: its parts, events and log; say whether it was over.

        Results, encoders and decoders that came of it stay; so does a checkpoint, until the store
        is cleaned.

        Raises:
            StoreError: when there is no such run.
        """
        return forget.run(self._store, run_id)

    def sizes(self) -> dict[str, int]:
        """About how many bytes each run's events and log take."""
        logs, events = self._store.logs.sizes(), self._store.events.sizes()
        return {name: logs.get(name, 0) + events.get(name, 0) for name in logs | events}

    def size(self, run_id: str) -> int:
        """The same of one run."""
        log = self._store.logs.path(run_id)
        size = log.stat().st_size if log.exists() else 0
        return size + self._store.events.sizes(run_id).get(run_id, 0)

    def prioritise(self, run_id: str, priority: int | None = None) -> bool:
        """Give a waiting run another priority: lower runs earlier, None before all that wait."""
        return self._store.runs.prioritise(run_id, priority)

    def list(self, limit: int = 200) -> list[RunRow]:
        """All runs, the newest first."""
        return self._store.runs.list(limit=limit)

    def status(self) -> Status:
        """How much waits, how much runs, and who works."""
        live = self._store.runs.list(LIVE, limit=10_000)
        running = sum(run["state"] == "running" for run in live)
        return {
            "queued": len(live) - running,
            "running": running,
            "workers": self._store.workers.list(),
        }
