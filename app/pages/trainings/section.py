"""The section below a list of trainings: curves, notes, differing settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.components.chart import chart
from theodolite.app.pages.trainings import figures, views
from theodolite.app.web import parts

if TYPE_CHECKING:
    from theodolite.app.pages.trainings.curves import Curves
    from theodolite.app.pages.trainings.service import TrainingRun

MAX_CURVES = 24
"""Most curves overlaid: more would not have distinct colours and dashes."""


def charts() -> dict[str, Any]:
    """Lay out the section; return its components by name."""
    charts: dict[str, Any] = {}
    with gr.Column(elem_classes=["t-charts", "t-answer"], elem_id="curves"):
        for name in views.CHARTS:
            with gr.Column(elem_classes="t-figure-box", min_width=0):
                charts[f"{name}-title"] = parts.static(views.title(name))
                tall = name in ("score", "trajectory")
                height = figures.TALL if tall else figures.SMALL
                charts[name] = chart(height=height, elem_id=f"chart-{name}")
    charts["samples"] = parts.static("", elem_id="samples")
    charts["notes"] = parts.static("", elem_id="noted")
    charts["differences"] = parts.static("", elem_id="differences")
    return charts


def drawn(found: list[tuple[TrainingRun, Curves]]) -> dict[str, Any]:
    """The values of its components for trainings with their curves."""
    return {
        **views.charts(found),
        "samples": views.samples(found),
        "notes": views.notes(found),
        "differences": views.differences([row for row, _ in found]),
    }
