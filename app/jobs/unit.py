"""How a unit is executed and a run is ended, both in a worker's child and in a terminal."""

import logging
import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

from theodolite.app.jobs.job import Job, LeftOut
from theodolite.app.jobs.reporter import Cancelled, Reporter
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store import Store
from theodolite.store.errors import StoreError

log = logging.getLogger("theodolite.jobs")


@dataclass(frozen=True)
class Outcome:
    """How a unit ended: successfully, unless there is a failure.

    Attributes:
        seconds: that it took, without pauses.
        failure: what went wrong.
        made: ids of its results, in the store of the process that executed it.
    """

    seconds: float
    failure: Exception | None = None
    made: tuple[int, ...] = ()

    @property
    def problem(self) -> UserError | StoreError | None:
        """The failure as an error with a message for people."""
        if self.failure is None or isinstance(self.failure, UserError | StoreError):
            return self.failure
        text = f"{type(self.failure).__name__}: {self.failure}"
        return UserError(text, "The log of the run has more.", code="failed")

    def to_dict(self) -> dict[str, Any]:
        """Arguments of `Runs.end_unit`: seconds, error, hint, left_out."""
        problem = self.problem
        return {
            "seconds": self.seconds,
            "error": problem and problem.message,
            "hint": problem.hint if problem else "",
            "left_out": isinstance(problem, LeftOut),
        }


def iter_unit(
    workspace: Workspace, job: Job, position: int, reporter: Reporter
) -> Generator[object, None, Outcome]:
    """Execute a unit; yields what its job yields and returns how it ended.

    Raises:
        Cancelled: the run was cancelled.
    """
    started = time.monotonic()
    failure: Exception | None = None
    try:
        yield from job.work(workspace, position, reporter) or ()
    except Cancelled:
        raise
    except (UserError, StoreError) as error:
        failure = error
    except Exception as error:  # a failed unit is reported, and the next one goes on
        log.exception("%s failed", job.title)
        failure = error
    return Outcome(time.monotonic() - started - reporter.paused, failure)


def do(workspace: Workspace, job: Job, position: int, reporter: Reporter) -> Outcome:
    """Execute a unit to its end."""
    unit = iter_unit(workspace, job, position, reporter)
    result_ids: list[int] = []
    while True:
        try:
            event = next(unit)
            if isinstance(event, dict) and "id" in event:  # the row of a result
                result_ids.append(int(event["id"]))
        except StopIteration as end:
            outcome: Outcome = end.value
            return replace(outcome, made=tuple(result_ids))


def conclude(store: Store, run_id: str, attempt: int, job: Job) -> None:
    """End a run whose units are all over: failed when none succeeded, else (partly) done."""
    units = store.runs.units(run_id)
    failed = [unit for unit in units if unit["state"] == "failed"]
    why = (failed[0]["error"], failed[0]["hint"]) if failed else (None, "")
    if failed and len(failed) == len(units):
        store.runs.finish(run_id, attempt, "failed", "Nothing succeeded.", *why)
        return
    store.runs.finish(run_id, attempt, "done", job.ending(store, run_id), *why)
