"""A background run followed on the page that asked for it, found again by the address.

Used by the pages that start work: Evaluate, Search, Distributions. It reads the store once a second
while the run is alive and then falls silent.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import address, formats, parts

if TYPE_CHECKING:
    from app.workspace import Workspace

ALIVE = ("queued", "running")
SECONDS_A_LOOK = 1.0
_WORDS = {
    "queued": "waiting for the worker",
    "running": "running",
    "done": "done",
    "failed": "failed",
    "cancelled": "cancelled",
}


class Following:
    """The components that show one run: progress with time left, cancel, retry.

    Attributes:
        run: hidden box with the run's id; name it `run` in the page's address.
        ended: changes when a run that was alive here has ended; hang the results on its `change`.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.run = gr.Textbox(visible="hidden", elem_classes=["t-hidden"], label="run")
        self.ended = gr.Textbox(visible="hidden", elem_classes=["t-hidden"], label="ended")
        self._view = parts.static("", elem_id="run-view")
        with gr.Row(elem_classes=["t-actions"]):
            self._cancel = gr.Button("Cancel this run", size="sm", variant="stop", visible=False)
            self._retry = gr.Button("Run it again", size="sm", visible=False)
        self._timer = gr.Timer(SECONDS_A_LOOK, active=False)
        self._notice = parts.notice()
        shown = [self._view, self._cancel, self._retry, self._timer, self.ended]
        quiet = {"show_progress": "hidden", "api_visibility": "private"}
        self.run.change(self._look, [self.run, self.ended], shown, **quiet)
        self._timer.tick(self._look, [self.run, self.ended], shown, **quiet)
        outputs = [self.run, self._notice]
        self._cancel.click(parts.telling(self._stop, 1), [self.run], outputs, **quiet)
        self._retry.click(parts.telling(self._again, 1), [self.run], outputs, **quiet).then(
            self._look, [self.run, self.ended], shown, **quiet
        )

    def _look(self, run: str, ended: str) -> tuple[Any, ...]:
        """Show the run as it is now; once it has ended, say so in `ended` and stop looking."""
        row = self._workspace.store.runs.get(run) if run else None
        if row is None:
            hidden = gr.update(visible=False)
            gone = parts.say("The run in this address is not in this store.") if run else ""
            return gone, hidden, hidden, gr.update(active=False), ended
        alive, free = row["state"] in ALIVE, not self._workspace.read_only
        again = row["state"] in ("failed", "cancelled")
        return (
            view(row),
            gr.update(visible=alive and free),
            gr.update(visible=again and free),
            gr.update(active=alive),
            ended if alive else f"{run} {row['state']} {row.get('attempt')}",
        )

    def _stop(self, run: str) -> Any:
        self._workspace.jobs.cancel(run)
        return gr.skip()

    def _again(self, run: str) -> Any:
        return self._workspace.jobs.retry(run) or run


def view(row: Mapping[str, Any]) -> str:
    """One run in a card: title, state, bar, what it is doing, time left or taken."""
    state, total = row["state"], row.get("total") or 0
    kinds = {"running": "live", "queued": "live", "failed": "bad", "done": "good"}
    share = row["done"] / total if total and row.get("done") is not None else None
    bar = parts.bar(share, row["title"]) if state in ALIVE else ""
    problem = ""
    if row.get("error"):
        hint = f"<p>{escape(row['hint'])}</p>" if row.get("hint") else ""
        problem = f'<p class="t-run-error">{escape(row["error"])}</p>{hint}'
    log = f'<a href="{escape(address.link("jobs", run=str(row["id"])))}">Log</a>'
    return (
        f'<div class="t-run" role="status"><div class="t-run-head"><strong>{escape(row["title"])}'
        f"</strong>{parts.tag(_WORDS.get(state, state), kinds.get(state, ''))}{log}</div>"
        f'{bar}<p class="t-muted">{escape(_pace(row))}</p>{problem}</div>'
    )


def _pace(row: Mapping[str, Any]) -> str:
    """What it is doing and how long it takes, as one line."""
    if row["state"] == "queued":
        return "It starts as soon as the worker is free. This page can be closed meanwhile."
    started = formats.moment(row.get("started"))
    finished = formats.moment(row.get("finished"))
    if row["state"] in ALIVE:
        eta = row.get("eta_seconds")
        left = f"about {formats.duration(eta)} left" if eta is not None else ""
        since = f"{formats.duration(time.time() - started.timestamp())} so far" if started else ""
        step = f"{row['done']} of {row['total']}" if row.get("total") else ""
        return " · ".join(filter(None, (row.get("message"), step, since, left)))
    if started and finished:
        return f"took {formats.duration((finished - started).total_seconds())}"
    return ""
