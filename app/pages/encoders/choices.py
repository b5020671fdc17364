"""The choice of encoders that several pages start with, filled when the page is opened."""

from collections.abc import Collection, Sequence
from typing import Any

import gradio as gr

from theodolite.app.pages.encoders.service import (
    STARTERS,
    names as names,  # offered here as well
    shown_first,
)
from theodolite.app.web import address
from theodolite.app.web.controls import Control
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

MAX_ENCODERS = 8
"""Most encoders side by side, unless a page has its own limit: more become unreadable, and a link
must not make a hundred encoders encode."""


ENCODERS = Control(
    "encoder",
    "Encoders",
    gr.Dropdown,
    (),
    choices=(),
    options={
        "multiselect": True,
        "allow_custom_value": True,
        "elem_id": "encoders",
        "elem_classes": ["t-wide", "t-chips"],
    },
)
"""A chip each, to choose from the list or to write, still empty."""

ENCODER = Control(
    "encoder",
    "Encoder",
    gr.Dropdown,
    options={"choices": [], "allow_custom_value": True, "min_width": 220},
)
"""The list to choose one from, or to write a spec in, still empty."""


NEWS = """(chips, known) => chips.join() === known
  ? [{ __type__: "update" }, known] : [String(performance.now()), chips.join()]"""


def watch(chips: Any) -> tuple[Any, Any]:
    """A box for the chips that the page knows, joined by commas, and the event of others.

    Gradio tells of what was typed by `change` alone, as of what the page itself filled: only the
    browser can tell them apart without asking the server. A page that fills them fills the box.
    """
    known, news = (gr.Textbox(visible="hidden", label="Chips") for _ in range(2))
    chips.change(None, [chips, known], [news, known], js=NEWS)
    return known, news.change


def joined(filled: Any) -> str:
    """The chips of an update, as the box of `watch` has them."""
    return ",".join(filled["value"])


def from_address(
    workspace: Workspace,
    request: gr.Request,
    default: Sequence[str] = STARTERS,
    most: int = MAX_ENCODERS,
) -> list[str]:
    """The first `most` encoders that the address names, else the default ones that are listed.

    A spec that cannot be read is included as written: its use reports the error, with the form
    filled and the choice ready to be corrected.
    """
    names = address.every(request, "encoder")
    if not names:
        return shown_first(workspace, default)
    return list(dict.fromkeys(read(spec) or spec for spec in names))[:most]


def read(spec: str) -> str | None:
    """The canonical form of a spec; None for one that cannot be read."""
    from theodolite.engine import rankers

    try:
        return str(rankers.parse(spec))
    except UserError:
        return None


def fill(workspace: Workspace, selection: Sequence[str], *, rankers: bool = False) -> Any:
    """An update that offers all listed and chosen encoders, with the chosen ones selected.

    Where documents are ranked, also the listed rankers and BM25.
    """
    known = [*names(workspace, rankers=True), "bm25"] if rankers else names(workspace)
    return gr.update(choices=list(dict.fromkeys([*known, *selection])), value=list(selection))


def one(workspace: Workspace, selection: str | None) -> Any:
    """An update that offers all listed encoders and the chosen one, which is selected."""
    offered = dict.fromkeys([*names(workspace), *([selection] if selection else [])])
    return gr.update(choices=list(offered), value=selection)


def first(workspace: Workspace, named: str | None, others: Collection[str] = ()) -> str:
    """The encoder that the address names, else the first starter that is listed, else any.

    Not one of the others, which stand in the page's other boxes.
    """
    candidates = [name for name in names(workspace) if name not in others]
    usual = next((name for name in (*STARTERS, *candidates) if name in candidates), STARTERS[0])
    return (read(named) or named) if named else usual


def need(selection: Sequence[str], least: int = 1, most: int = MAX_ENCODERS) -> list[str]:
    """The chosen encoders, if they are neither too few nor too many."""
    if len(selection) < least:
        few = "one encoder" if least == 1 else f"{least} encoders"
        raise UserError(f"Choose at least {few}.", "Select them above.", code="too-few")
    if len(selection) > most:
        raise UserError(
            f"{len(selection)} encoders are too many at once.",
            f"Choose at most {most}.",
            code="too-large",
        )
    return list(selection)
