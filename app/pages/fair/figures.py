"""Charts of the checks: numbers in, a figure out, as in `app.web.figures`.

Series differ by shape as well as by colour. Rank 1 is at the top, as people read a ranking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theodolite.app import formats
from theodolite.app.components.chart import plain
from theodolite.app.formats import shorten
from theodolite.app.web.figures import (
    Figure,
    Trace,
    axis,
    clear_colour,
    draw,
    row_height,
    scatter,
    style,
)
from theodolite.app.web.theme import SERIES
from theodolite.engine.stats.agreement import LeaveOneOut

MAX_IN_LEGEND = 16
DOTS = ("circle-open", "circle", "diamond", "square", "triangle-up", "cross")
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "star", "triangle-down", "x")


def bump(
    ranks: Mapping[str, Mapping[str, int]], means: Mapping[str, Mapping[str, float]]
) -> Figure:
    """Ranks under each condition, one line per encoder; many encoders are named at the left.

    Args:
        ranks: condition -> encoder -> rank, all with the same encoders.
        means: the same with the scores behind the ranks, for the hover.
    """
    conditions = list(ranks)
    names = sorted(ranks[conditions[0]], key=lambda name: ranks[conditions[0]][name])
    traces = [
        scatter(
            x=list(range(len(conditions))),
            y=[ranks[c][name] for c in conditions],
            mode="lines+markers",
            name=plain(shorten(name)),
            line=style(i) | {"width": 2.5},
            marker={"size": 12, "symbol": SHAPES[i % len(SHAPES)]},
            customdata=[[plain(c), formats.score(means[c][name])] for c in conditions],
            hovertemplate="%{customdata[0]}: rank %{y}, mean %{customdata[1]}<extra>"
            + plain(name)
            + "</extra>",
        )
        for i, name in enumerate(names)
    ]
    x = axis(
        tickvals=list(range(len(conditions))),
        ticktext=[plain(c) for c in conditions],
        range=[-0.25, len(conditions) - 0.75],
        zeroline=False,
        tickangle=0,
    )
    places: dict[str, Any] = {"range": [len(names) + 0.5, 0.5], "zeroline": False}
    if len(names) <= MAX_IN_LEGEND:
        y, height = axis("rank", dtick=1, **places), 170 + 44 * len(names)
        return draw(traces, x, y, height=height, left=52, legend=True)
    at: dict[int, list[str]] = {}
    for name in names:
        at.setdefault(ranks[conditions[0]][name], []).append(shorten(name, 22))
    tied = [plain(formats.listed(names)) for names in at.values()]
    y = axis(tickvals=list(at), ticktext=tied, **places)
    return draw(traces, x, y, height=110 + row_height(len(names)) * len(names), left=124)


def dots(
    series: Sequence[tuple[str, Mapping[str, float]]],
    title: str,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Rows of named marks on one axis, the best of the last series on top, joined by a line.

    Args:
        series: (name, row -> value); a row may lack a value.
        title: of the axis.
        ranges: row -> (lowest, highest), drawn as a bar.
        limits: possible range of the values.
    """
    bounds = ranges or {}
    best = {row: value for _, values in series for row, value in values.items()}
    rows = sorted(best, key=lambda row: best[row])
    traces = []
    for row in rows if len(series) > 1 else ():
        marks = [values[row] for _, values in series if row in values]
        traces.append(_bar((min(marks), max(marks)), rows.index(row), SERIES[5], 2))
    traces += [_bar(ends, rows.index(row), SERIES[0], 4) for row, ends in bounds.items()]
    for place, (name, values) in enumerate(series):
        colour = SERIES[place % len(SERIES)]
        traces.append(
            scatter(
                x=list(values.values()),
                y=[rows.index(row) for row in values],
                mode="markers",
                name=plain(name),
                marker={
                    "size": 7 if bounds else 11,
                    "symbol": DOTS[place % len(DOTS)],
                    "color": colour,
                    "line": {"width": 2, "color": colour},
                },
                customdata=[plain(row) for row in values],
                hovertemplate="%{customdata}: %{x:.2f}<extra>" + plain(name) + "</extra>",
            )
        )
    y = axis(
        tickvals=list(range(len(rows))),
        ticktext=[plain(shorten(row, 18)) for row in rows],
        range=[-0.6, len(rows) - 0.4],
        zeroline=False,
    )
    ends = [value for _, values in series for value in values.values()]
    ends += [end for pair in bounds.values() for end in pair]
    low, high = limits or (min(ends), max(ends))
    room = max(0.06 * (high - low), 0.05 if limits else 0.5)  # not so near that rounding shows
    x = axis(plain(title), zeroline=False, range=[low - room, high + room])
    return draw(traces, x, y, height=156 + 34 * max(2, len(rows)), left=60, legend=len(series) > 1)


