"""The choice of encoders that several pages start with, filled when the page is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gradio as gr

from app.pages.encoders.service import STARTERS, shown_first
from app.web import address, parts
from app.web.controls import Control
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

MOST = 8
"""Encoders side by side, where a page has no limit of its own: more are no longer read, and a link
must not have sentences encoded by a hundred."""


ENCODERS = Control(
    "encoder", "Encoders", gr.CheckboxGroup, choices=(), options={"elem_id": "encoders"}
)
"""The checkboxes, still empty."""

CHIPS = Control(
    "encoder", "Encoders", gr.Dropdown, (), choices=(),
    options={"multiselect": True, "elem_id": "encoders", "elem_classes": ["t-wide", "t-chips"]},
)  # fmt: skip
"""The same in a page's first row: a chip each, still empty."""

ENCODER = Control(
    "encoder", "Encoder", gr.Dropdown, options={"choices": [], "min_width": 220}
)  # fmt: skip
"""The list to choose one from, still empty."""


def names(workspace: Workspace) -> list[str]:
    """Encoders that are kept, in the order they were added."""
    return workspace.store.encoders.names()


def from_address(
    workspace: Workspace, request: gr.Request, default: Sequence[str] = STARTERS, most: int = MOST
) -> list[str]:
    """The encoders that the address names, `most` of them, else the default's that are kept.

    One that cannot be read is among them as it is written: whatever is asked of it will say what
    is wrong, with the form filled and the choice to be mended.
    """
    wanted = address.every(request, "encoder")
    if not wanted:
        return shown_first(workspace, default)
    return list(dict.fromkeys(read(spec) or spec for spec in wanted))[:most]


def read(spec: str) -> str | None:
    """The canonical form of a spec; None for one that cannot be read."""
    from engine import encoders

    try:
        return str(encoders.parse(spec))
    except UserError:
        return None


def filled(workspace: Workspace, chosen: Sequence[str]) -> Any:
    """The checkboxes with everything kept, and whatever else the address asked for."""
    offered = list(dict.fromkeys([*names(workspace), *chosen]))
    return gr.update(choices=offered, value=list(chosen))


def one(workspace: Workspace, chosen: str | None) -> Any:
    """The list with everything kept, and the one that the address asked for."""
    offered = dict.fromkeys([*names(workspace), *([chosen] if chosen else [])])
    return gr.update(choices=list(offered), value=chosen)


def first(workspace: Workspace, named: str | None) -> str | None:
    """The encoder that the address names, else the first starter that is kept."""
    kept = names(workspace)
    usual = next((name for name in STARTERS if name in kept), None)
    return (read(named) or named) if named else usual


def nothing() -> str:
    """What stands on a page of one encoder while none is listed."""
    hint = "Add one on the page Encoders."
    return parts.empty("No encoders listed yet", hint, ("Encoders", "./encoders"))


def need(chosen: Sequence[str], least: int = 1, most: int = MOST) -> list[str]:
    """The choice, when it is large and small enough.

    Raises:
        UserError: too few encoders, or too many to be read side by side.
    """
    if len(chosen) < least:
        few = "one encoder" if least == 1 else f"{least} encoders"
        raise UserError(f"Choose at least {few}.", "Select them above.")
    if len(chosen) > most:
        raise UserError(f"{len(chosen)} encoders are too many to show side by side.",
                        f"Choose at most {most}.")  # fmt: skip
    return list(chosen)
