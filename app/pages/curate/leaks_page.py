"""The page *Leaks*: which texts of the tasks were in an encoder's training data."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.pages.curate.leaks import LEAKS, LeaksSpec, tasks
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import parts
from theodolite.app.web.controls import Controls, Values

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Leaks"
PATH = "leaks"
DESCRIPTION = (
    "Which texts of the tasks were in an encoder's training data, as far as it is known and "
    "available here. A score on texts that were seen says little about unseen ones."
)
CONTROLS = web.controls(LeaksSpec, encoder=choices.ENCODER)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("encoder", "trained_on")
        go = gr.Button("Search", variant="primary", visible=not workspace.read_only)
        with parts.more():
            controls.render("tasks")
    notice = parts.notice()
    panel = RunPanel(workspace)
    shown = web.answer(elem_id="leaks", elem_classes=["t-answer"])
    panel.ask(LEAKS, controls, shown, go, notice, load=partial(_load, workspace))


def _load(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """Values of the controls from the address."""
    sets, offered = workspace.catalog.names(), tasks(workspace)
    return {
        "encoder": choices.one(workspace, choices.first(workspace, values.encoder)),
        "trained_on": gr.update(
            choices=sets, value=[name for name in values.trained_on if name in sets]
        ),
        "tasks": gr.update(
            choices=offered, value=[name for name in values.tasks if name in offered]
        ),
    }
