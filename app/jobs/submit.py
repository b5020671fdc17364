"""The two ways to execute a job: by a worker in the background, or here in the foreground."""

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Cancelled, Reporter
from theodolite.app.jobs.unit import Outcome, conclude, iter_unit
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store import Store
from theodolite.store.errors import RunAtWork, StoreError
from theodolite.store.run_rows import LIVE, RunRow, UnitRow
from theodolite.store.terminals import NAME as TERMINAL

Move = Callable[[float, float, str], None]
"""Progress callback of a bar: called with (done, total, message)."""
CANCELLED = ("The run was cancelled by another process.", "Finished parts are kept.")
POLL_SECONDS = 0.5


def queue(
    workspace: Workspace, job: Job, *, title: str | None = None, priority: int | None = None
) -> str:
    """Queue a job for the worker, and return the id of its run.

    `title` is for people, None for the job's own; of a job that is queued or running already, the
    id of that run is returned; lower priorities run earlier.
    """
    workspace.refuse_visitors()
    job.validate(workspace)
    urgency = job.priority if priority is None else priority
    if job.interactive:  # evaluations step aside until they notice that it runs
        workspace.store.visits.note()
    return workspace.store.runs.create(job.kind, job.to_spec(), title or job.title, urgency)


def queue_unless_stored(workspace: Workspace, job: Job) -> str:
    """Queue a job unless its answer is stored; return the id of its run, else an empty string."""
    workspace.refuse_visitors()
    return "" if job.is_stored(workspace) else queue(workspace, job)


def perform(
    workspace: Workspace, job: Job, *, move: Move | None = None
) -> Iterator[tuple[RunRow, int, object]]:
    """Execute a job in the foreground; yields (row of its run, position of the unit, object).

    The object is None at first, then each one that the job yields; when the job continues without
    a unit that failed, it is the failure.

    The run is in the store like any other: pages show it, and can cancel it. When interrupted, also
    by SIGTERM and SIGHUP, it counts as cancelled, and resumes when the job is performed again. A
    job that a worker or another terminal is executing already is followed instead: its events are
    yielded, and an interrupt leaves it running.

    Args:
        workspace: stores the results.
        job: to execute.
        move: progress callback for the whole.
    """
    workspace.refuse_visitors()
    job.validate(workspace)
    try:
        yield from _do(workspace, job, move)
    except RunAtWork as busy:
        worker = workspace.store.runs.get(busy.run_id)["worker"]
        if worker not in (TERMINAL, *(one["slot"] for one in workspace.store.workers.list())):
            raise
        yield from _follow(workspace, job, busy.run_id, move)


def watch(store: Store, run_id: str) -> Iterator[RunRow]:
    """Poll a run until it is over; yields its row each time, the last one over."""
    while True:
        store.terminals.end_forsaken()  # there may be no worker to do that
        run = store.runs.get(run_id)
        yield run
        if run["state"] not in LIVE:
            return
        time.sleep(POLL_SECONDS)


def _follow(
    workspace: Workspace, job: Job, run_id: str, move: Move | None
) -> Iterator[tuple[RunRow, int, object]]:
    """Yield as `perform` does, for a run that another process executes.

    Raises:
        Cancelled: the run was cancelled.
    """
    store = workspace.store
    last: dict[int, int] = {}
    failed: set[int] = set()
    for run in watch(store, run_id):
        if move is not None:
            move(run["fraction"], 1.0, run["message"] or run["state"])
        yield run, 0, None
        for unit in store.runs.units(run_id):
            position = unit["position"]
            while events := store.events.of(run_id, position, last.get(position, 0)):
                last[position] = events[-1]["id"]
                for event in events:
                    yield run, position, job.event_result(event["kind"], event["data"])
            if unit["state"] == "failed" and position not in failed:
                failed.add(position)
                if job.continue_on_failure:
                    yield (
                        run,
                        position,
                        UserError(unit["error"] or "", unit["hint"], code="failed"),
                    )
    if run["state"] == "cancelled":
        raise Cancelled(*CANCELLED)
    if run["error"] is not None and not (job.continue_on_failure and failed):
        raise UserError(run["error"], run["hint"], code="failed")


def _do(workspace: Workspace, job: Job, move: Move | None) -> Iterator[tuple[RunRow, int, object]]:
    """Execute a job in the foreground.

    Raises:
        RunAtWork: another process executes it.
    """
    store = workspace.store
    with (
        _signals_interrupt(),
        store.terminals.holding(
            job.kind, job.to_spec(), job.title, job.units(), job.weights(store)
        ) as run,
        _log_to(store.logs.path(run["id"])),
    ):
        own = (run["id"], run["attempt"])
        try:
            yield run, 0, None
            for unit in store.runs.units(run["id"]):
                if unit["state"] == "waiting":
                    outcome = yield from _unit(workspace, job, run, unit, move)
                    if outcome.failure is not None:
                        if not job.continue_on_failure:
                            raise outcome.failure
                        yield run, unit["position"], outcome.problem
            conclude(store, *own, job)
        except (UserError, StoreError) as error:
            store.runs.finish(*own, "failed", error=error.message, hint=error.hint)
            raise
        except Exception as error:
            store.runs.finish(*own, "failed", error=f"{type(error).__name__}: {error}")
            raise


@contextlib.contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP as an interrupt first; then they end the process as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    process, came = os.getpid(), []

    def end(number: int, _: object) -> None:
        if os.getpid() != process:  # a fork of ours
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        signal.signal(number, signal.SIG_DFL)
        came.append(number)
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heard = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in heard:
        signal.signal(number, end)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # another thread closed the generator
            for number in heard:
                signal.signal(number, signal.SIG_DFL)
        if came:
            signal.raise_signal(came[0])


@contextlib.contextmanager
def _log_to(file: Path) -> Iterator[None]:
    """Write the warnings of this process to the log of a run, as a worker's child does."""
    handler = logging.FileHandler(file, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    handler.setLevel(logging.WARNING)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()


def _unit(
    workspace: Workspace, job: Job, run: RunRow, unit: UnitRow, move: Move | None
) -> Generator[tuple[RunRow, int, object], None, Outcome]:
    position, label = unit["position"], unit["label"]
    reporter = _Here(workspace.store, run, position, label, move)
    workspace.store.runs.progress(run["id"], run["attempt"], 0.0, label)
    reporter(0, 1)
    work = iter_unit(workspace, job, position, reporter)
    while True:
        try:
            happening = next(work)
        except StopIteration as end:
            outcome: Outcome = end.value
            workspace.store.runs.end_unit(run["id"], position, **outcome.to_dict())
            return outcome
        yield run, position, happening
        reporter.end_if_cancelled()


class _Here(Reporter):
    """A reporter that also moves a bar, and ends the work when the run is cancelled."""

    def __init__(
        self, store: Store, run: RunRow, position: int, label: str, move: Move | None
    ) -> None:
        super().__init__(store, run["id"], run["attempt"], position, label)
        self._total = run["total"]
        self._move = move

    def __call__(self, done: int, total: int, message: str = "") -> None:
        super().__call__(done, total, message)
        if self._move is not None:
            share = min(done / total, 1.0) if total else 0.0
            self._move(self.position + share, self._total, message or self.label)
        self.end_if_cancelled()

    def end_if_cancelled(self) -> None:
        if self.cancelled():
            raise Cancelled(*CANCELLED)
