"""The page *Workers*: the processes that execute jobs, here and in a fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.pages.jobs import workers
from theodolite.app.web import parts
from theodolite.app.web.controls import Answer, on_load, poll

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Workers"
PATH = "workers"
DESCRIPTION = "The processes that execute jobs: here, and on the machines of a fleet."
POLL_SECONDS = 2


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    with parts.bar(TITLE, DESCRIPTION):
        pass
    shown = web.answer(elem_id="workers", elem_classes=["t-answer"])

    def load(request: gr.Request) -> Answer:
        return {shown: web.value(workers.now(workspace).blocks())}

    def refresh(known: str) -> Answer:
        current = web.value(workers.now(workspace).blocks())
        return None if current == known else {shown: current}

    opened = on_load(load, [shown], parts.notice())
    poll(POLL_SECONDS, opened, refresh, [shown], [shown])
