"""Background runs: which actions are possible now, and performing them.

The page Jobs, the verb `jobs`, the trainings of encoders and decoders, and the panel of a page
that follows its run all ask here. What was done is said in words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from app import formats
from engine.errors import UserError
from store import forget
from store.run_rows import LIVE, STOP

if TYPE_CHECKING:
    from app.workspace import Workspace
    from store import Store
    from store.run_rows import RunRow

TRAININGS = ("train", "sweep", "train-decoder")
"""Kinds of runs that have a best to keep and a checkpoint to go on from."""
UNFINISHED = ("failed", "partly failed", "cancelled")
_SEE = "See `theodolite jobs list`."


def stopping(run: Mapping[str, Any]) -> bool:
    """Whether a training was asked to stop and keep its best, and is still at it."""
    return bool(run["state"] == "running" and run["asked"] == STOP)


def possible(run: Mapping[str, Any], others_wait: bool = False) -> list[str]:
    """What can be done with a run as it is now, by the names of `ACTIONS`.

    Args:
        run: its row in the store.
        others_wait: whether there is something to overtake.
    """
    state = run["state"]
    if state == "queued":
        return ["next", "cancel"] if others_wait else ["cancel"]
    if state == "running":
        stops = run["kind"] in TRAININGS and not stopping(run)
        return ["stop", "cancel"] if stops else ["cancel"]
    return ["retry", "remove"] if state in UNFINISHED else ["remove"]


def act(workspace: Workspace, action: str, run_id: str) -> str:
    """Do what a button asks for; what was done, in words.

    Raises:
        UserError: for visitors, for what is no action, or none for the run as it is now.
        StoreError: when there is no such run.
    """
    if action not in ACTIONS:
        raise UserError(f"There is no action {action[:40]!r} here.", "Reload the page.")
    return ACTIONS[action](workspace, run_id)


def cancel(workspace: Workspace, run_id: str) -> str:
    """Stop a run within two seconds; what it finished stays, and so does a training's checkpoint.

    Raises:
        UserError: for visitors, or a run that is over.
        StoreError: when there is no such run.
    """
    run = _changeable(workspace, run_id)
    if not workspace.store.runs.cancel(run_id):
        raise UserError(f"Run {run_id!r} has already ended.", _SEE)
    kept = "Finished parts are kept."
    if run["kind"] in TRAININGS:
        kept = "Its checkpoint is kept; Retry resumes from it."
    return f"Cancelled: {run['title']}. {kept}"


def stop(workspace: Workspace, run_id: str) -> str:
    """Have a training stop now and keep its best; one that still waits is cancelled.

    Of a sweep, the child at work keeps its best, and those after it are left out.

    Raises:
        UserError: for visitors, a run that trains nothing, or one that is over.
        StoreError: when there is no such run.
    """
    run = _changeable(workspace, run_id)
    if run["kind"] not in TRAININGS:
        raise UserError(
            f"Run {run_id!r} is not a training, so it has no best weights to keep.",
            "`jobs cancel` stops it.",
        )
    if run["state"] == "queued" and workspace.store.runs.cancel(run_id):
        return f"Cancelled: {run['title']}. It had not started."
    if not workspace.store.runs.ask(run_id, STOP):
        raise UserError(f"Run {run_id!r} has already ended.", _SEE)
    return f"Stopping: {run['title']}. The best weights so far are kept."


def retry(workspace: Workspace, run_id: str) -> str:
    """Queue a run that failed, wholly or partly, or was cancelled again; what is done is kept.

    Raises:
        UserError: for visitors, or a run that is not over.
        StoreError: when there is no such run.
    """
    run = _changeable(workspace, run_id)
    if run["state"] in LIVE:
        raise UserError(f"Run {run_id!r} has not ended yet.", _SEE)
    workspace.store.runs.retry(run_id)
    kept = "Finished parts are not repeated."
    if run["kind"] in TRAININGS:
        kept = "It resumes from its checkpoint."
    return f"Queued again: {run['title']}. {kept}"


def remove(workspace: Workspace, run_id: str) -> str:
    """Forget a run that is over: its parts, events and log. Results and models stay.

    Raises:
        UserError: for visitors, or a run that is not over.
        StoreError: when there is no such run.
    """
    run, size = _changeable(workspace, run_id), forget.size(workspace.store, run_id)
    if not forget.run(workspace.store, run_id):
        raise UserError(
            f"Run {run_id!r} has not ended yet.", f"First: theodolite jobs cancel {run_id}"
        )
    return f"Removed: {run['title']}, {formats.size(size)} of events and log. Its results are kept."


def prioritise(workspace: Workspace, run_id: str, priority: int | None = None) -> str:
    """Give a waiting run another priority: lower runs earlier, None before all that wait.

    Raises:
        UserError: for visitors, or a run that does not wait.
        StoreError: when there is no such run.
    """
    run = _changeable(workspace, run_id)
    if not workspace.store.runs.prioritise(run_id, priority):
        raise UserError(
            f"Run {run_id!r} is no longer waiting: {run['state']}.", "Its position is unchanged."
        )
    if priority is None:
        return f"Next in the queue: {run['title']}."
    return f"{run['title']} now has priority {priority}; lower runs earlier."


ACTIONS: Mapping[str, Callable[[Workspace, str], str]] = {
    "next": prioritise, "stop": stop, "cancel": cancel, "retry": retry, "remove": remove,
}  # fmt: skip
"""What can be done with a run, by the name that its button has."""


def measure_again(workspace: Workspace, run_id: str, position: int) -> tuple[str, str]:
    """Queue one part of an evaluation once more, as a run of its own.

    Returns:
        The id of that run, and what was measured on what.

    Raises:
        UserError: for visitors, for a part that is not there, or a run that is no evaluation.
        StoreError: when there is no such run.
    """
    from app.jobs.kinds import job_of
    from app.jobs.submit import queue

    part = job_of(_changeable(workspace, run_id)).part(position)
    if part is None:
        raise UserError(f"This run has no part {position}.", "Reload the page.")
    return queue(workspace, part), part.title


def counts(store: Store) -> tuple[int, int, int]:
    """How many runs wait, how many are at work, and how many workers there are."""
    live = store.runs.list(LIVE, limit=10_000)
    running = sum(run["state"] == "running" for run in live)
    return len(live) - running, running, len(store.workers.list())


def _changeable(workspace: Workspace, run_id: str) -> RunRow:
    """The run, for those who may change something."""
    workspace.refuse_visitors()
    return workspace.store.runs.get(run_id)
