"""Blocks as HTML and components: for the app's pages, notebooks, reports and published pages."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from markupsafe import Markup

from theodolite.app import formats
from theodolite.app.blocks import (
    Block,
    Chart,
    Finding,
    Hit,
    Hits,
    HitsColumn,
    Link,
    Nothing,
    Problem,
    Progress,
    Table,
    Text,
)
from theodolite.app.publish.standalone import Piece, chart, document
from theodolite.app.web import address, parts, progress
from theodolite.app.web.theme import SERIES

Pieces = Sequence[str | Piece]
"""HTML in which foreign text is escaped, or components."""
_FIRST_HEIGHT = 320
"""Pixels, until the frame reports its height."""
_MAX_HEIGHT = 4000


def pieces(blocks: Iterable[Block]) -> list[str | Piece]:
    """The blocks, from top to bottom."""
    return [_piece(block) for block in blocks]


def framed(shown: Pieces) -> str:
    """A document as HTML for a notebook, in a frame that takes the document's height.

    The frame's scripts have no access to the notebook around it, and send no requests.
    """
    name = f"theodolite-{secrets.token_hex(8)}"
    return (
        f'<iframe id="{name}" title="Theodolite" sandbox="allow-scripts allow-downloads" '
        f'style="width:100%;height:{_FIRST_HEIGHT}px;border:0" '
        f'srcdoc="{escape(document(shown))}"></iframe>'
        f'<script>(() => {{ const frame = document.getElementById("{name}"); '
        'addEventListener("message", (event) => { '
        "if (frame && event.source === frame.contentWindow && event.data?.height > 0) "
        f"frame.style.height = `${{Math.min(event.data.height, {_MAX_HEIGHT})}}px`; }}); }})();"
        "</script>"
    )


def _piece(block: Block) -> str | Piece:
    match block:
        case Finding():
            return Markup('<p class="t-finding"><strong>{}</strong> {}</p>').format(
                block.text, block.detail
            )
        case Text():
            return parts.heading(block.heading, block.paragraph)
        case Nothing():
            return parts.empty(block.title, block.hint)
        case Table():
            return _table(block)
        case Chart():
            return chart(block.drawing)
        case Hits():
            return _hits(block)
        case Progress() | Problem():
            return _status(block)


def _table(block: Table) -> str:
    numbers = [
        place
        for place in range(len(block.columns))
        if any(isinstance(row[place], int | float) for row in block.rows)
    ]
    rows = [[_cell(cell) for cell in row] for row in block.rows]
    heads = [escape(column.replace("_", " ")) for column in block.columns]
    save = parts.csv_button("Download CSV", f"{block.name}.csv", [block.columns, *block.rows])
    return parts.table(heads, rows, block.name, numbers) + save


def _cell(value: Any) -> str:
    text = formats.MISSING if value is None else value
    return Markup('<span dir="auto">{}</span>').format(
        f"{text:,.4g}" if isinstance(text, float) else text
    )


def _status(block: Nothing | Progress | Problem | None) -> str:
    match block:
        case Problem():
            return parts.problem(block.error)
        case Progress() if block.run is not None:
            return progress.card(block.run)
        case Progress():
            bar = parts.progress_bar(None, block.text)
            text = str(Markup('<p class="t-muted">{}</p>').format(block.text))
            return f'<div class="t-run">{text}{bar}</div>'
        case Nothing():
            return Markup('<div class="t-notice"><p><strong>{}</strong></p><p>{}</p></div>').format(
                block.title, block.hint
            )
        case None:
            return ""


def _hits(block: Hits) -> Piece:
    """A section for each query with a column for each encoder, which `js/hits.js` draws."""
    sections = [
        {
            "query": query,
            "columns": [_column(column, place, block) for column in block.columns],
        }
        for place, query in enumerate(block.queries)
    ]
    return Piece("js/hits", formats.json_text(sections), {"palette": list(SERIES)})


def _column(column: HitsColumn, place: int, block: Hits) -> dict[str, Any]:
    status = _status(column.status)
    aside = parts.SHIPPED if column.shipped else ""
    if column.seconds is not None:
        aside = f"<small>{formats.duration(column.seconds)}</small>"
    return {
        "encoder": column.name,
        "byEncoder": column.is_encoder,
        "aside": aside,
        "note": column.note,
        "instead": "" if column.hits and any(column.hits) else status,
        "above": status,
        "hits": [_hit(hit, block.links(hit.sentence)) for hit in column.hits[place]]
        if column.hits
        else [],
    }


def _hit(hit: Hit, links: Sequence[Link]) -> dict[str, Any]:
    return {
        "index": hit.index,
        "sentence": hit.sentence,
        "cosine": hit.cosine,
        "spans": hit.spans,
        "links": [(link.label, address.link(link.page, **link.query)) for link in links],
    }
