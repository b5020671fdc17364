"""Charts: numbers in, a figure out. This module computes no results and does not know their source.

A figure is the `data` and `layout` that plotly.js reads. Plotly's Python classes validate every
value, which takes longer than the rest of the page: they validate our figures in the tests only.

Each chart has a headline function beside it that sums up its numbers; the page shows that text
above the chart, where it wraps. Text, paper and grid have no colour of their own: the chart
component gives them those of the page, light or dark. Marks take `SERIES`, which shows on both.
No information is in the colour alone: a position or a shape repeats it.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from theodolite.app import formats
from theodolite.app.web.theme import SERIES

Trace = dict[str, Any]
Figure = dict[str, Any]

RIDGE_STEP = 1.0
"""Distance between the baselines of two ridges; the highest ridge is 1.7 times as high."""
RIDGE_PEAK = 1.7
RIDGE_GAP = 0.22
"""Gap between two panels, as a share of a panel's height without gaps; holds the next's name."""
DASHES = ("solid", "dash", "dot", "dashdot")


def plain(text: str) -> str:
    """Escape a text for plotly, which interprets some HTML in titles, labels and hovers."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@dataclass(frozen=True)
class Ridge:
    """The density of one encoder's cosines over a group of pairs.

    Attributes:
        label: text beside its baseline.
        n: number of pairs in the group.
        density: float64 (m,) at the panel's grid.
        mean: the group's mean cosine, marked; None for an empty group.
    """

    label: str
    n: int
    density: np.ndarray
    mean: float | None


@dataclass(frozen=True)
class Panel:
    """The ridges of one encoder, lowest gold score first.

    Attributes:
        random: mean cosine of random sentence pairs, drawn as a line; None for no line.
    """

    encoder: str
    ridges: Sequence[Ridge]
    random: float | None = None


@dataclass(frozen=True)
class Interval:
    """One difference with its confidence interval.

    Attributes:
        task: its row.
        encoder: the encoder compared to the baseline.
        delta, low, high: points of the task's main score.
        clear: whether the interval excludes zero.
        verdict: the same in words, for the hover.
    """

    task: str
    encoder: str
    delta: float
    low: float
    high: float
    clear: bool
    verdict: str


