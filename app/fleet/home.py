"""The home's side of a fleet: enqueue the units of a run and store the answers.

The store here stays the single source of truth. Entries of the queue are looked up by ids made of
the run, its attempt and the unit, so a home that was killed resumes by looking them up again.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from theodolite.app.fleet import parcels, queue
from theodolite.app.fleet.address import Address
from theodolite.app.fleet.arrivals import Arrivals
from theodolite.app.fleet.needs import lacking
from theodolite.app.jobs.job import queue_priority
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store import StoreError
from theodolite.store.fleet import Member, Reports, Roster
from theodolite.store.run_rows import STOP
from theodolite.store.transfers import Damaged, Transfers

if TYPE_CHECKING:
    from dbos import WorkflowStatus

    from theodolite.app.jobs.job import Job
    from theodolite.store.run_rows import RunRow, UnitRow

LOOK_EVERY = 0.5
AHEAD = 256
"""Maximum number of units of a run in the queue; all of them are looked up every round."""
LYING = 10.0
"""Seconds for which a worker may omit a unit that it claimed from its heartbeats."""

_BEGUN = 1e-6  # least progress of a unit that a worker is executing
_MAX_DAMAGED = 3
_OVER = ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")


class Home:
    """Executes runs on a fleet. Safe to use from several threads, one run each.

    Args:
        workspace: its store holds runs and results, its catalog the data that workers must have
            unchanged.
        address: of the fleet's database.
    """

    def __init__(self, workspace: Workspace, address: Address) -> None:
        self._workspace = workspace
        self._store, self._catalog = workspace.store, workspace.catalog
        self._roster = Roster(queue.database_of(address))
        self._reports = Reports(self._roster.database)
        self._transfers = Transfers(queue.database_of(address))
        self._arrivals = Arrivals(workspace, self._reports, self._transfers)
        self._client = queue.client_of(address)
        self._name = str(address)
        self._lying: dict[str, float] = {}  # unit unknown to its worker -> since when
        self._away: dict[str, dict[str, Any]] = {}  # the progress last sent to the roster, by run

    @classmethod
    def here(cls, store_folder: Path, data_root: Path | None) -> Home:
        """The home of the fleet in THEODOLITE_FLEET, which no list of processes shows."""
        return cls(Workspace(store_folder, data_root), Address.parse(None))

    def takes(self, job: Job) -> str:
        """Why a job cannot be sent to the fleet, in words; empty when it can."""
        try:
            part = job.part(0)
            if part is None or part.kind not in queue.KINDS:
                return f"Work of the kind {job.kind} is done at home."
            if why := job.stays(self._catalog):
                return why
            for path in job.files():
                parcels.pack(path)
        except UserError as error:  # its units will report it, or it is too large to travel
            return error.message
        return ""

    def work(self, run: RunRow, attempt: int, job: Job) -> str:
        """Have the fleet do all waiting units; "ended", or "stopped" when the run was cancelled."""
        runs, run_id = self._store.runs, run["id"]
        sent = _SentRun(run, attempt, job)
        try:
            while True:
                shares: dict[int, float] = {}
                try:
                    word = runs.asked(run_id, attempt)
                    if word is None:
                        self.cancel(run_id, attempt)
                        return "stopped"
                    waiting = [unit for unit in runs.units(run_id) if unit["state"] == "waiting"]
                    if not waiting:
                        self.cancel(run_id, attempt)  # what a crash may have left there
                        return "ended"
                    if word == STOP:
                        self._stop(sent, waiting)
                    message, shares = self._round(sent, waiting[:AHEAD])
                    self._announce(sent, len(waiting), message)
                except (StoreError, UserError) as error:  # the fleet's database, the disk, the data
                    message = error.message
                with contextlib.suppress(StoreError):
                    runs.shares(run_id, attempt, shares, message)
                time.sleep(LOOK_EVERY)
        finally:
            self._away.pop(run_id, None)

    def cancel(self, run_id: str, attempt: int) -> None:
        """Remove what is left of an attempt from the queue; its workers stop within seconds.

        Raises:
            FleetAway: when the database does not answer.
        """
        with queue.plain_errors(self._name):
            if left := self.waiting(f"{run_id}-{attempt}"):
                self._client.delete_workflows(left)
            self._reports.forget(f"{run_id}-{attempt}-")

    def waiting(self, run: str) -> list[str]:
        """Ids of the queue's remaining entries of a run, or of one of its attempts."""
        found = self._client.list_workflows(
            workflow_id_prefix=f"{run}-", load_input=False, load_output=False
        )
        return [one.workflow_id for one in found]

    def _announce(self, sent: _SentRun, waiting: int, message: str) -> None:
        """Report this home's runs in the fleet to the roster."""
        self._away[sent.run_id] = {"title": sent.title, "wait": waiting, "said": message}
        host = socket.gethostname()
        self._roster.home_seen(
            f"{host}:{self._store.folder}", host, list(self._away.copy().values())
        )

    def _stop(self, sent: _SentRun, waiting: Sequence[UnitRow]) -> None:
        """Have trainings in progress keep their best; leave out those not begun."""
        with queue.plain_errors(self._name):
            known = self._look([sent.workflow(unit) for unit in waiting])
            at_work = {one for one, status in known.items() if status.status != "ENQUEUED"}
            self._reports.ask(sorted(at_work), STOP)
            for unit in waiting:
                if sent.workflow(unit) not in at_work:
                    self._store.runs.end_unit(
                        sent.run_id,
                        unit["position"],
                        0.0,
                        "It was to stop before it began.",
                        "Retry the run to train it as well.",
                        left_out=sent.several,
                    )
            self._client.delete_workflows([one for one in known if one not in at_work])

    def _round(self, sent: _SentRun, waiting: Sequence[UnitRow]) -> tuple[str, dict[int, float]]:
        """Look the units up once, and send, store or requeue each as needed.

        Returns:
            A status message, and position -> progress of the units in progress.
        """
        workers = [one for one in self._roster.list() if sent.work in one["has"].get("only", ())]
        with queue.plain_errors(self._name):
            known = self._look([sent.workflow(unit) for unit in waiting])
            forsaken = self._roster.forsaken(
                [s.executor_id for s in known.values() if s.status == "PENDING" and s.executor_id]
            )
            if sent.long:
                units = {sent.workflow(unit): unit["position"] for unit in waiting}
                self._arrivals.hear(sent.run_id, units)
            missing: Counter[str] = Counter()
            gone: list[str] = []
            queued = Counter(str(status.queue_name) for status in known.values())
            for unit in waiting:
                status = known.get(sent.workflow(unit))
                if status is None:
                    missing.update(self._send(sent, unit, workers, queued))
                elif status.status in _OVER:
                    self._over(sent, unit, status)
                    gone.append(status.workflow_id)
                elif _is_stuck(status, forsaken, workers) or self._is_stale_claim(status, workers):
                    gone.append(status.workflow_id)
            if gone:  # those that are not over are sent again in the next round
                self._client.delete_workflows(gone)
        shares = {
            int(at.rpartition("-")[2]): min(1.0, max(_BEGUN, one["doing"].get("share", 0.0)))
            for one in workers
            if (at := str(one["doing"].get("unit", ""))) in known
        }
        return _message(sent, workers, missing, self._name), shares

    def _is_stale_claim(self, status: WorkflowStatus, workers: Sequence[Member]) -> bool:
        """Whether a unit is assigned to a live worker that does not know of it.

        This happens when the database goes away at the moment in which a unit is claimed.
        """
        unit, taker = status.workflow_id, status.executor_id
        known = [one["doing"].get("units", [unit]) for one in workers if one["slot"] == taker]
        if status.status != "PENDING" or not known or unit in known[0]:
            self._lying.pop(unit, None)
            return False
        if time.monotonic() - self._lying.setdefault(unit, time.monotonic()) < LYING:
            return False
        del self._lying[unit]
        return True

    def _look(self, ids: Sequence[str]) -> dict[str, WorkflowStatus]:
        """The queue's entries of these ids, with the answers of those that are done."""
        found = self._client.list_workflows(
            workflow_ids=list(ids), load_input=False, load_output=False
        )
        done = [one.workflow_id for one in found if one.status == "SUCCESS"]
        if done:
            answers = self._client.list_workflows(workflow_ids=done, load_input=False)
            found = [one for one in found if one.workflow_id not in set(done)] + answers
        return {one.workflow_id: one for one in found}

    def _send(
        self, sent: _SentRun, unit: UnitRow, workers: Sequence[Member], queued: Counter[str]
    ) -> list[str]:
        """Enqueue a unit where it can be done, else return what the workers lack."""
        part = _part(sent.job, unit["position"])
        if part.is_stored(self._workspace):
            self._store.runs.end_unit(sent.run_id, unit["position"], 0.0)
            return []
        try:
            needs = sent.job.needs(self._catalog, unit["position"])
            files = {path: parcels.pack(path) for path in part.files()}
        except UserError as error:
            self._store.runs.end_unit(sent.run_id, unit["position"], 0.0, error.message, error.hint)
            return []
        found = {one["slot"]: lacking(needs, one["has"]) for one in workers}
        able = [slot for slot, lack in found.items() if not lack]
        if workers and not able:
            return list(dict.fromkeys(what for lack in found.values() for what in lack))
        # To the first worker that is free, unless some of them could not do it.
        to = sent.work if len(able) == len(workers) else min(able, key=lambda slot: queued[slot])
        queued[to] += 1
        for path, parcel in files.items():
            parcels.send(self._transfers, path, parcel)
        self._client.enqueue(
            {
                "workflow_name": queue.WORKFLOW,
                "queue_name": to,
                "workflow_id": sent.workflow(unit),
                "app_version": queue.VERSION,
                "priority": queue_priority(sent.priority),
            },
            queue.Unit(
                kind=part.kind,
                spec=part.to_spec(),
                label=unit["label"],
                needs=needs.to_json(),
                files=files,
            ),
        )
        return []

    def _over(self, sent: _SentRun, unit: UnitRow, status: WorkflowStatus) -> None:
        """Store the answer to a unit that is over."""
        output = status.output or {}
        answer = cast("queue.Answer", output if isinstance(output, dict) else {})
        if status.status == "SUCCESS" and "outcome" not in answer:
            return  # not done; the roster shows by now what that worker lacks
        position = unit["position"]
        if status.status == "SUCCESS":
            needs = sent.job.needs(self._catalog, position)
            part = _part(sent.job, position)
            try:
                outcome = self._arrivals.keep(sent.run_id, unit, part, needs, answer)
                self._store.runs.end_unit(sent.run_id, position, **outcome)
                return
            except Damaged as error:  # its worker has it still, and is asked once more
                sent.damaged[position] += 1
                if sent.damaged[position] < _MAX_DAMAGED:
                    return
                message, hint = error.message, error.hint
            except (AttributeError, KeyError, TypeError, ValueError):
                message = f"The answer of {answer.get('slot')} to {unit['label']} cannot be read."
                hint = "Have that worker run the version of Theodolite that runs here."
        else:
            message = f"The queue gave {unit['label']} up: {status.status.lower()}."
            hint = "Try it again; the log of its worker may have more."
        self._store.runs.end_unit(sent.run_id, position, 0.0, message, hint)


