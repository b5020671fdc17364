"""The page *Distributions*: cosines of graded pairs, several encoders on one axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app import formats
from theodolite.app.components.chart import chart, drawing
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.geometry import densities
from theodolite.app.pages.geometry.views import missing
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import background_call, figures, parts
from theodolite.app.web.controls import Control, Controls, Values
from theodolite.app.web.frozen import Frozen

if TYPE_CHECKING:
    from theodolite.app.pages.geometry.densities import Distribution
    from theodolite.app.workspace import Workspace

TITLE = "Distributions"
PATH = "distributions"
FROZEN = Frozen(controls=("pairs",))
DESCRIPTION = (
    "How each encoder distributes the cosines of sentence pairs that people have graded. A "
    "good encoder gives low grades low cosines and high grades high ones, and does not "
    "squeeze all sentences together."
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(
        choices.ENCODERS,
        Control(
            "task",
            "Scored pairs, all splits",
            gr.Dropdown,
            options={"elem_id": "pairs", "choices": [], "min_width": 260},
        ),
    )
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("task", elem_classes=["t-bare"])
        controls.render("encoder")
    notice = parts.notice()
    shown = {"missing": parts.static("", elem_id="missing")}
    shown["measure"] = gr.Button(
        "Measure them", variant="primary", visible=False, elem_id="measure"
    )
    panel = RunPanel(workspace)
    shown |= {
        "headline": parts.static("", elem_id="headline"),
        "picture": chart(elem_id="densities", elem_classes=["t-answer"]),
        "readings": parts.static("", elem_id="readings"),
        "space-title": parts.static(""),
        "space": chart(elem_id="space"),
    }

    def show(values: Values, session: str | None) -> Iterator[Mapping[str, Any]]:
        yield from background_call.changes(
            lambda say: _shown(workspace, choices.need(values.encoder), values.task),
            f"Reading {values.task}",
            session,
            "missing",
        )

    panel.connect(
        controls,
        shown,
        shown["missing"],
        shown["measure"],
        notice,
        load=partial(_fill, workspace),
        show=show,
        make=lambda values: densities.measure(workspace, choices.need(values.encoder), values.task),
    )


def _fill(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    tasks = densities.pair_tasks(workspace)
    named = values.task or ""
    if named.startswith("hub:"):  # hub files are named, not listed
        tasks.append(named)
    chosen = named if named in tasks else densities.opening(workspace, tasks)
    return {
        "encoder": choices.filled(workspace, choices.from_address(workspace, request)),
        "task": gr.update(choices=tasks, value=chosen),
    }


def _shown(workspace: Workspace, names: list[str], task: str) -> dict[str, Any]:
    """The views below the controls: missing encoders, the button that measures them, the charts."""
    found = densities.distributions(workspace, names, task)
    absent = [name for name in names if name not in found]
    lost = densities.unreadable(workspace, names, task, found)
    return {
        "missing": unreadable(lost, task)
        + missing(
            [name for name in absent if name not in lost],
            task,
            some=bool(found or lost),
            visitor=workspace.read_only,
        ),
        "measure": gr.update(
            visible=bool(absent) and not workspace.read_only,
            value=f"Measure {formats.plural(len(absent), 'encoder')} on {task}",
        ),
        **(pictures(tuple(found.items()), task) if found else NOTHING),
    }


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
