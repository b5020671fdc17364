"""A table of scores with a tint behind each number: encoders by tasks.

Sorting, the switch for published rows, hover and the CSV stay in the browser. A cell sends `select`
with its `result` to Python. It knows nothing of the store.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import gradio as gr

from app import formats

_JS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class HeatmapColumn:
    """One column.

    Attributes:
        key: name of the task, or of the average.
        label: its head.
        about: a sentence shown on hover.
        kind: averages are set off from tasks, and tinted only where comparable.
    """

    key: str
    label: str
    about: str = ""
    kind: Literal["task", "average"] = "task"


@dataclass(frozen=True)
class Cell:
    """One cell; without a score it is an error, waiting, or empty.

    Attributes:
        score: in points of 100; of one that is waiting, what stands there until it comes.
        result: id to ask for more with; None when there is nothing more.
        facts: (what, value) lines for the hover, plain text.
        note: a few words under the number, such as `3 of 7 tasks`.
        over: averages with the same text here are over the same tasks; only they share a tint.
        state: `error`, `waiting`, or empty.
        spread: how far the score moves with the seed, for the CSV; empty when that is not known.
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
    """One encoder. A published row was never measured here, and says so."""

    name: str
    cells: dict[str, Cell]
    note: str = ""
    published: bool = False


def heatmap(value: str | None = None, *, label: str, name: str,
            interval: Callable[[int], list[float] | None], **kwargs: Any) -> gr.HTML:  # fmt: skip
    """Make the component. Event: `select` with `result`, `row` and `column`.

    Args:
        value: what `grid` returns, or None.
        label: what the table shows, for screen readers.
        name: file name of the CSV without ending.
        interval: result id -> [low, high] in points, asked for when a cell is hovered.
        **kwargs: as `gr.HTML` takes them.
    """
    interval.__name__ = "interval"
    return gr.HTML(
        value,
        html_template="",
        js_on_load=_JS,
        apply_default_css=False,
        server_functions=[interval],
        caption=label,
        name=name,
        **kwargs,
    )


def results(value: str | None) -> list[int]:
    """Ids of the results in a value of a heatmap."""
    rows = json.loads(value)["rows"] if value else []
    cells = (cell for row in rows for cell in row["cells"].values())
    return [cell["result"] for cell in cells if cell["result"] is not None]


def grid(columns: list[HeatmapColumn], rows: list[HeatmapRow]) -> str:
    """Make the value of a heatmap, JSON as text.

    Of an object the browser would copy every number anew at each look at the store, as often as
    not for longer than until the next one: 100 encoders on 50 tasks kept it busy for good.
    """
    return formats.json_text({"columns": columns, "rows": rows})
