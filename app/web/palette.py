"""Data for the frame of an open page: the targets of the jump palette, and the number of runs.

Visitors get only what the pages list to them as well: names of encoders and data sets, tasks, and
titles of runs. The browser inserts every text as text, not as HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypedDict

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from theodolite.app.web import address
from theodolite.app.web.frame import Entry
from theodolite.app.web.routes import NO_STORE
from theodolite.store.errors import StoreError
from theodolite.store.run_rows import LIVE

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.engine.tasks import Task

MAX_RUNS = 200


class Place(TypedDict):
    """A target of the jump palette; `note` is a detail beside its title."""

    kind: str
    title: str
    note: str
    href: str


def places(workspace: Workspace, rail: Sequence[Sequence[Entry]]) -> Iterator[Place]:
    """Every page, encoder, data set, task and run, in this order."""
    for entry in (entry for group in rail for entry in group):
        for label, page in entry.pages.items():
            title = f"{entry.title}: {label}" if len(entry.pages) > 1 else entry.title
            yield Place(kind="page", title=title, note="", href=address.link(page.PATH))
    for row in workspace.store.encoders.list():
        name = row["name"]
        yield Place(
            kind="encoder", title=name, note="", href=address.link("encoders", encoder=name)
        )
    for info in workspace.catalog.list():
        href = address.link("data", set=info.name)
        yield Place(kind="data set", title=info.name, note=info.kind or "", href=href)
    for task in _tasks(workspace):
        href = address.link("compare", task=task.name)
        yield Place(kind="task", title=task.name, note=task.type, href=href)
    for run in workspace.store.runs.list(limit=MAX_RUNS):
        href = address.link("jobs", run=run["id"])
        yield Place(kind="run", title=run["title"], note=run["state"], href=href)


def _tasks(workspace: Workspace) -> Iterable[Task]:
    from theodolite.engine import tasks

    return tasks.available(workspace.catalog)


def routes(workspace: Workspace, rail: Sequence[Sequence[Entry]]) -> list[Route]:
    """The two routes."""

    def jump(request: Request) -> Response:
        return JSONResponse(list(places(workspace, rail)), headers=NO_STORE)

    def live(request: Request) -> Response:
        try:
            runs = workspace.store.runs.list(LIVE)
        except StoreError:  # the pages show the error
            runs = []
        running = [run["fraction"] for run in runs if run["state"] == "running"]
        share = sum(running) / len(running) if running else 0.0
        counts = {"running": len(running), "queued": len(runs) - len(running), "share": share}
        return JSONResponse(counts, headers=NO_STORE)

    return [Route("/theodolite/places.json", jump), Route("/theodolite/live.json", live)]
