"""A small training from a real run, whose curves stand where nothing was trained yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from app.examples import shipped
from app.jobs.submit import perform
from app.pages.train.job import TrainJob
from app.pages.trainings.curves import Curves
from app.pages.trainings.service import TrainingRun, curves, table
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


def read() -> tuple[TrainingRun, Curves] | None:
    """The run and its curves; None where none ships."""
    example = shipped.read("trainings")
    if example is None:
        return None
    facts = example.facts
    run = TrainingRun(**facts["run"])
    return run, Curves(steps=_rows(facts["steps"]), evals=_rows(facts["evals"]),
                       notes=facts["notes"])  # fmt: skip


def _columns(events: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Each field once, with its value of every event."""
    return {name: [event[name] for event in events] for name in events[0]}


def _rows(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
