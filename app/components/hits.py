"""Neighbours of queries, one column per encoder; sentences that several encoders found are marked.

Knows nothing of how neighbours are found: a column has hits or a piece of HTML in their place.
Everything is rendered in the browser, by `js/hits.js`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.components.hit import Hit
from theodolite.app.components.modules import mount
from theodolite.app.web import parts
from theodolite.app.web.theme import SERIES

if TYPE_CHECKING:
    import gradio as gr

More = Callable[[str], Sequence[tuple[str, str]]]
"""Returns the links beside a sentence, as (label, address)."""


@dataclass(frozen=True)
class HitsColumn:
    """The hits of one encoder.

    Attributes:
        encoder: its name.
        hits: one list a query, nearest first; empty when `instead` is shown.
        seconds: time of the search.
        instead: HTML shown in place of hits, such as progress; escaped by the caller.
        note: a short note on how they were found. Plain text.
        above: HTML shown above the hits, such as the number of sentences to come; escaped likewise.
        shipped: whether the hits are from `app.examples`.
        by_encoder: whether an encoder found them.
    """

    encoder: str
    hits: Sequence[Sequence[Hit]] = ()
    seconds: float | None = None
    instead: str = ""
    note: str = ""
    above: str = ""
    shipped: bool = False
    by_encoder: bool = True


def hits(**kwargs: Any) -> gr.HTML:
    """Make the component; its value comes from `columns`."""
    import gradio as gr

    return gr.HTML(
        "",
        html_template="",
        js_on_load=mount("hits.js"),
        apply_default_css=False,
        palette=list(SERIES),
        **kwargs,
    )


def columns(queries: Sequence[str], found: Sequence[HitsColumn], more: More | None = None) -> str:
    """The value: a block per query with a column per encoder; `more` gives each hit its links."""
    return written([block(query, place, found, more) for place, query in enumerate(queries)])


def block(
    query: str, place: int, found: Sequence[HitsColumn], more: More | None = None
) -> dict[str, Any]:
    """The hits of one query, the `place`-th of the columns, as JSON for the script."""
    links = more or (lambda sentence: ())
    return {
        "query": query,
        "columns": [
            {
                "encoder": column.encoder,
                "byEncoder": column.by_encoder,
                "aside": _aside(column),
                "note": column.note,
                "instead": column.instead,
                "above": column.above,
                "hits": [_hit(hit, links) for hit in column.hits[place]] if column.hits else [],
            }
            for column in found
        ],
    }


def written(blocks: Sequence[dict[str, Any]]) -> str:
    """Blocks, one under another, as a value of the component."""
    return formats.json_text(blocks)


def _hit(hit: Hit, more: More) -> dict[str, Any]:
    """A hit as JSON for the script."""
    return {
        "index": hit.index,
        "sentence": hit.sentence,
        "cosine": hit.cosine,
        "spans": hit.spans,
        "links": more(hit.sentence),
    }


def change(encoder: str) -> str:
    """The name of an encoder above its hits, a button which opens the panel of all encoders."""
    return (
        '<button type="button" class="t-spec t-change" data-of="more" title="Change the encoders" '
        f'data-press="more">{escape(encoder)}</button>'
    )


def _aside(column: HitsColumn) -> str:
    """HTML of the search time, or of the tag of a shipped example."""
    if column.seconds is not None:
        return f"<small>{formats.duration(column.seconds)}</small>"
    return parts.SHIPPED if column.shipped else ""
