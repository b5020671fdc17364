"""The page *Diagnose*: reconstructions of new sentences, compared with two baselines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.components.chart import chart
from theodolite.app.pages.diagnose import figures, views
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_load, poll
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS, ONE_AT_A_TIME
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Diagnose"
PATH = "diagnose"
DESCRIPTION = (
    "Decode held-out sentences and measure the reconstructions: which words, in which order. "
    "A figure is meaningful only if its interval does not overlap those of two baselines."
)
USUAL = "usual"
METRICS = ("token_f1", "bleu", "id", "perm", "id_perm", "round_trip")
POLL_SECONDS = 2
CONTROLS = (
    Control(
        "encoder",
        "Encoder",
        gr.Dropdown,
        hint="With its decoder.",
        options={"choices": [], "elem_id": "diagnosed"},
    ),
    Control(
        "text",
        "Sentences of",
        gr.Dropdown,
        USUAL,
        key="in",
        hint="Sentences from its training are left out.",
        options={"choices": [], "value": None, "elem_id": "diagnosed-text"},
    ),
    Control(
        "sentences",
        "How many",
        default="1000",
        hint="At most.",
        options={"max_lines": 1, "elem_id": "diagnosed-number"},
    ),
    Control(
        "result",
        "Diagnosis",
        gr.Dropdown,
        options={"choices": [], "elem_id": "pick", "visible": False},
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    own = not workspace.read_only
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        result = controls.render("result")
        controls.render("encoder", visible=own)
        go = gr.Button("Diagnose", variant="primary", elem_id="start", visible=own)
        with parts.more():
            controls.render("text", allow_custom_value=own, visible=own)
            controls.render("sentences", visible=own)
            command = parts.static("", elem_id="command", visible=own)
    notice = parts.notice()
    running = parts.static("", elem_id="running")
    table = parts.static("", elem_id="figures", elem_classes=["t-answer"])
    metric = gr.Dropdown(
        [], label="By sentence length", elem_id="metric", filterable=False, visible=False
    )
    drawn = chart(elem_id="by-length", height=figures.HEIGHT)
    samples = parts.static("", elem_id="samples")
    across = parts.static("", elem_id="across")
    seen = gr.State([])
    inputs = [controls[name] for name in ("encoder", "text", "sentences")]
    shown = {"table": table, "metric": metric, "picture": drawn, "samples": samples}
    listed = {"running": running, "result": result, "across": across, "marks": seen}

    def load(request: gr.Request) -> Answer:
        found = views.listed(
            workspace,
            address.first(request, "result") or None,
            encoder=address.first(request, "encoder"),
        )
        filled = _filled(workspace, controls.from_address(request))
        opened = {controls[name]: value for name, value in filled.items()} | _at(listed, found)
        if not views.diagnoses(workspace):  # no choice is made, so no change event will follow
            opened |= _at(shown, views.shown(workspace, None, None, METRICS))
        return opened

    def start(chosen: Values) -> Answer:
        message = _start(workspace, chosen.encoder, chosen.text, chosen.sentences)
        return _at(listed, views.listed(workspace, None)) | {notice: parts.say(message, "t-good")}

    def picked(chosen: str | None, what: str | None) -> Answer:
        return _at(shown, views.shown(workspace, chosen, what, METRICS))

    def picture(chosen: str | None, what: str | None) -> Answer:
        return {drawn: views.by_length(workspace, chosen, what)}

    def refresh(known: list[Any], chosen: str | None) -> Answer:
        if views.marks(workspace) == known:
            return None
        return _at(listed, views.listed(workspace, chosen, known))

    opened = on_load(load, [*inputs, *listed.values(), *shown.values()], notice)
    # Without a notice: it would clear the one that reports what was queued.
    opened.then(_command, inputs, command, **ONE_AT_A_TIME)
    gr.on([box.change for box in inputs], _command, inputs, command, **ONE_AT_A_TIME)
    on(go.click, start, controls, [*listed.values()], notice, **HIDE_PROGRESS)
    on(result.change, picked, [result, metric], [*shown.values()], notice, **ALWAYS_LAST)
    on(metric.input, picture, [result, metric], [drawn], notice, **ALWAYS_LAST)
    poll(POLL_SECONDS, opened, refresh, [seen, result], [*listed.values()])
    controls.keep()


def _at(places: Mapping[str, Any], found: Mapping[str, Any]) -> dict[Any, Any]:
    """Views keyed by the components of their names."""
    return {places[name]: view for name, view in found.items()}


def _filled(workspace: Workspace, values: Values) -> dict[str, Any]:
    """The values of the form from the address."""
    from theodolite.app import decoders
    from theodolite.app.pages.diagnose import service

    known = decoders.encoders(workspace)
    encoder = values.encoder or next(iter(known), None)
    texts = [
        ("New to the decoder", USUAL),
        ("Held out in training", service.HELD_OUT),
        *decoders.texts(workspace),
    ]
    if values.text not in [name for _, name in texts]:
        texts.append((values.text, values.text))
    offered = list(dict.fromkeys([*known, *([encoder] if encoder else [])]))
    return {
        "encoder": gr.update(choices=offered, value=encoder),
        "text": gr.update(choices=texts, value=values.text),
        "sentences": values.sentences,
    }


def _chosen(name: str | None, source: str | None, many: str) -> tuple[str, str | None, int]:
    """Parse the form into encoder, text and number of sentences."""
    if not name:
        raise UserError("There are no decoders yet.", "Train one on Train decoder.", code="missing")
    text = str(many or "").strip().replace(",", "")
    if not text.isdecimal():
        raise UserError(f"{text[:40]!r} is not a number of sentences.", "Write one such as 1000.")
    return name, None if source in (None, "", USUAL) else str(source), int(text)


def _command(name: str | None, source: str | None, many: str) -> str:
    """The equivalent command, with a button to copy it; empty while the form is invalid."""
    try:
        encoder, text, number = _chosen(name, source, many)
    except UserError:
        return ""
    words = ["theodolite", "diagnose", encoder, *(["--in", text] if text else [])]
    words += ["--sentences", str(number)] if number != 1000 else []
    return parts.command(words)


def _start(workspace: Workspace, name: str | None, source: str | None, many: str) -> str:
    """Queue the diagnosis and return a message."""
    from theodolite.app.jobs.submit import queue
    from theodolite.app.pages.diagnose.service import DiagnoseJob

    encoder, text, number = _chosen(name, source, many)
    queue(workspace, DiagnoseJob.of(workspace, encoder, text, number))
    return "Queued. The result appears here when it is done."
