"""The page *Train decoder*: a form, its command, the estimated time, and installed decoders."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app import decoders, formats
from theodolite.app.components.actions import actions, button
from theodolite.app.components.card import card as laid_out
from theodolite.app.pages.train import choices
from theodolite.app.pages.train.form import CLOSED, Choices, Form
from theodolite.app.pages.train.service import DecoderTraining
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, on, on_load
from theodolite.app.web.events import PageEvent
from theodolite.app.web.parts import HIDE_PROGRESS
from theodolite.engine.decoding.presets import default_texts
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.decoders import DecoderInfo
    from theodolite.app.workspace import Workspace

__all__ = ["CLOSED", "PATH", "TITLE", "build"]
TITLE = "Train decoder"
PATH = "train-decoder"
DESCRIPTION = (
    "Train a decoder for an encoder: a language model that reconstructs a sentence from its "
    "vector alone. It runs in the background, with its curves and samples on Trainings."
)
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
        hint="Data sets, or the path of a file with one sentence per line.",
        options={"elem_id": "decoder-train", "multiselect": True},
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    own = not workspace.read_only
    offer = partial(_offer, workspace)
    form = Form(DecoderTraining(workspace), "decoder", OWN, offer, ["architecture"])
    form.place_bar(TITLE, DESCRIPTION)
    with gr.Row(elem_classes="t-desk"):
        with gr.Column(scale=5, min_width=320):
            form.controls.render("encoder", "train", allow_custom_value=own)
            form.place_settings()
        with gr.Column(scale=3, min_width=320, elem_classes=["t-beside", "t-answer"]):
            form.place_side()
    form.wire()
    listing = actions(elem_id="installed")
    notice = parts.notice()
    card = parts.static("", elem_id="card")
    read = gr.Textbox(visible="hidden", label="Card", elem_id="read")

    def load(request: gr.Request) -> Answer:
        name = address.first(request, "card")
        return {read: name, card: _card(workspace, name), listing: _installed(workspace)}

    def act(name: str, event: PageEvent) -> Answer:
        """Open or close a card, or remove a decoder."""
        if event.act == "card":
            name = "" if event.id == name else event.id
            return {read: name, card: _card(workspace, name)}
        removed = parts.say(decoders.removal_notice(decoders.remove(workspace, event.id)))
        shown = _card(workspace, name)
        return {
            read: name if shown else "",
            card: shown,
            listing: _installed(workspace),
            notice: removed,
        }

    on_load(load, [read, card, listing], notice)
    on(listing.act, act, [read], [read, card, listing], notice, **HIDE_PROGRESS)
    read.change(None, read, js=INTO_VIEW)
    address.keep({"card": read})


def _offer(workspace: Workspace, values: Mapping[str, Any]) -> Mapping[str, tuple[Choices, Any]]:
    """The encoders, and the texts."""
    known = choices.encoders(workspace)
    encoder = values["encoder"] or known[0]
    train = values["train"] or list(default_texts(workspace.catalog))
    return {
        "encoder": (list(dict.fromkeys([*known, encoder])), encoder),
        "train": (decoders.texts(workspace, train), train),
    }


def _installed(workspace: Workspace) -> str:
    """The installed decoders as a table; empty without any."""
    found = decoders.listed(workspace)
    if not found:
        return ""
    rows = [_cells(workspace, row) for row in found]
    heads = ["Encoder", "Decoder", "Training text", "Sentences", "Max words", "Since", "Card"]
    if not workspace.read_only:
        heads.append("Remove")
    named = "Installed decoders, the one in use first"
    table = parts.table(heads, rows, named, (3, 4), stacked=True)
    kept = (
        " Those that ship with the app cannot be removed."
        if any(row.shipped for row in found)
        else ""
    )
    lead = f"If an encoder has several, the first is used.{kept}"
    return parts.heading("Installed decoders", lead) + table


def _card(workspace: Workspace, name: str) -> str:
    """A decoder's card as HTML; empty for no name or an unknown one."""
    try:
        return laid_out(decoders.card_of(workspace, name)) if name else ""
    except UserError:  # links may be old
        return ""


def _cells(workspace: Workspace, row: DecoderInfo) -> list[str]:
    to = escape(address.link("decode", encoder=row.encoder))
    cells = [
        f'<a class="t-spec" href="{to}" aria-label="{escape(f"Decode with {row.encoder}")}">'
        f"{escape(row.encoder)}</a>",
        escape(decoders.ARCHITECTURES.get(row.architecture, row.architecture)),
        escape(row.trained_on or formats.MISSING),
        formats.count(row.sentences or None),
        formats.count(row.words or None),
        "ships with the app" if row.shipped else formats.ago(row.added),
        button("Read", "card", row.name, about=f"Read the card of {row.name}", kind="link"),
    ]
    return cells if workspace.read_only else [*cells, _removal(workspace, row)]


def _removal(workspace: Workspace, row: DecoderInfo) -> str:
    """A removal button that first says what is deleted; a note for a shipped decoder."""
    if row.shipped:
        return '<span class="t-muted">cannot be removed</span>'
    about = f"{row.name}, the decoder of {row.encoder}"
    if decoders.inside(workspace, row.folder):
        text, label = (
            "Its files are in the store and will be permanently deleted.",
            "Delete its files",
        )
    else:
        text, label = "Its folder is yours and is not touched.", "Remove from the list"
    act = button(label, "remove", row.name, about=f"{label}: {about}")
    return (
        f'<details class="t-removal"><summary class="t-button t-small-button" '
        f'aria-label="{escape(f"Remove {about}")}">Remove</summary>'
        f"<p><strong>{escape(row.name)}</strong>. {escape(text)}</p>{act}</details>"
    )
