"""Blocks as HTML and components: for the app's pages, notebooks, reports and published pages."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from markupsafe import Markup

from theodolite.app import formats
from theodolite.app.blocks import (
    Action,
    Actions,
    Block,
    Card,
    Caveats,
    Cell,
    Chart,
    Code,
    Component,
    Download,
    Facts,
    Filters,
    Finding,
    Fold,
    Grid,
    GridCell,
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
    Samples,
    Table,
    Text,
    WordDiff,
    WordDiffs,
)
from theodolite.app.components import word_diff
from theodolite.app.components.actions import button
from theodolite.app.names import labelled
from theodolite.app.publish.standalone import Piece, chart, document
from theodolite.app.web import address, parts, progress
from theodolite.app.web.routes import PLOTLY_JS
from theodolite.app.web.theme import SERIES
from theodolite.engine.decoding.differing import differing

Pieces = Sequence[str | Piece]
"""HTML in which foreign text is escaped, or components."""
_FIRST_HEIGHT = 320
"""Pixels, until the frame reports its height."""
_MAX_HEIGHT = 4000
_MAX_CHARACTERS = 280
"""Of a text in a table; its file has the whole text."""


@dataclass(frozen=True)
class Group:
    """Pieces inside an element, which is HTML before and after them.

    The element that is around them has the attribute `data-inside`.
    """

    before: str
    inside: Sequence[str | Piece | Group]
    after: str


def pieces(blocks: Iterable[Block]) -> list[str | Piece]:
    """The blocks, from top to bottom."""
    return flat(nested(blocks))


def nested(blocks: Iterable[Block]) -> list[str | Piece | Group]:
    """The blocks, with those inside of others in a group."""
    return [_PIECES[type(block)](block) for block in labelled(list(blocks))]


def flat(several: Iterable[str | Piece | Group]) -> list[str | Piece]:
    """The pieces without groups."""
    every: list[str | Piece] = []
    for one in several:
        if isinstance(one, Group):
            every += [one.before, *flat(one.inside), one.after]
        else:
            every.append(one)
    return every


def as_json(pieces: Iterable[str | Piece | Group]) -> str:
    """Pieces as JSON for the script of `answer.js`."""
    return formats.json_text([_as_data(piece) for piece in pieces])


def _as_data(piece: str | Piece | Group) -> dict[str, Any]:
    if isinstance(piece, str):
        return {"html": piece}
    if isinstance(piece, Group):
        inside = [_as_data(one) for one in piece.inside]
        return {"html": piece.before + piece.after, "inside": inside}
    module = f"{piece.name.removeprefix('js/')}.js"
    attributes = {"plotly": PLOTLY_JS, **piece.props, "value": piece.value}
    return {"module": module, "props": attributes}


def frame(pieces: Pieces) -> str:
    """A document as HTML for a notebook, in a frame that takes the document's height.

    The frame's scripts have no access to the notebook around it, and send no requests.
    """
    name = f"theodolite-{secrets.token_hex(8)}"
    return (
        f'<iframe id="{name}" title="Theodolite" sandbox="allow-scripts allow-downloads" '
        f'style="width:100%;height:{_FIRST_HEIGHT}px;border:0" '
        f'srcdoc="{escape(document(pieces))}"></iframe>'
        f'<script>(() => {{ const frame = document.getElementById("{name}"); '
        'addEventListener("message", (event) => { '
        "if (frame && event.source === frame.contentWindow && event.data?.height > 0) "
        f"frame.style.height = `${{Math.min(event.data.height, {_MAX_HEIGHT})}}px`; }}); }})();"
        "</script>"
    )


def _word_diffs(block: WordDiffs) -> str:
    """A card for each decoder, with what the marks of words mean."""
    legend = word_diff.LEGEND if any(column.words for column in block.columns) else ""
    return f'<div class="t-columns t-told">{"".join(map(_word_diff, block.columns))}</div>{legend}'


def _word_diff(column: WordDiff) -> str:
    if column.status is not None:
        return card(column.name, _status(column.status))
    sentence = escape(column.sentence) or '<span class="t-muted">nothing at all</span>'
    below = ""
    if any(word.fate != "kept" for word in column.words):
        below = f'<p class="t-marked" dir="auto">{word_diff.mark(column.words)}</p>'
    if column.summary:
        below += f'<p class="t-tally">{escape(column.summary)}</p>'
    for word, text in column.notes:
        below += f'<p class="t-note">{parts.tag(word, "warn")} {escape(text)}</p>'
    below += others(column.others)
    if column.link:
        below += f'<p class="t-diagnosis">{_link(column.link)}</p>'
    cosine = ""
    if column.cosine is not None:
        what = "round-trip cosine" if column.words else "cosine to the point"
        cosine = f"<div>{parts.cosine(column.cosine)}<small>{what}</small></div>"
    return card(
        column.name,
        f'<div class="t-telling"><p class="t-sentence" dir="auto">{sentence}</p>{cosine}</div>'
        f"{below}",
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


def others(pairs: Sequence[tuple[str, float]]) -> str:
    """The other candidates with their cosines, collapsed; empty for none."""
    if not pairs:
        return ""
    items = "".join(
        f'<li><span dir="auto">{escape(text) or "nothing"}</span>{parts.cosine(cosine)}</li>'
        for text, cosine in pairs
    )
    title = formats.plural(len(pairs), "other candidate")
    return f'<details class="t-others"><summary>{title}</summary><ol>{items}</ol></details>'


def change(encoder: str) -> str:
    """The name of an encoder above its answer, a button which opens the panel of all encoders."""
    return (
        '<button type="button" class="t-spec t-change" data-of="more" title="Change the encoders" '
        f'data-press="more">{escape(encoder)}</button>'
    )


def _link(link: Link, css: str = "") -> Markup:
    to = address.link(link.page, **link.query)
    return Markup('<a class="{}" href="{}">{}</a>').format(css, to, link.label)


def _links(block: Links) -> str:
    links = [_link(link, "t-button") for link in block.links]
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


def _text(block: Text) -> str:
    alone = Markup('<p class="t-paragraph">{}</p>').format(block.paragraph)
    return parts.heading(block.heading, block.paragraph) if block.heading else alone


def _caveats(block: Caveats) -> str:
    item = Markup("<li>{} {}</li>")
    items = [item.format(one.text, _link(one.link) if one.link else "") for one in block.items]
    heading = Markup("<h2>{}</h2>").format(block.heading) if block.heading else ""
    notice = f"{heading}<ul>{''.join(items)}</ul>"
    return f'<section class="t-notice t-warn" role="note">{notice}</section>' if items else ""


def _actions(block: Actions) -> str:
    buttons = " ".join(_button(action) for action in block.actions)
    note = Markup('<span class="t-muted t-small">{}</span>').format(block.note)
    return f'<p class="t-actions t-live-only">{buttons} {note}</p>'


def _button(action: Action, kind: str = "") -> str:
    return button(
        action.label,
        action.act,
        action.id,
        about=action.about or action.label,
        param=(action.opens, action.id) if action.opens else None,
        kind=kind,
        keys=action.keys,
    )


def _code(block: Code) -> str:
    line = Markup(
        '<div class="t-copied"><pre class="t-command{}" tabindex="0">{}</pre>'
        '<button type="button" class="t-link" data-press="copy">Copy</button></div>'
    )
    kind = "" if block.shell else " t-source"
    return "".join(line.format(kind, text) for text in block.lines)


def _fold(block: Fold) -> Group:
    head = Markup('<details class="t-unfold"><summary>{}</summary><div data-inside>')
    return Group(head.format(block.title), nested(block.blocks), "</div></details>")


def _card(block: Card) -> Group:
    head = Markup('<section class="t-card" id="{}"><div class="t-card-head"><h2>{}</h2>')
    tag = parts.tag(block.tag, block.kind) if block.tag else ""
    before = f"{head.format(block.name, block.title)}{tag}</div><div data-inside>"
    return Group(before, nested(block.blocks), "</div></section>")


def _table(block: Table) -> str:
    below = Markup('<p class="t-small t-muted t-below">{}</p>').format(block.note)
    note = str(below) if block.note else ""  # Markup would escape the HTML that it is added to
    if not block.rows:
        return note
    first = block.rows[0]
    data = [at for at, cell in enumerate(first) if not isinstance(cell, Link | tuple)]
    file = [[file_cell(row[at]) for at in data] for row in [block.columns, *block.rows]]
    save = parts.csv_button("Download CSV", f"{block.name}.csv", file)
    texts = (cell for row in file for cell in row if isinstance(cell, str))
    if any(formats.spreadsheet_text(text) != formats.encodable(text) for text in texts):
        save += parts.FOR_SPREADSHEETS
    if isinstance(first[0], Cell):
        return f"{_table_of_cells(block)}{save}{note}"
    numbers = [
        at for at in range(len(first)) if any(_is_number(_of(row[at]).value) for row in block.rows)
    ]
    columns = [str(_of(column).value) for column in block.columns]
    heads = [name.replace("_", " ") if name.isidentifier() else name for name in columns]
    decimals = [block.decimals.get(name) for name in columns]
    rows = [list(map(_cell, row, decimals)) for row in block.rows[: block.shown]]
    ways = "".join(str(_cell(link)) for link in block.links)
    if len(rows) < len(block.rows):
        note = f'<p class="t-muted">The first {len(rows)} are shown here.</p>{note}'
    return f"{parts.table(heads, rows, block.name, numbers, stacked=True)}{save}{ways}{note}"


def file_cell(cell: Any) -> Any:
    """A cell as a file has it."""
    if isinstance(cell, tuple):
        return " ".join(str(file_cell(one)) for one in cell)
    return cell.label if isinstance(cell, Link | Action) else _of(cell).value


def _table_of_cells(block: Table) -> str:
    """A table in which every row has a head, and the last ones may sum up the others."""
    name = Markup('<span class="t-spec">{}</span>')
    heads = "".join(
        parts.column_head(name.format(_of(column).value), below=_notes(_of(column)))
        for column in block.columns
    )
    head = Markup('<tr><th scope="row">{}{}</th>')
    rows = []
    for first, *cells in block.rows:
        kinds = ["" if _of(cell).tag else _of(cell).kind for cell in cells]
        svg = "".join(
            f'<td class="{kind and f"t-{escape(kind)}"}">{_cell(cell)}</td>'
            for kind, cell in zip(kinds, cells, strict=True)
        )
        rows.append(f"{head.format(_of(first).value, _notes(_of(first)))}{svg}</tr>")
    end = len(rows) - block.totals
    return (
        f'<div class="t-scroll" role="region" tabindex="0" aria-label="{escape(block.name)}">'
        f'<table class="t-table t-cells"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows[:end])}</tbody><tfoot>{''.join(rows[end:])}</tfoot></table></div>"
    )


def _of(cell: Any) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(cell)


def _notes(cell: Cell) -> Markup:
    return Markup("").join(map(Markup("<small>{}</small>").format, cell.notes))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _chart(block: Chart) -> Piece:
    """Its figure and its numbers as JSON text.

    In an object, the browser would wrap and copy every number, which takes seconds for 5,000 rows.
    """
    table = {"columns": list(block.columns), "rows": [list(row) for row in block.rows]}
    return chart(
        {
            "figure": formats.json_text(block.figure),
            "label": block.label,
            "name": block.name,
            "table": formats.json_text(table) if block.rows else None,
        }
    )


def _grid(block: Grid) -> Piece:
    """A board as one JSON string: Gradio would wrap every cell of an object."""

    def brief(cell: GridCell) -> list[str | bool]:
        """Without trailing empty fields: a table may have tens of thousands of cells."""
        fields: list[str | bool] = [cell.text, cell.tone and f"t-{cell.tone}", *cell[2:]]
        while len(fields) > 1 and not fields[-1]:
            fields.pop()
        return fields

    heads = [
        (
            *(head.title, head.note, head.ascending, bool(head.opens), head.opens or head.title),
            *(f"{head.title}, {head.note}" if head.unit else head.title, head.beside),
        )
        for head in block.heads
    ]
    props = {
        "label": block.label,
        "heads": heads,
        "rows": [(name, note, list(map(brief, cells))) for name, note, cells in block.rows],
        "reading": block.reading,
        "file": f"{block.name}.csv",
        "pressing": block.pressing,
        "sorted": None if block.best_first is None else (block.best_first, True),
    }
    return Piece("js/board", json.dumps(props, separators=(",", ":")))


def _cell(value: Any, decimals: int | None = None) -> str:
    if isinstance(value, Cell):
        return _cell_of_several(value)
    if isinstance(value, Link):
        return _link(value, "t-small")
    if isinstance(value, Action):
        return _button(value, "link")
    if isinstance(value, tuple):
        return " ".join(map(_cell, value))
    if isinstance(value, bool):
        value = "yes" if value else "no"
    text = formats.MISSING if value is None else value
    if isinstance(text, float):
        usual = ",.0f" if abs(text) >= 1000 else ".4g"
        text = format(text, usual if decimals is None else f",.{decimals}f")
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


def _facts(block: Facts) -> str:
    facts = ""
    for name, text in block.pairs:
        coded = re.sub("`([^`]*)`", r"<code>\1</code>", escape(text))
        facts += f"<dt>{escape(name)}</dt><dd>{coded}</dd>"
    return f'<dl class="t-facts">{facts}</dl>'


def _download(block: Download) -> str:
    return Markup(
        '<button type="button" class="t-link" data-name="{}" data-text="{}" '
        'data-press="save">{}</button>'
    ).format(block.name, block.text, block.label)


def _cell_of_several(cell: Cell) -> str:
    figure = Markup('<span class="t-figure">{}{}</span>')
    text = Markup("<b>{}</b>").format(cell.text) if cell.strong else cell.text
    letter = Markup('<sup class="t-letter" title="{1}" aria-label="group {0}, {1}">{0}</sup>')
    mark = letter.format(cell.mark, cell.meaning) if cell.mark else ""
    beside = figure.format(cell.beside, "") if cell.beside else ""
    tag = Markup('<span class="t-tag t-{}" title="{}">{}</span>')
    word = tag.format(cell.kind, cell.why, cell.tag) if cell.tag else ""
    return f"{figure.format(text, mark)}{beside}{word}{_notes(cell)}"


def _samples(block: Samples) -> str:
    """Sentences with what came back below, in which what differs is marked."""
    near = Markup('<p class="t-near" dir="auto">{}</p>')
    about = block.about or [(None, "")] * len(block.pairs)
    items = [
        f'<li><p class="t-given" dir="auto">{escape(text)}</p><div class="t-telling-line">'
        f'<p class="t-sentence" dir="auto">{word_diff.mark(differing(text, back)) or "nothing"}'
        f"</p>{parts.cosine(cosine)}</div>{near.format(note) if note else ''}</li>"
        for (text, back), (cosine, note) in zip(block.pairs, about, strict=True)
    ]
    return (
        f"{parts.heading(block.heading, block.paragraph)}"
        f'<ul class="t-told t-samples">{"".join(items)}</ul>{word_diff.LEGEND}'
    )


def _status(block: Nothing | Progress | Problem | None) -> str:
    match block:
        case Problem():
            return parts.problem(block.error)
        case Progress() if block.run is not None:
            return progress.card(block.run)
        case Progress():
            bar = parts.progress_bar(block.done, block.text)
            text = str(Markup('<p class="t-muted">{}</p>').format(block.text))
            return f'<div class="t-run" role="status">{text}{bar}</div>'
        case Nothing():
            link = Markup("<p>{}</p>").format(_link(block.link, "t-button")) if block.link else ""
            return Markup(
                '<div class="t-notice" role="status"><p><strong>{}</strong></p><p>{}</p>{}</div>'
            ).format(block.title, block.hint, link)
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
        "chunks": column.chunks,
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


_PIECES: Mapping[type[Any], Callable[[Any], str | Piece | Group]] = {
    Finding: lambda block: parts.heading(
        block.text, block.detail, beside=f" {parts.SHIPPED}" if block.shipped else ""
    ),
    Text: _text,
    Points: _points,
    Facts: _facts,
    Links: _links,
    Download: _download,
    Filters: _filters,
    Nothing: _nothing,
    Table: _table,
    Grid: _grid,
    Caveats: _caveats,
    Actions: _actions,
    Code: _code,
    Fold: _fold,
    Card: _card,
    Chart: _chart,
    Readings: lambda block: parts.readings(block.texts),
    Component: lambda block: Piece(
        f"js/{block.name}", block.value, dict(block.props), block.folders
    ),
    Hits: _hits,
    WordDiffs: _word_diffs,
    Samples: _samples,
    Progress: _status,
    Problem: _status,
}
"""Block -> what draws it."""
