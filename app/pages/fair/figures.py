"""Charts of the evidence: numbers of `app.pages.fair.points` in, a figure out.

Text, paper and grid get their colours from the page, as in `app.web.figures`. Series differ by
shape as well as by colour; a cell whose sign turns has a border and a mark, not a colour of its
own.
"""

from __future__ import annotations

from typing import Any

from theodolite.app import formats
from theodolite.app.components.chart import drawing, plain
from theodolite.app.formats import shorten
from theodolite.app.pages.fair.points import DimensionCurves, Dots, Exhibit, Grid
from theodolite.app.web.figures import Figure, Trace, axis, clear_colour, draw, scatter, style
from theodolite.app.web.theme import SERIES
from theodolite.engine.stats.agreement import LeaveOneOut

SHAPES = ("circle-open", "circle", "diamond", "square", "triangle-up", "cross")
ROW_LABEL = 18
ROW = 34


def show(exhibit: Exhibit) -> dict[str, Any]:
    """The value of a chart, with its table."""
    return drawing(
        _draw(exhibit.picture),
        exhibit.label,
        name=exhibit.name,
        columns=exhibit.columns,
        rows=exhibit.rows,
    )


def _draw(picture: Dots | DimensionCurves | Grid) -> Figure:
    if isinstance(picture, Dots):
        return dots(picture)
    return curves(picture) if isinstance(picture, DimensionCurves) else grid(picture)


def dots(picture: Dots) -> Figure:
    """Rows in the order of the last series, the best on top; a line joins the marks of a row."""
    best = {row: value for _, values in picture.series for row, value in values.items()}
    rows = sorted(best, key=lambda row: best[row])
    traces = []
    for row in rows if len(picture.series) > 1 else ():
        marks = [values[row] for _, values in picture.series if row in values]
        traces.append(_bar((min(marks), max(marks)), rows.index(row), SERIES[5], 2))
    for row, bounds in (picture.ranges or {}).items():
        traces.append(_bar(bounds, rows.index(row), SERIES[0], 4))
    for place, (name, values) in enumerate(picture.series):
        traces.append(
            scatter(
                x=list(values.values()),
                y=[rows.index(row) for row in values],
                mode="markers",
                name=plain(name),
                marker={
                    "size": 7 if picture.ranges else 11,
                    "symbol": SHAPES[place % len(SHAPES)],
                    "color": SERIES[place % len(SERIES)],
                    "line": {"width": 2, "color": SERIES[place % len(SERIES)]},
                },
                customdata=[plain(row) for row in values],
                hovertemplate="%{customdata}: %{x:.2f}<extra>" + plain(name) + "</extra>",
            )
        )
    y = axis(
        tickvals=list(range(len(rows))),
        ticktext=[plain(shorten(r, ROW_LABEL)) for r in rows],
        range=[-0.6, len(rows) - 0.4],
        zeroline=False,
    )
    x = axis(plain(picture.axis), zeroline=False, range=_shown(picture))
    height, legend = 156 + ROW * max(2, len(rows)), len(picture.series) > 1
    return draw(traces, x, y, height=height, left=60, legend=legend)


def _shown(picture: Dots) -> list[float]:
    """The range of the axis, with room at its ends, and wide enough not to show rounding."""
    marks = [value for _, values in picture.series for value in values.values()]
    ends = [*marks, *(end for bounds in (picture.ranges or {}).values() for end in bounds)]
    low, high = picture.limits or (min(ends), max(ends))
    room = max(0.06 * (high - low), 0.05 if picture.limits else 0.5)
    return [low - room, high + room]


def _bar(bounds: tuple[float, float], row: int, colour: str, width: int) -> Trace:
    return scatter(
        x=list(bounds),
        y=[row, row],
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        line={"color": clear_colour(colour, 0.55), "width": width},
    )


