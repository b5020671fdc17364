"""Plotly figures in the browser, drawn by the plotly.js of the installed package.

A chart follows light and dark, and offers the numbers of every figure as a table and as CSV.
"""

from collections.abc import Sequence
from typing import Any

from theodolite.app import formats


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
