"""The making of the training that ships."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from app.examples import shipped
from app.jobs.submit import perform
from app.pages.train.job import TrainJob
from app.pages.trainings.service import curves, table
from engine.training import TrainSpec

if TYPE_CHECKING:
    from app.workspace import Workspace

SPEC = TrainSpec(
    "sup", "new:layers=2,hidden=128,heads=4,vocab=6000", "nli", "", steps=600, limit=40_000,
    learning_rate=1e-3, warmup=0.1, pooling="avg", head="none", dev_every=25,
)  # fmt: skip
"""A BERT of two layers from random weights, taught with NLI triplets in a few minutes."""


def make(workspace: Workspace) -> None:
    """Train it, and keep what the page shows of it. Needs the data that SPEC names."""
    for _ in perform(workspace, TrainJob.of(workspace, SPEC)):
        pass
    (run,) = table(workspace)
    learned = curves(workspace, run.key)
    folder = {"out": "", "encoder": None}  # the folder is gone with the store
    shipped.write("trainings", {
        "run": asdict(run) | folder, "notes": learned.notes,
        "steps": _columns(learned.steps), "evals": _columns(learned.evals),
    })  # fmt: skip


def _columns(events: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Each field once, with its value of every event."""
    return {name: [event[name] for event in events] for name in events[0]}
