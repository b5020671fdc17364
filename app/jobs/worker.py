"""`python -m theodolite.app.jobs.worker`: takes runs from durable queues for a child to execute.

The queues are those of `dbos`, and a run is a workflow: `dbos` decides which worker executes a run,
and in which order. All else is in the store's rows alone: the state of a run, and which of its
units are over. A worker that was killed finds its workflows again by the name of its slot and goes
on with the first unit that is not recorded as over; a unit done twice leaves the same result.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbos import DBOS, DBOSConfig, WorkflowStatus
from dbos import DBOSPortableJSONSerializer as JSONSerializer
from filelock import BaseFileLock, FileLock, Timeout

from theodolite.app.jobs import processes
from theodolite.app.jobs.child_process import Child, GivenUp, Stopped
from theodolite.app.jobs.job import queue_priority
from theodolite.app.jobs.kinds import job_of, kind_of
from theodolite.app.jobs.unit import conclude
from theodolite.engine.errors import UserError
from theodolite.store import Store, StoreError, queue_file
from theodolite.store.errors import NoSuchRun, StoreGone
from theodolite.store.run_rows import RunRow

if TYPE_CHECKING:
    from theodolite.app.fleet.coordinator import Coordinator

QUEUE, INTERACTIVE, FLEET = "runs", "interactive", "fleet"
"""Queues. The first two have one run at a time, in a child of their own; see `Job.interactive`. The
last has several: other machines do their units."""
VERSION = "1"
"""Version of a workflow's arguments: workers take those of their version."""

_SWEEP_EVERY = 0.05
_DEQUEUE_EVERY = {INTERACTIVE: 0.1, QUEUE: 0.25, FLEET: 0.5}
_CHECK_EVERY = 5.0
_WARM_AFTER = 3.0
_AWAY_AT_ONCE = 8
_REST_SECONDS = 30.0
"""Seconds after which a queue that rests polls all the same."""

log = logging.getLogger("theodolite.worker")


class Rest:
    """A gate in front of each poll of the queues: open while a run waits.

    The queues of `dbos` ask their database several times a second, which costs milliseconds each
    time. Whether a run waits is known from the store, whose version costs microseconds.
    """

    def __init__(self) -> None:
        self._open = threading.Event()

    def keep(self, dbos: Any) -> None:
        """Let the queues of a launched `DBOS` wait at the gate, too, before each poll.

        They pause between polls by waiting for the event that ends them. Should another version of
        `dbos` have no such events, its queues poll all the time.
        """
        for end in getattr(dbos, "background_thread_stop_events", ()):
            end.wait = partial(self._wait, end, end.wait)

    def wake(self, waiting: bool) -> None:
        """Let the queues poll if a run waits, else rest."""
        if waiting:
            self._open.set()
        else:
            self._open.clear()

    def _wait(
        self, end: threading.Event, pause: Callable[..., bool], timeout: float | None = None
    ) -> bool:
        pause(timeout=timeout)
        if not end.is_set():
            self._open.wait(_REST_SECONDS)
        return end.is_set()


