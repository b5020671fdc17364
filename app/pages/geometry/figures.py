"""Charts of the page *Geometry*: spectrum, hubs, thresholds. Numbers in, a figure out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.components.chart import plain
from theodolite.app.web.figures import Figure, Trace, axis, draw, scatter
from theodolite.app.web.theme import SERIES

if TYPE_CHECKING:
    import numpy as np

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


@dataclass(frozen=True, eq=False)
class EncoderCurve:
    """A curve of one encoder.

    Attributes:
        encoder: its name.
        x, y: float (m,).
        marks: (x, y) of points to mark.
        kind: the kind of curve, for the legend; curves of one encoder share their colour.
    """

    encoder: str
    x: np.ndarray
    y: np.ndarray
    marks: Sequence[tuple[float, float]] = ()
    kind: str = ""


def spectrum(curves: Sequence[EncoderCurve]) -> Figure:
    """Singular values by rank, relative to the largest (SimCSE figure E.1)."""
    lines = _lines(curves, "number %{x}: %{y:.4f}")
    x = axis("singular values, largest first", rangemode="tozero")
    y = axis("size relative to the largest", rangemode="tozero")
    return draw(lines, x, y, height=360, left=64, legend=True)


def hubs(curves: Sequence[EncoderCurve], k: int) -> Figure:
    """Share of sentences that are a neighbour at least x times; both axes logarithmic."""
    lines = _lines(curves, f"among the {k} nearest of %{{x}} or more: %{{y:.2%}} of sentences")
    x = axis(f"among the {k} nearest of so many others, or more", type="log")
    y = axis("share of sentences", type="log", tickformat=".2~%")
    return draw(lines, x, y, height=360, left=72, legend=True)


def thresholds(curves: Sequence[EncoderCurve]) -> Figure:
    """Accuracy and F1 by the cosine threshold for positive pairs."""
    lines = _lines(curves, "from cosine %{x:.3f}: %{y:.3f}")
    x = axis("cosine threshold for the same meaning")
    y = axis("accuracy, F1", range=[0, 1.02])
    return draw(lines, x, y, height=380, left=64, legend=True)


def _lines(curves: Sequence[EncoderCurve], hover: str) -> list[Trace]:
    names = list(dict.fromkeys(curve.encoder for curve in curves))
    kinds = list(dict.fromkeys(curve.kind for curve in curves))
    traces = []
    for curve in curves:
        place = names.index(curve.encoder)
        line: dict[str, Any] = {"color": SERIES[place % len(SERIES)], "width": 2}
        # With one curve per encoder the dash distinguishes encoders; with several, their kinds.
        line["dash"] = DASHES[(kinds.index(curve.kind) if len(kinds) > 1 else place) % len(DASHES)]
        label = plain(formats.shorten(curve.encoder) + (f" · {curve.kind}" if curve.kind else ""))
        traces.append(
            scatter(
                x=curve.x.astype("float32"),
                y=curve.y.astype("float32"),  # half as many digits
                mode="lines",
                name=label,
                line=line,
                hovertemplate=f"{hover}<extra>{label}</extra>",
            )
        )
        if curve.marks:
            traces.append(
                scatter(
                    x=[x for x, _ in curve.marks],
                    y=[y for _, y in curve.marks],
                    mode="markers",
                    marker={"symbol": "diamond", "size": 10, "color": line["color"]},
                    showlegend=False,
                    hovertemplate=f"best: {hover}<extra>{label}</extra>",
                )
            )
    return traces
