"""The page *Distributions*: cosines of graded pairs, several encoders on one axis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gradio as gr

from theodolite.app.pages.encoders import choices
from theodolite.app.pages.geometry import answer
from theodolite.app.pages.geometry.answer import DISTRIBUTIONS, DistributionsSpec
from theodolite.app.pages.geometry.densities import read
from theodolite.app.pages.layout import ask
from theodolite.app.published import Published
from theodolite.app.spec import parameters
from theodolite.app.surfaces import web
from theodolite.app.surfaces.static import Static
from theodolite.app.web import parts
from theodolite.app.web.controls import Controls, Values
from theodolite.app.workspace import Workspace

TITLE, PATH = "Distributions", "distributions"
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

    def load(values: Values, request: gr.Request) -> dict[str, Any]:
        tasks = answer.pair_tasks(workspace)
        if (values.task or "").startswith("hub:"):  # hub files are named, not listed
            tasks.append(values.task)
        chosen = values.task if values.task in tasks else answer.opening(workspace, tasks)
        return {
            "encoders": choices.filled(workspace, choices.from_address(workspace, request)),
            "task": gr.update(choices=tasks, value=chosen),
        }

    ask(
        workspace,
        DISTRIBUTIONS,
        controls,
        gr.Button(variant="primary", visible=False, elem_id="compute"),
        load=load,
        report=True,
        charts=True,
        elem_id="answer",
    )


def _views(published: Published) -> Iterator[tuple[str, DistributionsSpec]]:
    """The encoders with results, on each task."""
    small, encoders = published.workspace, [*published.encoders.values()]
    for task in answer.pair_tasks(small):
        known, _ = read(small, encoders, task)
        if known:
            yield task, DistributionsSpec([*known], task)


PUBLISHED = Static(DISTRIBUTIONS, _views)
