"""Our own addresses beside Gradio's: plotly.js and a few static files, behind the same login.

Files are named by constants of ours and never by a part of a request.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from app.theme import STATIC

FOREVER = {"Cache-Control": "private, max-age=31536000, immutable"}
PLOTLY_JS = f"theodolite/plotly-{version('plotly')}.min.js"
UPLOAD = "/gradio_api/upload"


def plotly_file() -> Path:
    """The plotly.js inside the installed package, found without importing the package."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the package plotly is not installed")
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"


async def signed_in(request: Request) -> bool:
    """The test Gradio makes for its own routes: routes given to it by us do not pass through it."""
    app = request.app
    if app.auth_dependency is not None:
        user = app.auth_dependency(request)
        return (await user if inspect.isawaitable(user) else user) is not None
    if app.auth is None:
        return True
    names = (f"access-token-{app.cookie_id}", f"access-token-unsecure-{app.cookie_id}")
    return any(app.tokens.get(request.cookies.get(name)) is not None for name in names)


def guarded(
    answer: Callable[[Request], Response | Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """Answer only people who are signed in; others get 401."""

    async def route(request: Request) -> Response:
        if not await signed_in(request):
            return PlainTextResponse("Not authenticated", status_code=401)
        if inspect.iscoroutinefunction(answer):
            return await answer(request)
        return await asyncio.to_thread(answer, request)  # type: ignore[arg-type]

    return route


def _plotly(request: Request) -> Response:
    return FileResponse(plotly_file(), media_type="text/javascript", headers=FOREVER)


def _mark(request: Request) -> Response:
    return FileResponse(STATIC / "mark.svg", media_type="image/svg+xml", headers=FOREVER)


def _no_uploads(request: Request) -> Response:
    return PlainTextResponse("Visitors cannot upload files", status_code=403)


def routes(*, uploads: bool = True) -> list[Route]:
    """Everything of ours that is served over HTTP beside the pages.

    Args:
        uploads: False puts a refusal before Gradio's own upload, which is there with or without a
            control that uses it.
    """
    ours = [
        Route(f"/{PLOTLY_JS}", guarded(_plotly)),
        Route("/theodolite/mark.svg", guarded(_mark)),
    ]
    return ours if uploads else [*ours, Route(UPLOAD, guarded(_no_uploads), methods=["POST"])]
