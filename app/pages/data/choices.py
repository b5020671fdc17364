"""The choice of a collection that several pages share, filled when a page is loaded."""

from typing import Any

import gradio as gr

from theodolite.app.web.controls import Control
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.chunks import base

DEFAULT = "starter-topics"
COLLECTION = Control(
    "collection",
    "Collection",
    gr.Dropdown,
    DEFAULT,
    key="in",
    options={"choices": [], "value": None, "min_width": 220},
)
"""The control, with an empty list."""


def fill(
    workspace: Workspace, named: str | None, *usual: str, **options: Any
) -> tuple[str, dict[str, Any]]:
    """Return the initial collection of a page, and an update of the list.

    One that is not there stays in the list, and the page's answer says so; the controls that depend
    on it are then those of another.

    Args:
        workspace: the workspace.
        named: the collection in the address; hub files and chunks are listed only if named here.
        *usual: fallbacks, the first available of which is taken.
        **options: options of the update.
    """
    names = workspace.catalog.names()
    known = named and (named.startswith("hub:") or base(named) in names)
    others = (name for name in (*usual, DEFAULT, *names) if name in names)
    selection = named if named and known else next(others)
    value = named if named and named != DEFAULT else selection
    return selection, gr.update(
        choices=list(dict.fromkeys([*names, value])), value=value, **options
    )
