"""A worker of a fleet: takes units out of the queue, has a child do them, answers with what came.

Its store is a cache of its own: vectors and results are kept in it, and a unit that it did before
is answered at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.fleet import queue
from app.fleet.address import Address
from app.fleet.needs import Machine, Needs
from app.jobs.asking import Child, ChildCrashed, Stopped
from app.jobs.kinds import KINDS, job_of
from app.jobs.worker import CRASHES_ALLOWED, given_up
from app.workspace import StoredUploads
from engine.datasets import Catalog
from engine.errors import UserError
from store import Store, StoreError, forget, portable
from store.errors import RunAtWork
from store.roster import FleetAway, Roster

if TYPE_CHECKING:
    from app.jobs.job import Job
    from store.run_rows import RunRow

BEAT = 1.0
"""Seconds between two words of a worker to the roster."""
POLL = 0.1
LOG_LINES = 200

_MOST_SLOTS = 256
_STARTS_ALLOWED = 20  # of one unit by workers that each died over it

log = logging.getLogger("theodolite.fleet")


class Worker:
    """One slot: one unit at a time.

    Args:
        store: a cache, of this worker and others of this machine.
        data_root: folder with evaluation data, if any.
        slot: its name in the fleet, which it fills already.
        only: kinds of work that it takes.
        address: of the fleet's database.
        roster: on which it fills the slot.
    """

    def __init__(
        self,
        store: Store,
        data_root: Path | None,
        slot: str,
        only: tuple[str, ...],
        address: Address,
        roster: Roster,
    ) -> None:
        self._store, self._slot, self._only = store, slot, only
        self._address, self._roster = address, roster
        self._catalog = Catalog(data_root, StoredUploads(store))
        self._machine = Machine(self._catalog, only)
        data = [] if data_root is None else ["--data", str(data_root)]
        self._child = Child(["--store", str(store.folder), *data, "--nice", "10"])
        self._turn = threading.Lock()
        self._units: set[str] = set()
        self._unwanted: set[str] = set()
        self._at: tuple[str, str, str] | None = None  # workflow, label, run in the store here
        self._client = queue.client_of(address)
        self._said: dict[str, Any] | None = None

    def launch(self) -> None:
        """Connect to the queue; what this slot left unfinished is taken up again.

        Raises:
            FleetAway: when the database does not answer.
        """
        from dbos import DBOS

        DBOS(config=queue.config_of(self._address, self._slot))

        @DBOS.workflow(name=queue.WORKFLOW, max_recovery_attempts=_STARTS_ALLOWED)
        def workflow(unit: dict[str, Any]) -> dict[str, Any]:
            workflow_id = str(DBOS.workflow_id)
            self._units.add(workflow_id)
            try:
                return dict(self.unit(workflow_id, unit))
            finally:
                self._units.discard(workflow_id)
                self._unwanted.discard(workflow_id)

        queues = [*self._only, self._slot]
        DBOS.listen_queues(queues)
        with self._roster.alone("launch"):
            DBOS.launch()
            for name in queues:
                DBOS.register_queue(name, worker_concurrency=1, polling_interval_sec=POLL)

    def serve(self) -> None:
        """Say that this worker is there and what it is at, for ever; hear what is called off."""
        while True:
            try:
                if not self._roster.fill(self._slot):  # the connection was lost for a while
                    log.error("Another worker fills the slot %s by now.", self._slot)
                    os._exit(1)
                self._beat()
            except FleetAway as error:
                log.error("%s", error)
            except StoreError as error:
                log.error("%s", error)
            time.sleep(BEAT)

    def unit(self, workflow: str, unit: dict[str, Any]) -> queue.Answer:
        """Do a unit; what there is to tell of it."""
        lacking = self._machine.lacking(Needs.from_json(unit["needs"]))
        if lacking:
            self._beat()  # so that the home reads what is missing before it reads the answer
            return {"lacking": lacking, "slot": self._slot}
        try:
            job = self._admitted(unit)
        except UserError as error:
            return self._answer({"seconds": 0.0, "error": error.message, "hint": error.hint})
        while True:
            try:
                with (
                    self._turn,
                    self._store.terminals.holding(
                        job.kind, job.to_spec(), job.title, job.units()
                    ) as run,
                ):
                    return self._do(workflow, unit["label"], job, run)
            except RunAtWork:  # another worker here is at the same: then it is done at once
                time.sleep(1.0)

    def _admitted(self, unit: dict[str, Any]) -> Job:
        """The job of a unit, unless it asks for what nobody outside may ask of this machine.

        Raises:
            UserError: it does, or cannot be read.
        """
        if unit["kind"] not in self._only:
            raise UserError(f"This worker takes {', '.join(self._only)} only.", "")
        job = job_of(unit, KINDS)
        why = job.stays(self._catalog)
        if why:
            raise UserError("A worker opens no file that a home names.", why)
        return job

    def _do(self, workflow: str, label: str, job: Job, run: RunRow) -> queue.Answer:
        runs, run_id = self._store.runs, run["id"]
        question = {
            "kind": run["kind"], "spec": job.to_spec(), "run": run_id, "attempt": run["attempt"],
            "position": 0, "label": label, "log": str(self._store.logs.path(run_id)),
        }  # fmt: skip
        self._at = workflow, label, run_id
        try:
            while True:
                try:
                    outcome = self._child.ask(question, lambda: workflow not in self._unwanted)
                    break
                except Stopped:
                    runs.cancel(run_id)
                    return self._answer({"seconds": 0.0, "error": "It was called off.", "hint": ""})
                except ChildCrashed as crash:
                    if runs.lost_unit(run_id, 0) >= CRASHES_ALLOWED:
                        error, hint = given_up(label, str(crash))
                        outcome = {"seconds": 0.0, "error": error, "hint": hint, "made": []}
                        break
            made = outcome.pop("made")
            results = [portable.pack(self._store.results, number) for number in made]
            printed = self._store.logs.lines(run_id)[-LOG_LINES:]
            runs.end_unit(run_id, 0, **outcome)
            runs.finish(run_id, run["attempt"], "done")
            return self._answer(outcome, results, printed)
        finally:
            self._at = None
            forget.run(self._store, run_id)

    def _answer(
        self,
        outcome: dict[str, Any],
        results: list[dict[str, Any]] | None = None,
        printed: list[str] | None = None,
    ) -> queue.Answer:
        return {
            "outcome": outcome, "results": results or [], "log": printed or [], "slot": self._slot,
        }  # fmt: skip

    def _beat(self) -> None:
        """Tell the roster, and hear whether what is being done is still wanted.

        Raises:
            FleetAway: when the database does not answer.
        """
        doing: dict[str, Any] = {"units": sorted(self._units.copy())}
        at = self._at
        if at is not None:
            workflow, label, run_id = at
            with contextlib.suppress(StoreError):  # it has just ended
                share = self._store.runs.get(run_id)["fraction"]
                doing |= {"unit": workflow, "label": label, "share": share}
        self._roster.seen(self._slot, socket.gethostname(), os.getpid(), self._machine.has(), doing)
        if self._units:
            self._listen(set(self._units))

    def _listen(self, units: set[str]) -> None:
        try:
            found = self._client.list_workflows(
                workflow_ids=list(units), status="PENDING", load_input=False, load_output=False
            )
        except Exception as error:  # SQLAlchemy's and the driver's: it may pass
            raise FleetAway(f"The fleet's queue at {self._address} does not answer.") from error
        ours = {one.workflow_id for one in found if one.executor_id == self._slot}
        self._unwanted |= units - ours


def kinds(only: str) -> tuple[str, ...]:
    """Kinds of work, of their names with commas between them.

    Raises:
        UserError: one that does not travel.
    """
    named = tuple(dict.fromkeys(name.strip() for name in only.split(",") if name.strip()))
    unknown = [name for name in named if name not in queue.KINDS]
    if unknown or not named:
        raise UserError(
            f"A worker of a fleet takes no work of the kind {only!r}.",
            f"It takes {', '.join(queue.KINDS)}; the rest is done at home.",
        )
    return named


def slot_names(store_folder: Path) -> list[str]:
    """The names that a worker takes for itself, the first that is free: host, store and number."""
    place = hashlib.blake2b(str(store_folder.resolve()).encode(), digest_size=2).hexdigest()
    return [f"{socket.gethostname()}-{place}-{number}" for number in range(1, _MOST_SLOTS)]


def fill(roster: Roster, slot: str | None, store_folder: Path, patience: float = 3.0) -> str:
    """Fill a slot, the one that was named or the first free; return its name.

    Raises:
        StoreError: it is filled, or the database does not answer.
    """
    if slot is None:
        for name in slot_names(store_folder):
            if roster.fill(name):
                return name
        raise StoreError(f"This store has {_MOST_SLOTS} workers already.", "Name a --slot.")
    deadline = time.monotonic() + patience
    while not roster.fill(slot):  # the last one may just be going
        if time.monotonic() > deadline:
            raise StoreError(
                f"A worker {slot!r} is at work in this fleet.", "Give this one another --slot."
            )
        time.sleep(0.2)
    return slot


def run(
    store_folder: Path,
    data_root: Path | None,
    slot: str | None,
    only: tuple[str, ...],
    address: Address,
    ready: Callable[[str], None],
) -> None:
    """Work until told to end (Ctrl+C, SIGTERM).

    Args:
        store_folder: of this worker's own store.
        data_root: folder with evaluation data, if any.
        slot: its name; None for the first free of `slot_names`.
        only: kinds of work that it takes.
        address: of the fleet's database.
        ready: called with its name when it takes work.

    Raises:
        StoreError: the store cannot be used, the slot is filled, or the database is away.
    """
    store = Store.open(store_folder)
    if store.workers.list():
        raise StoreError(
            f"The store at {store.folder} belongs to an app that is running.",
            "Give the worker a store of its own with --store.",
        )
    roster = queue.roster_of(address)
    name = fill(roster, slot, store.folder)
    worker = Worker(store, data_root, name, only, address, roster)

    def end(*_: object) -> None:
        # As in a crash: the child ends with its pipe, and what it did is taken up by others.
        threading.Thread(target=_leave, args=(roster, name), daemon=True).start()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    worker.launch()
    ready(name)
    worker.serve()


def _leave(roster: Roster, slot: str) -> None:
    with contextlib.suppress(StoreError):
        roster.gone(slot)
    os._exit(0)
