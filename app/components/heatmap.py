"""A heatmap of scores: a table of encoders by tasks, with a tint behind each number.

Sorting, the switch for published rows, hover and the CSV stay in the browser. A cell sends `select`
with its `result` to Python. The component knows nothing of the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from theodolite.app import formats
from theodolite.app.components.modules import mount
from theodolite.app.names import labelled

if TYPE_CHECKING:
    import gradio as gr


@dataclass(frozen=True)
class HeatmapColumn:
    """One column.

    Attributes:
        key: name of the task, or of the average.
        label: its head.
        about: a sentence for its tooltip.
        kind: `task`, or `average`, which is set off and tinted only where comparable.
    """

    key: str
    label: str
    about: str = ""
    kind: Literal["task", "average"] = "task"


@dataclass(frozen=True)
class Cell:
    """One cell; without a score it is an error, waiting, or empty.

    Attributes:
        score: in points of 100; in a waiting cell, the value shown until the new one arrives.
        result: id of the result, to request its details; None when there are none.
        facts: (name, value) lines for the hover, plain text.
        note: a few words under the number, such as `3 of 7 tasks`.
        over: key of an average's set of tasks; only averages with the same key share a tint.
        state: `error`, `waiting`, or empty.
        spread: variation of the score over seeds, for the CSV; empty when unknown.
    """

    score: float | None = None
    result: int | None = None
    facts: tuple[tuple[str, str], ...] = ()
    note: str = ""
    over: str = ""
    state: Literal["", "error", "waiting"] = ""
    spread: str = ""


@dataclass(frozen=True)
class HeatmapRow:
    """One encoder. A published row was not evaluated here, and is marked."""

    name: str
    cells: dict[str, Cell]
    note: str = ""
    published: bool = False


def heatmap(
    *,
    label: str,
    name: str,
    interval: Callable[[int], list[float] | None],
    **kwargs: Any,
) -> gr.HTML:
    """Make the component. Event: `select` with `result`, `row` and `column`.

    Args:
        label: description of the table, for screen readers.
        name: file name of the CSV, without ending.
        interval: result id -> [low, high] in points, called when a cell is hovered.
        **kwargs: arguments of `gr.HTML`.
    """
    import gradio as gr

    interval.__name__ = "interval"
    return gr.HTML(
        html_template="",
        js_on_load=mount("heatmap.js", "server"),
        apply_default_css=False,
        server_functions=[interval],
        caption=label,
        name=name,
        **kwargs,
    )


def results(rows: Iterable[HeatmapRow]) -> list[int]:
    """Ids of the results in the rows."""
    cells = (cell for row in rows for cell in row.cells.values())
    return [cell.result for cell in cells if cell.result is not None]


def grid(columns: list[HeatmapColumn], rows: list[HeatmapRow]) -> str:
    """Make the value of a heatmap, as JSON text.

    With an object, the browser would copy every number at each poll of the store, which often took
    longer than the poll interval: 100 encoders on 50 tasks kept it busy for good.
    """
    return labelled(formats.json_text({"columns": columns, "rows": rows}))