def _bar(bounds: tuple[float, float], row: int, colour: str, width: int) -> Trace:
    return scatter(
        x=list(bounds),
        y=[row, row],
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        line={"color": clear_colour(colour, 0.55), "width": width},
    )


def curves(lines: Mapping[str, Sequence[tuple[int, float]]], title: str) -> Figure:
    """Score over dimensions, on a scale that doubles from tick to tick (Pitfalls, figure 1).

    Args:
        lines: encoder -> (dimensions, score), rising.
        title: of the axis of scores.
    """
    traces = [
        scatter(
            x=[k for k, _ in line],
            y=[score for _, score in line],
            mode="lines+markers",
            name=plain(shorten(name)),
            line=style(place) | {"width": 2},
            marker={"size": 8, "symbol": DOTS[1 + place % 5], "color": style(place)["color"]},
            hovertemplate="%{x} dimensions: %{y:.2f}<extra>" + plain(name) + "</extra>",
        )
        for place, (name, line) in enumerate(lines.items())
    ]
    sizes = sorted({k for line in lines.values() for k, _ in line})
    doubling = [k for k in sizes if k & (k - 1) == 0] or sizes
    ticks = {"tickvals": doubling, "ticktext": [str(k) for k in doubling]}
    x, y = axis("dimensions", type="log", **ticks), axis(plain(title), zeroline=False)
    return draw(traces, x, y, height=380 + 14 * len(lines), left=56, legend=True)


def grid(cells: Mapping[tuple[str, str], LeaveOneOut]) -> Figure:
    """Correlations by (column, row), blue for positive and orange for negative (figure 3).

    A cell whose sign turns has a border, not a colour of its own.
    """
    columns, rows = ([*dict.fromkeys(pair[side] for pair in cells)] for side in (0, 1))
    table = [[cells.get((column, row)) for column in columns] for row in rows]
    heat = {
        "type": "heatmap",
        "x": list(range(len(columns))),
        "y": list(range(len(rows))),
        "z": [[cell and cell.value for cell in line] for line in table],
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
            for y, line in enumerate(table)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    places = [(columns.index(column), rows.index(row)) for column, row in cells]
    # The heat map's own text is black or white; this one takes the page's text colour. It has no
    # leading zero, as correlations are printed: cells are narrow on a phone.
    texts = scatter(
        x=[x for x, _ in places],
        y=[y for _, y in places],
        mode="text",
        text=[formats.score(cell.value).replace("0.", ".", 1) for cell in cells.values()],
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
        for (x, y), cell in zip(places, cells.values(), strict=True)
        if cell.turns
    ]
    bare: dict[str, Any] = {"showgrid": False, "zeroline": False}
    across = axis(
        tickvals=list(range(len(columns))),
        ticktext=[plain(name) for name in columns],
        side="top",
        tickangle=-55,
        **bare,
    )
    down = axis(
        tickvals=list(range(len(rows))),
        ticktext=[plain(shorten(name, 16)) for name in rows],
        autorange="reversed",
        **bare,
    )
    height = 130 + 36 * len(rows)
    return draw([heat, texts], across, down, height=height, left=60, shapes=borders)


def _hover(cell: LeaveOneOut | None, task: str, probe: str) -> str:
    if cell is None:
        return ""
    ends = ((cell.lowest, cell.without_lowest), (cell.highest, cell.without_highest))
    lines = [f"{formats.score(value)} without {plain(name)}" for value, name in ends]
    head = f"{plain(task)} with {plain(probe)}: {formats.score(cell.value)}"
    return "<br>".join((f"{head} over {cell.n} encoders", *lines))