class Worker:
    """The worker in a slot: at most one run at a time of each queue but `FLEET`."""

    def __init__(
        self,
        store: Store,
        data_root: Path | None,
        slot: str,
        kinds: str = "theodolite.app.jobs.kinds",
        fleet: Coordinator | None = None,
    ) -> None:
        self._store = store
        self._fleet = fleet
        self._slot = slot
        self._working_on: set[str] = set()
        self._left_lying: set[str] = set()
        self._rest = Rest()
        self._kinds: dict[str, str] = importlib.import_module(kinds).KINDS
        data = [] if data_root is None else ["--data", str(data_root)]
        given = ["--store", str(store.folder), *data, "--kinds", kinds]
        self.children = {
            QUEUE: Child([*given, "--nice", "10"]),
            INTERACTIVE: Child([*given, "--warm"]),
        }

    def launch(self) -> None:
        """Connect to the queue, made anew if damaged, and resume what this slot left unfinished."""
        self._queue_inode = queue_file.prepare(self._store.folder)
        config: DBOSConfig = {
            "name": "theodolite",
            "system_database_url": f"sqlite:///{self._store.folder / queue_file.NAME}",
            "serializer": JSONSerializer(),
            "executor_id": self._slot,
            "application_version": VERSION,
            "log_level": "ERROR",
            "enable_otlp": False,
        }
        dbos = DBOS(config=config)

        @DBOS.workflow(name="run", max_recovery_attempts=None)
        def workflow(run_id: str, attempt: int) -> str:
            workflow_id = str(DBOS.workflow_id)
            self._working_on.add(workflow_id)
            try:
                return self.work(run_id, attempt)
            finally:
                self._working_on.discard(workflow_id)

        DBOS.launch()
        for queue, most in ((QUEUE, 1), (INTERACTIVE, 1), (FLEET, _AWAY_AT_ONCE)):
            DBOS.register_queue(
                queue, worker_concurrency=most, polling_interval_sec=_DEQUEUE_EVERY[queue]
            )
        self._rest.keep(dbos)
        self._forget_removed()

    def serve(self, *, warm: bool = False) -> None:
        """Enqueue waiting runs, and record this worker's heartbeat, for ever.

        Args:
            warm: whether to start the interactive child before its first run, once the app had
                time to open a page.
        """
        checked, version = 0.0, -1
        warm_at = time.monotonic() + _WARM_AFTER if warm else math.inf
        while True:
            try:
                if time.monotonic() - checked > _CHECK_EVERY:
                    checked = time.monotonic()
                    queue_file.verify(self._store.folder, self._queue_inode)
                    self._store.workers.seen(self._slot)
                    self._reconcile()
                    self._store.terminals.end_forsaken()
                    version = -1
                now = self._store.database.version()
                if now != version:
                    self._rest.wake(self._sweep())
                    version = now
                if time.monotonic() > warm_at:
                    warm_at = math.inf
                    self.children[INTERACTIVE].start()
            except StoreGone as error:  # the supervisor restarts us when the store is back
                log.error("%s", error)
                os._exit(1)
            except StoreError as error:  # a full disk, a lock: it may pass
                log.error("%s", error)
            except Exception:  # the queue has errors of its own, which may pass too
                log.exception("The queue cannot be checked at the moment.")
                if queue_file.fault(self._store.folder):  # `launch` makes it anew
                    os._exit(1)
            time.sleep(_SWEEP_EVERY)

    def work(self, run_id: str, attempt: int) -> str:
        """Execute all units of a run in order: the workflow."""
        runs = self._store.runs
        try:
            run = runs.get(run_id)
        except NoSuchRun:  # removed while it stood in the queue
            return "not wanted"
        try:
            job = job_of(run, self._kinds)
            labels, weights = job.units(), job.weights(self._store)
        except UserError as error:
            runs.finish(run_id, attempt, "failed", error=error.message, hint=error.hint)
            return "failed"
        except (KeyError, TypeError, ValueError) as error:
            runs.finish(run_id, attempt, "failed", error=f"The spec cannot be read: {error}.")
            return "failed"
        if not runs.start(run_id, attempt, self._slot, labels, weights):
            self._cancel_in_fleet(run_id, attempt)
            return "not wanted"
        why = "" if self._fleet is None else self._fleet.local_only_reason(job)
        if self._fleet is not None and not why:
            if self._fleet.work(run, attempt, job) == "stopped":
                return "stopped"
            conclude(self._store, run_id, attempt, job)
            return "ended"
        if why:
            self._store.logs.note(run_id, why)
        for position in range(len(labels)):
            # No step of dbos: the store alone records which units are over.
            if self.unit(run_id, attempt, position) == "stopped":
                return "stopped"
        conclude(self._store, run_id, attempt, job)
        return "ended"

    def unit(self, run_id: str, attempt: int, position: int) -> str:
        """Execute one unit in the child, which is restarted when it crashes."""
        runs = self._store.runs
        try:
            run, unit = runs.get(run_id), runs.units(run_id)[position]
            child = self.children[INTERACTIVE if self._queue(run) == INTERACTIVE else QUEUE]
        except (NoSuchRun, IndexError):  # cancelled and removed
            return "stopped"
        if unit["state"] != "waiting":
            return "ended"
        runs.progress(run_id, attempt, 0.0, unit["label"])
        note = partial(self._store.logs.note, run_id)
        note(f"{position + 1} of {run['total']}: {unit['label']}")
        wanted = partial(self._is_wanted, run_id, attempt)
        more = {"attempt": attempt, "worker": self._slot}
        try:
            answer = child.execute(self._store, run, position, unit["label"], wanted, **more)
        except Stopped:
            note("Stopped.")
            return "stopped"
        except GivenUp as error:
            if not kind_of(run["kind"], self._kinds).continue_on_crash:
                runs.finish(run_id, attempt, "failed", error=error.message, hint=error.hint)
                return "stopped"
            runs.end_unit(run_id, position, 0.0, error.message, error.hint)
            return "ended"
        answer.pop("made")  # the results are in the store
        failure = f"{answer['error']} {answer['hint']}" if answer["error"] else ""
        note(failure or f"Took {answer['seconds']:.1f} s.")
        runs.end_unit(run_id, position, **answer)
        return "ended"

    def _queue(self, run: RunRow) -> str:
        with contextlib.suppress(UserError):  # of an unknown kind: `work` reports it
            if kind_of(run["kind"], self._kinds).interactive:
                return INTERACTIVE
            if self._fleet is not None and not self._fleet.local_only_reason(
                job_of(run, self._kinds)
            ):
                return FLEET
        return QUEUE

    def _cancel_in_fleet(self, run_id: str, attempt: int) -> None:
        if self._fleet is not None:
            with contextlib.suppress(StoreError):  # at worst, a worker does it in vain
                self._fleet.cancel(run_id, attempt)

    def _sweep(self) -> bool:
        """Enqueue what waits; return whether a run in the queue is not in progress here."""
        for run in self._store.runs.not_enqueued():
            self._enqueue(run)
        live = self._store.runs.enqueued_and_live()
        return any(_workflow(run) not in self._working_on for run in live)

    def _enqueue(self, run: RunRow) -> None:
        DBOS.enqueue_workflow_with_options(
            {
                "queue_name": self._queue(run),
                "workflow_name": "run",
                # The same run enqueued twice, by two workers or after a crash, is one workflow.
                "workflow_id": _workflow(run),
                "app_version": VERSION,
                "priority": queue_priority(run["priority"]),
            },
            run["id"],
            run["attempt"],
        )
        self._store.runs.enqueued(run["id"], run["attempt"])

    def _reconcile(self) -> None:
        """Find runs that no worker would ever end, and requeue or end them."""
        before, self._left_lying = self._left_lying, set()
        for run in self._store.runs.enqueued_and_live():
            status = DBOS.get_workflow_status(_workflow(run))
            if status is None:  # the queue's file was lost
                self._store.runs.not_in_queue(run["id"], run["attempt"])
            elif status.status == "PENDING" and status.executor_id == self._slot:
                # Ours, yet not in progress: the queue could not record its end. Seen twice, as it
                # may just be beginning or ending.
                if status.workflow_id in before - self._working_on:
                    DBOS.resume_workflow(status.workflow_id, queue_name=self._queue(run))
                elif status.workflow_id not in self._working_on:
                    self._left_lying.add(status.workflow_id)
            elif status.status == "PENDING":
                self._take_over(status, self._queue(run))
            elif status.status not in ("ENQUEUED", "DELAYED"):
                self._store.runs.finish(
                    run["id"],
                    run["attempt"],
                    "failed",
                    error=f"The queue gave the run up: {status.error or status.status}.",
                    hint="Retry it; finished parts are kept.",
                )

    def _forget_removed(self) -> None:
        """Delete the queue's entries of runs that a person removed."""
        ended = DBOS.list_workflows(
            status=["SUCCESS", "ERROR", "CANCELLED"], load_input=False, load_output=False
        )
        known = self._store.runs.ids()
        gone = [w.workflow_id for w in ended if w.workflow_id.rpartition("-")[0] not in known]
        if gone:
            DBOS.delete_workflows(gone)

    def _take_over(self, status: WorkflowStatus, queue: str) -> None:
        """Requeue a workflow whose worker is gone for good."""
        slot = status.executor_id
        if slot is None or slot in {worker["slot"] for worker in self._store.workers.list()}:
            return
        # Once it is acquired, no process fills the slot, nor can any while we hold it.
        with contextlib.suppress(Timeout), _slot_lock(self._store, slot, timeout=0.0):
            DBOS.resume_workflow(status.workflow_id, queue_name=queue)

    def _is_wanted(self, run_id: str, attempt: int) -> bool:
        try:
            return self._store.runs.is_running(run_id, attempt)
        except StoreError:  # unknown for now
            return True


