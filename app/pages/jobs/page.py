"""The page *Jobs*: the queue, and the details of a run."""

from collections import Counter
from typing import Any

import gradio as gr

from theodolite.app import formats
from theodolite.app.components.actions import actions, button
from theodolite.app.pages.jobs import service, views
from theodolite.app.pages.jobs.workers import in_fleet
from theodolite.app.web import address, parts, progress
from theodolite.app.web.controls import Answer, PageEvent, on, on_load, poll
from theodolite.app.workspace import Workspace
from theodolite.store import forget
from theodolite.store.run_rows import LIVE, RunRow

TITLE = "Jobs"
PATH = "jobs"
DESCRIPTION = "Jobs continue when this page is closed, and resume after a crash."
POLL_SECONDS = 1
LISTED = 100
LOG_LINES = 200


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    with parts.bar(TITLE, DESCRIPTION):
        status = parts.static("", elem_id="status")
    notice = parts.notice()
    with gr.Row(elem_classes=["t-split"]):
        queue = actions(elem_id="queue", elem_classes=["t-answer"])
        detail = actions(elem_id="run")
    selected = gr.State("")
    marks = gr.State([])

    def drawn(run_id: str) -> dict[Any, Any]:
        runs = workspace.store.runs.list(limit=LISTED)
        return {
            status: _status(workspace),
            queue: _queue(workspace, runs, run_id),
            detail: _detail(workspace, run_id) if run_id else "",
            selected: run_id,
            marks: _marks(workspace, runs, run_id),
        }

    def load(request: gr.Request) -> Answer:
        return drawn(address.first(request, "run"))

    def refresh(run_id: str, known: list[Any]) -> Answer:
        runs = workspace.store.runs.list(limit=LISTED)
        if _marks(workspace, runs, run_id) == known:
            return None
        # `chosen` is left out: another run may have been opened during this poll.
        return {view: value for view, value in drawn(run_id).items() if view is not selected}

    def act(run_id: str, event: PageEvent) -> Answer:
        if event.act == "open":
            return drawn("" if event.id == run_id else event.id)
        text = service.act(workspace, event.act, event.id)
        gone = event.act == "remove" and event.id == run_id
        return {**drawn("" if gone else run_id), notice: parts.say(text)}

    outputs = [status, queue, detail, selected, marks]
    opened = on_load(load, outputs, notice)
    poll(POLL_SECONDS, opened, refresh, [selected, marks], [status, queue, detail, marks])
    for part in (queue, detail):
        on(part.act, act, [selected], outputs, notice, **parts.HIDE_PROGRESS)


def _marks(workspace: Workspace, runs: list[RunRow], run_id: str) -> list[Any]:
    """The state whose change redraws the page."""
    is_live = any(run["id"] == run_id and run["state"] == "running" for run in runs)
    lines = len(workspace.store.logs.lines(run_id)) if is_live else run_id
    return [progress.signature(runs), [run["asked"] for run in runs], lines]


def _status(workspace: Workspace) -> str:
    """The numbers of running and waiting runs, and of workers."""
    store = workspace.store
    count = Counter(run["state"] for run in store.runs.list(LIVE, limit=10_000))
    words = f"{count['running']} running, {count['queued']} waiting"
    if not workspace.read_only:
        here = len(store.workers.list())
        words += f", {formats.plural(here, 'worker')}" if here else ", no worker is running yet"
    if in_fleet(workspace):
        words += f' here; those of the fleet are on <a href="{address.link("workers")}">Workers</a>'
    return f'<p class="t-status" role="status">{words}</p>'


def _queue(workspace: Workspace, runs: list[RunRow], run_id: str) -> str:
    if not runs:
        return views.empty_list(workspace.read_only)
    others_wait = sum(run["state"] == "queued" for run in runs) > 1
    items = []
    for run in runs:
        opened = run["id"] == run_id
        title = button(
            run["title"],
            "open",
            run["id"],
            about=f"{run['title']}, {run['state']}: show details",
            param=("run", "" if opened else run["id"]),
            kind="link",
        )
        verbs = views.buttons(workspace, run, others_wait=others_wait)
        items.append(views.item(run, title, views.about(run), verbs, is_open=opened))
    return views.run_list(items, "Runs, the newest first")


def _detail(workspace: Workspace, run_id: str) -> str:
    store = workspace.store
    return views.detail(
        store.runs.get(run_id),
        store.runs.units(run_id),
        store.logs.lines(run_id)[-LOG_LINES:],
        forget.size(store, run_id),
        button("Close", "open", run_id, about="Close the details", param=("run", ""), kind="link"),
    )
