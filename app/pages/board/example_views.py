"""The examples that one encoder gets right and another wrong, as HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from app import formats
from app.web import parts

if TYPE_CHECKING:
    from app.pages.board.examples import Disagreement, Example

LEAD = (
    "What a difference between two encoders is made of. Of a task that is scored by a correlation, "
    "how right an example is: how near its rank by the encoder is to its rank by the grade."
)


def shown(found: Disagreement) -> str:
    """A sentence, the examples furthest apart, and a way to save them."""
    right, wrong = ("nearer the grade", "") if found.graded else ("right", " wrong")
    said = (
        f"{found.better} is {right} on {formats.plural(found.ahead, 'example')} of {found.task} "
        f"{'than' if found.graded else 'that'} {found.worse}{'' if found.graded else ' gets'}"
        f"{wrong}, the other way round on {formats.count(found.behind)}, of "
        f"{formats.count(found.of)}."
    )
    if not found.examples:
        return f'<p class="t-said">{escape(said)}</p>'
    heads = ("Example", "Expected", found.better, found.worse)
    rows = [
        (_text(one), escape(one.label), _quality(one.right, found), _quality(one.wrong, found))
        for one in found.examples
    ]
    table = parts.table(heads, rows, f"Where {found.better} does better", (2, 3))
    data: list[list[Any]] = [
        ["example", "text", "second text", "expected", found.better, found.worse],
        *([one.place, *(*one.texts, "", "")[:2], one.label, one.right, one.wrong]
          for one in found.examples),
    ]  # fmt: skip
    save = parts.csv_button("Download CSV", "theodolite-examples.csv", data)
    return f'<p class="t-said">{escape(said)}</p>{table}{save}'


def _text(one: Example) -> str:
    if not one.texts:
        return f'<span class="t-muted">number {one.place}: its text is not at hand</span>'
    return "<br>".join(f'<span dir="auto">{escape(text)}</span>' for text in one.texts)


def _quality(value: float, found: Disagreement) -> str:
    if not found.graded and value in (0.0, 1.0):
        return "right" if value else "wrong"
    return f"{value:.2f}"
