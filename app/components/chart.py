"""Plotly figures in the browser, drawn by the plotly.js of the installed package.

Gradio's own plot has no click or select events and carries another plotly.js. This one follows
light and dark, sends `click`, `select` and `hover` to Python, and offers the numbers of every
figure as a table and as CSV. It does not know what the figures show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.components.modules import mount
from theodolite.app.web import theme
from theodolite.app.web.routes import PLOTLY_JS

if TYPE_CHECKING:
    import gradio as gr


def chart(
    value: dict[str, Any] | None = None,
    *,
    height: int = 360,
    selectable: bool = False,
    **kwargs: Any,
) -> gr.HTML:
    """Make the component. A function: Gradio writes a stub file beside every subclass of its own.

    Events: `click` with `points` (lists of `{trace, index, x, y, custom}`), `select` with the same
    after a box or lasso, `hover` with one point; a handler reads `event.points` of its
    `event: gr.EventData`.

    Args:
        value: a value of `drawing`, or None for an empty chart.
        height: pixels of the drawing.
        selectable: whether to offer box and lasso selection.
        **kwargs: arguments of `gr.HTML`: `elem_id`, `visible`, …
    """
    import gradio as gr

    return gr.HTML(
        value,
        html_template="",
        js_on_load=mount("chart.js"),
        apply_default_css=False,
        height=height,
        selectable=selectable,
        plotly=PLOTLY_JS,
        series=list(theme.SERIES),
        **kwargs,
    )


def drawing(
    figure: dict[str, Any],
    label: str,
    *,
    name: str = "chart",
    columns: Sequence[str] | None = None,
    rows: Sequence[Sequence[Any]] | None = None,
) -> dict[str, Any]:
    """Make the value of a chart.

    Args:
        figure: `data` and `layout`, as plotly.js reads them.
        label: a sentence that describes the figure, for screen readers. Plain text.
        name: file name of its CSV and its image, without ending.
        columns: heads of the table beside the figure; without them it is derived from the traces.
        rows: its rows, in the order of `columns`.

    User text inside a figure must go through `plain`. Figure and table are sent as JSON text: in an
    object, the browser would wrap and copy every number, which takes seconds for 5,000 rows.
    """
    table = None
    if columns and rows:
        table = formats.json_text({"columns": list(columns), "rows": [list(row) for row in rows]})
    return {"figure": formats.json_text(figure), "label": label, "name": name, "table": table}


def plain(text: str) -> str:
    """Escape a text for plotly, which interprets some HTML in titles, labels and hovers."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
