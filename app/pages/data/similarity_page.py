"""The page *Data sets*: how similar they are to an encoder, as a whole or by language."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.pages.data import similarity
from theodolite.app.pages.data.similarity import ALL, EXAMPLE, SIMILARITY, SimilaritySpec
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import parts
from theodolite.app.web.controls import Control, Controls, Values

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Data sets"
PATH = "similarity"
DESCRIPTION = (
    "How similar data sets are to an encoder: the cosine between the means of their "
    "sentences. Similar data sets measure the same thing twice."
)
NAMES = {ALL: "All data sets", EXAMPLE: "starter-topics, by topic"}
CONTROLS = web.controls(
    SimilaritySpec,
    compared=Control(
        "compared",
        "Compared",
        gr.Dropdown,
        key="of",
        options={"choices": [], "value": None, "min_width": 220},
    ),
    encoder=choices.ENCODER,
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("compared", "encoder")
        go = gr.Button("Compare", variant="primary", visible=not workspace.read_only)
        with parts.more():
            controls.render("order", "sentences")
    notice = parts.notice()
    panel = RunPanel(workspace)
    shown = web.answer(charts=True, elem_id="similarity", elem_classes=["t-answer"])
    panel.ask(SIMILARITY, controls, shown, go, notice, load=partial(_load, workspace))


def _load(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """Values of the controls from the address."""
    encoder = choices.first(workspace, values.encoder)
    compared = values.compared or similarity.opening(workspace, encoder)
    offered = dict.fromkeys([*similarity.offered(workspace), compared])
    every = [(NAMES.get(name, f"{name}, by language"), name) for name in offered]
    return vars(values) | {
        "encoder": choices.one(workspace, encoder),
        "compared": gr.update(choices=every, value=compared),
    }
