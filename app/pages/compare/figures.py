"""Charts of ranks: how certain a rank is, and how it changes.

As in `app.web.figures`: numbers in, a figure and its headline out. Rank 1 is at the top or left, as
people read a ranking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theodolite.app import formats
from theodolite.app.components.chart import plain
from theodolite.app.formats import shorten
from theodolite.app.web.figures import (
    FEW_ROWS,
    Figure,
    axis,
    draw,
    percent,
    row_height,
    scatter,
    style,
)
from theodolite.app.web.theme import SERIES
from theodolite.engine.stats.ranks import RankInterval

MAX_IN_LEGEND = 16
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "star", "triangle-down", "x")


def intervals(rows: Sequence[RankInterval]) -> Figure:
    """Each encoder's rank with its 95 % interval over the resamples, best first."""
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
    return draw([bars, marks], x, y, height=110 + row_height(len(rows)) * len(rows), left=124)


def headline(rows: Sequence[RankInterval]) -> str:
    """The encoder that ranks first, and how certain that is."""
    best = [row for row in rows if row.rank == 1]
    rivals = [row for row in rows if row.rank > 1 and row.low == 1]
    if len(best) > 1:
        return f"{' and '.join(row.name for row in best)} share rank 1"
    sure = f"{best[0].name} is first in {percent(best[0].first)} of the resamples"
    if not rivals:
        return f"{sure}; no other interval reaches rank 1"
    names = [row.name for row in rivals]
    who = formats.listed(names)
    reach = "intervals of {} reach" if len(names) > 1 else "interval of {} reaches"
    return f"{sure}; the {reach.format(who)} rank 1 too"


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
