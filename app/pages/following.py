"""A background run followed on the page that asked for it, found again by the address.

Used by the pages that start work: Evaluate, Search, Distributions. It reads the store once a second
while the run is alive and then falls silent.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import address, parts, progress
from store.runs import LIVE

if TYPE_CHECKING:
    from app.workspace import Workspace

POLL_SECONDS = 1


class Following:
    """The components that show one run: progress with time left, cancel, retry.

    Attributes:
        run: hidden box with the run's id; name it `run` in the page's address.
        moved: changes when the run has finished a unit or is over; hang results on its `change`.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.run = gr.Textbox(visible="hidden", label="Run", elem_id="following-run")
        self.moved = gr.Textbox(visible="hidden", label="Moved")
        self._view = parts.static("", elem_id="following")
        with gr.Row():
            self._cancel = gr.Button("Cancel this run", size="sm", visible=False)
            self._retry = gr.Button("Run it again", size="sm", visible=False)
        self._notice = parts.notice()
        self._timer = gr.Timer(POLL_SECONDS, active=False)
        shown = [self._view, self._cancel, self._retry, self._timer, self.moved, self._notice]
        look = parts.telling(self._look, 5)
        self.run.change(look, self.run, shown, show_progress="hidden")
        self._timer.tick(look, self.run, shown, show_progress="hidden")
        for button, act in ((self._cancel, self._stop), (self._retry, self._again)):
            button.click(
                parts.telling(act, 0), self.run, self._notice, show_progress="hidden"
            ).then(look, self.run, shown, show_progress="hidden")  # fmt: skip

    def _look(self, run_id: str) -> tuple[Any, ...]:
        """Show the run as it is now, and go on looking while it is alive."""
        hidden = gr.update(visible=False)
        if not run_id:
            return "", hidden, hidden, gr.update(active=False), gr.skip()
        run = self._workspace.store.runs.get(run_id)
        alive, may = run["state"] in LIVE, not self._workspace.read_only
        return (
            card(dict(run)),
            gr.update(visible=alive and may),
            gr.update(visible=may and run["state"] in ("failed", "cancelled")),
            gr.update(active=alive),
            f"{run_id} {run['attempt']} {run['done']} {'' if alive else run['state']}",
        )

    def _stop(self, run_id: str) -> None:
        self._workspace.refuse_visitors()
        self._workspace.jobs.cancel(run_id)

    def _again(self, run_id: str) -> None:
        self._workspace.refuse_visitors()
        self._workspace.jobs.retry(run_id)


def card(run: dict[str, Any]) -> str:
    """One run: its title, its state, how far it is and how long still, what went wrong."""
    live = run["state"] in LIVE
    what = f". {run['message']}" if live and run["message"] else ""
    if run["state"] == "queued":
        what = ". This page can be closed meanwhile"
    error = ""
    if run["error"]:
        hint = f"<br>{escape(run['hint'])}" if run["hint"] else ""
        error = f'<p class="t-run-error">{escape(run["error"])}{hint}</p>'
    log = address.link("jobs", run=run["id"])
    return (
        f'<div class="t-run" role="status"><p><strong>{escape(run["title"])}</strong> '
        f"{parts.tag(run['state'], progress.KINDS[run['state']])}"
        f'<a href="{escape(log)}">Its log</a></p>{progress.gauge(run) if live else ""}'
        f'<p class="t-muted">{escape(progress.how_far(run) + what)}</p>{error}</div>'
    )
