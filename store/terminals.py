"""Runs that a terminal executes itself, in the foreground.

Such a run has a row like any other, so that pages show it; it is in no queue. A lock that its
process holds tells whether the terminal is still there.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from theodolite.store.database import Database
from theodolite.store.errors import RunAtWork
from theodolite.store.hashing import hash_of, to_json
from theodolite.store.run_rows import RunRow
from theodolite.store.runs import RUN, Logs, Runs

NAME = "terminal"
"""Stands in place of a worker's slot in the row of such a run."""


class Terminals:
    """The runs that terminals execute."""

    def __init__(self, database: Database, runs: Runs, logs: Logs, folder: Path) -> None:
        self._database = database
        self._runs = runs
        self._logs = logs
        self._folder = folder

    @contextlib.contextmanager
    def holding(
        self,
        kind: str,
        spec: Mapping[str, Any],
        title: str,
        labels: Sequence[str],
        weights: Sequence[float] | None = None,
    ) -> Iterator[RunRow]:
        """Hold the run of a spec: continue the last one that did not succeed, or begin a new one.

        The caller ends it with `Runs.finish`; an interrupt cancels it. A unit that failed waits
        again. A run that fails before it has any events or finished units is forgotten.

        Raises:
            RunAtWork: a worker or another terminal executes it.
        """
        run_id = self._row(kind, spec, title)
        # A worker may just be testing the lock. Another thread may close the generator.
        lock = FileLock(self._folder / f"{run_id}.lock", timeout=1.0, thread_local=False)
        try:
            lock.acquire()
        except Timeout as error:
            raise RunAtWork(run_id) from error
        try:
            if not self._runs.retry(run_id, NAME):
                raise RunAtWork(run_id)
            try:
                run = self._runs.get(run_id)
                self._runs.start(run_id, run["attempt"], NAME, labels, weights)
                yield self._runs.get(run_id)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt | GeneratorExit):
                    self._runs.cancel(run_id)
                self._forget(run_id)
                raise
        finally:
            lock.release()

    def end_forsaken(self) -> None:
        """End as failed each run whose terminal is gone."""
        rows = self._database.rows(
            "SELECT id, attempt FROM runs WHERE state = 'running' AND worker = ?", [NAME]
        )
        for row in rows:
            lock = FileLock(self._folder / f"{row['id']}.lock", timeout=0)
            with contextlib.suppress(OSError), lock:  # held, or nothing can be written here
                self._runs.finish(
                    row["id"],
                    row["attempt"],
                    "failed",
                    error="The terminal that it ran in is gone.",
                    hint="Try it again, here or there: what was done is kept.",
                )

    def remove(self, run_id: str) -> None:
        """Delete the lock of a run that is over and forgotten, if it had one."""
        if RUN.fullmatch(run_id):
            (self._folder / f"{run_id}.lock").unlink(missing_ok=True)

    def _forget(self, run_id: str) -> None:
        """Forget a run without events or finished units: the caller gets the error."""
        forgotten = self._database.change(
            "DELETE FROM runs WHERE id = ? AND state <> 'cancelled'"
            " AND NOT EXISTS (SELECT 1 FROM events WHERE run = ?)"
            " AND NOT EXISTS (SELECT 1 FROM units WHERE run = ? AND state = 'done')",
            [run_id, run_id, run_id],
        )
        if forgotten:
            self._logs.remove(run_id)

    def _row(self, kind: str, spec: Mapping[str, Any], title: str) -> str:
        """The newest unsuccessful run of the same spec, or a new one."""
        row = self._database.row(
            "SELECT id FROM runs WHERE spec_hash = ? AND state <> 'done'"
            " ORDER BY created DESC, rowid DESC LIMIT 1",
            [hash_of(kind, to_json(spec))],
        )
        return str(row["id"]) if row else self._runs.create(kind, spec, title, worker=NAME)
