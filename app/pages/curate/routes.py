"""The tables of curation over HTTP, behind the same login as the pages.

A request names a table by its content key; no part of a request becomes a path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from theodolite.app.pages.curate import service, tables

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace


def routes(workspace: Workspace) -> list[Route]:
    """The route `theodolite/curation/KEY.csv`, with `?spreadsheet=1` for spreadsheets."""

    def respond(request: Request) -> Response:
        found = service.stored(workspace, request.path_params["key"])
        if found is None:
            return PlainTextResponse("No such table", status_code=404)
        name = f"theodolite-{found.job.check}-{found.key[:8]}.csv"
        return Response(
            tables.csv(found, spreadsheet="spreadsheet" in request.query_params),
            media_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    return [Route("/theodolite/curation/{key:str}.csv", respond)]
