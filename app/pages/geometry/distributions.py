"""The page *Distributions*: cosines of graded pairs, several encoders on one axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app import formats
from theodolite.app.components.chart import chart
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.geometry import densities
from theodolite.app.pages.geometry import distribution_views as views
from theodolite.app.pages.geometry.views import missing
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import background_call, parts
from theodolite.app.web.controls import Control, Controls, Values
from theodolite.app.web.frozen import Frozen

if TYPE_CHECKING:
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
        load=partial(_loaded, workspace),
        show=show,
        make=lambda values: densities.measure(workspace, choices.need(values.encoder), values.task),
    )


def _loaded(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
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
        "missing": views.unreadable(lost, task)
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
        **(views.pictures(tuple(found.items()), task) if found else views.NOTHING),
    }
