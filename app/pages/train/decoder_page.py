"""The page *Train a decoder*: the form of a decoder's training, and the installed decoders."""

from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import decoders, formats
from theodolite.app.blocks import Action, Actions, Block, Card, Fold, Link, Links, Text
from theodolite.app.components.card import card as card_html
from theodolite.app.pages.train.form import CLOSED, Form, Values
from theodolite.app.pages.train.job import TrainDecoderJob
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, PageEvent, on, on_load
from theodolite.app.web.parts import HIDE_PROGRESS
from theodolite.app.workspace import Workspace
from theodolite.engine import encoders
from theodolite.engine.decoding.presets import PRESETS, default_texts
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.errors import UserError

__all__ = ["CLOSED", "PATH", "TITLE", "build"]
TITLE = "Train a decoder"
PATH = "train-decoder"
DESCRIPTION = (
    "Train a decoder for an encoder: a language model that reconstructs a sentence from its "
    "vector alone. It runs in the background, with its curves and samples on Trainings."
)
INTO_VIEW = "(read) => { if (read) document.querySelector('#card').scrollIntoView(); }"


class DecoderForm(Form):
    """The form of `theodolite train-decoder`."""

    job_type = TrainDecoderJob
    own = (
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
            (),
            choices=(),
            hint="Data sets, or the path of a file with one sentence per line.",
            options={"elem_id": "decoder-train", "multiselect": True},
        ),
    )
    out = "my-decoder"

    def presets(self) -> Sequence[Any]:
        """Ours, and those of Vec2Sent."""
        return PRESETS

    def offer(self, values: Values) -> Mapping[str, tuple[Sequence[Any], Any]]:
        """The listed encoders, MiniLM always among them, and the texts."""
        listed = [*self.workspace.store.encoders.names(), "minilm"]
        encoder = values["encoder"] or listed[0]
        train = values["train"] or list(default_texts(self.workspace.catalog))
        return {
            "encoder": ([*dict.fromkeys([*listed, encoder])], encoder),
            "train": (decoders.texts(self.workspace, train), train),
        }

    def spec(self, values: Values) -> DecoderSpec:
        """The spec that the form describes, with the canonical name of the encoder."""
        encoder = values["encoder"] and str(encoders.parse(values["encoder"]))
        spec: DecoderSpec = super().spec({**values, "encoder": encoder})
        return spec

    def plan(self, spec: DecoderSpec) -> dict[str, str]:
        """The data, the duration, the selection of the best weights, and the output."""
        most = f", at most {formats.plural(spec.limit, 'sentence')}" if spec.limit else ""
        return {
            "Reads": f"{formats.listed(spec.train)}{most}, encoded by {spec.encoder}.",
            "Trains for": f"{spec.epochs:g} × the sentences of at most {spec.words} words.",
            "Keeps": "The best weights on held-out sentences.",
            "Result": f"A decoder for {spec.encoder}, which the Decode pages use immediately.",
        }


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    form = DecoderForm(workspace)
    with form.layout(TITLE, DESCRIPTION):
        form.controls.render("encoder", "train", allow_custom_value=not workspace.read_only)
        form.place_settings()
    listing = web.answer(elem_id="installed")
    notice = parts.notice()
    card = parts.static("", elem_id="card")
    read = gr.Textbox(visible="hidden", label="Card", elem_id="read")

    def show(name: str) -> dict[Any, Any]:
        """The list, and a card if a decoder of that name is in it: links may be old."""
        try:
            html = card_html(decoders.card_of(workspace, name)) if name else ""
        except UserError:
            name = html = ""
        return {read: name, card: html, listing: web.value(_list_installed(workspace))}

    def load(request: gr.Request) -> Answer:
        return show(address.first(request, "card"))

    def act(name: str, event: PageEvent) -> Answer:
        """Open or close a card, or remove a decoder."""
        if event.act == "card":
            return show("" if event.id == name else event.id)
        removed = decoders.remove(workspace, event.id)
        return {**show(name), notice: parts.say(removed.notice)}

    on_load(load, [read, card, listing], notice)
    on(listing.act, act, [read], [read, card, listing], notice, **HIDE_PROGRESS)
    read.change(None, read, js=INTO_VIEW)
    address.keep({"card": read})


def _list_installed(workspace: Workspace) -> list[Block]:
    """The installed decoders, the one in use first; nothing without any."""
    cards = []
    for row in decoders.list_all(workspace):
        facts = (
            f"Decodes {row.encoder}: "
            f"{decoders.ARCHITECTURES.get(row.architecture, row.architecture)}, trained on "
            f"{formats.plural(row.sentences, 'sentence')} of at most {row.words} words from "
            f"{row.trained_on or 'unknown text'}."
        )
        about = f"Read the card of {row.name}"
        read = Action("Read its card", "card", row.name, about, opens="card")
        blocks: list[Block] = [
            Text("", facts),
            Links([Link("Decode with it", "decode", {"encoder": row.encoder})]),
            Actions([read]),
        ]
        if not (row.shipped or workspace.read_only):
            inside = decoders.inside(workspace, row.folder)
            label = "Delete its files" if inside else "Remove it from the list"
            remove = Action(label, "remove", row.name, f"{label}: {row.name}")
            note = "They cannot be restored." if inside else "Its folder is yours and stays."
            blocks.append(Fold("Remove", [Actions([remove], note)]))
        since = "ships with the app" if row.shipped else formats.ago(row.added)
        cards.append(Card(row.name, blocks, tag=since))
    lead = "If an encoder has several, the first is used."
    return [Text("Installed decoders", lead), *cards] if cards else []
