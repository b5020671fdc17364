"""The home's side of a fleet: it gives the units of a run away and keeps what comes back.

The store here stays the truth. What stands in the queue is looked up by ids that are made of the
run, its attempt and the unit, so a home that was killed goes on by looking again.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from app.fleet import queue
from app.fleet.address import Address
from app.fleet.needs import lacking
from app.workspace import StoredUploads
from engine.datasets import Catalog
from engine.errors import UserError
from store import StoreError, portable
from store.roster import FleetAway, Member

if TYPE_CHECKING:
    from dbos import WorkflowStatus

    from app.jobs.job import Job
    from store import Store
    from store.run_rows import RunRow, UnitRow

LOOK_EVERY = 0.5
AHEAD = 256
"""Units of a run that stand in the queue at most: what is looked at every time."""
LYING = 10.0
"""Seconds for which a worker may say nothing of a unit that it claimed."""

_MIDDLE_PRIORITY = 1 << 30  # dbos counts from 1, we count both ways from 0
_OVER = ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")


class Home:
    """Has runs done by a fleet. Safe to use from several threads, a run each.

    Args:
        store: which keeps runs and results.
        catalog: of this machine's data: a unit is done with the same elsewhere.
        address: of the fleet's database.
    """

    def __init__(self, store: Store, catalog: Catalog, address: Address) -> None:
        self._store = store
        self._catalog = catalog
        self._roster = queue.roster_of(address)
        self._client = queue.client_of(address)
        self._name = str(address)
        self._lying: dict[str, float] = {}  # units that their worker does not know of, since when

    @classmethod
    def here(cls, store: Store, data_root: Path | None) -> Home:
        """Of the fleet that THEODOLITE_FLEET names: no list of processes shows that.

        Raises:
            UserError: it names none.
        """
        return cls(store, Catalog(data_root, StoredUploads(store)), Address.parse(None))

    def takes(self, job: Job) -> str:
        """Why a job is done here all the same, in words; empty when it can be given away."""
        if job.kind not in queue.KINDS:
            return f"Work of the kind {job.kind} is done at home."
        try:
            return job.stays(self._catalog)
        except UserError as error:  # its units will say it
            return error.message

    def work(self, run: RunRow, attempt: int, job: Job) -> str:
        """Have all units done that wait; "ended", or "stopped" when the run is not wanted."""
        runs, run_id = self._store.runs, run["id"]
        while True:
            try:
                if not runs.is_running(run_id, attempt):
                    self.call_off(run_id, attempt)
                    return "stopped"
                waiting = [unit for unit in runs.units(run_id) if unit["state"] == "waiting"]
                if not waiting:
                    return "ended"
                said = self._round(_Asked(run, attempt, job), waiting[:AHEAD])
            except (StoreError, UserError) as error:  # the fleet's database, the disk, the data
                said = error.message
            with contextlib.suppress(StoreError):
                runs.progress(run_id, attempt, 0.0, said)
            time.sleep(LOOK_EVERY)

    def call_off(self, run_id: str, attempt: int) -> None:
        """Take what is left of an attempt out of the queue; who is at it stops within seconds.

        Raises:
            FleetAway: when the database does not answer.
        """
        with self._told():
            if left := self.waiting(f"{run_id}-{attempt}"):
                self._client.delete_workflows(left)

    def waiting(self, run: str) -> list[str]:
        """Ids of what the queue still holds of a run, or of an attempt of one."""
        found = self._client.list_workflows(
            workflow_id_prefix=f"{run}-", load_input=False, load_output=False
        )
        return [one.workflow_id for one in found]

    def _round(self, asked: _Asked, waiting: Sequence[UnitRow]) -> str:
        """Look at the units once, do what is to be done about each; what there is to say."""
        workers = [one for one in self._roster.list() if asked.kind in one["has"]["only"]]
        with self._told():
            known = self._look([asked.workflow(unit) for unit in waiting])
            forsaken = self._roster.forsaken(
                [s.executor_id for s in known.values() if s.status == "PENDING" and s.executor_id]
            )
            missing: Counter[str] = Counter()
            queued = Counter(str(status.queue_name) for status in known.values())
            for unit in waiting:
                status = known.get(asked.workflow(unit))
                if status is not None and status.status in _OVER:
                    self._over(asked, unit, status)
                elif status is None:
                    missing.update(self._send(asked, unit, workers, queued))
                elif _is_stuck(status, forsaken, workers) or self._lies(status, workers):
                    self._client.delete_workflow(status.workflow_id)  # sent anew the next time
        return _said(asked, workers, missing, self._name)

    def _lies(self, status: WorkflowStatus, workers: Sequence[Member]) -> bool:
        """Whether a unit was given to a live worker that never heard of it.

        So it is when the database goes away in the very moment in which a unit is claimed.
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
        """What the queue has of these, with the answers of those that are done."""
        found = self._client.list_workflows(
            workflow_ids=list(ids), load_input=False, load_output=False
        )
        done = [one.workflow_id for one in found if one.status == "SUCCESS"]
        if done:
            answers = self._client.list_workflows(workflow_ids=done, load_input=False)
            found = [one for one in found if one.workflow_id not in set(done)] + answers
        return {one.workflow_id: one for one in found}

    def _send(
        self, asked: _Asked, unit: UnitRow, workers: Sequence[Member], queued: Counter[str]
    ) -> list[str]:
        """Enqueue a unit where it can be done; what every worker lacks when it cannot."""
        part = asked.job.part(unit["position"])
        if part is None:
            raise ValueError(f"{asked.job.title} has units that are no jobs of their own")
        try:
            needs = asked.job.needs(self._catalog, unit["position"])
        except UserError as error:
            self._store.runs.end_unit(
                asked.run_id, unit["position"], 0.0, error.message, error.hint
            )
            return []
        found = {one["slot"]: lacking(needs, one["has"]) for one in workers}
        able = [slot for slot, lack in found.items() if not lack]
        if workers and not able:
            return list(dict.fromkeys(what for lack in found.values() for what in lack))
        # Whoever comes first, unless somebody there could not do it.
        to = part.kind if len(able) == len(workers) else min(able, key=lambda slot: queued[slot])
        queued[to] += 1
        self._client.enqueue(
            {
                "workflow_name": queue.WORKFLOW,
                "queue_name": to,
                "workflow_id": asked.workflow(unit),
                "app_version": queue.VERSION,
                "priority": min(
                    max(_MIDDLE_PRIORITY + asked.priority, 1), 2 * _MIDDLE_PRIORITY - 1
                ),
            },
            queue.Unit(
                kind=part.kind, spec=part.to_spec(), label=unit["label"], needs=needs.to_json()
            ),
        )
        return []

    def _over(self, asked: _Asked, unit: UnitRow, status: WorkflowStatus) -> None:
        """Keep what came of a unit, then let go of it in the queue."""
        answer = cast("queue.Answer", status.output or {})
        if status.status == "SUCCESS" and answer.get("lacking"):
            self._client.delete_workflow(status.workflow_id)
            return  # by now the roster says what that worker lacks
        position = unit["position"]
        if status.status == "SUCCESS":
            outcome = self._keep(asked, unit, answer)
        else:
            outcome = {
                "seconds": 0.0,
                "error": f"The queue gave {unit['label']} up: {status.status.lower()}.",
                "hint": "Try it again; the log of its worker may have more.",
            }
        self._store.runs.end_unit(asked.run_id, position, **outcome)
        self._client.delete_workflow(status.workflow_id)

    def _keep(self, asked: _Asked, unit: UnitRow, answer: queue.Answer) -> dict[str, Any]:
        """Keep the results of a unit; how it ended."""
        outcome = dict(answer["outcome"])
        took = outcome["error"] or f"Took {outcome['seconds']:.1f} s."
        self._note(asked.run_id, f"{unit['label']}, by {answer['slot']}: {took}", *answer["log"])
        wanted = asked.job.needs(self._catalog, unit["position"]).data.values()
        for result in answer["results"]:
            if result["data_hash"] and result["data_hash"] not in wanted:
                return {**outcome, "error": "It was measured on other data.", "hint": "Try again."}
            try:
                portable.keep(self._store.results, result)
            except StoreError as error:
                if error.__cause__ is None or isinstance(error.__cause__, OSError):
                    raise  # the disk: it stays in the queue until there is room
                return {**outcome, "error": error.message, "hint": error.hint}
        return outcome

    def _note(self, run_id: str, *lines: str) -> None:
        stamp = time.strftime("%H:%M:%S")
        with (
            contextlib.suppress(OSError, StoreError),
            self._store.logs.path(run_id).open("a", encoding="utf-8") as file,
        ):
            file.writelines(f"{stamp}  {line}\n" for line in lines)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Say in words what the queue's library or the database's does not do."""
        from dbos._error import DBOSException
        from sqlalchemy.exc import ProgrammingError, SQLAlchemyError

        try:
            yield
        except ProgrammingError as error:  # the first worker makes the tables
            raise FleetAway(
                f"No worker has joined the fleet yet: theodolite worker --fleet {self._name}"
            ) from error
        except (SQLAlchemyError, DBOSException) as error:
            raise FleetAway(
                f"The fleet's queue at {self._name} does not answer.",
                "What waits there goes on when it is back.",
            ) from error


class _Asked:
    """A run as it is looked at."""

    def __init__(self, run: RunRow, attempt: int, job: Job) -> None:
        self.run_id, self.attempt, self.priority = run["id"], attempt, run["priority"]
        self.kind, self.job = run["kind"], job

    def workflow(self, unit: UnitRow) -> str:
        """The id under which a unit is enqueued, once."""
        return f"{self.run_id}-{self.attempt}-{unit['position']}"


def _is_stuck(
    status: WorkflowStatus, forsaken: set[str], workers: Sequence[Mapping[str, Any]]
) -> bool:
    """Whether a unit would never be done where it is: its worker is gone for good."""
    if status.status == "PENDING":
        return status.executor_id in forsaken
    waits_for = status.queue_name
    return waits_for not in queue.KINDS and waits_for not in {one["slot"] for one in workers}


def _said(asked: _Asked, workers: Sequence[Member], missing: Mapping[str, int], name: str) -> str:
    """What there is to say of a run that goes on."""
    if not workers:
        return f"No worker takes it yet: theodolite worker --fleet {name}"
    if missing:
        what, count = max(missing.items(), key=lambda item: item[1])
        return f"No worker has {what}: {count} of the parts wait for it."
    at_it = [
        f"{one['slot']}: {one['doing']['label']}"
        for one in workers
        if str(one["doing"].get("unit", "")).startswith(f"{asked.run_id}-")
    ]
    more = f" and {len(at_it) - 3} more" if len(at_it) > 3 else ""
    return ", ".join(at_it[:3]) + more or "Waiting for a worker."
