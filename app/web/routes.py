"""Our own routes beside Gradio's: plotly.js and a few static files, behind the same guard.

Files are named by constants of ours and never by a part of a request.
"""

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from theodolite.app.web.guard.requests import HEALTH, UPLOAD
from theodolite.app.web.theme import PALETTE, STATIC
from theodolite.store.errors import StoreError

FOREVER = {"Cache-Control": "private, max-age=31536000, immutable"}
NO_STORE = {"Cache-Control": "no-store"}
PLOTLY_JS = f"theodolite/plotly-{version('plotly')}.min.js"
ICON_SIZES = (192, 512)
"""Icon sizes that a browser requires before it offers to install the app."""
ICONS = {**{str(size): size for size in ICON_SIZES}, "maskable": 512}
"""The maskable icon has a margin: a phone may crop icons to a circle."""


def plotly_file() -> Path:
    """The plotly.js inside the installed package, found without importing the package."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the package plotly is not installed")
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"


def _file(address: str, find: Callable[[], Path], kind: str) -> Route:
    """The route of one file, which a browser may cache for ever."""
    return Route(address, lambda _: FileResponse(find(), media_type=kind, headers=FOREVER))


def _manifest(request: Request) -> Response:
    icons = [
        {
            "src": f"./pwa_icon/{name}",
            "sizes": f"{size}x{size}",
            "type": "image/png",
            "purpose": "maskable" if name == "maskable" else "any",
        }
        for name, size in ICONS.items()
    ]
    manifest = {
        "name": "Theodolite",
        "description": "A workbench for sentence embeddings",
        "icons": icons,
        "start_url": "./",
        "scope": "./",
        "display": "standalone",
        "theme_color": PALETTE["paper"][0],
        "background_color": PALETTE["paper"][0],
    }
    return JSONResponse(manifest, media_type="application/manifest+json")


def _no_icon(request: Request) -> Response:
    return PlainTextResponse("Not found", status_code=404)


def _no_uploads(request: Request) -> Response:
    return PlainTextResponse("Visitors cannot upload files", status_code=403)


def health(well: Callable[[], object]) -> Route:
    """The route of the health check, for a proxy or a container.

    Args:
        well: raises a StoreError when the store cannot be read.
    """

    def answer(request: Request) -> Response:
        try:
            well()
        except StoreError:
            return JSONResponse({"status": "the store cannot be read"}, 503, NO_STORE)
        return JSONResponse({"status": "ok"}, headers=NO_STORE)

    return Route(HEALTH, answer)


def routes(*, uploads: bool = True) -> list[Route]:
    """Our routes beside the pages.

    Args:
        uploads: False refuses uploads ahead of Gradio's own route, which exists with or without a
            control that uses it.
    """
    ours = [
        _file(f"/{PLOTLY_JS}", plotly_file, "text/javascript"),
        _file("/theodolite/mark.svg", lambda: STATIC / "mark.svg", "image/svg+xml"),
        # Gradio makes these from the page's icon, which it cannot do from an SVG.
        *(
            _file(f"/pwa_icon/{name}", partial(Path, STATIC, f"icon-{name}.png"), "image/png")
            for name in ICONS
        ),
        Route("/pwa_icon/{name:path}", _no_icon),
        Route("/manifest.json", _manifest),
    ]
    return ours if uploads else [*ours, Route(UPLOAD, _no_uploads, methods=["POST"])]
