"""Diagnoses as tables and charts: numbers in, rows and figures out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from theodolite.app.components.chart import drawing, plain
from theodolite.app.web.figures import axis, draw, scatter
from theodolite.app.web.theme import SERIES

if TYPE_CHECKING:
    from theodolite.engine.decoding.diagnosis import Diagnosis, Figure, System

HEIGHT = 340
_MOVER = "mover-"
_SYMBOLS = ("circle", "square", "diamond")
COLUMNS = ("giver", "length", "sentences", "figure", "value", "low", "high")
SAMPLES = ("sentence", "decoded", "cosine", "cut", "nearest", "nearest_cosine")


def name_of(metric: str) -> str:
    """The display name of a metric."""
    from theodolite.engine.decoding.diagnosis import NAMES

    if metric.startswith(_MOVER):
        return f"Word Mover's score, words by {metric.removeprefix(_MOVER)}"
    return NAMES.get(metric, metric)


def shown(figure: Figure) -> tuple[str, str]:
    """Value and interval as text: points with one decimal, cosines with three."""
    if figure.value != figure.value:
        return "–", ""
    places = 3 if figure.metric == "round_trip" else 1
    value, low, high = (
        f"{number:.{places}f}".replace("-", "−") if number == number else "–"
        for number in (figure.value, figure.low, figure.high)
    )
    return value, f"{low} to {high}"


def against_baselines(found: Diagnosis, metric: str) -> tuple[str, bool | None]:
    """Compare a figure of the decoder with the baselines by their intervals.

    Returns:
        A phrase, and whether the figure is above all baselines; "" and None if not comparable.
    """
    from theodolite.engine.decoding.diagnosis import SYSTEMS

    ours = found.figures()[metric]
    others: dict[System, Figure] = {
        system: figures[metric]
        for system in SYSTEMS
        if system != "decoder" and metric in (figures := found.figures(system))
    }
    if metric == "id_perm" or not others or ours.low != ours.low:
        return "", None
    below = [SYSTEMS[system] for system, other in others.items() if not ours.low > other.high]
    if not below:
        return "above both" if len(others) > 1 else "above it", True
    return f"not above {' nor '.join(below)}", False


def with_interval(figure: Figure) -> str:
    """Value and interval as a terminal shows them."""
    value, ends = shown(figure)
    return f"{value} [{ends.replace(' to ', ', ')}]".replace("−", "-") if ends else value


def rows(found: Diagnosis) -> list[list[Any]]:
    """Every figure of every system and length, in the order of `COLUMNS`."""
    return [
        [row.system, row.length or "all", row.n, one.metric, one.value, one.low, one.high]
        for row in found.rows
        for one in row.figures
    ]


def by_length(found: Diagnosis, metric: str) -> dict[str, Any] | None:
    """Chart one metric by sentence length, with intervals; None if there are no values."""
    from theodolite.engine.decoding.diagnosis import SYSTEMS

    what = name_of(metric)
    traces, table = [], []
    for place, (system, words) in enumerate(SYSTEMS.items()):
        known = [
            (row.length, row.n, one)
            for row in found.rows
            for one in row.figures
            if row.system == system
            and row.length
            and one.metric == metric
            and one.value == one.value
        ]
        if not known:
            continue
        traces.append(
            scatter(
                x=[length for length, _, _ in known],
                y=[one.value for _, _, one in known],
                error_y=_ends([one for _, _, one in known]),
                name=words,
                mode="lines+markers",
                line={"color": SERIES[place], "dash": ("solid", "dash", "dot")[place], "width": 2},
                marker={"symbol": _SYMBOLS[place], "size": 8},
                customdata=[[n, *shown(one)] for _, n, one in known],
                hovertemplate="%{x}, %{customdata[0]} sentences: %{customdata[1]} "
                f"(%{{customdata[2]}})<extra>{plain(words)}</extra>",
            )
        )
        table += [[words, length, n, one.value, one.low, one.high] for length, n, one in known]
    if not table:
        return None
    x = axis(type="category", categoryarray=list(found.lengths))
    y = axis(plain(what), rangemode="tozero")
    return drawing(
        draw(traces, x, y, height=HEIGHT, left=64, legend=True),
        f"{what} by the length of the sentence. {_extremes(table)}",
        name=f"diagnosis-{metric}",
        columns=("giver", "length", "sentences", what, "low", "high"),
        rows=table,
    )


def _ends(figures: Sequence[Figure]) -> dict[str, Any]:
    """The intervals as plotly error bars."""
    return {
        "type": "data",
        "symmetric": False,
        "thickness": 1.5,
        "width": 4,
        "array": [max(0.0, one.high - one.value) for one in figures],
        "arrayminus": [max(0.0, one.value - one.low) for one in figures],
    }


def _extremes(rows: Sequence[Sequence[Any]]) -> str:
    ours = [row for row in rows if row[0] == rows[0][0]]
    first, last = ours[0], ours[-1]
    return f"{first[0]}: {first[3]:.4g} at {first[1]}, {last[3]:.4g} at {last[1]}."
