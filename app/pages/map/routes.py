"""The numbers and texts of maps over HTTP, behind the same login as the pages.

A request names a map by its content key and a column by its name; no part of a request becomes a
path. All routes are open to visitors: none changes anything.
"""

from __future__ import annotations

import asyncio
import io
import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from theodolite.app import formats
from theodolite.app.pages.map import service
from theodolite.app.web.routes import FOREVER
from theodolite.engine.errors import UserError
from theodolite.store.errors import StoreError

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.workspace import Workspace

MAX_TEXTS = 200
MAX_ROWS = 2_000_000
MAX_CHARACTERS = 2000

_BELOW = "/theodolite/map/{key:str}/"
_BINARY = "application/octet-stream"


Answer = Callable[["Workspace", service.StoredMap, Request], Response]
Taking = Callable[["Workspace", service.StoredMap, bytes], Response]


def routes(workspace: Workspace) -> list[Route]:
    """All routes below `theodolite/map/KEY`."""

    def at(path: str, answer: Answer) -> Route:
        def respond(request: Request) -> Response:
            return _answered(workspace, request, lambda found: answer(workspace, found, request))

        return Route(_BELOW + path, respond)

    def given(path: str, most: int, answer: Taking) -> Route:
        async def respond(request: Request) -> Response:
            body = b""
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    return PlainTextResponse("Too many at once", status_code=413)
            return await asyncio.to_thread(
                _answered, workspace, request, lambda found: answer(workspace, found, body)
            )

        return Route(_BELOW + path, respond, methods=["POST"])

    def unfinished(request: Request) -> Response:
        points = workspace.store.projections.unfinished(request.path_params["key"])
        kept = {"Cache-Control": "no-store"}
        if points is None:
            return Response(status_code=204, headers=kept)
        return Response(points, media_type=_BINARY, headers=kept)

    return [
        Route(_BELOW + "unfinished", unfinished),
        at("points", _points),
        at("column/{name:str}", _column),
        at("texts", _texts),
        at("find", _find),
        at("point", _point),
        at("decode", _decode),
        given("place", 4 * MAX_CHARACTERS, _place),
        given("table.csv", 4 * MAX_ROWS, _csv),
        given("spreadsheet.csv", 4 * MAX_ROWS, partial(_csv, spreadsheet=True)),
        given("table.parquet", 4 * MAX_ROWS, _parquet),
    ]


def _answered(
    workspace: Workspace, request: Request, answer: Callable[[service.StoredMap], Response]
) -> Response:
    found = service.stored(workspace, request.path_params["key"])
    if found is None:
        return PlainTextResponse("There is no such map", status_code=404)
    try:
        return answer(found)
    except (UserError, StoreError) as error:
        return PlainTextResponse(str(error), status_code=400)


def _point(workspace: Workspace, found: service.StoredMap, request: Request) -> Response:
    chosen = _numbers(request.query_params.get("id", ""), len(found.points))
    if len(chosen) != 1:
        return PlainTextResponse("There is no such point", status_code=404)
    return JSONResponse(service.point(workspace, found, chosen[0], service.NEIGHBOURS))


def _decode(workspace: Workspace, found: service.StoredMap, request: Request) -> Response:
    """Decode a position on the plane."""
    from theodolite.app.pages.map import decoding

    try:
        x, y = (float(request.query_params.get(name, "")) for name in "xy")
    except ValueError:
        return PlainTextResponse("A position has two numbers, x and y", status_code=404)
    if not (math.isfinite(x) and math.isfinite(y)) or not len(found.points):
        return PlainTextResponse("There is no such position", status_code=404)
    return JSONResponse(decoding.decoded(workspace, found, x, y))


def _place(workspace: Workspace, found: service.StoredMap, body: bytes) -> Response:
    text = body.decode("utf-8", "replace").strip()[:MAX_CHARACTERS]
    return JSONResponse(service.place(workspace, found, text, service.NEIGHBOURS))


def _points(workspace: Workspace, found: service.StoredMap, request: Request) -> Response:
    return Response(found.points.tobytes(), media_type=_BINARY, headers=FOREVER)


def _column(workspace: Workspace, found: service.StoredMap, request: Request) -> Response:
    values = found.values.get(request.path_params["name"])
    if values is None:
        return PlainTextResponse("The map has no such column", status_code=404)
    return Response(values.tobytes(), media_type=_BINARY, headers=FOREVER)


def _texts(workspace: Workspace, found: service.StoredMap, request: Request) -> Response:
    """Texts of the points with the given ids."""
    numbers = _numbers(request.query_params.get("ids", ""), len(found.sentences))
    if not numbers:
        return PlainTextResponse(f"Name 1 to {MAX_TEXTS} points", status_code=404)
    return JSONResponse([formats.encodable(found.sentences[i]) for i in numbers])


def _find(workspace: Workspace, found: service.StoredMap, request: Request) -> Response:
    """Ids of the points whose text contains some words or matches a pattern; or an error text."""
    import numpy as np

    from theodolite.app.pages.search import service as retrieval

    wanted = request.query_params.get("text", "")[:MAX_CHARACTERS].strip()
    if request.query_params.get("pattern"):
        try:
            hits = [i for i, *_ in retrieval.matches(wanted, found.sentences)]
        except UserError as error:  # returned as text: browsers log a 400 as an error
            return PlainTextResponse(str(error))
    else:
        folded = wanted.casefold()
        hits = [i for i, text in enumerate(found.sentences) if folded in text.casefold()]
    return Response(np.array(hits, "<u4").tobytes(), media_type=_BINARY)


def _numbers(text: str, n: int) -> list[int]:
    """Parse comma-separated ids of points; empty if any is invalid or there are too many."""
    parts = text.split(",")
    if len(parts) > MAX_TEXTS or not all(p.isascii() and p.isdigit() for p in parts):
        return []
    numbers = [int(part[:12]) for part in parts]
    return numbers if all(number < n for number in numbers) else []


def _csv(
    workspace: Workspace, found: service.StoredMap, body: bytes, *, spreadsheet: bool = False
) -> Response:
    ids = _ids(found, body)
    if ids is None:
        return PlainTextResponse("These points are not on the map", status_code=404)
    text = service.table(found, ids, spreadsheet=spreadsheet).to_csv(
        index=False, lineterminator="\r\n"
    )
    return Response(text.encode("utf-8", "replace"), media_type="text/csv; charset=utf-8")


def _parquet(workspace: Workspace, found: service.StoredMap, body: bytes) -> Response:
    ids = _ids(found, body)
    if ids is None:
        return PlainTextResponse("These points are not on the map", status_code=404)
    held = io.BytesIO()
    service.table(found, ids).to_parquet(held, index=False)
    return Response(held.getvalue(), media_type=_BINARY)


def _ids(found: service.StoredMap, body: bytes) -> np.ndarray | None:
    import numpy as np

    if len(body) % 4:
        return None
    ids = np.frombuffer(body, "<u4")
    return ids if (ids < len(found.points)).all() else None
