"""Views of the page *Distributions*: ridge plots, their table, a summary, alignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.components.chart import drawing
from theodolite.app.pages.geometry import densities
from theodolite.app.web import figures, parts

if TYPE_CHECKING:
    from theodolite.app.pages.geometry.densities import Distribution

NOTHING = {"headline": "", "picture": None, "readings": "", "space-title": "", "space": None}
"""The views without distributions, in the form of `pictures`."""


def unreadable(lost: Sequence[str], task: str) -> str:
    """A warning for each encoder whose values per example cannot be read."""
    return parts.warn(
        [
            f"The values per example of {name} on {task} cannot be read; "
            "evaluate it again to restore them."
            for name in lost
        ]
    )


@lru_cache(maxsize=32)
def pictures(found: tuple[tuple[str, Distribution], ...], task: str) -> dict[str, Any]:
    """Headline, ridge plot, readings and the alignment chart, by name; cached."""
    drawn = dict(found)
    panels = [one.panel for one in drawn.values()]
    headline = figures.ridges_headline(panels, densities.grid())
    columns, rows = _numbers(drawn)
    ridges = drawing(
        figures.ridges(panels, densities.grid()),
        f"Densities of the cosine in five groups of gold scores. {headline}.",
        name=f"theodolite-cosines-{task}",
        columns=columns,
        rows=rows,
    )
    count = next(iter(drawn.values())).n
    title = parts.heading(
        headline,
        f"{formats.plural(count, 'pair')} of {task} by the grade people gave "
        "them. Diamonds mark the mean of a group, the dotted line the mean cosine of two random "
        "sentences.",
    )
    space_title, space = _space(drawn)
    return {
        "headline": title,
        "picture": ridges,
        "readings": parts.readings({n: densities.reading(one) for n, one in drawn.items()}),
        "space-title": space_title,
        "space": space,
    }


def _numbers(drawn: Mapping[str, Distribution]) -> tuple[list[str], list[list[Any]]]:
    """The columns and rows of the chart's table: one row per encoder."""
    labels = [ridge.label for ridge in next(iter(drawn.values())).panel.ridges]
    columns = [
        "encoder",
        "pairs",
        *(f"mean cosine {label}" for label in labels),
        "overlap",
        "random pairs",
        "alignment",
        "uniformity",
        "main score",
    ]
    rows = [
        [
            name,
            s.n,
            *(ridge.mean for ridge in s.panel.ridges),
            s.overlap,
            s.random,
            s.alignment,
            s.uniformity,
            s.spearman,
        ]
        for name, s in drawn.items()
    ]
    return columns, rows


def _space(drawn: Mapping[str, Distribution]) -> tuple[str, Any]:
    """Title and chart of alignment against uniformity; empty if the task does not define them."""
    points = [
        figures.SpacePoint(name, s.alignment, s.uniformity)
        for name, s in drawn.items()
        if s.alignment is not None and s.uniformity is not None
    ]
    if not points:
        return "", None
    best = min(points, key=lambda p: p.alignment + p.uniformity)
    headline = f"{best.encoder} has the best sum of alignment and uniformity"
    title = parts.heading(
        headline,
        "Alignment: mean squared distance of pairs graded above 4. Uniformity: log mean "
        "Gaussian potential of all sentences (Wang, Isola 2020; SimCSE, figure 3). Lower is better "
        "for both.",
    )
    rows = [[p.encoder, p.alignment, p.uniformity] for p in points]
    return title, drawing(
        figures.space(points),
        f"Alignment against uniformity. {headline}.",
        name="theodolite-alignment-uniformity",
        columns=["encoder", "alignment", "uniformity"],
        rows=rows,
    )
