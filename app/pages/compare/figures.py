"""Charts of Compare and Fairness: numbers in, a figure out, as in `app.web.figures`.

Series differ by shape as well as by colour. Rank 1 is at the top or left, as people read a ranking.
"""

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from theodolite.app import formats
from theodolite.app.blocks import Chart
from theodolite.app.formats import percent, shorten
from theodolite.app.web.figures import (
    FEW_ROWS,
    Figure,
    axis,
    clear_colour,
    draw,
    plain,
    row_height,
    scatter,
    style,
)
from theodolite.app.web.theme import SERIES
from theodolite.engine.stats.agreement import LeaveOneOut
from theodolite.engine.stats.ranks import RankInterval

DOTS = ("circle-open", "circle", "diamond", "square", "triangle-up", "cross")
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "star", "triangle-down", "x")


def ranks(rows: Sequence[RankInterval], title: str) -> Chart:
    """Each encoder's rank with its 95 % interval over the resamples, the best first."""
    bars = scatter(
        x=[end for row in rows for end in (row.low, row.high, None)],  # None ends a line
        y=[row for row in range(len(rows)) for _ in range(3)],
        mode="lines",
        hoverinfo="skip",
        line={"width": 6, "color": SERIES[0]},
        opacity=0.35,
        showlegend=False,
    )
    marks = scatter(
        x=[row.rank for row in rows],
        y=list(range(len(rows))),
        mode="markers",
        marker={"size": 13, "color": SERIES[0]},
        showlegend=False,
        customdata=[
            [plain(row.name), row.low, row.high, percent(row.first), formats.score(row.score)]
            for row in rows
        ],
        hovertemplate="%{customdata[0]}: rank %{x}, 95 % of resamples from %{customdata[1]} to "
        "%{customdata[2]}<br>first in %{customdata[3]}, mean %{customdata[4]}<extra></extra>",
    )
    ticks: dict[str, Any] = {"dtick": 1} if len(rows) <= FEW_ROWS else {}
    x = axis("rank", range=[0.6, len(rows) + 0.4], zeroline=False, **ticks)
    y = axis(
        tickvals=list(range(len(rows))),
        ticktext=[plain(shorten(row.name, 22)) for row in rows],
        range=[len(rows) - 0.4, -0.6],
        zeroline=False,
        showgrid=False,
    )
    return Chart(
        draw([bars, marks], x, y, height=110 + row_height(len(rows)) * len(rows), left=124),
        f"Rank of each encoder with its 95 % interval. {title}.",
        name="theodolite-ranks",
        columns=["encoder", "mean", "rank", "rank_low", "rank_high", "share_first"],
        rows=[[r.name, r.score, r.rank, r.low, r.high, r.first] for r in rows],
    )


def ranks_headline(rows: Sequence[RankInterval]) -> str:
    """The encoder that ranks first, and how certain that is."""
    best = [row for row in rows if row.rank == 1]
    rivals = [row.name for row in rows if row.rank > 1 and row.low == 1]
    if len(best) > 1:
        return f"{formats.listed(row.name for row in best)} share rank 1"
    if isnan(best[0].first):
        return f"{best[0].name} is first; how ranks vary is not known, as a task has one example"
    also = f"rank 1 is also in the interval of {formats.listed(rivals)}"
    sure = f"{best[0].name} is first in {percent(best[0].first)} of the resamples"
    return f"{sure}; {also if rivals else 'no other interval reaches rank 1'}"


