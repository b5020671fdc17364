"""A background run followed on the page that asked for it, found again by the address.

Used by the pages that start work: Evaluate, Search, Distributions. It reads the store once a second
while the run is alive and then falls silent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import formats
from app.components.actions import actions, button
from app.web import address, parts, progress
from app.web.events import PageEvent
from engine.errors import UserError
from store.runs import LIVE, UnitRow

if TYPE_CHECKING:
    from app.workspace import Workspace

POLL_SECONDS = 1


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
        self._view = parts.static("", elem_id="following")
        self._units = actions(elem_id="following-units")
        with gr.Row():
            self._cancel = gr.Button("Cancel this run", size="sm", visible=False)
            self._retry = gr.Button("Run it again", size="sm", visible=False)
        self._notice = parts.notice()
        self._told = parts.notice()  # of its own: looking again would empty the other at once
        self._timer = gr.Timer(POLL_SECONDS, active=False)
        shown = [self._view, self._units, self._cancel, self._retry, self._timer, self.moved]
        look = parts.telling(self._look, len(shown))
        asked = {"inputs": [self.run, self.moved], "outputs": [*shown, self._notice],
                 "show_progress": "hidden"}  # fmt: skip
        self.run.change(look, **asked)
        self._timer.tick(look, **asked)
        for button_, act in ((self._cancel, self._stop), (self._retry, self._again)):
            button_.click(parts.telling(act, 0), self.run, self._told, show_progress="hidden").then(
                look, **asked
            )
        self._units.act(
            parts.telling(self._unit_again, 1), self.run, [self.run, self._told],
            show_progress="hidden",
        )  # fmt: skip

    def _look(self, run_id: str, known: str) -> tuple[Any, ...]:
        """Show the run as it is now, and go on looking while it is alive.

        Its parts are read again only when one has ended.
        """
        hidden = gr.update(visible=False)
        if not run_id:
            return "", "", hidden, hidden, gr.update(active=False), gr.skip()
        run = self._workspace.store.runs.get(run_id)
        alive, may = run["state"] in LIVE, not self._workspace.read_only
        moved = " ".join(str(run[name]) for name in ("id", "attempt", "done", "failed", "state",
                                                     "total"))  # fmt: skip
        units: Any = gr.skip()
        if moved != known:
            units = parts_of(dict(run), self._workspace.store.runs.units(run_id), may)
        failed = run["state"] == "partly failed"
        return (
            card(dict(run)),
            units,
            gr.update(visible=alive and may),
            gr.update(visible=may and (failed or run["state"] in ("failed", "cancelled")),
                      value="Try what failed again" if failed else "Run it again"),
            gr.update(active=alive),
            moved,
        )  # fmt: skip

    def _unit_again(self, run_id: str, event: PageEvent) -> tuple[Any, str]:
        """Measure what failed once more: a run of its own, followed when this one is over."""
        from app.jobs.kinds import spec_of

        self._workspace.refuse_visitors()
        run = self._workspace.store.runs.get(run_id)
        spec = spec_of(run)
        encoder, task, seed = _measured(run["kind"], spec, event.number("id"))
        again = self._workspace.queue_evaluation([encoder], [task], spec["protocol"], seed)
        if run["state"] in LIVE:
            return gr.skip(), parts.say(f"{task} on {encoder} comes again after this run.")
        return again, ""

    def _stop(self, run_id: str) -> None:
        self._workspace.refuse_visitors()
        self._workspace.jobs.cancel(run_id)

    def _again(self, run_id: str) -> None:
        self._workspace.refuse_visitors()
        self._workspace.jobs.retry(run_id)


def parts_of(run: dict[str, Any], units: Sequence[UnitRow], may_retry: bool) -> str:
    """Every part of a run: the present one, what failed, what waits, what is done."""
    if not units or (len(units) == 1 and units[0]["error"] is None):
        return ""
    waiting = [unit for unit in units if unit["state"] == "waiting"]
    now = waiting[0] if waiting and run["state"] == "running" else None
    order = {"failed": 0, "left out": 1, "waiting": 2, "done": 3}
    rest = sorted((unit for unit in units if unit is not now), key=lambda u: order[u["state"]])
    counts = ", ".join(
        f"{sum(unit['state'] == state for unit in units)} {words}"
        for state, words in (
            ("done", "done"),
            ("failed", "failed"),
            ("left out", "left out"),
            ("waiting", "to do"),
        )
        if any(unit["state"] == state for unit in units)
    )
    retry = may_retry and run["kind"] == "evaluate"
    rows = "".join(_part(unit, unit is now, retry) for unit in ([now] if now else []) + rest)
    return (
        f'<section class="t-parts" aria-label="Parts of the run"><h3>Parts <small>{counts}</small>'
        f'</h3><ul tabindex="0" aria-label="Parts">{rows}</ul></section>'
    )


def _part(unit: UnitRow, now: bool, retry: bool) -> str:
    kind = {"done": "good", "failed": "bad"}.get(unit["state"], "live" if now else "")
    error = again = ""
    if unit["error"]:
        error = f'<small class="t-run-error">{escape(unit["error"])} {escape(unit["hint"])}</small>'
        if retry:
            again = button(
                "Try again", "unit", str(unit["position"]), about=f"Try {unit['label']} again"
            )
    took = "" if unit["seconds"] is None else formats.duration(unit["seconds"])
    return (
        f"<li>{parts.tag('running' if now else unit['state'], kind)}"
        f"<span>{escape(unit['label'])}{error}</span>{again}<span>{took}</span></li>"
    )


def card(run: dict[str, Any]) -> str:
    """One run: its title, its state, how far it is and how long still, what went wrong."""
    live = run["state"] in LIVE
    what = "" if live or not run["message"] else f". {run['message']}"
    present = ""
    if run["state"] == "running" and run["message"]:
        alone = run["total"] < 2
        bar = "" if alone else parts.bar(run["unit_fraction"], run["message"])
        present = f'<div class="t-present"><span>{escape(run["message"])}</span>{bar}</div>'
    if run["state"] == "queued":
        what = ". This page can be closed meanwhile"
    error = parts.failure(run["error"], run["hint"])
    log = address.link("jobs", run=run["id"])
    return (
        f'<div class="t-run" role="status"><p><strong>{escape(run["title"])}</strong> '
        f"{parts.tag(run['state'], progress.KINDS[run['state']])}"
        f'<a href="{escape(log)}">Its log</a></p>{progress.gauge(run) if live else ""}'
        f'<p class="t-muted">{escape(progress.how_far(run) + what)}</p>{present}{error}</div>'
    )


def _measured(kind: str, spec: Mapping[str, Any], number: int) -> tuple[str, str, int | None]:
    """Encoder, task and seed of a part of a run.

    Raises:
        UserError: there is no such part, or the run is no evaluation.
    """
    from app.jobs.kinds import questions

    found = questions(spec) if kind == "evaluate" else []
    if number >= len(found):
        raise UserError(f"This run has no part {number}.", "Load the page again.")
    return found[number]
