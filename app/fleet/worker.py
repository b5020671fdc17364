"""A worker of a fleet: claims units one by one, executes them in a child, and answers.

Its store is a cache: it keeps vectors and results, and a unit that was done before is answered at
once.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from theodolite.app.fleet.address import Address
from theodolite.app.fleet.files import (
    MADE,
    UNUSED_SECONDS,
    Bundle,
    Damaged,
    Files,
    is_address,
)
from theodolite.app.fleet.needs import (
    FINISHED,
    VERSION,
    WORK,
    Answer,
    Machine,
    Resources,
    Unit,
    move_encoder,
    replace_texts,
)
from theodolite.app.jobs.child_process import Child, GivenUp, Stopped
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.kinds import job_of
from theodolite.app.workspace import StoredUploads
from theodolite.engine.datasets import Catalog
from theodolite.engine.errors import UserError
from theodolite.engine.given import names_in
from theodolite.store import Store, StoreError, forget
from theodolite.store.errors import NoSuchRun, RunAtWork
from theodolite.store.fleet import LOG, Fleet, FleetAway
from theodolite.store.hashing import hash_of, to_json
from theodolite.store.run_rows import RunRow

if TYPE_CHECKING:
    AnyJob = TypeVar("AnyJob", bound=Job)

BEAT = 1.0
"""Seconds between two heartbeats of a worker, and between two reports on a unit."""
POLL = 0.2
"""Seconds between two looks for a unit, when there was none; after an answer it looks at once."""
RECEIVED = "received"
"""Folder of a worker's store with files that came with units; `MADE` is that of output."""

_MAX_SLOTS = 256
_MAX_LINES = 200
_MAX_TEXT = 1000

T = TypeVar("T")
log = logging.getLogger("theodolite.fleet")


@dataclass
class Task:
    """The unit in progress, and what its home knows of it; none without a `unit`.

    Attributes:
        unit: its id.
        since: start of the work, seconds since 1970.
        label: its name for people.
        message: what it waits for, if it does.
        wanted: whether it is still the worker's to do.
        run: id of its run in the worker's store, while it is executed.
        event, line: the last event and line of the log that were reported.
        reported: when that was.
    """

    unit: str = ""
    since: float | None = None
    label: str = ""
    message: str = ""
    is_wanted: bool = True
    run: str = ""
    event: int = 0
    line: int = 0
    reported: float = 0.0


