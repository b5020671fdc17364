"""The page *Jobs*: the queue, and one run in full."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import formats
from app.components.actions import actions, button
from app.web import address, parts, progress
from app.web.events import PageEvent

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Jobs"
PATH = "jobs"
POLL_SECONDS = 1
LISTED = 100
LOG_LINES = 200


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(
        "Jobs",
        "Work goes on when this page is closed, and takes up where it was after a crash.",
    )
    notice = parts.notice()
    queue = actions(elem_id="queue")
    detail = actions(elem_id="run")
    chosen = gr.State("")
    seen = gr.State([])

    def drawn(run_id: str) -> tuple[Any, ...]:
        runs = workspace.store.runs.list(limit=LISTED)
        opened = _detail(workspace, run_id) if run_id else ""
        return _queue(workspace, runs, run_id), opened, run_id, _marks(workspace, runs, run_id)

    def load(request: gr.Request) -> tuple[Any, ...]:
        return drawn(address.first(request, "run"))

    def poll(run_id: str, known: list[Any]) -> tuple[Any, ...]:
        runs = workspace.store.runs.list(limit=LISTED)
        if _marks(workspace, runs, run_id) == known:
            return tuple(gr.skip() for _ in shown)
        return drawn(run_id)

    def act(run_id: str, event: PageEvent) -> tuple[Any, ...]:
        said = ""
        if event.act == "open":
            run_id = "" if event.id == run_id else event.id
        elif not workspace.read_only:
            said = _do(workspace, event.act, event.id)
            if event.act == "remove" and event.id == run_id:
                run_id = ""
        return (*drawn(run_id), parts.say(said) if said else "")

    shown = [queue, detail, chosen, seen]
    opened = parts.on_load(parts.telling(load, 4), None, [*shown, notice])
    parts.poll(POLL_SECONDS, opened, poll, [chosen, seen], shown)
    for part in (queue, detail):
        part.act(parts.telling(act, 4), chosen, [*shown, notice], show_progress="hidden")


def _do(workspace: Workspace, act: str, run_id: str) -> str:
    title = workspace.store.runs.get(run_id)["title"]
    if act == "cancel":
        workspace.jobs.cancel(run_id)
        return f"Cancelled: {title}. What it finished is kept."
    if act == "retry":
        workspace.jobs.retry(run_id)
        return f"Queued again: {title}. What is done is not done twice."
    if act == "remove":
        size = workspace.jobs.size(run_id)
        if not workspace.jobs.remove(run_id):
            return f"Not over yet: {title}."
        return f"Removed: {title}, {formats.size(size)} of events and log. Its results are kept."
    if act == "next":
        moved = workspace.jobs.prioritise(run_id)
        return f"Next in line: {title}." if moved else f"No longer waiting: {title}."
    return ""


def _marks(workspace: Workspace, runs: list[Any], run_id: str) -> list[Any]:
    """What decides whether the page is drawn anew."""
    open_run = next((run for run in runs if run["id"] == run_id), None)
    live = open_run is not None and open_run["state"] == "running"
    return [*progress.signature(runs), len(workspace.store.logs.lines(run_id)) if live else run_id]


def _queue(workspace: Workspace, runs: list[Any], run_id: str) -> str:
    if not runs:
        return parts.empty(
            "Nothing was queued yet",
            "Evaluations run here in the background, one after the other.",
            None if workspace.read_only else ("Evaluate", "./evaluate"),
        )
    status = workspace.jobs.status()
    workers = formats.plural(len(status["workers"]), "worker")
    if not status["workers"]:
        workers = "no worker is up yet, so work waits"
    words = (f"{status['running']} running", f"{status['queued']} waiting", workers)
    can_move = status["queued"] > 1
    rows = "".join(
        _row(run, run["id"] == run_id, "" if workspace.read_only else _verbs(run, can_move))
        for run in runs
    )
    return (
        f'<p class="t-status" role="status">{escape(", ".join(words))}</p>'
        f'<ul class="t-runs" aria-label="Runs, the newest first">{rows}</ul>'
    )


def _row(run: dict[str, Any], opened: bool, verbs: str) -> str:
    state = parts.tag(run["state"], progress.KINDS[run["state"]])
    title = button(
        run["title"], "open", run["id"], about=f"{run['title']}, {run['state']}: show details",
        param=("run", "" if opened else run["id"]), kind="link",
    )  # fmt: skip
    about = progress.how_far(run)
    if run["state"] == "running" and run["message"]:
        about += f". {run['message']}"
    if run["error"]:
        about = run["error"] if run["state"] == "failed" else f"{about}: {run['error']}"
    if run["state"] == "queued" and run["priority"]:
        about += f", priority {run['priority']} (lower runs earlier)"
    gauge = progress.gauge(run) if run["state"] == "running" else ""
    return (
        f'<li class="{"t-open" if opened else ""}"><div>{state}</div>'
        f"<div>{title}<p>{escape(about)}</p>{gauge}</div>"
        f'<div class="t-muted t-small">{formats.ago(run["created"])}</div>'
        f'<div class="t-verbs">{verbs}</div></li>'
    )


def _verbs(run: dict[str, Any], can_move: bool) -> str:
    if run["state"] in ("queued", "running"):
        first = ""
        if run["state"] == "queued" and can_move:
            first = button("Run next", "next", run["id"], about=f"Run {run['title']} next")
        return first + button("Cancel", "cancel", run["id"], about=f"Cancel {run['title']}")
    retry = ""
    if run["state"] in ("failed", "partly failed", "cancelled"):
        retry = button("Retry", "retry", run["id"], about=f"Retry {run['title']}")
    about = f"Remove {run['title']} with its events and log; results are kept"
    return retry + button("Remove", "remove", run["id"], about=about)


def _detail(workspace: Workspace, run_id: str) -> str:
    """One run: what went wrong, its units, its log."""
    run = workspace.store.runs.get(run_id)
    error = ""
    if run["error"]:
        hint = f"<p>{escape(run['hint'])}</p>" if run["hint"] else ""
        error = (
            '<div class="t-notice t-bad">'
            f"<p><strong>{escape(run['error'])}</strong></p>{hint}</div>"
        )
    units = [
        (
            parts.tag(unit["state"], {"done": "good", "failed": "bad"}.get(unit["state"], "")),
            escape(unit["label"])
            + (
                f'<br><small class="t-muted">{escape(unit["error"])}</small>'
                if unit["error"]
                else ""
            ),
            escape(formats.duration(unit["seconds"])),
        )
        for unit in workspace.store.runs.units(run_id)
    ]
    table = parts.table(("State", "Part", "Took"), units, "Parts of the run", (2,)) if units else ""
    lines = workspace.store.logs.lines(run_id)[-LOG_LINES:]
    log = "\n".join(lines) if lines else "Nothing was written yet."
    close = button(
        "Close", "open", run_id, about="Close the details", param=("run", ""), kind="link"
    )
    return (
        f'<section class="t-card" aria-label="Run"><h2>{escape(run["title"])} '
        f"<small>{escape(run['state'])}</small></h2>{error}"
        f'<div class="t-two"><div>{table}</div><div><h3>Log</h3>'
        '<pre class="t-log" role="log" tabindex="0" aria-label="Log">'
        f'{escape(log)}</pre><p class="t-muted t-small">Events and log take '
        f"{formats.size(workspace.jobs.size(run_id))}.</p></div></div>{close}</section>"
    )
