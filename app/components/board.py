"""A large table of short texts, whose rows and columns are rendered as they are scrolled into view.

Its first row and column stay in view; a head sorts by its column. It does not know what its cells
mean. Row and column counts for screen readers include those not rendered.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from theodolite.app.components.modules import mount

if TYPE_CHECKING:
    import gradio as gr

Cell = tuple[str, str, str, bool] | tuple[str, str, str, bool, str]
"""Text, CSS class, tooltip, whether it is bold, small text beside it."""
Head = (
    tuple[str, str]
    | tuple[str, str, bool]
    | tuple[str, str, bool, bool]
    | tuple[str, str, bool, bool, str]
)
"""Title, small text below it, whether it sorts in ascending order first, whether its cells can be
opened, and the name of the column in `select`, if other than its title."""
Line = tuple[str, str, Sequence[Cell]]
"""Name of a row, small text beside it, its cells."""


def board(**kwargs: Any) -> gr.HTML:
    """Make the component. A function: Gradio writes a stub file beside every subclass of its own.

    Event: `select` with `row` and `column`, of a cell that can be opened.

    Args:
        **kwargs: arguments of `gr.HTML`: `elem_id`, …
    """
    import gradio as gr

    return gr.HTML(
        None, html_template="", js_on_load=mount("board.js"), apply_default_css=False, **kwargs
    )


def value(
    label: str,
    heads: Sequence[Head],
    rows: Sequence[Line],
    reading: str,
    file: str = "",
    pressing: str = "",
    best_first: int | None = None,
) -> str:
    """The value of a board: plain texts as one JSON string, since Gradio would wrap every cell.

    Args:
        label: description of the table, for screen readers.
        heads: heads of its columns.
        rows: its rows, in their initial order.
        reading: how to read the table, shown below it.
        file: file name of its CSV; empty for no CSV.
        pressing: what pressing a cell does, shown below it too.
        best_first: index of the head by which the rows are sorted.
    """
    brief = [(name, small, [_brief(cell) for cell in cells]) for name, small, cells in rows]
    held = {
        "label": label,
        "heads": heads,
        "rows": brief,
        "reading": reading,
        "file": file,
        "pressing": pressing,
        "sorted": None if best_first is None else (best_first, True),
    }
    return json.dumps(held, separators=(",", ":"))


def _brief(cell: Cell) -> Sequence[str | bool]:
    """A cell without trailing empty fields: a table may have tens of thousands of cells."""
    length = len(cell)
    while length > 1 and not cell[length - 1]:
        length -= 1
    return cell[:length]