class Worker:
    """The worker in a slot: one unit at a time.

    Args:
        store: a cache, of this worker and others of this machine.
        data_root: folder with evaluation data, if any.
        slot: its name in the fleet, which it fills already.
        takes: kinds of work.
        fleet: in which it fills the slot.
        files: the address for files, if it has one.
    """

    def __init__(
        self,
        store: Store,
        data_root: Path | None,
        slot: str,
        takes: tuple[str, ...],
        fleet: Fleet,
        files: Files | None = None,
    ) -> None:
        self._store, self._slot, self._takes = store, slot, takes
        self._fleet, self._files = fleet, files
        self._catalog = Catalog(data_root, StoredUploads(store))
        self._machine = Machine(self._catalog, files=files is not None)
        data = [] if data_root is None else ["--data", str(data_root)]
        self._child = Child(["--store", str(store.folder), *data, "--nice", "10"])
        self._task = Task()

    def serve(self) -> None:
        """Send heartbeats for ever, and note whether the unit in progress is still wanted."""
        while True:
            try:
                if not self._fleet.fill(self._slot):  # the connection was lost for a while
                    log.error("Another worker fills the slot %s by now.", self._slot)
                    os._exit(1)
                self._beat(self._task)
            except StoreError as error:  # the database is away, or a disk is full
                log.error("%s", error)
            time.sleep(BEAT)

    def _beat(self, task: Task) -> None:
        run: Mapping[str, Any] = {}
        with contextlib.suppress(NoSuchRun):  # it has none yet, or has just ended
            run = self._store.runs.get(task.run)
        self._fleet.beat(
            {
                "slot": self._slot,
                "host": socket.gethostname(),
                "pid": os.getpid(),
                "takes": list(self._takes),
                "has": self._machine.has(),
                "machine": self._machine.summary,
                "unit": task.unit,
                "label": task.label,
                "message": task.message or run.get("message", ""),
                "share": run.get("fraction", 0.0),
                "since": task.since,
            }
        )
        if task.unit:
            word = self._fleet.word(task.unit, self._slot)
            task.is_wanted = word is not None
            if word and run:
                self._store.runs.ask(task.run, word)

    def work(self) -> None:
        """Execute units for ever."""
        while True:
            claimed = None
            with contextlib.suppress(StoreError):  # the heartbeats report it
                claimed = self._fleet.claim(self._slot, self._takes, VERSION, self._machine.has())
            if claimed is None:
                time.sleep(POLL)
                continue
            self._task = Task(claimed[0], time.time())
            with contextlib.suppress(Stopped):
                self._do(self._task, claimed[1])
            self._task = Task()

    def _do(self, task: Task, text: str) -> None:
        """Execute and answer a unit, or leave it to others.

        Raises:
            Stopped: it is no longer wanted.
        """
        answer = self._answer(task, text)
        if answer is not None:
            answer["slot"] = self._slot
            self._insist(task, lambda: self._fleet.answer(task.unit, self._slot, answer))
        else:
            self._insist(task, lambda: self._fleet.release(task.unit, self._slot))
            time.sleep(POLL)

    def _answer(self, task: Task, text: str) -> Answer | None:
        """Execute a unit; None if this machine lacks what it needs."""
        try:
            unit = json.loads(text)
            task.label = str(unit["label"])
            if self._machine.missing(unit["needs"]):
                return None
            copy = self._insist(
                task, lambda: Copy(unit, self._takes, self._store, self._files, self._catalog)
            )
            response = copy.job.kind, copy.job.to_spec(), copy.job.title, copy.job.units()
            while True:
                try:
                    with self._store.terminals.holding(*response) as run:
                        return self._execute(task, copy, run)
                except RunAtWork:  # another worker here does the same: then it is quick
                    time.sleep(1.0)
        except Stopped:
            raise
        except Damaged as error:
            return {"damaged": error.message}
        except (StoreError, UserError) as error:
            return {"outcome": _failure(error)}
        except Exception as error:  # of another version, or damaged
            log.exception("The unit %s cannot be executed", task.unit)
            problem = UserError(
                f"{type(error).__name__}: {error}", "The log of the worker has more."
            )
            return {"outcome": _failure(problem)}

    def _execute(self, task: Task, copy: Copy, run: RunRow) -> Answer:
        store, run_id = self._store, run["id"]
        # What an earlier process did was reported, but perhaps the end.
        before = [one["id"] for one in store.events.of(run_id) if one["kind"] != FINISHED]
        task.event, task.line = max(before, default=0), len(store.logs.lines(run_id))
        task.run = run_id

        def is_wanted() -> bool:
            if time.monotonic() - task.reported > BEAT:
                task.reported = time.monotonic()
                with contextlib.suppress(StoreError):
                    self._report(task, copy)
            return task.is_wanted

        try:
            try:
                outcome = self._child.execute(store, run, 0, task.label, is_wanted)
            except GivenUp as error:
                outcome = {**_failure(error), "made": []}
            while self._insist(task, lambda: self._report(task, copy)):
                pass
            results = [copy.result(store.results.pack(number)) for number in outcome.pop("made")]
            bundle = None
            if outcome["error"] is None and copy.out is not None:
                bundle = self._insist(task, lambda: copy.send(task.unit))
            return {"outcome": outcome, "results": results, "bundle": bundle}
        finally:
            task.run = ""
            store.runs.cancel(run_id)
            forget.run(store, run_id)

    def _report(self, task: Task, copy: Copy) -> bool:
        """Send events and lines of the log that were not sent before; return whether any were."""
        events = self._store.events.of(task.run, 0, task.event)
        lines = self._store.logs.lines(task.run, task.line)
        reports = [(event["kind"], copy.event(event["data"])) for event in events]
        if lines:
            reports.append((LOG, {"lines": [line[:_MAX_TEXT] for line in lines[-_MAX_LINES:]]}))
        if reports:
            self._fleet.report(task.unit, reports)
            task.event = max([task.event, *(event["id"] for event in events)])
            task.line += len(lines)
        return bool(reports)

    def _insist(self, task: Task, action: Callable[[], T]) -> T:
        """Do something, waiting while the database or the address for files is away."""
        while True:
            try:
                done = action()
            except FleetAway as error:
                task.message = error.message
                if not task.is_wanted:
                    raise Stopped from error
                time.sleep(BEAT)
            else:
                task.message = ""
                return done


def _failure(error: StoreError | UserError) -> dict[str, Any]:
    return {"seconds": 0.0, "error": error.message, "hint": error.hint}


