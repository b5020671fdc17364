"""The page *Distributions*: cosines of pairs of known similarity, several encoders on one axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import formats
from app.components.chart import chart, drawing
from app.pages.encoders import choices
from app.pages.evaluate.job import queue_evaluation
from app.pages.geometry import densities
from app.pages.jobs import run_panel
from app.pages.jobs.run_panel import RunPanel
from app.web import address, figures, parts
from app.web.controls import Answer, Control, Controls, Values, on, on_load
from app.web.parts import ALWAYS_LAST, HIDE_PROGRESS

if TYPE_CHECKING:
    from app.pages.geometry.densities import Distribution
    from app.workspace import Workspace

TITLE = "Distributions"
PATH = "distributions"
DESCRIPTION = (
    "How each encoder spreads the cosines of sentence pairs that people graded. Good encoders keep "
    "low grades left, high grades right, and do not crowd all sentences together."
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    controls = Controls(
        choices.ENCODERS,
        Control("task", "Scored pairs, all splits", gr.Dropdown, choices=(),
                options={"elem_id": "pairs", "min_width": 260}),
    )  # fmt: skip
    with gr.Row():
        controls.render("encoder", scale=3)
        controls.render("task")
    notice = parts.notice()
    missing = parts.static("", elem_id="missing")
    measure = gr.Button("Measure them", variant="primary", visible=False, elem_id="measure")
    following = RunPanel(workspace)
    controls.add("run", following.run)
    headline = parts.static("", elem_id="headline")
    picture = chart(elem_id="densities")
    readings = parts.static("", elem_id="readings")
    space_title = parts.static("")
    space = chart(elem_id="space")
    pictures = [headline, picture, readings, space_title, space]
    views = [missing, measure, *pictures]

    def load(request: gr.Request) -> Answer:
        tasks = densities.pair_tasks(workspace)
        named = address.first(request, "task")
        if named.startswith("hub:"):  # hub files are named, not listed
            tasks.append(named)
        usual = "STSBenchmark" if "STSBenchmark" in tasks else tasks[0]
        chosen = choices.asked(workspace, request)
        wanted = address.choice(request, "task", tasks, usual)
        return {
            controls["encoder"]: choices.filled(workspace, chosen),
            controls["task"]: gr.update(choices=tasks, value=wanted),
            controls["run"]: run_panel.asked(workspace, request),
            **show(Values(encoder=chosen, task=wanted)),
        }

    def show(asked: Values) -> dict[Any, Any]:
        said, absent, drawn = _shown(workspace, choices.need(asked.encoder), asked.task)
        return {
            missing: said,
            measure: gr.update(
                visible=bool(absent) and not workspace.read_only,
                value=f"Measure {formats.plural(len(absent), 'encoder')} on {asked.task}",
            ),
            **dict(zip(pictures, drawn, strict=True)),
        }

    def start(asked: Values) -> Answer:
        found = densities.distributions(workspace, asked.encoder, asked.task)
        absent = [name for name in asked.encoder if name not in found]
        return {controls["run"]: queue_evaluation(workspace, absent, [asked.task])}

    on_load(load, [*controls.values(), *views], notice)
    on([controls["encoder"].input, controls["task"].input, following.moved.change],
       show, controls, views, notice, **ALWAYS_LAST)  # fmt: skip
    controls.keep()
    if not workspace.read_only:
        on(measure.click, start, controls, [controls["run"]], notice, **HIDE_PROGRESS)


def _shown(
    workspace: Workspace, names: Sequence[str], task: str
) -> tuple[str, list[str], tuple[Any, ...]]:
    """What is missing in words, the encoders that can be measured for it, and the pictures."""
    found = densities.distributions(workspace, names, task)
    absent = [name for name in names if name not in found]
    lost = densities.unreadable(workspace, names, task, found)
    said = _missing(absent, lost, task) if found or lost else _none_measured(task)
    return said, absent, _pictures(tuple(found.items()), task) if found else NOTHING


def _missing(absent: Sequence[str], lost: Sequence[str], task: str) -> str:
    """What is not measured yet or cannot be read, when something else is shown."""
    unread = parts.warn([f"The values per example of {name} on {task} cannot be read; measured "
                         "again they are there." for name in lost])  # fmt: skip
    new = [name for name in absent if name not in lost]
    return unread + (parts.say(f"Not measured on {task} yet: {', '.join(new)}.") if new else "")


def _none_measured(task: str) -> str:
    hint = "Press the button below; it takes from seconds to minutes and runs in the background."
    return parts.empty(f"None of them was measured on {task}", hint)


NOTHING = ("", None, "", "", None)
"""What `_pictures` returns where there is nothing to draw."""


@lru_cache(maxsize=32)
def _pictures(found: tuple[tuple[str, Distribution], ...], task: str) -> tuple[Any, ...]:
    """Headline, ridges, readings and the map of the spaces; they are made once a result."""
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
    title = (
        f'<div class="t-section"><h2>{escape(headline)}</h2><p>{formats.plural(count, "pair")} of '
        f"{escape(task)} by the grade people gave them. Diamonds mark the mean of a group, the "
        "dotted line the mean cosine of two random sentences.</p></div>"
    )
    return title, ridges, _readings(drawn), *_space(drawn)


def _numbers(drawn: Mapping[str, Distribution]) -> tuple[list[str], list[list[Any]]]:
    """The table twin: one row an encoder."""
    labels = [ridge.label for ridge in next(iter(drawn.values())).panel.ridges]
    columns = ["encoder", "pairs", *(f"mean cosine {label}" for label in labels), "overlap",
               "random pairs", "alignment", "uniformity", "main score"]  # fmt: skip
    rows = [
        [name, s.n, *(ridge.mean for ridge in s.panel.ridges), s.overlap, s.random, s.alignment,
         s.uniformity, s.spearman]
        for name, s in drawn.items()
    ]  # fmt: skip
    return columns, rows


def _readings(drawn: Mapping[str, Distribution]) -> str:
    """What each picture says, in a sentence or two."""
    items = "".join(
        f'<li><span class="t-spec">{escape(name)}</span>{escape(densities.reading(one))}</li>'
        for name, one in drawn.items()
    )
    return f'<ul class="t-readings" aria-label="How to read it">{items}</ul>'


def _space(drawn: Mapping[str, Distribution]) -> tuple[str, Any]:
    """Alignment and uniformity, where the task defines them."""
    points = [
        figures.SpacePoint(name, s.alignment, s.uniformity)
        for name, s in drawn.items()
        if s.alignment is not None and s.uniformity is not None
    ]
    if not points:
        return "", None
    best = min(points, key=lambda p: p.alignment + p.uniformity)
    headline = f"{best.encoder} has the best sum of alignment and uniformity"
    title = (
        f'<div class="t-section"><h2>{escape(headline)}</h2><p>Alignment: mean squared distance of '
        "pairs graded above 4. Uniformity: log mean Gaussian potential of all sentences (Wang, "
        "Isola 2020; SimCSE, figure 2). Lower is better for both.</p></div>"
    )
    rows = [[p.encoder, p.alignment, p.uniformity] for p in points]
    return title, drawing(
        figures.space(points),
        f"Alignment against uniformity. {headline}.",
        name="theodolite-alignment-uniformity",
        columns=["encoder", "alignment", "uniformity"],
        rows=rows,
    )
