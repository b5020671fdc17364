"""The page *Diagnosis*: reconstructions of new sentences, compared with two baselines."""

from functools import partial
from typing import Any

import gradio as gr

from theodolite.app import decoders
from theodolite.app.pages import layout
from theodolite.app.pages.diagnose import service
from theodolite.app.pages.diagnose.answer import EXAMPLE_ENCODER, SO_FAR, DiagnoseSpec
from theodolite.app.surfaces import web
from theodolite.app.web import parts
from theodolite.app.web.controls import Control, Controls, Values
from theodolite.app.workspace import Workspace

TITLE = "Diagnosis"
PATH = "diagnose"
DESCRIPTION = (
    "Decode held-out sentences and measure the reconstructions: which words, in which order. "
    "A figure is meaningful only if its interval does not overlap those of two baselines."
)
CONTROLS = web.controls(
    DiagnoseSpec,
    without=("across",),
    encoder=Control(
        "encoder", "Encoder", gr.Dropdown, options={"choices": [], "allow_custom_value": True}
    ),
    text=Control(
        "text",
        "Sentences of",
        gr.Dropdown,
        "",
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
    layout.ask(
        workspace,
        SO_FAR,
        controls,
        go,
        load=partial(_load, workspace),
        spec=_spec,
        charts=True,
        elem_id="diagnosis",
    )


def _spec(values: Values) -> DiagnoseSpec:
    return DiagnoseSpec(values.encoder or "", values.text or None, values.sentences)


def _load(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls: without an address, the encoder of the newest diagnosis."""
    done = [row["encoder"] for row in service.diagnoses(workspace)]
    encoders = list(dict.fromkeys([*decoders.encoders(workspace), *done]))
    usual = [*done, *(name for name in encoders if name == EXAMPLE_ENCODER), *encoders]
    encoder = values.encoder or next(iter(usual), None)
    texts = {"": "New to the decoder", service.HELD_OUT: "Held out in training"}
    texts |= {name: label for label, name in decoders.texts(workspace)}
    texts.setdefault(values.text, values.text)
    return {
        "encoder": gr.update(choices=list(dict.fromkeys([*encoders, encoder])), value=encoder),
        "text": gr.update(choices=[(v, k) for k, v in texts.items()], value=values.text),
        "sentences": values.sentences,
    }
