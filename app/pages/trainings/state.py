"""What *Runs* and *Train decoder* share: a training's state, how far it is, and its buttons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app import formats
from app.components.actions import button
from app.web import parts, progress
from store.runs import LIVE

if TYPE_CHECKING:
    from app.pages.trainings.service import TrainingRun
    from app.workspace import Workspace


def state(row: TrainingRun) -> str:
    """Its state as a tag."""
    if row.stopping:
        return parts.tag("stopping", "live")
    return parts.tag(row.state, progress.KINDS[row.state])


def so_far(row: TrainingRun, run: Mapping[str, Any], otherwise: str = "") -> list[str]:
    """Its updates, and the time left or taken. Plain text.

    Args:
        row: of the training.
        run: its row in the store.
        otherwise: what to say of one at work without updates so far.
    """
    said = []
    if row.step is not None:
        of = f" of {formats.count(row.steps)}" if row.steps and row.state in LIVE else ""
        said.append(f"{formats.count(row.step)}{of} updates")
    elif otherwise and row.state == "running":
        said.append(otherwise)
    if row.state == "running" and run["eta_seconds"] is not None:
        said.append(formats.time_left(run["eta_seconds"]))
    elif row.seconds is not None:
        said.append(formats.duration(row.seconds))
    return said


def verbs(run_id: str, title: str, state: str, stopping: bool) -> str:
    """Buttons for what can be done with a run; `done` does it."""
    made = ""
    if state == "running" and not stopping:
        made += button("Stop, keep the best", "stop", run_id,
                       about=f"Stop {title} now and keep the best")  # fmt: skip
    if state in LIVE:
        made += button("Cancel", "cancel", run_id, about=f"Cancel {title}")
    if state in ("failed", "partly failed", "cancelled"):
        made += button("Retry", "retry", run_id, about=f"Retry {title}")
    return made


def done(workspace: Workspace, act: str, run_id: str, becomes: str) -> str:
    """Stop, cancel or retry a run; what was done, in words.

    Args:
        workspace: which has the run.
        act: the button's.
        run_id: of the run.
        becomes: what the best weights become: the encoder, the decoder.

    Raises:
        UserError: for visitors.
    """
    from app.pages.trainings import service

    workspace.refuse_visitors()
    title = workspace.store.runs.get(run_id)["title"]
    if act == "stop":
        service.stop(workspace, run_id)
        return f"Stopping: {title}. The best weights so far become {becomes}."
    if act == "cancel":
        workspace.jobs.cancel(run_id)
        return f"Cancelled: {title}. Its checkpoint is kept; Retry goes on from there."
    if act == "retry":
        workspace.jobs.retry(run_id)
        return f"Queued again: {title}. It goes on from its checkpoint."
    return ""