class _SentRun:
    """A run, its job, and facts about its units."""

    def __init__(self, run: RunRow, attempt: int, job: Job) -> None:
        self.run_id, self.attempt, self.priority = run["id"], attempt, run["priority"]
        self.title, self.job = run["title"], job
        self.several = len(job.units()) > 1
        self.damaged: Counter[int] = Counter()  # times that a unit's folder did not arrive
        part = _part(job, 0)
        self.work, self.long = queue.KINDS[part.kind], bool(part.leaves())

    def workflow(self, unit: UnitRow) -> str:
        """The id under which a unit is enqueued, once."""
        return f"{self.run_id}-{self.attempt}-{unit['position']}"


def _part(job: Job, position: int) -> Job:
    part = job.part(position)
    if part is None:
        raise ValueError(f"{job.title} has units that are no jobs of their own")
    return part


def _is_stuck(
    status: WorkflowStatus, forsaken: set[str], workers: Sequence[Mapping[str, Any]]
) -> bool:
    """Whether a unit would never be done where it is: its worker is gone for good."""
    if status.status == "PENDING":
        return status.executor_id in forsaken
    taken = {*queue.KINDS.values(), *(one["slot"] for one in workers)}
    return status.queue_name not in taken


def _message(
    sent: _SentRun, workers: Sequence[Member], missing: Mapping[str, int], name: str
) -> str:
    """Status message of a run in progress."""
    if not workers:
        return f"No worker takes it yet: theodolite worker --fleet {name}"
    if missing:
        what, count = max(missing.items(), key=lambda item: item[1])
        return f"No worker has {what}: {count} of the parts wait for it."
    at_it = [
        f"{one['slot']}: {one['doing'].get('message') or one['doing'].get('label', '')}"
        for one in workers
        if str(one["doing"].get("unit", "")).startswith(f"{sent.run_id}-")
    ]
    more = f" and {len(at_it) - 3} more" if len(at_it) > 3 else ""
    return ", ".join(at_it[:3]) + more or "Waiting for a worker."
