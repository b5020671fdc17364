"""`python -m theodolite.app.jobs.worker`: takes runs from the store for a child to execute.

The store's rows are the queue: a worker claims the run that is next in one statement, which of the
run's units are over stands in rows of their own, and a unit done twice leaves the same result. A
worker that was killed finds the runs it had begun again by the name of its slot, and continues with
the first unit that is not over. A lock beside the store says whether a slot is filled.
"""

import argparse
import contextlib
import importlib
import logging
import math
import os
import re
import signal
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from theodolite.app.fleet.coordinator import Coordinator
from theodolite.app.jobs import processes
from theodolite.app.jobs.child_process import Child, GivenUp, Stopped
from theodolite.app.jobs.kinds import job_of, kind_of
from theodolite.app.jobs.unit import conclude
from theodolite.engine.errors import UserError
from theodolite.store import Store, StoreError
from theodolite.store.errors import StoreGone
from theodolite.store.hashing import to_json
from theodolite.store.run_rows import LIVE, RunRow, UnitRow
from theodolite.store.terminals import NAME as TERMINAL

QUEUE, INTERACTIVE, FLEET = "runs", "interactive", "fleet"
AT_ONCE = {QUEUE: 1, INTERACTIVE: 1, FLEET: 8}
"""Queue -> maximum number of its runs in progress. The first two have a child of their own, see
`Job.interactive`; of the last, other machines do the units."""

_SWEEP_EVERY = 0.05
_CHECK_EVERY = 5.0
_WARM_AFTER = 3.0

log = logging.getLogger("theodolite.worker")


