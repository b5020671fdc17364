"""The choice of a collection that several pages start with, filled when the page is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from app.web.controls import Control

if TYPE_CHECKING:
    from app.workspace import Workspace

DEFAULT = "starter-topics"
COLLECTION = Control(
    "collection", "Collection", gr.Dropdown, DEFAULT, key="in",
    options={"choices": [], "value": None, "min_width": 220},
)  # fmt: skip
"""The list, still empty."""


def filled(
    workspace: Workspace, named: str | None, *usual: str, **options: Any
) -> tuple[str, dict[str, Any]]:
    """What a page begins with, and an update of the list.

    Args:
        workspace: where data sets are.
        named: in the address; of the hub's files the list knows only what is named here.
        *usual: what is taken where that is not there: the first that is.
        **options: of the update.
    """
    names = workspace.catalog.names()
    if named and named.startswith("hub:") and named not in names:
        names.append(named)
    chosen = next(name for name in (named, *usual, DEFAULT, *names) if name in names)
    return str(chosen), gr.update(choices=names, value=chosen, **options)
