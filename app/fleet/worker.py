"""A worker of a fleet: claims units one by one, executes them in a child, and answers.

Its store is a cache: it keeps vectors and results, and a unit that was done before is answered at
once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from theodolite.app.fleet.files import Damaged, Files
from theodolite.app.fleet.needs import Machine
from theodolite.app.fleet.unit import MADE, RECEIVED, VERSION, WORK, Answer, Copy, Unit, admit
from theodolite.app.jobs.child_process import Child, GivenUp, Stopped
from theodolite.app.workspace import StoredUploads
from theodolite.engine.datasets import Catalog
from theodolite.engine.errors import UserError
from theodolite.store import Store, StoreError, forget
from theodolite.store.errors import NoSuchRun, RunAtWork
from theodolite.store.fleet import LOG, FleetAway, Reports, Roster, Units

if TYPE_CHECKING:
    from theodolite.app.fleet.address import Address
    from theodolite.app.jobs.job import Job
    from theodolite.store.run_rows import RunRow

BEAT = 1.0
"""Seconds between two heartbeats of a worker to the roster."""
POLL = 0.2
"""Seconds between two looks for a unit, when there was none; after an answer it looks at once."""

_MAX_SLOTS = 256
_MAX_LINES = 200
_MAX_TEXT = 1000
_UNUSED_SECONDS = 7 * 24 * 3600.0

T = TypeVar("T")
log = logging.getLogger("theodolite.fleet")


class Task:
    """The unit in progress, and what its home does not know of it yet.

    Attributes:
        wanted: whether the unit is still the worker's to do.
        message: what it waits for, if it does.
    """

    def __init__(self, unit: str, label: str) -> None:
        self.unit, self.label, self.since = unit, label, time.time()
        self.wanted, self.message = True, ""
        self.run = ""
        self._turn = threading.RLock()

    def begin(self, store: Store, run_id: str, copy: Copy) -> None:
        """Follow a run of the store; what an earlier process reported is not reported again."""
        self._store, self._copy = store, copy
        self._event, self._line = 0, len(store.logs.lines(run_id))
        while seen := store.events.of(run_id, 0, self._event):
            self._event = seen[-1]["id"]
        self.run = run_id

    def report(self, send: Callable[[list[tuple[str, dict[str, Any]]]], None]) -> None:
        """Send (kind, data) of events and of lines of the log that were not sent before."""
        with self._turn:
            reports, event, run = [], self._event, self.run
            while events := self._store.events.of(run, 0, event):
                event = events[-1]["id"]
                reports += [(one["kind"], self._copy.event(one["data"])) for one in events]
            if lines := self._store.logs.lines(run, self._line):
                reports.append((LOG, {"lines": [one[:_MAX_TEXT] for one in lines[-_MAX_LINES:]]}))
            if reports:
                send(reports)
            self._event, self._line = event, self._line + len(lines)

    def last(self, kind: str) -> list[tuple[str, dict[str, Any]]]:
        """The newest event of a kind again, if there is one: a home stores it only once."""
        found = self._store.events.last(self.run, kind)
        return [] if found is None else [(kind, self._copy.event(found))]


class Worker:
    """The worker in a slot: one unit at a time.

    Args:
        store: a cache, of this worker and others of this machine.
        data_root: folder with evaluation data, if any.
        slot: its name in the fleet, which it fills already.
        only: kinds of work that it takes.
        roster: in which it fills the slot.
        files: the address for files, if it has one.
    """

    def __init__(
        self,
        store: Store,
        data_root: Path | None,
        slot: str,
        only: tuple[str, ...],
        roster: Roster,
        files: Files | None = None,
    ) -> None:
        self._store, self._slot, self._only = store, slot, only
        self._roster, self._files = roster, files
        self._units, self._reports = Units(roster.database), Reports(roster.database)
        self._catalog = Catalog(data_root, StoredUploads(store))
        self._machine = Machine(self._catalog, only, files.name if files else "")
        data = [] if data_root is None else ["--data", str(data_root)]
        self._child = Child(["--store", str(store.folder), *data, "--nice", "10"])
        self._task: Task | None = None

    def serve(self) -> None:
        """Send heartbeats for ever, and note whether the unit in progress is still wanted."""
        while True:
            try:
                if not self._roster.fill(self._slot):  # the connection was lost for a while
                    log.error("Another worker fills the slot %s by now.", self._slot)
                    os._exit(1)
                self._beat()
            except StoreError as error:  # the database is away, or a disk is full
                log.error("%s", error)
            time.sleep(BEAT)

    def work(self) -> None:
        """Execute units for ever."""
        while True:
            try:
                claimed = self._units.claim(self._slot, self._only, VERSION)
            except StoreError:  # the heartbeats report it
                claimed = None
            if claimed is None:
                time.sleep(POLL)
                continue
            try:
                unit = json.loads(claimed[1])
                task = self._task = Task(claimed[0], str(unit["label"]))
                answer = {**self._answer(task, unit), "slot": self._slot}
                self._insist(task, partial(self._units.answer, task.unit, self._slot, answer))
            except Stopped:
                pass
            except Exception:  # its home gives it up after some starts
                log.exception("The unit %s cannot be read", claimed[0])
                time.sleep(BEAT)
            finally:
                self._task = None

    def _answer(self, task: Task, unit: Unit) -> Answer:
        """Execute a unit.

        Raises:
            Stopped: it is no longer wanted.
        """
        try:
            if lacking := self._machine.lacking(unit["needs"]):
                self._insist(task, self._beat)  # the home reads this before it reads the answer
                return {"lacking": lacking}
            job = admit(unit, self._only, self._catalog)
            copy = self._insist(
                task, lambda: Copy(job, unit, self._store, self._files, self._catalog)
            )
            while True:
                try:
                    with self._store.terminals.holding(
                        job.kind, copy.job.to_spec(), job.title, job.units()
                    ) as run:
                        return self._do(task, job, copy, run)
                except RunAtWork:  # another worker here does the same: then it is quick
                    time.sleep(1.0)
        except Stopped:
            raise
        except Damaged as error:
            return {"damaged": error.message}
        except (StoreError, UserError) as error:
            return _failed(error.message, error.hint)
        except Exception as error:  # of another version, or damaged
            log.exception("The unit cannot be executed")
            return _failed(f"{type(error).__name__}: {error}", "The log of the worker has more.")

    def _do(self, task: Task, job: Job, copy: Copy, run: RunRow) -> Answer:
        run_id = run["id"]
        task.begin(self._store, run_id, copy)
        try:
            try:
                outcome = self._child.execute(self._store, run, 0, task.label, lambda: task.wanted)
            except GivenUp as error:  # what it has reported goes home all the same
                outcome = {**_failed(error.message, error.hint)["outcome"], "made": []}
            results = [copy.result(self._store.results.pack(n)) for n in outcome.pop("made")]
            folder = None if outcome["error"] else self._insist(task, copy.send)
            if folder is not None and job.transient and copy.out is not None:
                shutil.rmtree(copy.out, ignore_errors=True)
            reports: list[tuple[str, dict[str, Any]]] = []
            task.report(reports.extend)
            reports += task.last("finished")
            return {"outcome": outcome, "results": results, "reports": reports, "folder": folder}
        finally:
            task.run = ""
            self._store.runs.cancel(run_id)
            forget.run(self._store, run_id)

    def _insist(self, task: Task, action: Callable[[], T]) -> T:
        """Do something, waiting while the database or the address for files is away."""
        while True:
            try:
                done = action()
            except FleetAway as error:
                task.message = error.message
                if not task.wanted:
                    raise Stopped from error
                time.sleep(BEAT)
            else:
                task.message = ""
                return done

    def _beat(self) -> None:
        """Send a heartbeat and reports, and check whether the unit is still wanted.

        Raises:
            FleetAway: when the database does not answer.
        """
        task, doing = self._task, {}
        if task is not None:
            doing = {"unit": task.unit, "label": task.label, "since": task.since}
            doing |= {"share": 0.0, "message": task.message}
            with contextlib.suppress(NoSuchRun):  # it has none yet, or has just ended
                run = self._store.runs.get(task.run)
                doing |= {"share": run["fraction"], "message": task.message or run["message"]}
        self._roster.seen(self._slot, socket.gethostname(), os.getpid(), self._machine.has(), doing)
        if task is None:
            return
        word = self._units.word(task.unit, self._slot)
        task.wanted = word is not None
        if task.run:
            with contextlib.suppress(NoSuchRun):  # it has just ended
                if word:
                    self._store.runs.ask(task.run, word)
                task.report(partial(self._reports.add, task.unit))


def _failed(error: str, hint: str) -> Answer:
    return {"outcome": {"seconds": 0.0, "error": error, "hint": hint}}


def parse_kinds(only: str | None) -> tuple[str, ...]:
    """Parse comma-separated kinds of work; all kinds when none is given."""
    known = tuple(dict.fromkeys(WORK.values()))
    if not only:
        return known
    named = tuple(dict.fromkeys(name.strip() for name in only.split(",") if name.strip()))
    if not named or set(named) - set(known):
        raise UserError(
            f"A worker of a fleet takes no work of the kind {only!r}.",
            f"It takes {', '.join(known)}; the rest is done at home.",
            code="unknown",
        )
    return named


def fill(roster: Roster, slot: str | None, store_folder: Path, patience: float = 3.0) -> str:
    """Fill the named slot, or the first free one of this store; return its name."""
    place = hashlib.blake2b(str(store_folder.resolve()).encode(), digest_size=2).hexdigest()
    own = [f"{socket.gethostname()}-{place}-{number}" for number in range(1, _MAX_SLOTS)]
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:  # the last one may just be exiting
        for name in [slot] if slot else own:
            if roster.fill(name):
                return name
        time.sleep(0.2)
    raise StoreError(
        f"A worker {slot!r} is at work in this fleet."
        if slot
        else f"This store has {_MAX_SLOTS} workers already.",
        "Give this one another --slot.",
        code="conflict",
    )


def run(
    store_folder: Path,
    data_root: Path | None,
    slot: str | None,
    only: tuple[str, ...],
    address: Address,
    ready: Callable[[str], None],
    files: Files | None = None,
) -> None:
    """Work until told to end (Ctrl+C, SIGTERM).

    Args:
        store_folder: of this worker's own store.
        data_root: folder with evaluation data, if any.
        slot: its name; None for the first free of `slot_names`.
        only: kinds of work that it takes.
        address: of the fleet's database.
        ready: called with its name once it takes work.
        files: the address for files, if it has one.
    """
    store = Store.open(store_folder)
    if store.workers.list():
        raise StoreError(
            f"The store at {store.folder} belongs to an app that is running.",
            "Give the worker a store of its own with --store.",
            code="conflict",
        )
    _clean(store)
    if files is not None:
        files.clean()
    roster = Roster(address.database())
    name = fill(roster, slot, store.folder)
    worker = Worker(store, data_root, name, only, roster, files)

    def leave() -> None:
        with contextlib.suppress(StoreError):
            roster.gone(name)
        os._exit(0)

    for number in (signal.SIGINT, signal.SIGTERM):
        # As in a crash: the child ends with its pipe, and others take up its unit.
        signal.signal(number, lambda *_: threading.Thread(target=leave, daemon=True).start())
    threading.Thread(target=worker.work, name="work", daemon=True).start()
    ready(name)
    worker.serve()


def _clean(store: Store) -> None:
    """Delete files that came with units, and output, that were not used for a week."""
    for folder in (store.folder / RECEIVED, store.folder / MADE):
        for old in folder.iterdir() if folder.is_dir() else ():
            with contextlib.suppress(OSError):
                if old.stat().st_mtime < time.time() - _UNUSED_SECONDS:
                    shutil.rmtree(old)
