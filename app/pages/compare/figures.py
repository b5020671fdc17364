"""Charts of comparisons: differences and ranks.

As in `app.web.figures`: numbers in, a figure and its headline out. Rank 1 is at the top or left, as
people read a ranking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theodolite.app import formats
from theodolite.app.components.chart import drawing, plain
from theodolite.app.formats import shorten
from theodolite.app.web.figures import (
    FEW_ROWS,
    Figure,
    Interval,
    axis,
    draw,
    forest,
    forest_headline,
    percent,
    row_height,
    scatter,
)
from theodolite.app.web.theme import SERIES
from theodolite.engine.stats.ranks import RankInterval

__all__ = ["Interval", "forest_headline"]


def differences(
    intervals: Sequence[Interval], baseline: str, title: str, rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Differences to the baseline; the numbers beside them are `rows`."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return drawing(
        forest(intervals, baseline),
        "Differences to the baseline with their 95 % intervals. A filled mark is a real "
        f"difference, a hollow one a tie. {title}",
        name="theodolite-comparison",
        columns=columns,
        rows=[[row.get(column) for column in columns] for row in rows],
    )


def ranks(rows: Sequence[RankInterval], title: str) -> dict[str, Any]:
    """Each encoder's rank with its interval, and the numbers."""
    return drawing(
        intervals(rows),
        f"Rank of each encoder with its 95 % interval. {title}.",
        name="theodolite-ranks",
        columns=["encoder", "mean", "rank", "rank_low", "rank_high", "share_first"],
        rows=[[r.name, r.score, r.rank, r.low, r.high, r.first] for r in rows],
    )


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


def ranks_headline(rows: Sequence[RankInterval]) -> str:
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
