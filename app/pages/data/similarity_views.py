"""Views of the page Data sets: the most similar sets in a sentence, and a heatmap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from theodolite.app import formats
from theodolite.app.components.chart import drawing, plain
from theodolite.app.pages.data.similarity import ALL, EXAMPLE, Similarity
from theodolite.app.web import parts
from theodolite.app.web.figures import Figure, axis, clear_colour, draw, scatter
from theodolite.app.web.theme import SERIES
from theodolite.engine.space.dataset_similarity import Collection

COMPARED = {ALL: "All data sets", EXAMPLE: "starter-topics, by topic"}
MAX_NUMBERS, MAX_HEADS = 12, 24
"""Maximum number of rows with a number in each cell, and with a name on each column."""
NAMED = 22
"""Characters of a name on the axes."""


def names(offered: Sequence[str]) -> list[tuple[str, str]]:
    """The possible comparisons as (label, name)."""
    return [(COMPARED.get(name, f"{name}, by language"), name) for name in offered]


def finding(found: Similarity) -> str:
    """The most and the least similar pair, and how the numbers are computed."""
    drawn = max(found.counts, default=0)
    lead = (
        f"Cosines between the means of {'up to ' if len(set(found.counts)) > 1 else ''}"
        f"{formats.plural(drawn, 'sentence')} of each, drawn with a fixed seed, as "
        f"{found.job.encoder} sees them."
    )
    if found.problems:
        lead += f" Left out: {formats.listed(list(found.problems), 3)}, which cannot be read."
    if found.missing:
        lead += f" {formats.plural(len(found.missing), 'data set')} are still to come."
    pairs = found.pairs()
    if not pairs:
        return parts.heading("Nothing to compare yet", lead)
    best, worst = pairs[0], pairs[-1]
    title = f"{best['first']} and {best['second']} are the most similar ({_cosine(best)})"
    if len(pairs) > 1:
        title += f", {worst['first']} and {worst['second']} the least similar ({_cosine(worst)})"
    return parts.heading(title, lead, beside=f" {parts.SHIPPED}" if found.shipped else "")


def _cosine(pair: Mapping[str, Any]) -> str:
    return formats.score(round(pair["cosine"], 2) + 0.0)


def picture(found: Similarity, by: str) -> dict[str, Any] | None:
    """The heatmap in an order, with every pair as a table."""
    if len(found.rows) < 2:
        return None
    rows = [
        [pair["first"], pair["second"], pair["cosine"], *pair["sentences"]]
        for pair in found.pairs()
    ]
    label = f"Similarity of {len(found.rows)} data sets by {found.job.encoder}, as a heat map."
    return drawing(
        _figure(found, found.order(by)),
        label,
        name="theodolite-similarity",
        columns=["first", "second", "cosine", "sentences", "of the second"],
        rows=rows,
    )


def _figure(found: Similarity, order: list[int]) -> Figure:
    rows = [found.rows[i] for i in order]
    cosines, n = found.cosines[order][:, order], len(rows)
    low = min(float(cosines.min()), 0.99)
    heat = {
        "type": "heatmap",
        "x": list(range(n)),
        "y": list(range(n)),
        "z": cosines.round(4).tolist(),
        "zmin": low,
        "zmax": 1,
        "xgap": 1 if n < MAX_HEADS else 0,
        "ygap": 1 if n < MAX_HEADS else 0,
        "colorscale": [[0, clear_colour(SERIES[0], 0.04)], [1, clear_colour(SERIES[0], 0.95)]],
        "colorbar": {
            "orientation": "h",
            "thickness": 8,
            "outlinewidth": 0,
            "len": 0.6,
            "tickformat": ".2f",
            "y": 0,
            "yanchor": "top",
            "ypad": 14,
        },
        "customdata": [[f"{_hover(row)} and {_hover(other)}" for other in rows] for row in rows],
        "hovertemplate": "%{customdata}: %{z:.3f}<extra></extra>",
    }
    traces: list[dict[str, Any]] = [heat]
    if n <= MAX_NUMBERS:
        # plotly draws the heatmap's own text in black or white; this takes the page's text colour.
        cells = [(x, y) for y in range(n) for x in range(n)]
        traces.append(
            scatter(
                x=[x for x, _ in cells],
                y=[y for _, y in cells],
                mode="text",
                hoverinfo="skip",
                text=[
                    formats.score(round(cosines[y, x], 2) + 0.0).replace("0.", ".", 1)
                    for x, y in cells
                ],
                textfont={"size": 11},
                showlegend=False,
            )
        )
    ticks = [plain(formats.shorten(row.name, NAMED)) for row in rows]
    shared: dict[str, Any] = {"showgrid": False, "zeroline": False, "range": [-0.5, n - 0.5]}
    heads = ticks if n <= MAX_HEADS else [""] * n
    angle = -55 if n <= MAX_NUMBERS else -90
    across = axis(
        tickvals=list(range(n)),
        ticktext=heads,
        side="top",
        tickangle=angle,
        tickfont={"size": 11},
        **shared,
    )
    down = axis(
        tickvals=list(range(n)),
        ticktext=ticks,
        **shared | {"range": [n - 0.5, -0.5]},
        tickfont={"size": 12},
    )
    height = 150 + max(n, 6) * (30 if n <= MAX_NUMBERS else 22 if n <= MAX_HEADS else 15)
    frames, names = _frames(rows)
    return draw(traces, across, down, height=height, left=60, shapes=frames, annotations=names)


def _hover(row: Collection) -> str:
    return plain(f"{row.name} ({row.group})" if row.group else row.name)


def _frames(rows: Sequence[Collection]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A frame around each contiguous group, and its name beside it."""
    sizes = [len(list(of)) for _, of in groupby(rows, key=lambda row: row.group)]
    if len(sizes) < 2 or len(sizes) != len({row.group for row in rows}):
        return [], []
    frames: list[dict[str, Any]] = []
    names: list[dict[str, Any]] = []
    start = 0
    for size in sizes:
        low, high = start - 0.5, start + size - 0.5
        frames.append(
            {
                "type": "rect",
                "x0": low,
                "x1": high,
                "y0": low,
                "y1": high,
                "line": {"color": SERIES[1], "width": 1.5},
            }
        )
        left = start + size / 2 < len(rows) / 2
        names.append(
            {
                "x": high if left else low,
                "y": low,
                "xanchor": "left" if left else "right",
                "yanchor": "top",
                "text": f"<b>{plain(rows[start].group)}</b>",
                "showarrow": False,
                "font": {"size": 11},
            }
        )
        start += size
    return frames, names
