"""The numbers and texts of maps over HTTP, behind the same login as the pages.

A request names a map by its content key and a column by its name; no part of a request becomes a
path. All routes are open to visitors but the one that stores a data set.
"""

# FastAPI reads the annotations of functions, which therefore are not postponed here.

import io
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Annotated, Any, Self

import numpy as np
from fastapi import APIRouter, Depends, HTTPException, Query
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field, model_validator
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from theodolite.app import formats
from theodolite.app.components.map import NEIGHBOURS
from theodolite.app.pages.decode import service as decode
from theodolite.app.pages.map import service
from theodolite.app.pages.map.service import StoredMap
from theodolite.app.web import address
from theodolite.app.web.routes import FOREVER, NO_STORE
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store.errors import StoreError

MAX_TEXTS = 200
MAX_ROWS = 2_000_000
MAX_CHARACTERS = 2000
_BINARY = "application/octet-stream"
Number = Annotated[float, Query(allow_inf_nan=False)]


NEAREST = 8
"""Number of nearest points whose vectors are averaged when a position is decoded."""


class Selection(BaseModel):
    """Points to store as a data set, with a label each, or without labels."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    ids: Annotated[list[int], Field(min_length=1, max_length=MAX_ROWS)]
    labels: list[str] = []

    @model_validator(mode="after")
    def fits(self) -> Self:
        """There is a label for each point, or none."""
        if len(self.labels) not in (0, len(self.ids)):
            raise ValueError("a label is missing")
        return self


class _Route(APIRoute):
    """A route whose errors are a sentence: 404 for what is not there."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def respond(request: Request) -> Response:
            try:
                return await handle(request)
            except HTTPException as error:
                return PlainTextResponse(error.detail, error.status_code)
            except RequestValidationError as error:
                where = ", ".join(str(one["loc"][-1]) for one in error.errors())
                return PlainTextResponse(f"There is nothing of that {where}", 404)
            except (UserError, StoreError) as error:
                return PlainTextResponse(str(error), 400)

        return respond


def _body(most: int) -> Any:
    """The body of a request, of at most so many bytes."""

    async def read(request: Request) -> bytes:
        body = await request.body()  # which the guard bounds while it is read
        if len(body) > most:
            raise HTTPException(413, "Too many at once")
        return body

    return Depends(read)


def _there(ids: np.ndarray, stored: StoredMap) -> np.ndarray:
    """The ids, if the map has all of these points."""
    if not ((ids >= 0) & (ids < len(stored.points))).all():
        raise HTTPException(404, "These points are not on the map")
    return ids


def routes(workspace: Workspace) -> list[BaseRoute]:
    """All routes below `theodolite/map/KEY`."""
    router = APIRouter(prefix="/theodolite/map/{key}", route_class=_Route)

    def opened(key: str) -> StoredMap:
        stored = service.stored(workspace, key)
        if stored is None:
            raise HTTPException(404, "There is no such map")
        return stored

    @router.get("/unfinished")
    def unfinished(key: str) -> Response:
        points = workspace.store.derived.unfinished(key)
        status = 204 if points is None else 200
        return Response(points, status, NO_STORE, _BINARY)

    needed = Depends(opened)
    _add_points(router, needed)
    _add_places(router, workspace, needed)
    _add_tables(router, workspace, needed)
    return router.routes


def _add_points(router: APIRouter, needed: Any) -> None:
    """Coordinates, columns and texts."""

    @router.get("/points")
    def points(stored: StoredMap = needed) -> Response:
        return Response(stored.points.tobytes(), headers=FOREVER, media_type=_BINARY)

    @router.get("/column/{name}")
    def column(name: str, stored: StoredMap = needed) -> Response:
        if name not in stored.values:
            raise HTTPException(404, "The map has no such column")
        return Response(stored.values[name].tobytes(), headers=FOREVER, media_type=_BINARY)

    @router.get("/texts")
    def texts(
        ids: Annotated[
            list[Annotated[int, Query(ge=0)]], Query(min_length=1, max_length=MAX_TEXTS)
        ],
        stored: StoredMap = needed,
    ) -> Response:
        _there(np.array(ids), stored)
        return JSONResponse([formats.encodable(stored.sentences[i]) for i in ids])

    @router.get("/find")
    def find(text: str = "", pattern: bool = False, stored: StoredMap = needed) -> Response:
        """Ids of the points whose text contains some words or matches a pattern; or an error."""
        from theodolite.app.pages.search import service as retrieval

        sentence = text[:MAX_CHARACTERS].strip()
        if pattern:
            try:
                hits = [i for i, *_ in retrieval.matches(sentence, stored.sentences)]
            except UserError as error:  # returned as text: browsers log a 400 as an error
                return PlainTextResponse(str(error))
        else:
            folded = sentence.casefold()
            hits = [i for i, text in enumerate(stored.sentences) if folded in text.casefold()]
        return Response(np.array(hits, "<u4").tobytes(), media_type=_BINARY)