class Worker:
    """The worker in a slot; only the thread that calls `serve` claims runs."""

    def __init__(
        self,
        store: Store,
        data_root: Path | None,
        slot: str,
        kinds: str = "theodolite.app.jobs.kinds",
        fleet: Coordinator | None = None,
    ) -> None:
        self._store, self._slot, self._fleet = store, slot, fleet
        self._kinds: dict[str, str] = importlib.import_module(kinds).KINDS
        self._at_work: dict[tuple[str, int], str] = {}  # run and attempt in progress -> its queue
        self._queues: dict[str, str] = {}  # run -> its queue
        self._folders: dict[str, Sequence[str]] = {}  # run -> those that it makes
        # Linux ends a child with the thread that started it, so these stay.
        self._threads = {queue: ThreadPoolExecutor(most) for queue, most in AT_ONCE.items()}
        self._changed = False  # whether a run has ended here since the last look
        data = [] if data_root is None else ["--data", str(data_root)]
        arguments = ["--store", str(store.folder), *data, "--kinds", kinds]
        self.children = {
            QUEUE: Child([*arguments, "--nice", "10"]),
            INTERACTIVE: Child([*arguments, "--warm"]),
        }

    def serve(self, *, warm: bool = False) -> None:
        """Begin waiting runs as soon as they may, and record this worker's heartbeat, for ever.

        Args:
            warm: whether to start the interactive child before its first run, once the app had
                time to open a page.
        """
        checked, version = -math.inf, -1
        warm_at = time.monotonic() + _WARM_AFTER if warm else math.inf
        while True:
            try:
                if time.monotonic() - checked > _CHECK_EVERY:
                    checked = time.monotonic()
                    self._store.workers.beat(self._slot)
                    self._requeue()
                    self._store.terminals.end_forsaken()
                    if self._fleet is not None:
                        self._fleet.clean()
                    self._changed = True
                now = self._store.database.version()  # costs microseconds
                if now != version or self._changed:
                    version, self._changed = now, False
                    self._begin()
                if time.monotonic() > warm_at:
                    warm_at = math.inf
                    self.children[INTERACTIVE].start()
            except StoreGone as error:  # the supervisor restarts us when the store is back
                log.error("%s", error)
                os._exit(1)
            except StoreError as error:  # a full disk, a lock: it may pass
                log.error("%s", error)
            except Exception:  # a kind of job that cannot be imported, perhaps
                log.exception("No run can be begun at the moment.")
            time.sleep(_SWEEP_EVERY)

    def _begin(self) -> None:
        """Claim the runs that wait and may begin, and have threads execute them."""
        makers: list[RunRow] | None = None
        for run in self._store.runs.waiting():
            queue, of = self._queue(run), (run["id"], run["attempt"])
            is_full = list(self._at_work.values()).count(queue) >= AT_ONCE[queue]
            if is_full and not run["message"]:
                continue
            if makers is None:
                makers = [one for one in self._store.runs.list(LIVE, 10_000) if self._makes(one)]
            waits = self._waits_for(run, makers)
            if waits != run["message"]:
                self._store.runs.wait(*of, waits)
            if not waits and not is_full and self._store.runs.claim(*of, self._slot):
                self._at_work[of] = queue
                self._threads[queue].submit(self._do, run)

    def _waits_for(self, run: RunRow, makers: Sequence[RunRow]) -> str:
        """The one that was queued earlier and is to make a folder that a run names, in words."""
        names = to_json(run["spec"])
        for earlier in makers:
            if earlier["created"] < run["created"] and any(
                re.search(re.escape(to_json(folder)[1:-1]) + r"(?![\w.-])", names)
                for folder in self._makes(earlier)
            ):
                return f"waiting for “{earlier['title']}”, which makes what it uses"
        return ""

    def _makes(self, run: RunRow) -> Sequence[str]:
        """The folders that a run makes; what cannot be read is reported by `work`."""
        if run["id"] not in self._folders:
            self._folders[run["id"]] = ()
            with contextlib.suppress(UserError):
                self._folders[run["id"]] = job_of(run, self._kinds).makes()
        return self._folders[run["id"]]

    def _do(self, run: RunRow) -> None:
        of = run["id"], run["attempt"]
        try:
            self.work(run)
        except StoreError as error:  # it was removed, or a disk is full: then it is begun again
            log.error("%s", error)
        except Exception as error:
            log.exception("The run %s cannot be executed", run["id"])
            with contextlib.suppress(StoreError):
                text = f"{type(error).__name__}: {error}"
                self._store.runs.finish(*of, "failed", error=text)
        finally:
            del self._at_work[of]
            self._changed = True

    def _requeue(self) -> None:
        """Have runs begun again that no worker is executing: ours, or those of one that is gone."""
        alive = {TERMINAL, *(worker["slot"] for worker in self._store.workers.list())}
        for run in self._store.runs.list(["running"]):
            slot, of = run["worker"] or "", (run["id"], run["attempt"])
            if slot == self._slot and of not in self._at_work:
                self._store.runs.requeue(*of)
            elif slot not in alive:
                # Once it is acquired, no process fills the slot, nor can any while we hold it.
                with contextlib.suppress(Timeout), _slot_lock(self._store, slot, timeout=0.0):
                    self._store.runs.requeue(*of)

    def work(self, run: RunRow) -> None:
        """Execute all units of a run in order."""
        runs, of = self._store.runs, (run["id"], run["attempt"])
        try:
            job = job_of(run, self._kinds)
            labels, weights = job.units(), job.weights(self._store)
        except UserError as error:
            runs.finish(*of, "failed", error=error.message, hint=error.hint)
            return
        if not runs.start(*of, self._slot, labels, weights):
            return  # cancelled meanwhile
        if self._fleet is not None and self._queue(run) == FLEET:
            if self._fleet.work(run, run["attempt"], job) == "stopped":
                return
        else:
            for unit in runs.units(run["id"]):
                if unit["state"] == "waiting" and not self._unit(run, unit, len(labels)):
                    return
        conclude(self._store, *of, job)

    def _unit(self, run: RunRow, unit: UnitRow, total: int) -> bool:
        """Execute one unit in the child; return whether the run goes on."""
        runs, run_id, position = self._store.runs, run["id"], unit["position"]
        note = partial(self._store.logs.note, run_id)
        runs.progress(run_id, run["attempt"], 0.0, unit["label"])
        note(f"{position + 1} of {total}: {unit['label']}")

        def is_wanted() -> bool:
            with contextlib.suppress(StoreError):  # then it is unknown for now
                return runs.is_running(run_id, run["attempt"])
            return True

        try:
            answer = self.children[self._queue(run)].execute(
                self._store, run, position, unit["label"], is_wanted, worker=self._slot
            )
        except Stopped:
            note("Stopped.")
            return False
        except GivenUp as error:
            if kind_of(run["kind"], self._kinds).continue_on_crash:
                return runs.end_unit(run_id, position, 0.0, error.message, error.hint)
            runs.finish(run_id, run["attempt"], "failed", error=error.message, hint=error.hint)
            return False
        answer.pop("made")  # the results are in the store
        note(
            f"{answer['error']} {answer['hint']}"
            if answer["error"]
            else f"Took {answer['seconds']:.1f} s."
        )
        runs.end_unit(run_id, position, **answer)
        return True

    def _queue(self, run: RunRow) -> str:
        """The queue of a run; what cannot be read is reported by `work`."""
        if run["id"] not in self._queues:
            queue = QUEUE
            with contextlib.suppress(UserError):
                if kind_of(run["kind"], self._kinds).interactive:
                    queue = INTERACTIVE
                elif self._fleet is not None:
                    queue = FLEET
                    if why := self._fleet.local_only_reason(job_of(run, self._kinds)):
                        queue = QUEUE
                        self._store.logs.note(run["id"], why)
            self._queues[run["id"]] = queue
        return self._queues[run["id"]]


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
    arguments = parser.parse_args()
    how = {"supervised": arguments.supervised, "fleet": arguments.fleet}
    try:
        run(arguments.store, arguments.data, arguments.slot, arguments.kinds, **how)
    except (StoreError, UserError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
