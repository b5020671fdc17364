"""The page *Workers*: the processes that execute jobs, here and in a fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.pages.jobs import workers, workers_views
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
        status = parts.static("", elem_id="status")
    notice = parts.notice()
    table = parts.static("", elem_id="workers", elem_classes=["t-answer"])
    waiting = parts.static("", elem_id="waiting")
    homes = parts.static("", elem_id="homes")
    seen = gr.State([])

    def drawn() -> dict[Any, Any]:
        found = workers.now(workspace)
        shown = {
            status: workers_views.status(found),
            table: workers_views.workers(found),
            waiting: workers_views.waiting(found),
            homes: workers_views.homes(found),
        }
        return {**shown, seen: list(shown.values())}

    def load(request: gr.Request) -> Answer:
        return drawn()

    def refresh(known: list[str]) -> Answer:
        changed = drawn()
        return None if changed[seen] == known else changed

    shown = [status, table, waiting, homes, seen]
    opened = on_load(load, shown, notice)
    poll(POLL_SECONDS, opened, refresh, [seen], shown)
