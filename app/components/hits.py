"""Neighbours of queries, a column an encoder, sentences that several encoders found marked.

Knows nothing of how neighbours are found: a column is hits or a piece of HTML that says why not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app import formats
from app.components.hit import Hit
from app.web import parts
from app.web.theme import SERIES

if TYPE_CHECKING:
    import gradio as gr

More = Callable[[str], Sequence[tuple[str, str]]]
"""From a sentence to links that stand beside it: words and address."""

_JS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class HitsColumn:
    """What one encoder found.

    Attributes:
        encoder: its name.
        hits: one list a query, nearest first; empty when `instead` says why.
        seconds: how long the search took.
        instead: HTML shown in place of hits, such as progress; escaped by the caller.
        note: a word on how it was found. Plain text.
        above: HTML shown above the hits, such as how many more sentences come; escaped likewise.
        shipped: whether it is an answer of `app.examples`.
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
    """Make the component; its value is what `columns` returns."""
    import gradio as gr

    return gr.HTML("", js_on_load=_JS, apply_default_css=False, **kwargs)


def columns(queries: Sequence[str], found: Sequence[HitsColumn], more: More | None = None) -> str:
    """One block a query, in it one column an encoder; `more` gives each hit its links."""
    links = more or (lambda sentence: ())
    return "".join(_query(place, query, found, links) for place, query in enumerate(queries))


def _query(place: int, query: str, found: Sequence[HitsColumn], more: More) -> str:
    ranks = [_ranks(column, place) for column in found]
    times = Counter(index for column in ranks for index in column)
    shared = [index for index, n in times.items() if n > 1]
    badges = {index: number for number, index in enumerate(shared)}
    body = "".join(
        _column(column, place, query, badges, _elsewhere(found, ranks, i), more)
        for i, column in enumerate(found)
    )
    said = _agreement(found, ranks)
    return (
        f'<section class="t-hits" data-query="{place}" aria-label="{escape(query)}">'
        f"<h2>{escape(query)}</h2>{f'<p>{escape(said)}</p>' if said else ''}"
        f'<div class="t-columns" style="--columns:{len(found)}">{body}</div></section>'
    )


def _ranks(column: HitsColumn, place: int) -> dict[int, int]:
    """Position in the collection -> rank from 1."""
    if not column.hits:
        return {}
    return {hit.index: rank for rank, hit in enumerate(column.hits[place], 1)}


def _elsewhere(
    found: Sequence[HitsColumn], ranks: Sequence[dict[int, int]], mine: int
) -> dict[int, list[tuple[str, int]]]:
    """For each hit of a column, the other encoders that found it and at which rank."""
    return {
        index: [
            (other.encoder, ranks[i][index])
            for i, other in enumerate(found)
            if i != mine and index in ranks[i]
        ]
        for index in ranks[mine]
    }


def _agreement(found: Sequence[HitsColumn], ranks: Sequence[dict[int, int]]) -> str:
    """How many hits are shared, pair by pair; nothing while columns are missing."""
    ready = [(column.encoder, rank) for column, rank in zip(found, ranks, strict=True) if rank]
    if len(ready) < 2:
        return ""
    (first, mine), *others = ready
    shares = [f"{len(mine.keys() & theirs.keys())} with {name}" for name, theirs in others]
    return f"Of its {len(mine)} nearest, {first} shares {', '.join(shares)}."


def _column(
    column: HitsColumn,
    place: int,
    query: str,
    badges: dict[int, int],
    elsewhere: dict[int, list[tuple[str, int]]],
    more: More,
) -> str:
    time = parts.SHIPPED if column.shipped else ""
    if column.seconds is not None:
        time = f"<small>{_time(column.seconds)}</small>"
    head = f"<header>{_head(column)}{time}</header>"
    note = f'<p class="t-note">{escape(column.note)}</p>' if column.note else ""
    if column.instead:
        return f'<div class="t-column">{head}{note}{column.instead}</div>'
    items = "".join(
        _hit(hit, rank, query, badges.get(hit.index), elsewhere[hit.index], more)
        for rank, hit in enumerate(column.hits[place], 1)
    )
    return f'<div class="t-column">{head}{note}{column.above}<ol>{items}</ol></div>'


def change(encoder: str) -> str:
    """The name of an encoder above what it found; pressed, the panel with all of them opens."""
    return (
        '<button type="button" class="t-spec t-change" data-of="more" title="Change the encoders" '
        f'data-press="more">{escape(encoder)}</button>'
    )


def _head(column: HitsColumn) -> str:
    """Its encoder, or what was looked for without one."""
    if column.by_encoder:
        return change(column.encoder)
    return f'<span class="t-spec">{escape(column.encoder)}</span>'


def _hit(
    hit: Hit, rank: int, query: str, badge: int | None, others: list[tuple[str, int]], more: More
) -> str:
    marks = parts.tag("the query itself") if hit.sentence == query else ""
    extra, letter = "", ""
    if badge is not None:
        extra = f' tabindex="0" style="--mark:{SERIES[badge % len(SERIES)]}"'
        letter = f'<i class="t-mark" aria-hidden="true">{_letter(badge)}</i>'
        marks += "".join(
            f"<span>{escape(_shift(rank, name, there))}</span>" for name, there in others
        )
    links = "".join(
        f'<a href="{escape(to)}" title="{words}" '
        f'aria-label="{escape(f"{words}: {hit.sentence[:80]}")}">{words.split()[0]}</a>'
        for words, to in more(hit.sentence)
    )
    below = f'<div class="t-also">{letter}{marks}</div>' if letter or marks else ""
    return (
        f'<li data-hit="{hit.index}"{extra}><span class="t-rank">{rank}</span>'
        f'<div><p dir="auto">{_text(hit)}</p>{below}</div>'
        f'<div class="t-aside">{_cosine(hit.cosine)}{links}</div></li>'
    )


def _text(hit: Hit) -> str:
    """The sentence, with the words that were found in it marked."""
    if hit.span is None:
        return escape(hit.sentence)
    start, end = hit.span
    before, words, after = hit.sentence[:start], hit.sentence[start:end], hit.sentence[end:]
    return f"{escape(before)}<mark>{escape(words)}</mark>{escape(after)}"


def _cosine(cosine: float | None) -> str:
    if cosine is None:
        return ""
    width = round(100 * max(0.0, cosine))
    shown = f"{cosine:.3f}".replace("-", "−")
    return f'<span class="t-cosine">{shown}<i style="--share:{width}%"></i></span>'


def _time(seconds: float) -> str:
    """A search takes milliseconds once its model is loaded."""
    return f"{round(1000 * seconds)} ms" if seconds < 1 else formats.duration(seconds)


def _shift(rank: int, name: str, there: int) -> str:
    """Where another encoder ranks the same sentence: `minilm 7, 4 lower`."""
    if there == rank:
        return f"{name} {there}, same"
    return f"{name} {there}, {abs(there - rank)} {'lower' if there > rank else 'higher'}"


def _letter(number: int) -> str:
    """A, B, …, Z, A1, …: the same for the same sentence in all columns."""
    return chr(65 + number % 26) + (str(number // 26) if number >= 26 else "")
