"""The page *Diagnose*: reconstructions of new sentences, compared with two baselines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app import decoders
from theodolite.app.pages.diagnose import example, service
from theodolite.app.pages.diagnose.answer import SO_FAR, DiagnoseSpec
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.surfaces import web
from theodolite.app.web import parts
from theodolite.app.web.controls import Control, Controls, Values

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Diagnose"
PATH = "diagnose"
DESCRIPTION = (
    "Decode held-out sentences and measure the reconstructions: which words, in which order. "
    "A figure is meaningful only if its interval does not overlap those of two baselines."
)
USUAL = ""
CONTROLS = web.controls(
    DiagnoseSpec,
    without=("across",),
    encoder=Control("encoder", "Encoder", gr.Dropdown, options={"choices": []}),
    text=Control(
        "text",
        "Sentences of",
        gr.Dropdown,
        USUAL,
        key="in",
        hint="Sentences from its training are left out.",
        options={"choices": [], "value": None, "elem_id": "diagnosed-text"},
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    own = not workspace.read_only
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("encoder")
        go = gr.Button("Diagnose", variant="primary", elem_id="start", visible=own)
        with parts.more():
            controls.render("text", allow_custom_value=own)
            controls.render("sentences", visible=own)
    notice = parts.notice()
    panel = RunPanel(workspace)
    shown = web.answer(charts=True, elem_id="diagnosis", elem_classes=["t-answer"])
    panel.ask(SO_FAR, controls, shown, go, notice, load=partial(_load, workspace), spec=_spec)


def _spec(values: Values) -> DiagnoseSpec:
    return DiagnoseSpec(values.encoder or "", values.text or None, values.sentences)


def _load(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls: without an address, the newest diagnosis."""
    kept = service.diagnoses(workspace)
    known = dict.fromkeys([*decoders.encoders(workspace), *(row["encoder"] for row in kept)])
    usual = example.ENCODER if example.ENCODER in known else next(iter(known), None)
    encoder = values.encoder or next((row["encoder"] for row in kept), usual)
    text = values.text or USUAL
    texts = [
        ("New to the decoder", USUAL),
        ("Held out in training", service.HELD_OUT),
        *decoders.texts(workspace),
    ]
    if text not in [name for _, name in texts]:
        texts.append((text, text))
    return {
        "encoder": gr.update(choices=list(dict.fromkeys([*known, encoder])), value=encoder),
        "text": gr.update(choices=texts, value=text),
        "sentences": values.sentences,
    }