def curves(picture: DimensionCurves) -> Figure:
    """Score over dimensions, on a scale that doubles from tick to tick (figure 1)."""
    traces = []
    for place, (name, line) in enumerate(picture.lines.items()):
        look = style(place)
        traces.append(
            scatter(
                x=[k for k, _ in line],
                y=[score for _, score in line],
                mode="lines+markers",
                name=plain(shorten(name)),
                line=look | {"width": 2},
                marker={"size": 8, "symbol": SHAPES[1 + place % 5], "color": look["color"]},
                hovertemplate="%{x} dimensions: %{y:.2f}<extra>" + plain(name) + "</extra>",
            )
        )
    sizes = sorted({k for line in picture.lines.values() for k, _ in line})
    doubling = [k for k in sizes if k & (k - 1) == 0] or sizes
    ticks = {"tickvals": doubling, "ticktext": [str(k) for k in doubling]}
    x, y = axis("dimensions", type="log", **ticks), axis(plain(picture.axis), zeroline=False)
    return draw(traces, x, y, height=380 + 14 * len(picture.lines), left=56, legend=True)


def grid(picture: Grid) -> Figure:
    """Correlations, blue for positive and orange for negative (figure 3)."""
    rows, columns = list(picture.rows), list(picture.columns)
    found = [[picture.cells.get((column, row)) for column in columns] for row in rows]
    heat = {
        "type": "heatmap",
        "x": list(range(len(columns))),
        "y": list(range(len(rows))),
        "z": [[cell.value if cell else None for cell in line] for line in found],
        "zmin": -1,
        "zmax": 1,
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "showscale": False,
        "colorscale": [
            [0, clear_colour(SERIES[1], 0.72)],
            [0.5, clear_colour(SERIES[5], 0.06)],
            [1, clear_colour(SERIES[0], 0.72)],
        ],
        "customdata": [
            [_hover(cell, columns[x], rows[y]) for x, cell in enumerate(line)]
            for y, line in enumerate(found)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    there = [(x, y, cell) for y, line in enumerate(found) for x, cell in enumerate(line) if cell]
    # The heat map's own text is black or white; this one takes the page's text colour.
    texts = scatter(
        x=[x for x, _, _ in there],
        y=[y for _, y, _ in there],
        mode="text",
        text=[_cell(cell) for _, _, cell in there],
        textfont={"size": 12},
        hoverinfo="skip",
        showlegend=False,
    )
    borders = [
        {
            "type": "rect",
            "x0": x - 0.46,
            "x1": x + 0.46,
            "y0": y - 0.42,
            "y1": y + 0.42,
            "line": {"color": SERIES[5], "width": 1.5, "dash": "dot"},
        }
        for x, y, cell in there
        if cell.turns
    ]
    across = axis(
        tickvals=list(range(len(columns))),
        ticktext=[plain(name) for name in columns],
        side="top",
        tickangle=-55,
        showgrid=False,
        zeroline=False,
    )
    down = axis(
        tickvals=list(range(len(rows))),
        ticktext=[plain(shorten(name, 16)) for name in rows],
        autorange="reversed",
        showgrid=False,
        zeroline=False,
    )
    height = 130 + 36 * len(rows)
    return draw([heat, texts], across, down, height=height, left=60, shapes=borders)


def _cell(cell: LeaveOneOut) -> str:
    """Without the leading zero, as correlations are printed: cells are narrow on a phone."""
    return formats.score(cell.value).replace("0.", ".", 1)


def _hover(cell: LeaveOneOut | None, task: str, probe: str) -> str:
    if cell is None:
        return ""
    ends = ((cell.lowest, cell.without_lowest), (cell.highest, cell.without_highest))
    lines = [f"{formats.score(value)} without {plain(name)}" for value, name in ends]
    head = f"{plain(task)} with {plain(probe)}: {formats.score(cell.value)}"
    return "<br>".join((f"{head} over {cell.n} encoders", *lines))
