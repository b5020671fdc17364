"""The outcome of a sweep: each child's settings and score, beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from app import formats, parts, progress
from app.pages import runs_views

if TYPE_CHECKING:
    from app.training.runs import TrainingRun
    from app.workspace import Workspace


def outcome(workspace: Workspace, rows: Sequence[TrainingRun], chosen: Sequence[str]) -> str:
    """A table with a row a child, the best marked."""
    scores = [row.score for row in rows if row.score is not None]
    best = max(scores, default=None)
    body = [
        (
            runs_views.toggle(row, chosen) + _failed(row),
            parts.tag("stopping", "live")
            if row.stopping
            else parts.tag(row.state, progress.KINDS[row.state]),
            _score(row, best),
            formats.count(row.best_step) if row.best_step is not None else formats.MISSING,
            runs_views.opens(row),
        )
        for row in rows
    ]
    heads = ("Run", "State", "Best dev score", "At step", "Open")
    return parts.table(heads, body, "Runs of the sweep", (2, 3))


def _score(row: TrainingRun, best: float | None) -> str:
    shown = formats.score(row.score)
    return f"<strong>{shown}</strong>" if row.score is not None and row.score == best else shown


def _failed(row: TrainingRun) -> str:
    return f'<small class="t-run-error">{escape(row.error)}</small>' if row.error else ""
