"""Blocks as HTML and components: for the app's pages, notebooks, reports and published pages."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from markupsafe import Markup

from theodolite.app import formats
from theodolite.app.blocks import (
    Block,
    Chart,
    Component,
    Download,
    Filters,
    Finding,
    Grid,
    Hit,
    Hits,
    HitsColumn,
    Link,
    Links,
    Nothing,
    Points,
    Problem,
    Progress,
    Readings,
    Table,
    Text,
    WordDiff,
    WordDiffs,
)
from theodolite.app.components import board, word_diff
from theodolite.app.publish.standalone import Piece, chart, document
from theodolite.app.web import address, parts, progress
from theodolite.app.web.routes import PLOTLY_JS
from theodolite.app.web.theme import SERIES

Pieces = Sequence[str | Piece]
"""HTML in which foreign text is escaped, or components."""
_FIRST_HEIGHT = 320
"""Pixels, until the frame reports its height."""
_MAX_HEIGHT = 4000
_MAX_CHARACTERS = 280
"""Of a text in a table; its file has the whole text."""


def pieces(blocks: Iterable[Block]) -> list[str | Piece]:
    """The blocks, from top to bottom."""
    return [_piece(block) for block in blocks]


def as_json(pieces: Pieces, props: Mapping[str, Any] | None = None) -> str:
    """Pieces as JSON for the script of `answer.js`; `props` are for all components in it."""
    return formats.json_text([_as_data(piece, props or {}) for piece in pieces])


def _as_data(piece: str | Piece, props: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(piece, str):
        return {"html": piece}
    module = f"{piece.name.removeprefix('js/')}.js"
    given = {"plotly": PLOTLY_JS, **piece.props, **props, "value": piece.value}
    return {"module": module, "props": given}


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


def word_diffs(columns: Sequence[WordDiff | tuple[str, str]]) -> str:
    """A card for each decoder, with what the marks of words mean.

    Args:
        columns: from left to right; (name of an encoder, HTML) for another card.
    """
    cards = [card(*one) if isinstance(one, tuple) else _word_diff(one) for one in columns]
    marked = any(isinstance(one, WordDiff) and one.status is None for one in columns)
    legend = word_diff.LEGEND if marked else ""
    return f'<div class="t-columns t-told">{"".join(cards)}</div>{legend}'


def _word_diff(column: WordDiff) -> str:
    if column.status is not None:
        return card(column.name, _status(column.status))
    marked = word_diff.marked(column.words) if column.words else escape(column.sentence)
    sentence = marked or '<span class="t-muted">nothing at all</span>'
    summary = Markup('<p class="t-tally">{}</p>').format(column.summary) if column.summary else ""
    note = ""
    if column.note:
        note = f'<p class="t-note">{parts.tag("cut", "warn")} {escape(column.note)}</p>'
    return card(
        column.name,
        f'<div class="t-telling"><p class="t-sentence" dir="auto">{sentence}</p>'
        f"{parts.cosine(column.cosine)}</div>{summary}{note}{others(column.others)}",
        parts.SHIPPED
        if column.seconds is None
        else f"<small>{formats.duration(column.seconds)}</small>",
    )


def card(name: str, body: str, beside: str = "") -> str:
    """A card of an encoder.

    Args:
        name: of the encoder.
        body: HTML.
        beside: HTML beside its name.
    """
    return (
        f'<section class="t-column" aria-label="{escape(name)}"><header>'
        f"{change(name)}{beside}</header>{body}</section>"
    )


def others(found: Sequence[tuple[str, float]]) -> str:
    """The other candidates with their cosines, collapsed; empty for none."""
    if not found:
        return ""
    items = "".join(
        f'<li><span dir="auto">{escape(text) or "nothing"}</span>{parts.cosine(cosine)}</li>'
        for text, cosine in found
    )
    title = formats.plural(len(found), "other candidate")
    return f'<details class="t-others"><summary>{title}</summary><ol>{items}</ol></details>'


def change(encoder: str) -> str:
    """The name of an encoder above its answer, a button which opens the panel of all encoders."""
    return (
        '<button type="button" class="t-spec t-change" data-of="more" title="Change the encoders" '
        f'data-press="more">{escape(encoder)}</button>'
    )


def _piece(block: Block) -> str | Piece:
    return _PIECES[type(block)](block)


def _links(block: Links) -> str:
    link = Markup('<a class="t-button" href="{}">{}</a>')
    links = [link.format(address.link(one.page, **one.query), one.label) for one in block.links]
    return f'<p class="t-actions">{" ".join(links)}</p>'


def _filters(block: Filters) -> str:
    link = Markup('<a class="t-filter" href="{}" title="Remove this filter">{} <b>×</b></a>')
    links = [link.format(address.link(one.page, **one.query), one.label) for one in block.links]
    return f'<p class="t-filters">Only {" ".join(links)}</p>'


def _nothing(block: Nothing) -> str:
    to = None
    if block.link:
        to = block.link.label, address.link(block.link.page, **block.link.query)
    return parts.empty(block.title, block.hint, to)


def _table(block: Table) -> str:
    below = Markup('<p class="t-small t-muted t-below">{}</p>').format(block.note)
    note = str(below) if block.note else ""  # Markup would escape the HTML that it is added to
    if not block.rows:
        return note
    first = block.rows[0]
    numbers = [at for at in range(len(first)) if any(_is_number(row[at]) for row in block.rows)]
    heads = [name.replace("_", " ") if name.isidentifier() else name for name in block.columns]
    decimals = [block.decimals.get(column) for column in block.columns]
    rows = [list(map(_cell, row, decimals)) for row in block.rows[: block.shown]]
    data = [at for at, cell in enumerate(first) if not isinstance(cell, Link)]
    file = [[row[at] for at in data] for row in [block.columns, *block.rows]]
    save = parts.csv_button("Download CSV", f"{block.name}.csv", file)
    if any(_is_formula(cell) for row in file for cell in row):
        save += parts.FOR_SPREADSHEETS
    ways = "".join(str(_cell(link)) for link in block.links)
    if len(rows) < len(block.rows):
        note = f'<p class="t-muted">The first {len(rows)} are shown here.</p>{note}'
    return parts.table(heads, rows, block.name, numbers, stacked=True) + save + ways + note


def _is_formula(value: Any) -> bool:
    return isinstance(value, str) and formats.spreadsheet_text(value) != formats.encodable(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _grid(block: Grid) -> Piece:
    heads = [
        (one.title, one.note, one.ascending, bool(one.opens), one.opens or one.title)
        for one in block.heads
    ]
    rows = [
        (name, note, [(c[0], c[1] and f"t-{c[1]}", *c[2:]) for c in cells])
        for name, note, cells in block.rows
    ]
    return Piece(
        "js/board",
        board.value(
            block.label,
            heads,
            rows,
            block.reading,
            f"{block.name}.csv",
            block.pressing,
            block.best_first,
        ),
    )


def _cell(value: Any, decimals: int | None = None) -> str:
    if isinstance(value, Link):
        return Markup('<a class="t-small" href="{}">{}</a>').format(
            address.link(value.page, **value.query), value.label
        )
    if isinstance(value, bool):
        value = "yes" if value else "no"
    text = formats.MISSING if value is None else value
    if isinstance(text, float):
        text = f"{text:,.4g}" if decimals is None else f"{text:,.{decimals}f}"
        text = text.replace("-", "−")
    elif isinstance(text, int):
        text = f"{text:,}"
    elif isinstance(text, str) and len(text) > _MAX_CHARACTERS:
        text = f"{text[:_MAX_CHARACTERS].rstrip()}…"
    return Markup('<span dir="auto">{}</span>').format(text)


def _points(block: Points) -> str:
    """A list of sentences, in which no line breaks between a number and its per cent sign."""
    if not block.points:
        return ""
    items = [
        f"<li>{parts.tag(tag, 'warn') if tag else ''} {escape(text).replace(' %', '&nbsp;%')}</li>"
        for tag, text in block.points
    ]
    heading = Markup("<h3>{}</h3>").format(block.heading) if block.heading else ""
    return f'<div class="t-points">{heading}<ul>{"".join(items)}</ul></div>'


def _download(block: Download) -> str:
    return Markup(
        '<button type="button" class="t-link" data-name="{}" data-text="{}" '
        'data-press="save">{}</button>'
    ).format(block.name, block.text, block.label)


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
        "label": hit.label,
        "links": [(link.label, address.link(link.page, **link.query)) for link in links],
    }


_PIECES: Mapping[type[Any], Callable[[Any], str | Piece]] = {
    Finding: lambda block: parts.heading(
        block.text, block.detail, beside=f" {parts.SHIPPED}" if block.shipped else ""
    ),
    Text: lambda block: parts.heading(block.heading, block.paragraph),
    Points: _points,
    Links: _links,
    Download: _download,
    Filters: _filters,
    Nothing: _nothing,
    Table: _table,
    Grid: _grid,
    Chart: lambda block: chart(block.drawing),
    Readings: lambda block: parts.readings(block.texts),
    Component: lambda block: Piece(
        f"js/{block.name}", block.value, dict(block.props), block.folders
    ),
    Hits: _hits,
    WordDiffs: lambda block: word_diffs(block.columns),
    Progress: _status,
    Problem: _status,
}
"""Block -> what draws it."""