def slopes(scores: Mapping[str, Mapping[str, float]], title: str) -> Figure:
    """Scores under each condition, one line per encoder, so that lines cross where ranks swap.

    Args:
        scores: condition -> encoder -> score, all with the same encoders.
        title: of the axis of scores.
    """
    conditions = list(scores)
    names = list(scores[conditions[0]]) if conditions else []
    traces = [
        scatter(
            x=list(range(len(conditions))),
            y=[scores[condition][name] for condition in conditions],
            mode="lines+markers",
            name=plain(shorten(name)),
            line=style(place) | {"width": 2.5},
            marker={"size": 12, "symbol": SHAPES[place % len(SHAPES)]},
            hovertemplate="%{y:.2f}<extra>" + plain(name) + "</extra>",
        )
        for place, name in enumerate(names)
    ]
    x = axis(
        tickvals=list(range(len(conditions))),
        ticktext=[plain(condition) for condition in conditions],
        range=[-0.25, len(conditions) - 0.75],
        zeroline=False,
        tickangle=0,
    )
    y, height = axis(plain(title), zeroline=False), 380 + 14 * len(names)
    return draw(traces, x, y, height=height, left=56, legend=True)


def dots(
    series: Sequence[tuple[str, Mapping[str, float]]],
    title: str,
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> Figure:
    """Rows of named marks on one axis, the best on top.

    Args:
        series: (name, row -> value); a row has one value.
        title: of the axis.
        ranges: row -> (lowest, highest), drawn as a bar.
    """
    values = {row: value for _, of in series for row, value in of.items()}
    rows = sorted(values, key=lambda row: values[row])
    bounds = ranges or {}
    traces = [
        scatter(
            x=list(ends),
            y=[rows.index(row)] * 2,
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
            line={"color": clear_colour(SERIES[0], 0.55), "width": 4},
        )
        for row, ends in bounds.items()
    ] + [
        scatter(
            x=list(of.values()),
            y=[rows.index(row) for row in of],
            mode="markers",
            name=plain(name),
            marker={
                "size": 7 if bounds else 11,
                "symbol": DOTS[place],
                "color": SERIES[place],
                "line": {"width": 2, "color": SERIES[place]},
            },
            customdata=[plain(row) for row in of],
            hovertemplate="%{customdata}: %{x:.2f}<extra>" + plain(name) + "</extra>",
        )
        for place, (name, of) in enumerate(series)
    ]
    y = axis(
        tickvals=list(range(len(rows))),
        ticktext=[plain(shorten(row, 18)) for row in rows],
        range=[-0.6, len(rows) - 0.4],
        zeroline=False,
    )
    ends = [*values.values(), *(end for pair in bounds.values() for end in pair)]
    room = max(0.06 * (max(ends) - min(ends)), 0.5)  # not so near that rounding shows
    x = axis(plain(title), zeroline=False, range=[min(ends) - room, max(ends) + room])
    return draw(traces, x, y, height=156 + 34 * max(2, len(rows)), left=60, legend=len(series) > 1)


def curves(rows: Sequence[tuple[str, int, float]], title: str) -> Figure:
    """Score over dimensions, on a scale that doubles from tick to tick (Pitfalls, figure 1).

    Args:
        rows: encoder, dimensions and score, rising by encoder.
        title: of the axis of scores.
    """
    names = list(dict.fromkeys(name for name, _, _ in rows))
    traces = [
        scatter(
            x=[k for one, k, _ in rows if one == name],
            y=[score for one, _, score in rows if one == name],
            mode="lines+markers",
            name=plain(shorten(name)),
            line=style(place) | {"width": 2},
            marker={"size": 8, "symbol": DOTS[1 + place % 5], "color": style(place)["color"]},
            hovertemplate="%{x} dimensions: %{y:.2f}<extra>" + plain(name) + "</extra>",
        )
        for place, name in enumerate(names)
    ]
    sizes = sorted({k for _, k, _ in rows})
    doubling = [k for k in sizes if k & (k - 1) == 0] or sizes
    ticks = {"tickvals": doubling, "ticktext": [str(k) for k in doubling]}
    x, y = axis("dimensions", type="log", **ticks), axis(plain(title), zeroline=False)
    return draw(traces, x, y, height=380 + 14 * len(names), left=56, legend=True)


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
    return (
        f"{plain(task)} with {plain(probe)}: {formats.score(cell.value)} over {cell.n} encoders"
        f"<br>{formats.score(cell.lowest)} without {plain(cell.without_lowest)}"
        f"<br>{formats.score(cell.highest)} without {plain(cell.without_highest)}"
    )
