"""A background run on the page that asked for it, found again by the address.

It reads the store once a second while the run is alive and then falls silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from app.components.actions import actions
from app.pages.jobs import service, views
from app.web import address, parts
from app.web.controls import Answer, on
from app.web.events import PageEvent
from app.web.parts import HIDE_PROGRESS
from store.run_rows import LIVE

if TYPE_CHECKING:
    from app.workspace import Workspace

POLL_SECONDS = 1
_MOVES = ("id", "attempt", "done", "failed", "state", "total")


class RunPanel:
    """The components that show one run: progress with time left, its parts, cancel, retry.

    Attributes:
        run: hidden box with the run's id; name it `run` in the page's address.
        moved: changes when the run has finished a unit or is over; hang results on its `change`.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.run = gr.Textbox(visible="hidden", label="Run", elem_id="following-run")
        self.moved = gr.Textbox(visible="hidden", label="Moved")
        self._view = actions(elem_id="following")
        self._units = actions(elem_id="following-units")
        notice = parts.notice()
        self._said = parts.notice()  # of its own: looking again would empty the other at once
        self._timer = gr.Timer(POLL_SECONDS, active=False)
        look = (self._look, [self.run, self.moved],
                [self._view, self._units, self._timer, self.moved], notice)  # fmt: skip
        on([self.run.change, self._timer.tick], *look, **HIDE_PROGRESS)
        for part in (self._view, self._units):
            done = on(part.act, self._act, [self.run], [self.run], self._said, **HIDE_PROGRESS)
            on(done.then, *look, **HIDE_PROGRESS)

    def _look(self, run_id: str, known: str) -> Answer:
        """Show the run as it is now, and go on looking while it is alive.

        Its parts are read again only when one has ended.
        """
        if not run_id:
            return {self._view: "", self._units: "", self._timer: gr.update(active=False)}
        run: Any = self._workspace.store.runs.get(run_id)
        moved = " ".join(str(run[name]) for name in _MOVES)
        verbs = views.buttons(self._workspace, run, without=("next", "remove"))
        shown = {
            self._view: views.card(run, verbs),
            self._timer: gr.update(active=run["state"] in LIVE),
            self.moved: moved,
        }
        if moved != known:
            units = self._workspace.store.runs.units(run_id)
            shown[self._units] = views.parts_of(run, units, not self._workspace.read_only)
        return shown

    def _act(self, run_id: str, event: PageEvent) -> Answer:
        """Cancel it, try it again, or measure a part that failed once more."""
        if event.act != "unit":
            return {self._said: parts.say(service.act(self._workspace, event.act, event.id))}
        again, what = service.measure_again(self._workspace, run_id, event.number("id"))
        if self._workspace.store.runs.get(run_id)["state"] in LIVE:
            return {self._said: parts.say(f"{what} comes again after this run.")}
        return {self.run: again}


def asked(workspace: Workspace, request: gr.Request) -> str:
    """The run that the address names, where there is one."""
    run_id = address.first(request, "run")
    return run_id if run_id in {run["id"] for run in workspace.store.runs.list()} else ""


def is_alive(workspace: Workspace, run_id: str) -> bool:
    """Whether a run is about to bring what a page waits for."""
    return bool(run_id) and workspace.store.runs.get(run_id)["state"] in LIVE
