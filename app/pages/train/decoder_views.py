"""Views of trainings on *Train decoder*: the list, losses, sample reconstructions."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.components import word_diff
from theodolite.app.components.actions import button
from theodolite.app.pages.jobs import views as jobs
from theodolite.app.pages.train import decoder_list
from theodolite.app.pages.trainings import figures
from theodolite.app.pages.trainings import row as training
from theodolite.app.web import parts, progress
from theodolite.engine.decoding.differing import differing

if TYPE_CHECKING:
    from theodolite.app.pages.trainings.service import Curves, TrainingRun
    from theodolite.app.workspace import Workspace

LISTED = 20
HEIGHT = 300
MARGIN = {"l": 64, "r": 16, "t": 34, "b": 44}
LOSS = "loss, nats per token"


def drawn(workspace: Workspace, run: str) -> tuple[Any, ...]:
    """The list, the opened run's losses and samples, the installed decoders, the marks."""
    from theodolite.app.pages.trainings import service

    rows = service.table(workspace, LISTED, service.DECODERS)
    found = service.curves(workspace, run) if any(row.run == run for row in rows) else None
    return (
        listing(workspace, rows, run),
        losses(found) if found else None,
        samples(found) if found else "",
        decoder_list.listing(workspace),
        marks(workspace, run),
    )


def marks(workspace: Workspace, run: str) -> list[Any]:
    """State whose change redraws the page."""
    from theodolite.app.pages.trainings import service

    runs = workspace.store.runs.list(limit=LISTED, kinds=service.DECODERS)
    listed = [
        [*mark, row["asked"]] for mark, row in zip(progress.signature(runs), runs, strict=True)
    ]
    return [listed, run, service.cursor(workspace, run) if run else 0]


def listing(workspace: Workspace, rows: list[TrainingRun], opened: str) -> str:
    """Every training, the newest first."""
    if not rows:
        return parts.empty(
            "No decoder trained yet",
            "Trainings appear here as soon as they are queued, with sample reconstructions.",
        )
    items = (_item(workspace, row, row.run == opened) for row in rows)
    return jobs.listing(items, "Trainings of decoders, newest first", "t-training")


def _item(workspace: Workspace, row: TrainingRun, opened: bool) -> str:
    run = workspace.store.runs.get(row.run)
    about = f"{row.title}, {row.state}: {'close' if opened else 'show'} its curves"
    name = button(row.title, "open", row.run, about=about, kind="link")
    return training.item(workspace, run, row, name, opened=opened)


def losses(found: Curves) -> dict[str, Any] | None:
    """A chart of the losses by step; None before the first."""
    lines = []
    if found.steps:
        lines.append(
            figures.Curve(
                "training", [e["step"] for e in found.steps], [e["loss"] for e in found.steps]
            )
        )
    if found.evals:
        steps, values = ([e[name] for e in found.evals] for name in ("step", "loss"))
        best = steps[values.index(min(values))]
        lines.append(figures.Curve("held-out sentences", steps, values, 1, best))
    if not lines:
        return None
    return figures.curves_drawing(
        lines, LOSS, "decoder-loss", height=HEIGHT, showlegend=True, margin=MARGIN
    )


def samples(found: Curves) -> str:
    """Reconstructions of a few held-out sentences at the last evaluation, differences marked."""
    notes = "".join(f"<li>{escape(note['message'])}</li>" for note in found.notes)
    noted = f'<ul class="t-noted" aria-label="Notes">{notes}</ul>' if notes else ""
    if not found.evals:
        return noted
    last = found.evals[-1]
    marked = word_diff.marked
    rows = "".join(
        f'<li><p class="t-given" dir="auto">{escape(given)}</p>'
        f'<p class="t-sentence" dir="auto">'
        f"{marked(differing(given, decoded)) or 'nothing'}</p></li>"
        for given, decoded in last["samples"]
    )
    lead = (
        f"Held-out sentences, and their reconstructions after {formats.count(last['step'])} "
        "updates."
    )
    return (
        f"{parts.heading('What it says so far', lead)}"
        f'<ul class="t-told t-samples" aria-label="Sentences and what came back">{rows}'
        f"</ul>{word_diff.LEGEND}{noted}"
    )
