"""The page *Distributions*: cosines of graded pairs, several encoders on one axis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.geometry import densities
from theodolite.app.pages.geometry.answer import DISTRIBUTIONS, DistributionsSpec
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.published import Published
from theodolite.app.report.button import report_button
from theodolite.app.spec import parameters
from theodolite.app.surfaces.static import Static
from theodolite.app.web import parts
from theodolite.app.web.controls import Controls, Values

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Distributions"
PATH = "distributions"
DESCRIPTION = (
    "How each encoder distributes the cosines of sentence pairs that people have graded. A "
    "good encoder gives low grades low cosines and high grades high ones, and does not "
    "squeeze all sentences together."
)
CONTROLS = web.controls(
    DistributionsSpec,
    encoders=replace(choices.ENCODERS, name="encoders", key="encoder"),
    task=web.control(parameters(DistributionsSpec)[1], elem_id="pairs", min_width=260),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("task", elem_classes=["t-bare"])
        controls.render("encoders")
    notice = parts.notice()
    go = gr.Button(variant="primary", visible=False, elem_id="compute")
    panel = RunPanel(workspace)
    shown = web.answer(charts=True, elem_id="answer", elem_classes=["t-answer"])
    panel.ask(DISTRIBUTIONS, controls, shown, go, notice, load=partial(_fill, workspace))
    report_button(controls, notice, partial(web.report, DISTRIBUTIONS, workspace))


def _fill(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    tasks = densities.pair_tasks(workspace)
    named = values.task or ""
    if named.startswith("hub:"):  # hub files are named, not listed
        tasks.append(named)
    chosen = named if named in tasks else densities.opening(workspace, tasks)
    return {
        "encoders": choices.filled(workspace, choices.from_address(workspace, request)),
        "task": gr.update(choices=tasks, value=chosen),
    }


def _views(published: Published) -> Iterator[tuple[str, DistributionsSpec]]:
    """The encoders with results, on each task."""
    small, encoders = published.workspace, [*published.encoders.values()]
    for task in densities.pair_tasks(small):
        if known := densities.distributions(small, encoders, task):
            yield task, DistributionsSpec([*known], task)


PUBLISHED = Static(DISTRIBUTIONS, _views)
