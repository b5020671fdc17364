"""The installed decoders on *Train decoder*: their list, cards and removal."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from theodolite.app import decoders, formats
from theodolite.app.components.actions import button
from theodolite.app.components.card import card as laid_out
from theodolite.app.web import address, parts
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.decoders import DecoderInfo
    from theodolite.app.workspace import Workspace


def listing(workspace: Workspace) -> str:
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


def card(workspace: Workspace, name: str) -> str:
    """A decoder's card as HTML; empty for no name or an unknown one."""
    try:
        return laid_out(decoders.card_of(workspace, name)) if name else ""
    except UserError:  # links may be old
        return ""


def removed(workspace: Workspace, name: str) -> str:
    """Remove a decoder; return a notice of what was done."""
    return decoders.removal_notice(decoders.remove(workspace, name))


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