class Copy:
    """A unit's job with the paths of this machine, and copies of the files that it reads.

    Args:
        unit: as it came.
        takes: kinds of work of this worker.
        store: of this worker, which holds the files.
        files: the address for files, if it has one.
        catalog: its data sets.

    Attributes:
        job: the job, under paths of this machine.
        out: its output folder; None when it only makes results.
    """

    def __init__(
        self,
        unit: Unit,
        takes: tuple[str, ...],
        store: Store,
        files: Files | None,
        catalog: Catalog,
    ) -> None:
        if WORK.get(unit["kind"]) not in takes:
            raise UserError(f"This worker takes {', '.join(takes)} only.", code="unsupported")
        job, self._files, places = job_of(unit), files, {}
        self._home = job.resources(catalog)
        if why := self._home.local_only_reason():
            raise UserError("This is not done for others.", why, code="denied")
        denied = UserError("A worker opens no file that a home names.", code="denied")
        for path in self._home.paths():
            bundle = unit["files"].get(path)
            if bundle is None or files is None:
                raise denied
            folder = store.folder / RECEIVED / hash_of(to_json(bundle))
            places[path] = str(files.fetch(bundle, folder))
            folder.touch()
        self.out: Path | None = None
        if self._home.out:
            made_of = {**unit["files"], "spec": {**job.to_spec(), "out": ""}}
            self.out = store.folder / MADE / hash_of(to_json(made_of))
            self.out.parent.mkdir(exist_ok=True)
            places[self._home.out] = str(self.out)
        self.job = move(job, self._home, places)
        here = self.job.resources(catalog)
        if not set(here.paths()) <= set(places.values()) or here.out != str(self.out or ""):
            raise denied
        self._settle(here)  # it was sent off before, with its home's paths
        self._back = {there: path for path, there in places.items()}

    def result(self, packed: Mapping[str, Any]) -> dict[str, Any]:
        """A packed result under the paths of the home."""
        return {**packed, "encoder": move_encoder(packed["encoder"], self._back)}

    def event(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The data of an event under the paths of the home; a model at an address is no encoder."""
        new = {}
        if self.out is not None:
            encoder = move_encoder(f"dir:{self.out}", self._back)
            new = {str(self.out): self._home.out}
            new[move_encoder(f"dir:{self.out}", {})] = "" if is_address(self._home.out) else encoder
        return dict(replace_texts(data, new))

    def send(self, unit: str) -> Bundle | None:
        """Put the output at the fleet's address for files; vectors are not kept here as well."""
        if self.out is None or self._files is None:
            return None
        self._settle(self._home)
        bundle = self._files.put(str(self.out), f"{MADE}/{hash_of(unit)}")
        if WORK[self.job.kind] == "encode":
            shutil.rmtree(self.out, ignore_errors=True)
        return bundle

    def _settle(self, resources: Resources) -> None:
        """Write into the record of the output what depends on whose paths it is made with."""
        name, entries = resources.record
        if self.out is not None and (self.out / name).is_file():
            path = self.out / name
            record = json.loads(path.read_text("utf-8")) | entries
            path.write_text(json.dumps(record, indent=1, ensure_ascii=False), "utf-8")


def move(job: AnyJob, resources: Resources, places: Mapping[str, str]) -> AnyJob:
    """A job that has these resources, with other paths."""
    new = {encoder: move_encoder(encoder, places) for encoder in resources.encoders}
    for path in (*resources.files, resources.out):
        there = places.get(path, path)
        new |= {path: there, f"dir:{path}": f"dir:{there}"}
    return job.from_spec(replace_texts(job.to_spec(), new))


def parse_kinds(only: str | None) -> tuple[str, ...]:
    """Parse comma-separated kinds of work; all kinds when none is given."""
    known = tuple(dict.fromkeys(WORK.values()))
    if not only:
        return known
    named = names_in(only)
    if not named or set(named) - set(known):
        raise UserError(
            f"A worker of a fleet takes no work of the kind {only!r}.",
            f"It takes {', '.join(known)}; the rest is done at home.",
            code="unknown",
        )
    return named


def fill(fleet: Fleet, slot: str | None, store_folder: Path, patience: float = 3.0) -> str:
    """Fill the named slot, or the first free one of this store; return its name."""
    place = hash_of(str(store_folder.resolve()))[:4]
    own = [f"{socket.gethostname()}-{place}-{number}" for number in range(1, _MAX_SLOTS)]
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:  # the last one may just be exiting
        for name in [slot] if slot else own:
            if fleet.fill(name):
                return name
        time.sleep(0.2)
    raise StoreError(
        f"The worker {slot or own[-1]!r} is at work in this fleet.",
        "Give this one another --slot.",
        code="conflict",
    )


def run(
    store_folder: Path,
    data_root: Path | None,
    slot: str | None,
    takes: tuple[str, ...],
    address: Address,
    ready: Callable[[str], None],
    files: Files | None = None,
) -> None:
    """Work until told to end (Ctrl+C, SIGTERM).

    Args:
        store_folder: of this worker's own store.
        data_root: folder with evaluation data, if any.
        slot: its name; None for the first free one of its host and store.
        takes: kinds of work.
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
    for name in (RECEIVED, MADE):
        for old in (store.folder / name).glob("*"):
            with contextlib.suppress(OSError):
                if old.stat().st_mtime < time.time() - UNUSED_SECONDS:
                    shutil.rmtree(old)
    if files is not None:
        files.clean()
    fleet = address.database()
    name = fill(fleet, slot, store.folder)
    worker = Worker(store, data_root, name, takes, fleet, files)

    def leave() -> None:
        with contextlib.suppress(StoreError):
            fleet.leave(name)
        os._exit(0)

    for number in (signal.SIGINT, signal.SIGTERM):
        # As in a crash: the child ends with its pipe, and others take up its unit.
        signal.signal(number, lambda *_: threading.Thread(target=leave, daemon=True).start())
    threading.Thread(target=worker.work, name="work", daemon=True).start()
    ready(name)
    worker.serve()
