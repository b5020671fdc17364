"""Views of the page Cost: quality against cost with the Pareto front, the table, the curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from theodolite.app import formats
from theodolite.app.components.board import Cell, Head, Line, value
from theodolite.app.components.chart import drawing, plain
from theodolite.app.pages.board import cost
from theodolite.app.pages.board.curves import Scored
from theodolite.app.web import parts
from theodolite.app.web.figures import Figure, axis, draw, log_axis, scatter, style
from theodolite.app.web.theme import SERIES

CURVES_LEAD = (
    "A task scored again on vectors with fewer dimensions or fewer bits: the first "
    "dimensions (what Matryoshka training is for), principal components fitted on the task's "
    "sentences, and the first dimensions in 8 bits or by their signs alone. Nothing is "
    "encoded again."
)
GREY = "#8b9096"
"""Colour of error bars, visible on light and dark."""
METHODS = {"first": "first dimensions", "pca": "PCA", "int8": "int8", "binary": "binary"}
HEADS = {
    "per_second_16": ("16 tokens", "sentences/s"),
    "per_second_64": ("64 tokens", "sentences/s"),
    "per_second_256": ("256 tokens", "sentences/s"),
    "latency_p50": ("Latency p50", "ms per sentence"),
    "latency_p95": ("Latency p95", "ms per sentence"),
    "load_seconds": ("Loading", "ms"),
    "memory": ("Memory", "MiB"),
    "disk": ("Disk", "MiB"),
    "vector_bytes": ("Vector", "bytes"),
    "embedding_parameters": ("Embedding", "million parameters"),
    "other_parameters": ("Other", "million parameters"),
}
IN_CELLS = {"load_seconds": 1000}
"""Factors which convert a value to the unit below its head."""
ON_THE_BOARD = ("per_second_64", "latency_p50", "memory")
READING = (
    "Each encoder is measured in a separate process, on sentences that are not cached. "
    "Figures are medians; point at a cell for the lowest and highest of the repeats. "
    "Embedding parameters are looked up, the others take part in matrix products."
)


def pareto(
    quality: Mapping[str, float], tasks: int, rows: Mapping[str, Mapping[str, Any]], key: str
) -> tuple[str, Any]:
    """The finding, and the chart, or None if no quality is known.

    Args:
        quality: mean score of each ranked encoder.
        tasks: number of tasks of the means.
        rows: encoder -> its measurement.
        key: key of AXES.
    """
    what, _, more = cost.AXES[key]
    known = {n: (row[key], quality[n]) for n, row in rows.items() if row[key] and n in quality}
    if not known:
        title = "None of these encoders is ranked on the suite"
        return parts.heading(title, "Their costs are in the table."), None
    best = cost.front(known, more)
    lead = f"{what}, on {next(iter(rows.values()))['machine']}."
    if len(rows) == 1:
        title = f"Only the cost of {best[0]} has been measured"
    elif len(known) == 1:
        title = f"Only {best[0]} is ranked on the suite"
        lead += " The table has the costs of all."
    else:
        number = f"{len(best)} of {len(known)} encoders"
        verb = "is" if len(best) == 1 else "are"
        title = f"{formats.listed(best, 3)} {verb} on the Pareto front, {number}"
    words = formats.plural(tasks, "task")
    drawn = _pareto(known, rows, best, key, f"mean over {words}")
    table = [
        [
            n,
            known[n][0],
            rows[n].get(f"{key}_low"),
            rows[n].get(f"{key}_high"),
            known[n][1],
            n in best,
        ]
        for n in known
    ]
    columns = ["encoder", what, "lowest", "highest", f"mean over {words}", "on the front"]
    label = f"Mean over {words} against {what.lower()}. {title}."
    return parts.heading(title, lead), drawing(
        drawn, label, name="theodolite-cost", columns=columns, rows=table
    )


def elsewhere(rows: Mapping[str, Mapping[str, Any]], visitor: bool) -> str:
    """A note that the example was measured on another machine, and what to do."""
    machine = next((row["machine"] for row in rows.values()), "no machine")
    text = (
        f"An example, measured on {machine} under other load; quality on the starter set. "
        "Nothing has been measured on this machine yet."
    )
    return text if visitor else f"{text} It takes about ten seconds per encoder."


def _pareto(
    known: Mapping[str, tuple[float, float]],
    rows: Mapping[str, Mapping[str, Any]],
    best: Sequence[str],
    key: str,
    quality: str,
) -> Figure:
    what, unit, _ = cost.AXES[key]
    names = list(known)
    low, high = (
        [rows[n].get(f"{key}_{end}", known[n][0]) for n in names] for end in ("low", "high")
    )
    x = [known[n][0] for n in names]
    line = scatter(
        x=[known[n][0] for n in best],
        y=[known[n][1] for n in best],
        mode="lines",
        line={"color": SERIES[1], "width": 2, "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
    )
    marks = scatter(
        x=x,
        y=[known[n][1] for n in names],
        mode="markers+text" if len(names) <= 24 else "markers",
        text=[plain(formats.shorten(n, 24)) for n in names],
        textposition="top center",
        cliponaxis=False,
        marker={"size": 13, "color": [SERIES[1] if n in best else SERIES[0] for n in names]},
        error_x={
            "type": "data",
            "symmetric": False,
            "thickness": 1.2,
            "color": GREY,
            "array": [h - v for h, v in zip(high, x, strict=True)],
            "arrayminus": [v - lo for lo, v in zip(low, x, strict=True)],
        },
        customdata=[[plain(n), cost.described(rows[n], key)] for n in names],
        showlegend=False,
        hovertemplate="%{customdata[0]}: %{customdata[1]}<br>mean %{y:.2f}<extra></extra>",
    )
    across = log_axis(f"{what} ({unit}, log)", [*low, *high])
    return draw([line, marks], across, axis(quality, zeroline=False), height=420, left=64)


def table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Every measurement of every encoder, as a table that can be sorted and saved."""
    heads: list[Head] = [
        ("Encoder", ""),
        *heads_of(*cost.AXES),
        ("Other load", "cores", True),
        ("Measured", "", True),
    ]
    lines: list[Line] = [
        (
            name,
            row["device"],
            [
                *cells(row, *cost.AXES),
                (
                    cost.load(row),
                    "t-bad" if row.get("disturbed") else "",
                    "of other programs meanwhile",
                    False,
                ),
                (formats.date(row.get("measured")), "", "", False),
            ],
        )
        for name, row in rows.items()
    ]
    return value("What encoders cost", heads, lines, READING, "theodolite-costs.csv")