def _add_places(router: APIRouter, workspace: Workspace, needed: Any) -> None:
    """A point, a position, a new sentence."""

    @router.get("/point")
    def point(id: Annotated[int, Query(ge=0)], stored: StoredMap = needed) -> Response:
        _there(np.array([id]), stored)
        return JSONResponse(service.point(workspace, stored, id, NEIGHBOURS))

    @router.get("/decode")
    def decode(x: Number, y: Number, stored: StoredMap = needed) -> Response:
        """Decode a position on the plane."""
        if not len(stored.points):
            raise HTTPException(404, "There is no such position")
        return JSONResponse(decode_at(workspace, stored, x, y))

    @router.post("/place")
    def place(body: bytes = _body(4 * MAX_CHARACTERS), stored: StoredMap = needed) -> Response:
        text = body.decode("utf-8", "replace").strip()[:MAX_CHARACTERS]
        return JSONResponse(service.place(workspace, stored, text, NEIGHBOURS))


def _add_tables(router: APIRouter, workspace: Workspace, needed: Any) -> None:
    """Files of the points whose ids are the body, uint32; and a data set of them.

    With labels of one's own, the body goes on with the place of each point's in `own`.
    """

    def rows(
        own: Annotated[tuple[str, ...], Query()] = (),
        body: bytes = _body(8 * MAX_ROWS),
        stored: StoredMap = needed,
    ) -> Callable[..., Any]:
        if len(body) % (8 if own else 4):
            raise HTTPException(404, "These points are not on the map")
        ids, *places = np.frombuffer(body, "<u4").reshape(2 if own else 1, -1)
        if places and (places[0] >= len(own)).any():
            raise HTTPException(404, "There is no such label")
        labels = {"own": [own[i] for i in places[0]]} if places else None
        return partial(service.table, stored, _there(ids, stored), labels)

    chosen = Depends(rows)

    @router.post("/{name}.csv")
    def csv(name: str, table: Callable[..., Any] = chosen) -> Response:
        text = table(spreadsheet=name == "spreadsheet").to_csv(index=False, lineterminator="\r\n")
        return Response(text.encode("utf-8", "replace"), media_type="text/csv; charset=utf-8")

    @router.post("/table.parquet")
    def parquet(table: Callable[..., Any] = chosen) -> Response:
        buffer = io.BytesIO()
        table().to_parquet(buffer, index=False)
        return Response(buffer.getvalue(), media_type=_BINARY)

    @router.post("/dataset")
    def dataset(selection: Selection, stored: StoredMap = needed) -> Response:
        workspace.refuse_visitors()
        _there(np.array(selection.ids), stored)
        try:
            name = service.keep(workspace, stored, selection.name, selection.ids, selection.labels)
        except (UserError, StoreError) as error:  # returned as text: browsers log a 400 as an error
            return PlainTextResponse(str(error))
        return JSONResponse({"name": name})


def nearest_points(points: np.ndarray, x: float, y: float, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The points nearest to a position on the plane, with interpolation weights.

    Weights are inverse squared distances (Shepard 1968): a position on a point is that point.

    Returns:
        int64 (k,) ids, nearest first; float64 (k,) weights that sum to 1.
    """
    away = ((np.asarray(points, np.float64) - (x, y)) ** 2).sum(axis=1)
    near = np.argsort(away, kind="stable")[: min(k, len(away))]
    if away[near[0]] == 0:
        weights = (away[near] == 0).astype(np.float64)
    else:
        weights = away[near[0]] / away[near]  # relative to the nearest: no overflow near a point
    return near, weights / weights.sum()


def decode_at(workspace: Workspace, stored: StoredMap, x: float, y: float) -> dict[str, Any]:
    """Decode a position as the weighted mean of the full vectors of the nearest points.

    Returns:
        `x`, `y`, and `sentence`, `cosine` (of the re-encoded sentence to the mean), `dim`,
        `neighbours` (each with `id`, `text`, `weight`); or `lacking` (the encoder), `training`
        (where one is trained) and `time` (of that) without a decoder; or `failure` and `hint`.
    """
    encoder = stored.info["encoder"]
    ids, weights = nearest_points(stored.points, x, y, NEAREST)
    rows = service.vectors(workspace, encoder, stored.info["dataset"])
    place: dict[str, Any] = {"x": x, "y": y}
    try:
        (result,) = decode.open_decoder(workspace, encoder).decode((weights @ rows[ids])[None])
    except decode.NoDecoder as error:
        way = address.link("train-decoder", encoder=encoder) if error.trains else ""
        return place | {"lacking": encoder, "training": way, "time": error.took}
    except UserError as error:  # returned as a value: browsers log a 400 as an error
        return place | {"failure": error.message, "hint": error.hint}
    near = [
        {"id": int(i), "text": formats.encodable(stored.sentences[i]), "weight": float(weight)}
        for i, weight in zip(ids, weights, strict=True)
        if weight >= 0.0005
    ]
    return place | {
        "sentence": formats.encodable(result.sentence),
        "cosine": result.cosine or 0.0,
        "dim": rows.shape[1],
        "neighbours": near,
    }
