"""A worker of a fleet: takes units from the queue, executes them in a child, sends the answers.

Its store is a cache: it keeps vectors and results, and a unit that was done before is answered at
once.
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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from theodolite.app.fleet import outs, queue
from theodolite.app.fleet.address import Address
from theodolite.app.fleet.needs import Machine, Needs
from theodolite.app.fleet.unit import Places, RunReports, admitted, clean, done, packed
from theodolite.app.jobs.child_process import Child, Stopped
from theodolite.app.workspace import StoredUploads
from theodolite.engine.datasets import Catalog
from theodolite.engine.errors import UserError
from theodolite.store import Store, StoreError, forget
from theodolite.store.errors import RunAtWork
from theodolite.store.fleet import FleetAway, Reports, Roster
from theodolite.store.transfers import Transfers

if TYPE_CHECKING:
    from dbos import WorkflowStatus

    from theodolite.app.fleet.parcels import Parcel
    from theodolite.app.jobs.job import Job
    from theodolite.store.run_rows import RunRow

BEAT = 1.0
"""Seconds between two heartbeats of a worker to the roster."""
POLL = {"evaluate": 0.2}
"""Seconds between two polls of a queue; `dbos` has no notifications here."""
POLL_USUALLY = 0.5
"""The same for other queues, whose units take longer."""
AT_HAND = 2
"""Units of one queue that a worker claims: the next begins as soon as the present one ends."""
GIVE_BACK_AFTER = 2.0
"""Seconds for which a claimed unit waits for the present one before it is given back."""

_MAX_SLOTS = 256
_STARTS_ALLOWED = 20  # of one unit, by workers that each crashed

log = logging.getLogger("theodolite.fleet")


class Worker:
    """The worker in a slot: one unit at a time.

    Args:
        store: a cache, of this worker and others of this machine.
        data_root: folder with evaluation data, if any.
        slot: its name in the fleet, which it fills already.
        only: kinds of work that it takes.
        address: of the fleet's database.
        roster: in which it fills the slot.
        out: addresses under which it may write what it trains.
    """

    def __init__(
        self,
        store: Store,
        data_root: Path | None,
        slot: str,
        only: tuple[str, ...],
        address: Address,
        roster: Roster,
        out: tuple[str, ...] = (),
    ) -> None:
        self._store, self._slot, self._only = store, slot, only
        self._address, self._roster = address, roster
        self._catalog = Catalog(data_root, StoredUploads(store))
        self._machine = Machine(self._catalog, only, out)
        transfers = queue.database_of(address)  # large files delay no heartbeat
        self._transfers, self._reports = Transfers(transfers), Reports(roster.database)
        data = [] if data_root is None else ["--data", str(data_root)]
        self._child = Child(["--store", str(store.folder), *data, "--nice", "10"])
        self._turn = threading.Lock()
        self._claims: list[Claim] = []
        self._at: _At | None = None
        self._client = queue.client_of(address)

    def launch(self) -> None:
        """Connect to the queue, and resume what this slot left unfinished.

        Raises:
            FleetAway: when the database does not answer.
        """
        from dbos import DBOS

        DBOS(config=queue.config_of(self._address, self._slot))
        logging.getLogger("dbos").addFilter(queue.is_news)

        @DBOS.workflow(name=queue.WORKFLOW, max_recovery_attempts=_STARTS_ALLOWED)
        def workflow(unit: queue.Unit) -> dict[str, Any]:
            claim = Claim(str(DBOS.workflow_id))
            self._claims.append(claim)
            try:
                return dict(self.unit(claim, unit))
            finally:
                self._claims.remove(claim)

        queues = [*self._only, self._slot]
        DBOS.listen_queues(queues)
        with self._roster.database.alone("launch"):
            self._transfers.clean()
            DBOS.launch()
            for name in queues:
                pause = POLL.get(name, POLL_USUALLY)
                DBOS.register_queue(name, worker_concurrency=AT_HAND, polling_interval_sec=pause)

    def serve(self) -> None:
        """Send heartbeats for ever, and note which claimed units are no longer wanted."""
        while True:
            try:
                if not self._roster.fill(self._slot):  # the connection was lost for a while
                    log.error("Another worker fills the slot %s by now.", self._slot)
                    os._exit(1)
                self._beat()
            except StoreError as error:  # the database is away, or a disk is full
                log.error("%s", error)
            time.sleep(BEAT)

    def unit(self, claim: Claim, unit: queue.Unit) -> queue.Answer:
        """Execute a unit; return the answer, empty when the unit is no longer ours."""
        lacking = self._machine.lacking(Needs.from_json(unit["needs"]))
        if lacking:
            self._beat()  # so that the home reads what is missing before it reads the answer
            return {"lacking": lacking, "slot": self._slot}
        while not self._turn.acquire(timeout=GIVE_BACK_AFTER):
            if self._give_back(claim.workflow):
                # Keep the place: no other unit is claimed in vain meanwhile.
                with self._turn:
                    return {}
        try:
            if not claim.wanted:
                return {}
            asked = admitted(unit, self._only, self._catalog)
            places = self._places(asked, unit)
            return self._hold(claim, unit["label"], asked, places)
        except UserError as error:
            return self._answer({"seconds": 0.0, "error": error.message, "hint": error.hint})
        finally:
            self._turn.release()

    def _places(self, job: Job, unit: queue.Unit) -> Places:
        """Receive the files of a unit, waiting while the database is away."""
        while True:
            try:
                return Places(job, unit, self._store, self._transfers)
            except FleetAway:
                time.sleep(BEAT)
            except StoreError as error:
                raise UserError(error.message, error.hint, code="damaged") from error

    def _hold(self, claim: Claim, label: str, asked: Job, places: Places) -> queue.Answer:
        job = places.job
        while True:
            try:
                with self._store.terminals.holding(
                    job.kind, job.to_spec(), job.title, job.units()
                ) as run:
                    return self._do(claim, label, asked, places, run)
            except RunAtWork:  # another worker here does the same: then it is quick
                time.sleep(1.0)

    def _do(
        self, claim: Claim, label: str, asked: Job, places: Places, run: RunRow
    ) -> queue.Answer:
        runs, run_id = self._store.runs, run["id"]
        outgoing = RunReports(self._store, run_id, asked)
        self._at = _At(claim.workflow, label, run_id, outgoing, bool(asked.leaves()), time.time())
        try:
            outcome = done(self._store, self._child, run, places.job, label, lambda: claim.wanted)
            made = outcome.pop("made")
            results = packed(self._store, places, made)
            folder = None if outcome["error"] else self._bring(places)
            runs.end_unit(run_id, 0, **outcome)
            runs.finish(run_id, run["attempt"], "done")
            self._at = None  # what is reported from here on goes with the answer
            reports = [*outgoing.new(), *outgoing.last("finished")]
            return self._answer(outcome, results, reports, folder)
        except Stopped:
            runs.cancel(run_id)
            return {}
        finally:
            self._at = None
            forget.run(self._store, run_id)

    def _bring(self, places: Places) -> Parcel | None:
        while True:
            try:
                return places.bring(self._transfers)
            except FleetAway:  # chunks that were sent are not sent again
                time.sleep(BEAT)

    def _answer(
        self,
        outcome: dict[str, Any],
        results: list[dict[str, Any]] | None = None,
        reports: list[tuple[str, dict[str, Any]]] | None = None,
        folder: Parcel | None = None,
    ) -> queue.Answer:
        return {
            "outcome": outcome,
            "results": results or [],
            "reports": reports or [],
            "folder": folder,
            "slot": self._slot,
        }

    def _give_back(self, workflow: str) -> bool:
        """Requeue a unit that was claimed too early; False when it stays with us."""
        try:
            with queue.plain_errors(str(self._address)):
                for status in self._look([workflow]):
                    if status.queue_name == self._slot:  # nobody else can do it
                        return False
                    self._client.resume_workflow(workflow, queue_name=status.queue_name)
        except FleetAway:
            return False
        return True

    def _beat(self) -> None:
        """Send a heartbeat and reports, and check whether the claimed units are still wanted.

        Raises:
            FleetAway: when the database does not answer.
        """
        doing: dict[str, Any] = {"units": sorted({one.workflow for one in self._claims})}
        at = self._at
        if at is not None:
            with contextlib.suppress(StoreError):  # it has just ended
                run = self._store.runs.get(at.run)
                doing |= {
                    "unit": at.workflow,
                    "label": at.label,
                    "share": run["fraction"],
                    "message": run["message"],
                    "since": at.since,
                }
        self._roster.seen(self._slot, socket.gethostname(), os.getpid(), self._machine.has(), doing)
        if at is not None and at.long:
            at.outgoing.send(self._reports, at.workflow)
            if word := self._reports.asked(at.workflow):
                self._store.runs.ask(at.run, word)
        if self._claims:
            self._listen(self._claims.copy())

    def _listen(self, claims: list[Claim]) -> None:
        found = self._look([one.workflow for one in claims])
        ours = {
            one.workflow_id
            for one in found
            if one.executor_id == self._slot and one.status == "PENDING"
        }
        for one in claims:
            one.wanted = one.wanted and one.workflow in ours

    def _look(self, units: list[str]) -> list[WorkflowStatus]:
        with queue.plain_errors(str(self._address)):
            return self._client.list_workflows(
                workflow_ids=units, load_input=False, load_output=False
            )


@dataclass(eq=False)
class Claim:
    """A unit that this worker claimed from the queue; once given back, it may be claimed again.

    Attributes:
        workflow: its id in the queue.
        wanted: whether it is still ours to do.
    """

    workflow: str
    wanted: bool = True


class _At(NamedTuple):
    """The unit in progress; a `long` one reports more than its progress."""

    workflow: str
    label: str
    run: str
    outgoing: RunReports
    long: bool
    since: float


def kinds(only: str | None) -> tuple[str, ...]:
    """Parse comma-separated kinds of work; all kinds when none is given."""
    known = tuple(dict.fromkeys(queue.KINDS.values()))
    if not only:
        return known
    named = tuple(dict.fromkeys(name.strip() for name in only.split(",") if name.strip()))
    unknown = [name for name in named if name not in known]
    if unknown or not named:
        raise UserError(
            f"A worker of a fleet takes no work of the kind {only!r}.",
            f"It takes {', '.join(known)}; the rest is done at home.",
            code="unknown",
        )
    return named


def slot_names(store_folder: Path) -> list[str]:
    """Default names of a worker, which takes the first free one: host, store and number."""
    place = hashlib.blake2b(str(store_folder.resolve()).encode(), digest_size=2).hexdigest()
    return [f"{socket.gethostname()}-{place}-{number}" for number in range(1, _MAX_SLOTS)]


def fill(roster: Roster, slot: str | None, store_folder: Path, patience: float = 3.0) -> str:
    """Fill the named slot or the first free one; return its name."""
    if slot is None:
        for name in slot_names(store_folder):
            if roster.fill(name):
                return name
        raise StoreError(
            f"This store has {_MAX_SLOTS} workers already.",
            "Choose a name with --slot.",
            code="conflict",
        )
    deadline = time.monotonic() + patience
    while not roster.fill(slot):  # the last one may just be exiting
        if time.monotonic() > deadline:
            raise StoreError(
                f"A worker {slot!r} is at work in this fleet.",
                "Give this one another --slot.",
                code="conflict",
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
    out: tuple[str, ...] = (),
) -> None:
    """Work until told to end (Ctrl+C, SIGTERM).

    Args:
        store_folder: of this worker's own store.
        data_root: folder with evaluation data, if any.
        slot: its name; None for the first free of `slot_names`.
        only: kinds of work that it takes.
        address: of the fleet's database.
        ready: called with its name once it takes work.
        out: addresses under which it may write what it trains.
    """
    store = Store.open(store_folder)
    if store.workers.list():
        raise StoreError(
            f"The store at {store.folder} belongs to an app that is running.",
            "Give the worker a store of its own with --store.",
            code="conflict",
        )
    out = tuple(outs.checked(root) for root in out)
    clean(store)
    roster = Roster(queue.database_of(address))
    name = fill(roster, slot, store.folder)
    worker = Worker(store, data_root, name, only, address, roster, out)

    def end(*_: object) -> None:
        # As in a crash: the child ends with its pipe, and others take up its unit.
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
