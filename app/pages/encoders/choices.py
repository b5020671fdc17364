"""The choice of encoders that several pages begin with, filled when the page is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gradio as gr

from app.web import address
from app.web.controls import Control
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

STARTERS = ("minilm", "wordllama", "random:256")
"""What a page begins with, those that are kept."""
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
    return [row["name"] for row in workspace.store.encoders.list()]


def asked(
    workspace: Workspace, request: gr.Request, default: Sequence[str] = STARTERS, most: int = MOST
) -> list[str]:
    """The encoders that the address names, `most` of them, else the default's that are kept.

    One that cannot be read is among them as it is written: whatever is asked of it will say what
    is wrong, with the form filled and the choice to be mended.
    """
    wanted = address.every(request, "encoder")
    if not wanted:
        kept = names(workspace)
        first = [name for name in default if name in kept]
        return first if len(first) > 1 else list(dict.fromkeys([*first, *kept]))[:3]
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


def need(chosen: Sequence[str], least: int = 1, most: int = MOST) -> list[str]:
    """The choice, when it is large and small enough.

    Raises:
        UserError: too few encoders, or too many to be read side by side.
    """
    if len(chosen) < least:
        few = "one encoder" if least == 1 else f"{least} encoders"
        raise UserError(f"Choose at least {few}.", "Tick them above.")
    if len(chosen) > most:
        raise UserError(f"{len(chosen)} encoders are too many to read side by side.",
                        f"Choose at most {most}.")  # fmt: skip
    return list(chosen)
