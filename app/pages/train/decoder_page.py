"""The page *Train decoder*: a form, its command, the estimated time, and training progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app import decoders
from theodolite.app.components.actions import actions
from theodolite.app.components.chart import chart
from theodolite.app.pages.jobs import service as jobs
from theodolite.app.pages.train import choices, decoder_list, service
from theodolite.app.pages.train import decoder_views as views
from theodolite.app.pages.train.form import Form, Updates
from theodolite.app.pages.train.settings import Values
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, on, on_load, poll
from theodolite.app.web.events import PageEvent
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from theodolite.engine.decoding.presets import default_texts

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Train decoder"
PATH = "train-decoder"
CLOSED = (
    "Training is disabled here: it would take computing time from all visitors. The form and "
    "its command are the same as on your own machine."
)
DESCRIPTION = (
    "Train a decoder for an encoder: a language model that reconstructs a sentence from its "
    "vector alone. It runs in the background, and its progress is shown below."
)
POLL_SECONDS = 2
INTO_VIEW = "(read) => { if (read) document.querySelector('#card').scrollIntoView(); }"


OWN = (
    Control(
        "encoder",
        "Encoder",
        gr.Dropdown,
        choices=(),
        hint="The encoder whose vectors are decoded.",
        options={"elem_id": "decoder-encoder"},
    ),
    Control(
        "train",
        "Text",
        gr.Dropdown,
        choices=(),
        hint="Training texts.",
        options={"elem_id": "decoder-train", "multiselect": True},
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    form = Form(service.DecoderTraining(workspace), "decoder", OWN, deciding=["architecture"])
    form.place_bar(TITLE, DESCRIPTION)
    own = not workspace.read_only
    with gr.Row(elem_classes="t-desk"):
        with gr.Column(scale=5, min_width=320):
            form.controls.render("encoder", allow_custom_value=own)
            files = {"info": "Data sets, or the path of a file with one sentence per line."}
            form.controls.render("train", allow_custom_value=own, **(files if own else {}))
            form.place_settings()
        with gr.Column(scale=3, min_width=320, elem_classes=["t-beside", "t-answer"]):
            form.place_side()
    followed = _Followed(workspace)

    def fill(values: Values) -> Updates:
        known = choices.encoders(workspace)
        encoder = values.get("encoder") or known[0]
        train = values.get("train") or list(default_texts(workspace.catalog))
        return {
            "encoder": {"choices": list(dict.fromkeys([*known, encoder])), "value": encoder},
            "train": {"choices": decoders.texts(workspace, train), "value": train},
        }

    form.wire(fill, done="Queued. Its progress is shown below.")
    followed.wire(form.started)


class _Followed:
    """Below the form: all trainings of decoders, and the curves of the opened one."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        hint = "Click a name to follow it. Training continues when this page is closed."
        parts.section("Decoders in training", hint)
        self._notice = parts.notice()
        self._listing = actions(elem_id="decoders")
        self._curve = chart(height=views.HEIGHT, elem_id="curve")
        self._samples = parts.static("", elem_id="samples")
        self._installed = actions(elem_id="installed")
        self._removed = parts.notice()
        self._card = parts.static("", elem_id="card")
        self._read = gr.Textbox(visible="hidden", label="Card", elem_id="read")
        self._opened = gr.Textbox(visible="hidden", label="Opened", elem_id="opened")
        self._seen = gr.State([])

    def wire(self, begun: Any) -> None:
        """Attach the events; `begun` is the box that receives the id of each started run."""
        opened, read = self._opened, self._read

        def load(request: gr.Request) -> Answer:
            run, named = address.first(request, "run"), address.first(request, "card")
            return {
                read: named,
                self._card: decoder_list.card(self._workspace, named),
                **self._drawn(run),
            }

        def polled(run: str, known: list[Any]) -> Answer:
            return None if views.marks(self._workspace, run) == known else self._shown(run)

        shown = [self._listing, self._curve, self._samples, self._installed, self._seen]
        views_of_run = [opened, *shown]
        loaded = on_load(load, [read, self._card, *views_of_run], self._notice)
        # A poll in flight while another run is opened must not reopen the previous one.
        poll(POLL_SECONDS, loaded, polled, [opened, self._seen], shown)
        on(self._listing.act, self._act, [opened], views_of_run, self._notice, **HIDE_PROGRESS)
        on(
            self._installed.act,
            self._handle,
            [read],
            [read, self._card, self._installed],
            self._removed,
            **HIDE_PROGRESS,
        )
        read.change(None, read, js=INTO_VIEW)
        on(begun.change, self._drawn, [begun], views_of_run, self._notice, **ALWAYS_LAST)
        address.keep({"run": opened, "card": read})

    def _drawn(self, run: str) -> dict[Any, Any]:
        """Updates that open a run, with everything shown of it."""
        return {self._opened: run, **self._shown(run)}

    def _shown(self, run: str) -> dict[Any, Any]:
        """Updates of everything shown of a run, and of the lists."""
        shown = [self._listing, self._curve, self._samples, self._installed, self._seen]
        return dict(zip(shown, views.drawn(self._workspace, run), strict=True))

    def _act(self, run: str, event: PageEvent) -> Answer:
        """Answer a button of the list of trainings."""
        message = ""
        if event.act == "open":
            run = "" if event.id == run else event.id
        else:
            message = jobs.act(self._workspace, event.act, event.id)
        return {**self._drawn(run), self._notice: parts.say(message) if message else ""}

    def _handle(self, read: str, event: PageEvent) -> Answer:
        """Answer a button of the list of decoders."""
        workspace = self._workspace
        if event.act == "card":
            read = "" if event.id == read else event.id
            return {self._read: read, self._card: decoder_list.card(workspace, read)}
        text = decoder_list.removed(workspace, event.id)
        card = decoder_list.card(workspace, read)
        return {
            self._read: read if card else "",
            self._card: card,
            self._installed: decoder_list.listing(workspace),
            self._removed: parts.say(text),
        }
