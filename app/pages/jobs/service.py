"""Background runs: the actions currently possible, and performing them.

Used by the page Jobs, the command `jobs`, the trainings of encoders and decoders, and the panel of
a page that follows its run. Each action returns a sentence on what was done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.engine.errors import UserError
from theodolite.store import forget
from theodolite.store.run_rows import LIVE, STOP, is_stopping

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.store import Store
    from theodolite.store.run_rows import RunRow

TRAININGS = ("train", "sweep", "train-decoder")
"""Kinds of runs with best weights to keep and a checkpoint to resume from."""
UNFINISHED = ("failed", "partly failed", "cancelled")
_SEE = "See `theodolite jobs list`."


def possible(run: Mapping[str, Any], others_wait: bool = False) -> list[str]:
    """The actions possible in a run's current state, by the names of `ACTIONS`."""
    state = run["state"]
    if state == "queued":
        return ["next", "cancel"] if others_wait else ["cancel"]
    if state == "running":
        stops = run["kind"] in TRAININGS and not is_stopping(run)
        return ["stop", "cancel"] if stops else ["cancel"]
    return ["retry", "remove"] if state in UNFINISHED else ["remove"]


def act(workspace: Workspace, action: str, run_id: str) -> str:
    """Perform the action of a button; return a sentence on what was done."""
    if action not in ACTIONS:
        raise UserError(
            f"There is no action {action[:40]!r} here.", "Reload the page.", code="unknown"
        )
    return ACTIONS[action](workspace, run_id)


def cancel(workspace: Workspace, run_id: str) -> str:
    """Stop a run within two seconds; finished parts and a training's checkpoint are kept."""
    run = _changeable(workspace, run_id)
    if not workspace.store.runs.cancel(run_id):
        raise UserError(f"Run {run_id!r} has already ended.", _SEE, code="stale")
    kept = "Finished parts are kept."
    if run["kind"] in TRAININGS:
        kept = "Its checkpoint is kept; Retry resumes from it."
    return f"Cancelled: {run['title']}. {kept}"


def stop(workspace: Workspace, run_id: str) -> str:
    """Have a training stop now and keep its best; one that still waits is cancelled.

    In a sweep, the running child keeps its best, and the later ones are left out.
    """
    run = _changeable(workspace, run_id)
    if run["kind"] not in TRAININGS:
        raise UserError(
            f"Run {run_id!r} is not a training, so it has no best weights to keep.",
            "`jobs cancel` stops it.",
            code="wrong-kind",
        )
    if run["state"] == "queued" and workspace.store.runs.cancel(run_id):
        return f"Cancelled: {run['title']}. It had not started."
    if not workspace.store.runs.ask(run_id, STOP):
        raise UserError(f"Run {run_id!r} has already ended.", _SEE, code="stale")
    return f"Stopping: {run['title']}. The best weights so far are kept."


def retry(workspace: Workspace, run_id: str) -> str:
    """Queue a failed, partly failed or cancelled run again; finished parts are kept."""
    run = _changeable(workspace, run_id)
    if run["state"] in LIVE:
        raise UserError(f"Run {run_id!r} has not ended yet.", _SEE, code="conflict")
    workspace.store.runs.retry(run_id)
    kept = "Finished parts are not repeated."
    if run["kind"] in TRAININGS:
        kept = "It resumes from its checkpoint."
    return f"Queued again: {run['title']}. {kept}"


def remove(workspace: Workspace, run_id: str) -> str:
    """Delete a run that is over: its parts, events and log. Results and models stay."""
    run, size = _changeable(workspace, run_id), forget.size(workspace.store, run_id)
    if not forget.run(workspace.store, run_id):
        raise UserError(
            f"Run {run_id!r} has not ended yet.",
            f"First: theodolite jobs cancel {run_id}",
            code="conflict",
        )
    return f"Removed: {run['title']}, {formats.size(size)} of events and log. Its results are kept."


def prioritise(workspace: Workspace, run_id: str, priority: int | None = None) -> str:
    """Change the priority of a waiting run: lower runs earlier, None before all waiting runs."""
    run = _changeable(workspace, run_id)
    if not workspace.store.runs.prioritise(run_id, priority):
        raise UserError(
            f"Run {run_id!r} is no longer waiting: {run['state']}.",
            "Its position is unchanged.",
            code="stale",
        )
    if priority is None:
        return f"Next in the queue: {run['title']}."
    return f"{run['title']} now has priority {priority}; lower runs earlier."


ACTIONS: Mapping[str, Callable[[Workspace, str], str]] = {
    "next": prioritise,
    "stop": stop,
    "cancel": cancel,
    "retry": retry,
    "remove": remove,
}
"""Actions on a run, by the name in their button's event."""


def evaluate_again(workspace: Workspace, run_id: str, position: int) -> tuple[str, str]:
    """Queue one part of an evaluation again, as a run of its own.

    Returns:
        The id of that run, and its title.
    """
    from theodolite.app.jobs.kinds import job_of
    from theodolite.app.jobs.submit import queue

    part = job_of(_changeable(workspace, run_id)).part(position)
    if part is None:
        raise UserError(f"This run has no part {position}.", "Reload the page.", code="unknown")
    return queue(workspace, part), part.title


def counts(store: Store) -> tuple[int, int, int]:
    """The numbers of waiting runs, running runs, and workers."""
    live = store.runs.list(LIVE, limit=10_000)
    running = sum(run["state"] == "running" for run in live)
    return len(live) - running, running, len(store.workers.list())


def _changeable(workspace: Workspace, run_id: str) -> RunRow:
    """Get a run to change it; refuses visitors."""
    workspace.refuse_visitors()
    workspace.store.terminals.end_forsaken()
    return workspace.store.runs.get(run_id)
