"""The published page *Search*: a search field and hits that work without a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.components.modules import mount
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, on_load
from theodolite.app.web.theme import SERIES

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

DESCRIPTION = (
    "One query, and each encoder's nearest sentences by cosine in its own column, computed "
    "in this page: what you write is not sent anywhere. A letter marks sentences that "
    "several of them found."
)
SEARCH = "search"
"""Element id of the component."""


def build(workspace: Workspace) -> None:
    """Lay out the page; its component takes the collection and encoders from the address."""
    with parts.bar("Search", DESCRIPTION):
        pass
    notice = parts.notice()
    search: Any = gr.HTML(
        "",
        html_template="",
        js_on_load=mount("search/page.js"),
        apply_default_css=False,
        palette=list(SERIES),
        elem_id=SEARCH,
        elem_classes=["t-answer"],
    )

    def load(request: gr.Request) -> Answer:
        encoders = address.every(request, "encoder")
        return {search: {"collection": address.every(request, "in")[0], "encoders": encoders}}

    on_load(load, [search], notice)
