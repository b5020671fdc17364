"""A small real training, whose curves are shown until another has run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from theodolite.app.examples import shipped
from theodolite.app.pages.trainings.curves import Curves
from theodolite.app.pages.trainings.service import TrainingRun


def read() -> tuple[TrainingRun, Curves] | None:
    """The run and its curves; None where none ships."""
    example = shipped.read("trainings")
    if example is None:
        return None
    facts = example.facts
    run = TrainingRun(**facts["run"])
    return run, Curves(
        steps=_rows(facts["steps"]), evals=_rows(facts["evals"]), notes=facts["notes"]
    )


def _rows(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
