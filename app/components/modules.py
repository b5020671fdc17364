"""The JavaScript modules of the components, served under a hash of their content.

They are read once, when the app starts: an address selects a constant of ours and never a path, and
a browser may cache a module for ever.
"""

import base64
import posixpath
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from theodolite.app.web.routes import FOREVER

_FOLDER = Path(__file__).parent / "js"
_SOURCES = {
    file.relative_to(_FOLDER).as_posix(): file.read_bytes()
    for file in sorted(_FOLDER.rglob("*.js"))
}
_IMPORTED = re.compile(rb'from "(\.{1,2}/[^"]+)"')
BASE = "theodolite/js-" + sha256(b"\0".join(_SOURCES.values())).hexdigest()[:16]


def mount(name: str, *more: str) -> str:
    """The `js_on_load` of a component whose module exports `mount`, such as `map/map.js`.

    Args:
        name: of the module.
        *more: what it is given beside its element and its props: `server`.
    """
    if name not in _SOURCES:
        raise ValueError(f"there is no module {name!r}; there are {', '.join(_SOURCES)}")
    return (
        # An absolute URL: a relative one would be resolved against Gradio's own script.
        f"import(new URL('./{BASE}/{name}', document.baseURI).href).then((module) => "
        f"module.mount({{ {', '.join(('element', 'props', 'trigger', 'watch', *more))} }}));"
    )


def import_map(name: str) -> dict[str, str]:
    """The `imports` of an import map by which a document that loads nothing imports a module.

    Returns:
        The module and all that it imports: name -> its source as a `data:` URL, in which relative
        names, which such a URL has none of, are whole ones.
    """
    addresses: dict[str, str] = {}
    waiting = [name]
    while waiting:
        module = waiting.pop()
        if module in addresses:
            continue

        def whole(imported: re.Match[bytes], folder: str = posixpath.dirname(module)) -> bytes:
            waiting.append(posixpath.normpath(posixpath.join(folder, imported[1].decode())))
            return b'from "' + waiting[-1].encode() + b'"'

        source = _IMPORTED.sub(whole, _SOURCES[module])
        addresses[module] = "data:text/javascript;base64," + base64.b64encode(source).decode()
    return addresses


def sources() -> dict[str, bytes]:
    """Address of each module, relative to the first page -> its source."""
    return {f"{BASE}/{name}": source for name, source in _SOURCES.items()}


def routes() -> list[Route]:
    """One route per module."""
    return [Route(f"/{BASE}/{name}", _answer(source)) for name, source in _SOURCES.items()]


def _answer(source: bytes) -> Callable[[Request], Response]:
    def module(request: Request) -> Response:
        return Response(source, media_type="text/javascript", headers=FOREVER)

    return module
