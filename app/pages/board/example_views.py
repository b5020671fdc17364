"""The examples that one encoder gets right and another wrong, as HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.web import parts

if TYPE_CHECKING:
    from theodolite.app.pages.board.examples import Disagreement, Example
    from theodolite.engine.errors import UserError

LEAD = (
    "What a difference between two encoders is made of. Of a task that is scored by a correlation, "
    "how right an example is: how near its rank by the encoder is to its rank by the grade. Of one "
    "that is a mean over examples: what the example adds to it."
)

SHOWN = 280
"""Characters of a text on the page; the CSV has the full text."""


def shown(found: Disagreement) -> str:
    """A sentence, the examples furthest apart, and a button to save them."""
    does = "is right" if found.whole else "is nearer the grade" if found.graded else "does better"
    than = f"that {found.worse} gets wrong" if found.whole else f"than {found.worse}"
    text = (
        f"{found.better} {does} on {formats.plural(found.ahead, 'example')} of {found.task} "
        f"{than}, the other way round on {formats.count(found.behind)}, of "
        f"{formats.count(found.of)}."
    )
    if not found.examples:
        return f'<p class="t-said">{escape(text)}</p>'
    heads = ("Example", "Expected", found.better, found.worse)
    rows = [
        (_text(one), _short(one.label), _quality(one.right, found), _quality(one.wrong, found))
        for one in found.examples
    ]
    named = f"Where {found.better} does better"
    table = parts.table(heads, rows, named, (2, 3), stacked=True)
    data: list[list[Any]] = [
        ["example", "text", "second text", "expected", found.better, found.worse],
        *(
            [one.place, *(*one.texts, "", "")[:2], one.label, one.right, one.wrong]
            for one in found.examples
        ),
    ]
    save = parts.csv_button("Download CSV", "theodolite-examples.csv", data)
    return f'<p class="t-said">{escape(text)}</p>{table}{save}'


def none(error: UserError) -> str:
    """The reason why there are no examples to show."""
    return f'<p class="t-said">{escape(error.message)} {escape(error.hint)}</p>'


def _text(one: Example) -> str:
    if not one.texts:
        return f'<span class="t-muted">number {one.place}: its text is not at hand</span>'
    return "<br>".join(map(_short, one.texts))


def _short(text: str) -> str:
    first = text if len(text) <= SHOWN else f"{text[:SHOWN].rstrip()}…"
    return f'<span dir="auto">{escape(first)}</span>'


def _quality(value: float, found: Disagreement) -> str:
    if found.whole:
        return "right" if value else "wrong"
    return f"{value:.2f}"
