"""One unit at a worker: receive its files, execute it, send the results home."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.app.fleet import outs, parcels
from theodolite.app.jobs.child_process import Child, ChildCrashed
from theodolite.app.jobs.kinds import KINDS, job_of
from theodolite.app.jobs.unit import CRASHES_ALLOWED, given_up
from theodolite.engine.errors import UserError
from theodolite.store import Store, StoreError
from theodolite.store.fleet import LOG, Reports

if TYPE_CHECKING:
    from theodolite.app.fleet.queue import Unit
    from theodolite.app.jobs.job import Job
    from theodolite.engine.datasets import Catalog
    from theodolite.store.run_rows import RunRow
    from theodolite.store.transfers import Transfers

RECEIVED, MADE = "received", "made"
"""Folders of a worker's store: files that came with units, and output until it is home."""
_KEPT_SECONDS = 7 * 24 * 3600.0
_MOST_LINES = 200
_MOST_TEXT = 1000


def admitted(unit: Unit, only: tuple[str, ...], catalog: Catalog) -> Job:
    """The job of a unit, under the paths of its home."""
    from theodolite.app.fleet import queue

    if queue.KINDS.get(unit["kind"]) not in only:
        raise UserError(f"This worker takes {', '.join(only)} only.", "", code="unsupported")
    job = job_of(dict(unit), KINDS)
    why = job.stays(catalog)
    if why:
        raise UserError("This is not done for others.", why, code="denied")
    return job


class Places:
    """Copies of a home's files on this machine, and the job with their paths.

    Args:
        job: under the paths of its home.
        unit: with which it came.
        store: of this worker, which holds the copies.

    Attributes:
        job: the same under paths of this machine.
        made: its output folder; None when it only makes results.
    """

    def __init__(self, job: Job, unit: Unit, store: Store, transfers: Transfers) -> None:
        places: dict[str, str] = {}
        for path in job.files():
            parcel = unit["files"].get(path)
            if parcel is None:
                raise UserError(
                    "A worker opens no file that a home names.",
                    f"{path} was not sent.",
                    code="denied",
                )
            folder = store.folder / RECEIVED / parcels.hash_of(parcel)
            places[path] = str(parcels.receive(transfers, parcel, folder))
            folder.touch()
        self._back = {there: path for path, there in places.items()}
        self._original = job
        self.made: Path | None = None
        if job.leaves():
            mark = parcels.hash_of({**unit["files"], "spec": {**job.to_spec(), "out": ""}})
            self.made = store.folder / MADE / mark
            self.made.parent.mkdir(exist_ok=True)
            places[job.leaves()] = str(self.made)
        self.job = job.moved(places)
        if not set(self.job.files()) <= set(places.values()):
            raise UserError("A worker opens no file that a home names.", "", code="denied")
        if self.made is not None and self.made.is_dir():
            self.job.settle(self.made)  # it was sent off before, with its home's paths

    def result(self, packed: Mapping[str, Any]) -> dict[str, Any]:
        """A packed result under the paths of the home."""
        return {**packed, "encoder": parcels.moved(packed["encoder"], self._back)}

    def bring(self, transfers: Transfers) -> parcels.Parcel | None:
        """Send the output off; return the parcel that goes home, None when there is none."""
        if self.made is None:
            return None
        self._original.settle(self.made)
        if outs.is_address(self._original.leaves()):
            outs.leave(self.made, self._original.leaves())
            return None
        parcel = parcels.pack(str(self.made))
        parcels.send(transfers, str(self.made), parcel)
        if self._original.transient:
            shutil.rmtree(self.made, ignore_errors=True)
        return parcel


class RunReports:
    """Reports of a run on this machine to its home: events, and lines of its log.

    What an earlier process of this worker reported is not reported again.
    """

    def __init__(self, store: Store, run_id: str, job: Job) -> None:
        self._store, self._run, self._original = store, run_id, job
        self._turn = threading.Lock()
        self._event, self._line = 0, len(store.logs.lines(run_id))
        while seen := store.events.of(run_id, 0, self._event):
            self._event = seen[-1]["id"]

    def new(self) -> list[tuple[str, dict[str, Any]]]:
        """(kind, data) of the reports since the last call."""
        with self._turn:
            found = []
            while events := self._store.events.of(self._run, 0, self._event):
                self._event = events[-1]["id"]
                found += [
                    (event["kind"], self._original.as_of_home(event["kind"], event["data"]))
                    for event in events
                ]
            lines = self._store.logs.lines(self._run, self._line)
            self._line += len(lines)
            if lines:
                found.append((LOG, {"lines": [line[:_MOST_TEXT] for line in lines[-_MOST_LINES:]]}))
            return found

    def send(self, reports: Reports, workflow: str) -> None:
        """Send new reports to the home at once.

        Raises:
            FleetAway: the database does not answer; they are sent the next time.
        """
        with self._turn:
            event, line = self._event, self._line
        if reported := self.new():
            try:
                reports.add(workflow, reported)
            except StoreError:
                self._event, self._line = event, line
                raise

    def last(self, kind: str) -> list[tuple[str, dict[str, Any]]]:
        """The newest event of a kind again, if there is one: a home stores it only once."""
        found = self._store.events.last(self._run, kind)
        return [] if found is None else [(kind, self._original.as_of_home(kind, found))]


def done(
    store: Store, child: Child, run: RunRow, job: Job, label: str, wanted: Callable[[], bool]
) -> dict[str, Any]:
    """Execute a unit in a child, which is restarted when it crashes.

    Returns:
        Arguments of `Runs.end_unit`, and the ids of results as `made`.

    Raises:
        Stopped: the unit is no longer wanted.
    """
    question = {
        "kind": run["kind"],
        "spec": job.to_spec(),
        "run": run["id"],
        "attempt": run["attempt"],
        "position": 0,
        "label": label,
        "log": str(store.logs.path(run["id"])),
    }
    while True:
        try:
            return child.ask(question, wanted)
        except ChildCrashed as crash:
            if store.runs.lost_unit(run["id"], 0) >= CRASHES_ALLOWED:
                error, hint = given_up(label, str(crash))
                return {"seconds": 0.0, "error": error, "hint": hint, "made": []}


def packed(store: Store, places: Places, made: list[int]) -> list[dict[str, Any]]:
    """Results of these ids, packed for the home."""
    return [places.result(store.results.pack(number)) for number in made]


def clean(store: Store) -> None:
    """Delete files that came with units, and output, that were not used for a week."""
    for folder in (store.folder / RECEIVED, store.folder / MADE):
        for old in folder.iterdir() if folder.is_dir() else ():
            with contextlib.suppress(OSError):
                if old.stat().st_mtime < time.time() - _KEPT_SECONDS:
                    shutil.rmtree(old)
