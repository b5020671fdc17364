"""A large table of short texts, whose rows and columns are rendered as they are scrolled into view.

Its first row and column stay in view; a head sorts by its column. It knows nothing of what stands
in it. What screen readers are told of rows and columns counts all of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import gradio as gr

_JS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
Cell = tuple[str, str, str, bool] | tuple[str, str, str, bool, str]
"""Text, css class, what pointing at it says, whether it is bold, what stands small beside it."""
Head = (
    tuple[str, str] | tuple[str, str, bool] | tuple[str, str, bool, bool]
    | tuple[str, str, bool, bool, str]
)  # fmt: skip
"""Title, what stands small below it, whether it is sorted from the lowest first, whether its cells
can be opened, and what `select` then calls the column, if not by its title."""
Line = tuple[str, str, Sequence[Cell]]
"""Name of a row, what stands small beside it, its cells."""


def board(**kwargs: Any) -> gr.HTML:
    """Make the component. A function: Gradio writes a stub file beside every subclass of its own.

    Event: `select` with `row` and `column`, of a cell that can be opened.

    Args:
        **kwargs: as `gr.HTML` takes them: `elem_id`, …
    """
    import gradio as gr

    return gr.HTML(None, html_template="", js_on_load=_JS, apply_default_css=False, **kwargs)


def value(
    label: str, heads: Sequence[Head], rows: Sequence[Line], reading: str, file: str = "",
    pressing: str = "",
) -> str:  # fmt: skip
    """The value of a board: plain texts, as JSON, since the browser would wrap every cell of it.

    Args:
        label: what it holds, for screen readers.
        heads: of its columns.
        rows: in the order in which they are shown first.
        reading: how to read it, below.
        file: the name under which it can be saved as CSV; empty for not at all.
        pressing: what a press on a cell does, below as well.
    """
    brief = [(name, small, [_brief(cell) for cell in cells]) for name, small, cells in rows]
    held = {"label": label, "heads": heads, "rows": brief, "reading": reading, "file": file,
            "pressing": pressing}  # fmt: skip
    return json.dumps(held, separators=(",", ":"))


def _brief(cell: Cell) -> Sequence[str | bool]:
    """A cell without the empty rest, which most have: there may be tens of thousands."""
    length = len(cell)
    while length > 1 and not cell[length - 1]:
        length -= 1
    return cell[:length]
