"""Background runs: the actions currently possible, and performing them.

Used by the page Jobs, the command `jobs`, the trainings of encoders and decoders, and the panel of
a page that follows its run.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from theodolite.app import formats
from theodolite.app.jobs.kinds import job_of
from theodolite.app.jobs.submit import queue
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store import forget
from theodolite.store.run_rows import STOP, is_stopping

TRAININGS = ("train", "sweep", "train-decoder")
"""Kinds of runs with best weights to keep and a checkpoint to resume from."""
DONE = {
    "next": "Moved: {title} has priority {priority}; lower runs earlier.",
    "stop": "Stopping: {title}. The best weights so far are kept.",
    "cancel": "Cancelled: {title}. Finished parts and checkpoints are kept.",
    "retry": "Queued again: {title}. It continues where it stopped.",
    "remove": "Removed: {title}, {size} of events and log. Its results are kept.",
}
"""Action -> what is said of it."""
UNFINISHED = ("failed", "partly failed", "cancelled")


def possible(run: Mapping[str, Any], others_wait: bool = False) -> list[str]:
    """The actions possible in a run's current state: next, stop, cancel, retry, remove."""
    state = run["state"]
    if state == "queued":
        return ["next", "cancel"] if others_wait else ["cancel"]
    if state == "running":
        stops = run["kind"] in TRAININGS and not is_stopping(run)
        return ["stop", "cancel"] if stops else ["cancel"]
    return ["retry", "remove"] if state in UNFINISHED else ["remove"]


def act(workspace: Workspace, action: str, run_id: str, priority: int | None = None) -> str:
    """Perform an action on a run; return a sentence on what was done.

    Args:
        workspace: its store has the run.
        action: `next` gives a waiting run a `priority`; `stop` ends a training, and keeps its best;
            `cancel` ends a run within two seconds; `retry` queues one that did not succeed again;
            `remove` deletes one that is over with its parts, events and log.
        run_id: id of the run.
        priority: lower runs earlier; None for before all waiting runs.
    """
    workspace.refuse_visitors()
    store, runs = workspace.store, workspace.store.runs
    store.terminals.end_forsaken()
    run = runs.get(run_id)
    title, size = run["title"], forget.size(store, run_id)
    if action == "stop" and run["state"] == "queued" and run["kind"] in TRAININGS:
        action = "cancel"  # there are no weights to keep yet
    acts: dict[str, Callable[[], object]] = {
        "next": partial(runs.prioritise, run_id, priority),
        "stop": partial(runs.ask, run_id, STOP),
        "cancel": partial(runs.cancel, run_id),
        "retry": partial(runs.retry, run_id),
        "remove": partial(forget.run, store, run_id),
    }
    if action in possible(run, others_wait=True) and acts[action]():
        place = runs.get(run_id)["priority"] if action == "next" else run["priority"]
        return DONE[action].format(title=title, priority=place, size=formats.size(size))
    raise UserError(
        f"{action[:40]!r} is not possible: run {run_id!r} ({run['kind']}) is {run['state']}.",
        "See `theodolite jobs list`.",
        code="conflict",
    )


def evaluate_again(workspace: Workspace, run_id: str, position: int) -> tuple[str, str]:
    """Queue one part of an evaluation again, as a run of its own; return its id and title."""
    workspace.refuse_visitors()
    part = job_of(workspace.store.runs.get(run_id)).part(position)
    if part is None:
        raise UserError(f"This run has no part {position}.", "Reload the page.", code="unknown")
    return queue(workspace, part), part.title