def heads_of(*keys: str) -> list[Head]:
    """Heads of cost columns; where lower is better, they sort in ascending order first."""
    return [(HEADS[key][0], HEADS[key][1], not cost.AXES[key][2]) for key in keys]


def cells(row: Mapping[str, Any], *keys: str) -> list[Cell]:
    """Cells of one encoder: the median, with its range, and what disturbed it, as tooltip."""
    more = f"; other load {cost.load(row)}" if row.get("disturbed") else ""
    return [
        (formats.MISSING, "t-muted", "not known", False)
        if row[key] is None
        else (
            cost.brief(row[key] * IN_CELLS.get(key, 1)),
            "",
            cost.described(row, key) + more,
            False,
        )
        for key in keys
    ]


def curves(found: Sequence[Scored], encoder: str, task: str) -> tuple[str, Any]:
    """A sentence on how small vectors can be within a point of the score; and the curves."""
    whole = max((s for s in found if s.how.method == "first"), key=lambda s: s.how.dim)
    near = [s for s in found if s.score >= whole.score - 1.0]
    least = min(near, key=lambda s: (s.how.bytes, -s.score))
    how = f"{METHODS[least.how.method]}, {least.how.dim} dimensions"
    text = (
        f"On {task}, {encoder} stays within a point of its {formats.score(whole.score)} from "
        f"{_bytes(whole.how.bytes)} per vector down to {_bytes(least.how.bytes)} ({how})."
    )
    traces = []
    for place, (method, name) in enumerate(METHODS.items()):
        line = sorted((s for s in found if s.how.method == method), key=lambda s: s.how.bytes)
        traces.append(
            scatter(
                x=[s.how.bytes for s in line],
                y=[s.score for s in line],
                mode="lines+markers",
                name=name,
                line=style(place) | {"width": 2.2},
                marker={"size": 8},
                customdata=[[s.how.dim] for s in line],
                hovertemplate=f"{name}, %{{customdata[0]}} dimensions: %{{y:.2f}}<extra></extra>",
            )
        )
    across = log_axis("bytes per vector (log)", [s.how.bytes for s in found])
    figure = draw(
        traces,
        across,
        axis(f"score on {plain(task)}", zeroline=False),
        height=400,
        left=64,
        legend=True,
    )
    rows = [[METHODS[s.how.method], s.how.dim, s.how.bytes, s.score] for s in found]
    picture = drawing(
        figure,
        f"Score of {encoder} on {task} with smaller vectors. {text}",
        name="theodolite-smaller-vectors",
        columns=["method", "dimensions", "bytes", "score"],
        rows=rows,
    )
    return f'<p class="t-said">{escape(text)}</p>', picture


def _bytes(number: float) -> str:
    return f"{number:g} bytes"