def style(place: int) -> dict[str, Any]:
    """Colour and dash of the line with an index; the first 24 differ."""
    return {"color": SERIES[place % len(SERIES)], "dash": DASHES[place // len(SERIES) % 4]}


def mix(first: str, second: str, share: float) -> str:
    """The colour `share` of the way from `first` to `second`, both as #rrggbb."""
    a, b = ([int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in (first, second))
    return "#" + "".join(f"{round(x + (y - x) * share):02x}" for x, y in zip(a, b, strict=True))


def ordered_colours(n: int) -> list[str]:
    """Blue to orange in n steps of about equal lightness, for groups that have an order."""
    return [mix(SERIES[0], SERIES[1], i / max(1, n - 1)) for i in range(n)]


def clear_colour(colour: str, opacity: float) -> str:
    """`#rrggbb` with an opacity, for fills that overlap."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def ridges(panels: Sequence[Panel], grid: np.ndarray) -> Figure:
    """Cosine densities by gold-score group, one panel an encoder, all on one axis.

    The layout of SimCSE's figure 4. Panels stand one under another, so that the shared cosine axis
    lets the eye compare positions at any width of the page. Heights are scaled alike in all panels.

    Args:
        panels: one an encoder, each with the same groups in the same order.
        grid: float64 (m,), the cosines at which the densities were taken.
    """
    highest = max((r.density.max() for p in panels for r in p.ridges if r.n), default=1.0) or 1.0
    traces: list[Trace] = []
    layout: dict[str, Any] = {"shapes": [], "annotations": []}
    gap = RIDGE_GAP / max(1, len(panels))
    high = (1 + gap) / max(1, len(panels)) - gap
    for place, panel in enumerate(panels):
        number = str(place + 1) if place else ""
        top = 1 - place * (high + gap)
        traces += _panel_traces(panel, grid, RIDGE_PEAK / float(highest), f"y{number}")
        layout[f"yaxis{number}"] = axis(
            tickvals=[step * RIDGE_STEP for step in range(len(panel.ridges))],
            ticktext=[plain(ridge.label) for ridge in panel.ridges],
            range=[-0.35, (len(panel.ridges) - 1) * RIDGE_STEP + RIDGE_PEAK + 0.1],
            showgrid=False,
            zeroline=False,
            anchor="x",
            domain=[max(0, top - high), top],
        )
        layout["annotations"].append(
            {
                "text": plain(formats.shorten(panel.encoder, 44)),
                "x": 0,
                "y": top,
                "xref": "paper",
                "yref": "paper",
                "xanchor": "left",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": 13},
            }
        )
        if panel.random is not None:
            layout["shapes"].append(
                {
                    "type": "line",
                    "x0": panel.random,
                    "x1": panel.random,
                    "y0": 0,
                    "y1": 1,
                    "yref": f"y{number} domain",
                    "line": {"color": SERIES[5], "width": 1.5, "dash": "dot"},
                }
            )
    x = axis(
        "cosine of the two sentences",
        range=_visible_range(panels, grid),
        zeroline=True,
        anchor=f"y{len(panels)}" if len(panels) > 1 else "y",
    )
    return draw(traces, x, height=96 + 188 * len(panels), left=74, **layout)


def _panel_traces(panel: Panel, grid: np.ndarray, scale: float, y_axis: str) -> list[Trace]:
    """Draw the top ridge first, so that a lower one covers the foot of the one behind it."""
    traces: list[Trace] = []
    colours = ordered_colours(len(panel.ridges))
    for place in range(len(panel.ridges) - 1, -1, -1):
        ridge, colour, base = panel.ridges[place], colours[place], place * RIDGE_STEP
        x, density = _outline(ridge.density)
        name = f"{ridge.label}: {formats.plural(ridge.n, 'pair')}"
        traces += [
            scatter(
                x=[grid[0], grid[-1]],
                y=[base, base],
                mode="lines",
                hoverinfo="skip",
                line={"width": 0},
                showlegend=False,
                yaxis=y_axis,
            ),
            scatter(
                x=grid[x].round(3),
                y=(base + density * scale).round(4),
                mode="lines",
                fill="tonexty",
                line={"color": colour, "width": 2, "simplify": False},
                fillcolor=clear_colour(colour, 0.34),
                customdata=[
                    [formats.score(at), f"{high:.2f}"]
                    for at, high in zip(grid[x], density, strict=True)
                ],
                name=plain(name),
                showlegend=False,
                yaxis=y_axis,
                hovertemplate="cosine %{customdata[0]}, density %{customdata[1]}<extra>"
                + plain(name)
                + "</extra>",
            ),
        ]
        if ridge.mean is not None:
            traces.append(
                scatter(
                    x=[ridge.mean],
                    y=[base],
                    mode="markers",
                    showlegend=False,
                    yaxis=y_axis,
                    marker={"symbol": "diamond", "size": 8, "color": colour},
                    hovertemplate=f"mean cosine {formats.cosine(ridge.mean)}"
                    f"<extra>{plain(name)}</extra>",
                )
            )
    return traces


def _outline(density: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices and heights of the points to draw: of a stretch at 0, only the two ends."""
    some = density.round(3) > 0
    visible = some | np.roll(some, 1) | np.roll(some, -1)
    visible[[0, -1]] = True
    return np.flatnonzero(visible), density[visible]


def _visible_range(panels: Sequence[Panel], grid: np.ndarray) -> list[float]:
    """The range of the axis where any density is visible, with a margin; always includes 1."""
    points = [
        float(grid[i])
        for panel in panels
        for ridge in panel.ridges
        if ridge.n
        for i in (ridge.density > ridge.density.max() * 0.004).nonzero()[0][[0, -1]]
    ]
    return [min(points, default=-1.0) - 0.02, max([1.0, *points]) + 0.02]


def forest(intervals: Sequence[Interval], baseline: str) -> Figure:
    """Differences to the baseline with their intervals, one row per task, zero marked.

    A clear difference is a filled mark, a tie a hollow one; each encoder has its own shape and
    colour. Rows keep the order in which tasks first appear.
    """
    tasks = list(dict.fromkeys(i.task for i in intervals))
    encoders = list(dict.fromkeys(i.encoder for i in intervals))
    shapes = ("circle", "square", "diamond", "triangle-up", "cross", "star")
    traces = []
    for place, encoder in enumerate(encoders):
        mine = [i for i in intervals if i.encoder == encoder]
        shape, colour = shapes[place % len(shapes)], SERIES[place % len(SERIES)]
        offset = (place - (len(encoders) - 1) / 2) * 0.6 / len(encoders)
        traces.append(
            scatter(
                x=[i.delta for i in mine],
                y=[tasks.index(i.task) + offset for i in mine],
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "thickness": 2,
                    "width": 4,
                    "color": colour,
                    "array": [i.high - i.delta for i in mine],
                    "arrayminus": [i.delta - i.low for i in mine],
                },
                mode="markers",
                name=plain(formats.shorten(encoder)),
                marker={
                    "size": 10,
                    "color": colour,
                    "line": {"width": 2, "color": colour},
                    "symbol": [shape if i.clear else f"{shape}-open" for i in mine],
                },
                customdata=[
                    [
                        plain(i.task),
                        *map(formats.signed, (i.delta, i.low, i.high)),
                        plain(i.verdict),
                    ]
                    for i in mine
                ],
                hovertemplate="%{customdata[0]}: %{customdata[1]}, 95 % interval %{customdata[2]} "
                "to %{customdata[3]}<br>%{customdata[4]}<extra>" + plain(encoder) + "</extra>",
            )
        )
    y = axis(
        tickvals=list(range(len(tasks))),
        ticktext=[plain(formats.shorten(t, 18)) for t in tasks],
        range=[len(tasks) - 0.4, -0.6],
        zeroline=False,
    )
    x = axis(
        f"points against {plain(formats.shorten(baseline))}",
        rangemode="tozero",
        zeroline=True,
        zerolinewidth=2,
    )
    height = 150 + len(tasks) * max(row_height(len(tasks)), 20 * len(encoders))
    return draw(traces, x, y, height=height, left=124, legend=len(encoders) > 1)


def space(points: Mapping[str, tuple[float, float]]) -> Figure:
    """Alignment against uniformity of each encoder, lower is better for both (SimCSE figure 3)."""
    names = list(points)
    trace = scatter(
        x=[uniformity for _, uniformity in points.values()],
        y=[alignment for alignment, _ in points.values()],
        mode="markers+text",
        **names_beside(names, *zip(*[(u, a) for a, u in points.values()], strict=True)),
        cliponaxis=False,
        marker={"size": 12, "color": [SERIES[i % len(SERIES)] for i in range(len(names))]},
        customdata=[[plain(name), formats.cosine(points[name][0])] for name in names],
        hovertemplate="uniformity %{customdata[1]}, alignment %{y:.3f}"
        "<extra>%{customdata[0]}</extra>",
    )
    x = axis("uniformity (lower: spread more evenly)")
    y = axis("alignment (lower: paraphrases closer)", rangemode="tozero")
    return draw([trace], x, y, height=360, left=64)


FEW_ROWS = 20
"""Up to this many rows, each has full height and its own tick."""


def row_height(rows: int) -> int:
    """Pixels of a row with a name at its left; fewer when there are many rows."""
    return 36 if rows <= FEW_ROWS else 22


def scatter(**properties: Any) -> Trace:
    """Points, lines or both."""
    return {"type": "scatter", **properties}


_WIDTH, _HEIGHT, _PAD = 252, 270, 18
"""Pixels of a chart's inside on a phone, where it is smallest, and between its edge and a point."""
_LETTER, _LINE, _BESIDE = 6.6, 14, 8
"""Pixels of a letter, of a line of text, and between a point and its name."""
Box = tuple[float, float, float, float]
"""Left, low, right and high."""


def names_beside(
    names: Sequence[str],
    x: Sequence[float],
    y: Sequence[float],
    first: Collection[int] = (),
    bars: Sequence[tuple[float, float]] = (),
) -> dict[str, Any]:
    """The names of points as far as they fit beside each other: `text` and `textposition`.

    A name that would lie on another one or on a point, also on a phone, is left out: the chart
    tells it where it is pointed at, and the table below has all.

    Args:
        names: plain text; long ones are cut.
        x: where the points are; on a logarithmic axis, the logarithms.
        y: likewise.
        first: positions of points that are named before the others.
        bars: the lower and upper end of each point's interval, which names cross if they must.
    """
    texts = [formats.shorten(name, 24) for name in names]
    across, up = _pixels(x, _WIDTH), _pixels([*y, *chain(*bars)], _HEIGHT)
    points = list(zip(across, up, strict=False))
    taken = [(a - 6, b - 6, a + 6, b + 6) for a, b in points]
    ends = zip(across, up[len(y) :: 2], up[len(y) + 1 :: 2], strict=False)
    lines = [(a - 1, low, a + 1, high) for a, low, high in ends]
    found: dict[int, str] = {}
    for at in sorted(range(len(texts)), key=lambda at: at not in first):
        boxes = {
            place: box
            for place, box in _boxes(*points[at], _LETTER * len(texts[at]))
            if not any(_overlap(box, other) for other in taken)
        }
        if boxes:
            found[at], box = min(
                boxes.items(), key=lambda one: sum(_overlap(one[1], line) for line in lines)
            )
            taken.append(box)
    places = range(len(texts))
    return {
        "text": [plain(texts[at]) if at in found else "" for at in places],
        "textposition": [found.get(at, "top center") for at in places],
    }


def _boxes(a: float, b: float, width: float) -> Iterator[tuple[str, Box]]:
    """Where a name of so many pixels may be beside a point, within the chart; the best first."""
    sides = {"center": a - width / 2, "right": a + _BESIDE, "left": a - _BESIDE - width}
    heights = {"top": b + 7, "bottom": b - 7 - _LINE, "middle": b - _LINE / 2}
    for side, left in sides.items():
        for height, low in heights.items():
            if left >= 0 and left + width <= _WIDTH + _PAD:
                yield f"{height} {side}", (left, low, left + width, low + _LINE)


def _pixels(values: Sequence[float], length: int) -> list[float]:
    """Where values are on an axis of so many pixels that fits them."""
    low, size = min(values), max(values) - min(values)
    return [
        _PAD + (length - 2 * _PAD) * ((value - low) / size if size else 0.5) for value in values
    ]


def _overlap(one: Box, other: Box) -> bool:
    """Whether two boxes overlap."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def axis(title: str = "", **properties: Any) -> dict[str, Any]:
    """An axis with the properties that all charts share."""
    options = {"title": {"text": title}} if title else {}
    # Labels fit by their margin: otherwise plotly measures each one to see whether it overflows.
    shared = {"ticks": "", "automargin": True, "ticklabeloverflow": "allow"}
    return {**shared, **options, **properties}


def log_axis(title: str, values: Sequence[float]) -> dict[str, Any]:
    """A logarithmic axis of positive values, with full tick labels as close as a phone allows."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    times = max(values) / min(values)
    each = ("1", "13", "125", "12357", "123456789")[sum(times < m for m in (3, 10, 100, 1000))]
    ticks = [int(first) * 10.0**power for power in range(low, high + 1) for first in each]
    written = [formats.compact(int(at)) if at >= 1 else f"{at:g}" for at in ticks]
    return axis(title, type="log", zeroline=False, tickvals=ticks, ticktext=written)


def draw(
    traces: Sequence[Trace],
    x: dict[str, Any],
    y: dict[str, Any] | None = None,
    *,
    height: int,
    left: int,
    legend: bool = False,
    **layout: Any,
) -> Figure:
    """A figure with the layout that all charts share. Only marks have colours of their own.

    Args:
        traces: drawn in this order.
        x: an `axis`.
        y: an `axis`; None where the layout has several.
        height: pixels.
        left: pixels of the left margin, for row labels.
        legend: whether to show a legend.
        **layout: properties of the plotly.js layout in which this chart differs.
    """
    shared: dict[str, Any] = {
        "xaxis": x,
        "yaxis": y,
        "height": height,
        "margin": {"l": left, "r": 16, "t": 36, "b": 52},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "showlegend": legend,
        "legend": {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"},
    }
    return {"data": list(traces), "layout": shared | layout}


def overlap(first: np.ndarray, second: np.ndarray, grid: np.ndarray) -> float:
    """Area that two densities share, from 0 (apart) to 1 (the same)."""
    return float(np.minimum(first, second).sum() * (grid[1] - grid[0]))


def panel_overlap(panel: Panel, grid: np.ndarray) -> float | None:
    """Overlap of the lowest and the highest group; None when one of them is empty."""
    low, high = panel.ridges[0], panel.ridges[-1]
    return overlap(low.density, high.density, grid) if low.n and high.n else None


def ridges_headline(panels: Sequence[Panel], grid: np.ndarray) -> str:
    """Name the encoder which keeps pairs of low and of high gold score furthest apart."""
    known = [(o, p.encoder) for p in panels if (o := panel_overlap(p, grid)) is not None]
    if not known:
        return "The lowest or the highest gold-score group has no pairs"
    (least, best), (most, worst) = min(known), max(known)
    if len(known) == 1:
        return f"{best}: pairs graded lowest and highest overlap by {formats.percent(least)}"
    return (
        f"{best} keeps the lowest and highest graded pairs furthest apart: they overlap by "
        f"{formats.percent(least)}, with {worst} by {formats.percent(most)}"
    )


def forest_headline(intervals: Sequence[Interval], baseline: str) -> str:
    """Count the clear differences to the baseline; encoders with the same counts share a clause."""
    by_verdict: dict[str, list[str]] = {}
    for encoder in dict.fromkeys(i.encoder for i in intervals):
        mine = [i for i in intervals if i.encoder == encoder]
        clear = [i.delta > 0 for i in mine if i.clear]
        counts = {"better": sum(clear), "worse": len(clear) - sum(clear)}
        counts["tied"] = len(mine) - len(clear)
        parts = [f"{word} on {number}" for word, number in counts.items() if number]
        words = f"{formats.listed(parts)} of {formats.plural(len(mine), 'task')}"
        by_verdict.setdefault(words, []).append(encoder)
    sentences = [
        f"{formats.listed(names, most=4)} {'is' if len(names) == 1 else 'are'} {words}"
        for words, names in by_verdict.items()
    ]
    return f"Against {baseline}, {'; '.join(sentences)}" if sentences else ""
