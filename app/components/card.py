"""A model card, stored as Markdown beside the weights, rendered on a page."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


def card(markdown: str) -> str:
    """A card as HTML, its headings one level below the page's own.

    HTML in it is escaped, and no image is loaded: the card comes from an untrusted author.
    """
    return f'<article class="t-card t-card-text">{_reader().render(markdown)}</article>'


@lru_cache(maxsize=1)
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    reader.core.ruler.push("page", _of_a_page)
    return reader


def _of_a_page(state: Any) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
        elif token.type == "table_open":
            token.attrSet("class", "t-table")
            token.attrSet("tabindex", "0")  # lets a wide table scroll by keyboard
