"""The chart of an interpolation, and what it says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from theodolite.app.components.chart import drawing
from theodolite.app.web.figures import scatter
from theodolite.app.web.theme import SERIES

if TYPE_CHECKING:
    from theodolite.app.pages.decode.service import Step

COLUMNS = (
    "share",
    "decoded",
    "cosine to the target",
    "to the first",
    "to the second",
    "point to the first",
    "point to the second",
)


def cosines(steps: Sequence[Step]) -> dict[str, Any]:
    """Chart the cosine to both ends by share: of the decoded sentences and of the points."""
    shares = [100 * step.share for step in steps]
    texts = [step.result.sentence for step in steps]
    lines = (
        ("decoded, to the first", "to_first", SERIES[0], "solid", "circle"),
        ("decoded, to the second", "to_second", SERIES[1], "solid", "square"),
        ("point, to the first", "point_first", SERIES[0], "dot", None),
        ("point, to the second", "point_second", SERIES[1], "dot", None),
    )
    traces = [
        scatter(
            x=shares,
            y=[getattr(step, what) for step in steps],
            name=name,
            mode="lines+markers" if mark else "lines",
            line={"color": colour, "dash": dash, "width": 2 if mark else 1.5},
            marker={"symbol": mark, "size": 8},
            hovertemplate=f"{name}: %{{y:.3f}} at %{{x:.0f}} %<extra></extra>",
        )
        for name, what, colour, dash, mark in lines
    ]
    layout = {
        "xaxis": {"title": {"text": "per cent of the way"}, "range": [-2, 102]},
        "yaxis": {"title": {"text": "cosine"}},
        "hovermode": "closest",
    }
    rows = [
        (
            round(step.share, 4),
            text,
            step.result.cosine,
            step.to_first,
            step.to_second,
            step.point_first,
            step.point_second,
        )
        for step, text in zip(steps, texts, strict=True)
    ]
    return drawing(
        {"data": traces, "layout": layout},
        "Cosine to both sentences along the way",
        name="interpolation",
        columns=COLUMNS,
        rows=rows,
    )


def headline(steps: Sequence[Step]) -> str:
    """Summarise the chart in a sentence."""
    texts = [step.result.sentence for step in steps]
    different = len(dict.fromkeys(texts))
    turn = next((step.share for step in steps if step.to_second > step.to_first), None)
    words = f"{len(steps)} steps give {different} different sentences"
    if turn is None:
        return f"{words}; none is nearer to the second sentence than to the first."
    if turn == 0:
        return f"{words}, all of them nearer to the second sentence than to the first."
    return f"{words}; from {100 * turn:.0f} % of the way on they are nearer to the second sentence."