def _workflow(run: RunRow) -> str:
    return f"{run['id']}-{run['attempt']}"


def _slot_lock(store: Store, slot: str, timeout: float) -> BaseFileLock:
    return FileLock(store.folder / f"worker-{slot}.lock", timeout=timeout)


def run(
    store_folder: Path,
    data_root: Path | None,
    slot: str,
    kinds: str = "theodolite.app.jobs.kinds",
    *,
    supervised: bool = False,
    fleet: bool = False,
) -> None:
    """Work until told to end (Ctrl+C, SIGTERM).

    Args:
        store_folder: of the store.
        data_root: folder with evaluation data, if any.
        slot: name of this worker; it resumes what a worker of this name left.
        kinds: the module whose KINDS lists the kinds of jobs.
        supervised: whether to end with the parent.
        fleet: whether to send what it can to other machines, see `app.fleet`.
    """
    store = Store.open(store_folder)
    store.refuse_writing()
    lock = _slot_lock(store, slot, timeout=3.0)  # the last one may just be exiting
    try:
        lock.acquire()
    except Timeout as error:
        raise StoreError(
            f"Another worker is running as {slot!r} on this store.",
            "Give this one another name with --slot.",
            code="conflict",
        ) from error
    coordinator = None
    if fleet:
        from theodolite.app.fleet.coordinator import Coordinator

        coordinator = Coordinator.here(store_folder, data_root)
    worker = Worker(store, data_root, slot, kinds, coordinator)

    def end(*_: object) -> None:
        # As in a crash: the child ends with its pipe, and its work is resumed later.
        # Killing it here would look like a crash to the thread that waits for it, and be counted.
        with contextlib.suppress(StoreError):
            store.workers.gone(slot)
        os._exit(0)

    if supervised:
        processes.follow_parent()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    worker.launch()
    worker.serve(warm=supervised)


def main() -> None:
    """Run a worker with the arguments that the supervisor gives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--slot", required=True)
    parser.add_argument("--kinds", default="theodolite.app.jobs.kinds")
    parser.add_argument("--supervised", action="store_true")
    parser.add_argument("--fleet", action="store_true")
    given = parser.parse_args()
    how = {"supervised": given.supervised, "fleet": given.fleet}
    try:
        run(given.store, given.data, given.slot, given.kinds, **how)
    except (StoreError, UserError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
