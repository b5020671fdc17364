"""What *Trainings* and *Train decoder* share: a training's state, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app import formats
from app.web import parts, progress
from store.runs import LIVE

if TYPE_CHECKING:
    from app.pages.trainings.service import TrainingRun


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
