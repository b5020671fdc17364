"""Data for the frame of an open page: the targets of the jump palette, and the number of runs.

Visitors get only what the pages list to them as well: names of encoders and data sets, tasks, and
titles of runs. The browser inserts every text as text, not as HTML.
"""

from collections.abc import Iterator, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from theodolite.app.names import labelled
from theodolite.app.web import address
from theodolite.app.web.frame import Entry
from theodolite.app.web.routes import NO_STORE
from theodolite.app.workspace import Workspace
from theodolite.store.errors import StoreError
from theodolite.store.run_rows import LIVE

MAX_RUNS = 200


Place = dict[str, str]
"""A target of the jump palette: its kind, title, a detail beside it as `note`, and `href`."""


def places(workspace: Workspace, rail: Sequence[Sequence[Entry]]) -> Iterator[Place]:
    """Every page, encoder, data set, task and run, in this order."""
    from theodolite.engine import tasks

    for kind, title, note, href in (
        *_pages(rail),
        *(
            ("encoder", labelled(row["name"]), "", address.link("encoders", encoder=row["name"]))
            for row in workspace.store.encoders.list()
        ),
        *(
            ("data set", info.name, info.kind or "", address.link("data", set=info.name))
            for info in workspace.catalog.list()
        ),
        *(
            ("task", task.name, task.type, address.link("compare", task=task.name))
            for task in tasks.available(workspace.catalog)
        ),
        *(
            ("run", labelled(run["title"]), run["state"], address.link("jobs", run=run["id"]))
            for run in workspace.store.runs.list(limit=MAX_RUNS)
        ),
    ):
        yield {"kind": kind, "title": title, "note": note, "href": href}


def _pages(rail: Sequence[Sequence[Entry]]) -> Iterator[tuple[str, str, str, str]]:
    for entry in (entry for group in rail for entry in group):
        for label, page in entry.pages.items():
            title = f"{entry.title}: {label}" if len(entry.pages) > 1 else entry.title
            yield "page", title, "", address.link(page.PATH)


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
