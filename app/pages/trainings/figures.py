"""Charts of trainings: curves by step, and the path of alignment and uniformity.

The input is numbers alone. Several runs share a chart; each keeps its colour and dash in all of
them. A figure keeps the zoom of the previous one, so that a growing curve does not jump.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from theodolite.app import formats
from theodolite.app.components.chart import drawing, plain
from theodolite.app.formats import shorten
from theodolite.app.web.figures import Figure, Trace, axis, draw, scatter, style

MAX_POINTS = 1000
"""Most points of a curve; a longer one is averaged over neighbouring points."""
SMALL, TALL = 260, 380
_LABEL = 34


@dataclass(frozen=True)
class Curve:
    """One run's values by step.

    Attributes:
        name: of the run, as in the list.
        steps: updates made, rising.
        values: one per step.
        place: of the run among those shown; sets colour and dash.
        kept: the step whose weights were kept, marked; None for no mark.
    """

    name: str
    steps: Sequence[int]
    values: Sequence[float]
    place: int = 0
    kept: int | None = None


@dataclass(frozen=True)
class Path:
    """One run's path of alignment and uniformity, from its first evaluation to its last.

    Attributes:
        name: of the run.
        steps: updates made at each evaluation.
        alignment, uniformity: one per evaluation; lower is better for both.
        place: of the run among those shown.
        kept: the step whose weights were kept; None for no mark.
    """

    name: str
    steps: Sequence[int]
    alignment: Sequence[float]
    uniformity: Sequence[float]
    place: int = 0
    kept: int | None = None


def thinned(
    steps: Sequence[int], values: Sequence[float], most: int = MAX_POINTS
) -> tuple[list[int], list[float]]:
    """Reduce a curve to `most` points: means of 2, 4, 8, … neighbours at their last step.

    With powers of two, a growing curve keeps its points until the next doubling.
    """
    size = 1
    while -(-len(steps) // size) > most:
        size *= 2
    groups = [range(i, min(i + size, len(steps))) for i in range(0, len(steps), size)]
    return (
        [steps[group[-1]] for group in groups],
        [sum(values[i] for i in group) / len(group) for group in groups],
    )


def curves(
    lines: Sequence[Curve], what: str, *, height: int = SMALL, zero: bool = False, **layout: Any
) -> Figure:
    """One quantity by step, one line per run.

    Args:
        lines: a run with one point is drawn as a dot.
        what: the quantity with its unit, for the axis.
        height: pixels.
        zero: start the axis at zero.
        **layout: plotly layout, where this chart differs.
    """
    traces = []
    for line in lines:
        steps, values = thinned(line.steps, line.values)
        look = style(line.place)
        traces.append(
            scatter(
                x=steps,
                y=values,
                name=plain(shorten(line.name, _LABEL)),
                line=look | {"width": 2},
                mode="lines" if len(steps) > 40 else "lines+markers",
                marker={"size": 5},
                legendgroup=str(line.place),
                hovertemplate=f"step %{{x:,}}: %{{y:.4g}}<extra>{plain(line.name)}</extra>",
            )
        )
        if line.kept is not None and line.kept in line.steps:
            at = list(line.steps).index(line.kept)
            traces.append(_star([line.kept], [line.values[at]], line, "kept: %{y:.4g}"))
    x = axis("step", rangemode="tozero")
    y = axis(plain(what), exponentformat="power", rangemode="tozero" if zero else "normal")
    return _still(traces, x, y, what, height, **layout)


def trajectory(paths: Sequence[Path]) -> Figure:
    """Alignment against uniformity while training, as in figure 2 of SimCSE.

    A path begins at the hollow marker and ends at the large one; the star marks the kept weights.
    """
    traces = []
    for path in paths:
        look, n = style(path.place), len(path.steps)
        sizes = [10 if i in (0, n - 1) else 6 for i in range(n)]
        symbols = ["circle-open" if i == 0 and n > 1 else "circle" for i in range(n)]
        traces.append(
            scatter(
                x=list(path.uniformity),
                y=list(path.alignment),
                customdata=list(path.steps),
                name=plain(shorten(path.name, _LABEL)),
                mode="lines+markers",
                line=look | {"width": 1.5},
                legendgroup=str(path.place),
                marker={"size": sizes, "symbol": symbols, "color": look["color"]},
                hovertemplate="step %{customdata:,}: uniformity %{x:.3f}, alignment %{y:.3f}"
                f"<extra>{plain(path.name)}</extra>",
            )
        )
        if path.kept is not None and path.kept in path.steps:
            at = list(path.steps).index(path.kept)
            words = "kept: uniformity %{x:.3f}, alignment %{y:.3f}"
            traces.append(_star([path.uniformity[at]], [path.alignment[at]], path, words))
    x = axis("uniformity (lower: spread more evenly)")
    y = axis("alignment (lower: paraphrases closer)")
    return _still(traces, x, y, "trajectory", TALL)


def _star(x: Sequence[float], y: Sequence[float], of: Curve | Path, words: str) -> Trace:
    """The marker of the kept weights."""
    return scatter(
        x=x,
        y=y,
        mode="markers",
        showlegend=False,
        legendgroup=str(of.place),
        name=plain(f"{shorten(of.name, _LABEL)}, kept"),
        cliponaxis=False,
        marker={"symbol": "star", "size": 13, "color": style(of.place)["color"]},
        hovertemplate=f"{words}<extra>{plain(of.name)}</extra>",
    )


def _still(
    traces: list[Trace], x: dict[str, Any], y: dict[str, Any], what: str, height: int, **layout: Any
) -> Figure:
    """Draw so that the user's zoom and hidden lines survive the chart's next value."""
    margin = {"l": 64, "r": 16, "t": 12, "b": 44}
    return draw(
        traces, x, y, height=height, left=64, **{"uirevision": what, "margin": margin} | layout
    )


def curves_drawing(
    lines: Sequence[Curve],
    what: str,
    name: str,
    *,
    height: int = SMALL,
    zero: bool = False,
    **layout: Any,
) -> dict[str, Any]:
    """The value of a chart of `curves`, with the numbers drawn.

    Args:
        lines: the curves.
        what: the quantity with its unit.
        name: file name of its CSV without ending.
        height: pixels.
        zero: start the axis at zero.
        **layout: plotly layout, where this chart differs.
    """
    rows = [
        [line.name, step, value]
        for line in lines
        for step, value in zip(*thinned(line.steps, line.values), strict=True)
    ]
    return drawing(
        curves(lines, what, height=height, zero=zero, **layout),
        curves_headline(lines, what),
        name=name,
        columns=("run", "step", what),
        rows=rows,
    )


def trajectory_drawing(paths: Sequence[Path], name: str = "trajectory") -> dict[str, Any]:
    """The value of a chart of `trajectory`, with its numbers."""
    rows = [
        [path.name, step, alignment, uniformity]
        for path in paths
        for step, alignment, uniformity in zip(
            path.steps, path.alignment, path.uniformity, strict=True
        )
    ]
    columns = ("run", "step", "alignment", "uniformity")
    return drawing(
        trajectory(paths), trajectory_headline(paths), name=name, columns=columns, rows=rows
    )


def curves_headline(lines: Sequence[Curve], what: str) -> str:
    """The first and last value of each run, in words."""
    return f"{what.capitalize()} by step. " + _sentence(
        f"{line.name}: {course(line)}" for line in lines if line.values
    )


def course(line: Curve) -> str:
    """`0.93 to 0.31 at step 500`: from the first value to the last."""
    return f"{_moved(line.values)} at step {formats.count(line.steps[-1])}"


def way(path: Path) -> str:
    """`Alignment 1.43 to 0.31, uniformity −1.2 to −2.4`: from the first to the last."""
    return f"Alignment {_moved(path.alignment)}, uniformity {_moved(path.uniformity)}"


def trajectory_headline(paths: Sequence[Path]) -> str:
    """The change of each run's alignment and uniformity, in words."""
    return _sentence(
        f"{path.name}: {way(path).lower()} "
        f"over {formats.count(path.steps[-1] - path.steps[0])} steps"
        for path in paths
        if path.steps
    )


def _sentence(sentences: Iterable[str]) -> str:
    return "; ".join(sentences) or "No numbers yet"


def _moved(values: Sequence[float]) -> str:
    """`1.43 to 0.31`: from the first to the last."""
    return f"{number(values[0])} to {number(values[-1])}"


def number(value: float) -> str:
    """A number to four significant digits."""
    return f"{value:.4g}".replace("-", "−")
