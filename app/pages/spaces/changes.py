"""A list of sentences whose neighbours differ between two encoders, with both neighbour lists.

Knows nothing of how the sentences were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

_JS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_MAX = 400


@dataclass(frozen=True)
class Neighbour:
    """A neighbour: its position in the collection, its text and its cosine."""

    index: int
    sentence: str
    cosine: float


@dataclass(frozen=True)
class Changed:
    """A sentence and its nearest neighbours with either encoder, nearest first.

    Attributes:
        index: its position in the collection.
        sentence: its text.
        jaccard: Jaccard index of the two lists, 0 to 1.
        overlap: rank-biased overlap of the two lists, 0 to 1.
        first, second: the two lists.
    """

    index: int
    sentence: str
    jaccard: float
    overlap: float
    first: Sequence[Neighbour]
    second: Sequence[Neighbour]


def changes(**kwargs: Any) -> gr.HTML:
    """Make the component; `listed` makes its value."""
    return gr.HTML("", js_on_load=_JS, apply_default_css=False, **kwargs)


def listed(found: Sequence[Changed], encoders: tuple[str, str], group: str) -> str:
    """The list as HTML, in the given order.

    Args:
        found: the changed sentences.
        encoders: names of the two encoders.
        group: the group of linked maps that can show a sentence; see `js/map/link.js`.
    """
    items = "".join(_item(rank, one, encoders) for rank, one in enumerate(found, 1))
    return f'<ol class="t-changes" data-group="{escape(group)}">{items}</ol>'


def _item(rank: int, one: Changed, encoders: tuple[str, str]) -> str:
    here = {near.index for near in one.first}
    shared = here & {near.index for near in one.second}
    lists = "".join(
        _column(name, near, shared)
        for name, near in zip(encoders, (one.first, one.second), strict=True)
    )
    text = "none shared" if not shared else f"{len(shared)} of {len(one.first)} shared"
    return (
        f'<li data-point="{one.index}"><details><summary><span class="t-rank">{rank}</span>'
        f'<span dir="auto">{_cut(one.sentence)}</span><small>{text}</small></summary>'
        f'<div class="t-swap"><p class="t-small t-muted">Jaccard {one.jaccard:.2f}, rank-biased '
        f'overlap {one.overlap:.2f}. <button type="button" class="t-link" data-show>Show it on the '
        f'maps</button></p><div class="t-columns" style="--columns:2">{lists}</div></div>'
        "</details></li>"
    )


def _column(name: str, near: Sequence[Neighbour], shared: set[int]) -> str:
    items = "".join(
        f'<li data-near="{one.index}"{" class=t-shared" if one.index in shared else ""}>'
        f'<span class="t-rank">{rank}</span><p dir="auto">{_cut(one.sentence)}'
        f"{'<em> in both</em>' if one.index in shared else ''}</p>"
        f'<span class="t-num">{f"{one.cosine:.3f}".replace("-", "−")}</span></li>'
        for rank, one in enumerate(near, 1)
    )
    return (
        f'<section class="t-column"><header><span class="t-spec">{escape(name)}</span>'
        f"<small>cosine</small></header><ol>{items}</ol></section>"
    )


def _cut(text: str) -> str:
    return escape(text if len(text) <= _MAX else f"{text[:_MAX]}…")
