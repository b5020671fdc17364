"""A self-contained HTML document: its style, the scripts of its pieces, their values.

It loads nothing, so it works in a notebook and from a disk without a network. The pieces are the
components of the pages with their own JavaScript. Needs no Gradio.
"""

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

from theodolite.app import formats
from theodolite.app.blocks import Folders
from theodolite.app.components import modules
from theodolite.app.web import theme
from theodolite.app.web.routes import plotly_file

HERE = Path(__file__).parent
COMPONENTS = theme.APP / "components"
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; "
    "img-src data: blob:; worker-src blob:; form-action 'none'"
)
"""Content security policy: nothing is fetched from any host. Modules are `data:` URLs."""
CHART_HEIGHT = 360
CHART = "js/chart"
_MODULES = "js/"
_META = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
_RAW = -zlib.MAX_WBITS
"""Deflate without a header, so that packed parts can be concatenated."""


@dataclass(frozen=True)
class Piece:
    """A component in a document.

    Attributes:
        name: of its script among the components: `board`, `js/chart`, `js/hits`, `js/map/map`.
        value: what it shows, as on a page.
        props: what else its script is given.
        folders: what its script reads, as a block's.
    """

    name: str
    value: Any
    props: dict[str, Any] = field(default_factory=dict)
    folders: Folders = field(default_factory=dict)


def chart(value: Any) -> Piece:
    """A figure with its numbers, as the component takes it."""
    return Piece(CHART, value, {"height": CHART_HEIGHT, "series": list(theme.SERIES)})


def document(parts: Sequence[str | Piece], title: str = "Theodolite") -> str:
    """The document, compressed: a browser unpacks it.

    Args:
        parts: from top to bottom; HTML in which foreign text is escaped, or a component.
        title: of its window. Plain text.
    """
    charts = any(isinstance(part, Piece) and part.name == CHART for part in parts)
    packer = zlib.compressobj(9, wbits=_RAW)
    packed = _pack_head(charts) + packer.compress(_rest(parts, title).encode()) + packer.flush()
    return (
        f'<!doctype html><html lang="en-GB"><head>{_META}'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(title)}</title>"
        f'</head><body><script>const packed = "{base64.b64encode(packed).decode()}";\n'
        f"{_script(HERE / 'unpack.js')}</script></body></html>"
    )


@lru_cache(maxsize=2)
def _pack_head(charts: bool) -> bytes:
    """The head of every document, packed once: the style, and the library that draws charts."""
    library = f"<script>{_script(plotly_file())}</script>" if charts else ""
    head = f'<!doctype html><html lang="en-GB"><head>{_META}<style>{_style()}</style>{library}'
    packer = zlib.compressobj(9, wbits=_RAW)
    return packer.compress(head.encode()) + packer.flush(zlib.Z_FULL_FLUSH)


def _with_files(piece: Piece) -> Any:
    """The value of a piece, with the files that its script reads as base64 in `held`."""
    contents = {
        f"{folder}/{name}": base64.b64encode(file).decode()
        for folder, make in piece.folders.items()
        for name, file in make().items()
    }
    return piece.value | {"held": contents} if contents else piece.value


def _rest(parts: Sequence[str | Piece], title: str) -> str:
    pieces: list[Piece] = []
    html = []
    for part in parts:
        if isinstance(part, str):
            html.append(part)
        elif part.value is not None:
            html.append(f'<div data-piece="{len(pieces)}"></div>')
            pieces.append(part)
    body = "".join(html)
    names = dict.fromkeys(piece.name for piece in pieces)
    scripts = "".join(
        f"pieces[{json.dumps(name)}] = ({{ element, props, trigger, watch }}) => {{\n"
        f"{_body(name)}\n}};\n"
        for name in names
    )
    imports: dict[str, str] = {}
    for name in names:
        if name.startswith(_MODULES):
            imports |= modules.import_map(_module(name))
    import_map = f'<script type="importmap">{json.dumps({"imports": imports})}</script>'
    held = [
        {"name": piece.name, "props": {**piece.props, "value": _with_files(piece)}}
        for piece in pieces
    ]
    return (
        f"<title>{escape(title)}</title></head>"
        f'<body><div class="gradio-container"><main class="t-page t-alone">{body}</main></div>'
        f"{formats.json_script('t-held', held)}"
        f"<script>{_script(theme.STATIC / 'pieces.js')}</script>"
        f"{import_map if imports else ''}"
        f"<script>const pieces = {{}};\n{scripts}{_script(HERE / 'standalone.js')}</script>"
        "</body></html>"
    )


@lru_cache(maxsize=8)
def _script(file: Path) -> str:
    """A script of ours, or a library, escaped for a `<script>` element."""
    return file.read_text("utf-8").replace("</script", "<\\/script")


def _body(name: str) -> str:
    """The code that mounts a component, from its script or its module."""
    if not name.startswith(_MODULES):
        return _script(COMPONENTS / f"{name}.js")
    mount = "mount({ element, props, trigger, watch })"
    return f"import({json.dumps(_module(name))}).then(({{ mount }}) => {mount});"


def _module(name: str) -> str:
    """Name of a component's module, as `app.components.modules` has it."""
    return f"{name.removeprefix(_MODULES)}.js"


@lru_cache(maxsize=1)
def _style() -> str:
    own = (HERE / "frozen.css").read_text("utf-8") + (HERE / "standalone.css").read_text("utf-8")
    return theme.css() + own
