"""The page *Distributions*: cosines of pairs of known similarity, several encoders on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import formats
from app.components.chart import chart
from app.pages.encoders import choices
from app.pages.geometry import densities
from app.pages.geometry import distribution_views as views
from app.pages.jobs import run_panel
from app.pages.jobs.run_panel import RunPanel
from app.web import address, parts
from app.web.controls import Answer, Control, Controls, Values, on, on_load
from app.web.parts import ALWAYS_LAST, HIDE_PROGRESS

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Distributions"
PATH = "distributions"
DESCRIPTION = (
    "How each encoder spreads the cosines of sentence pairs that people graded. Good encoders keep "
    "low grades left, high grades right, and do not crowd all sentences together."
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(
        choices.ENCODERS,
        Control("task", "Scored pairs, all splits", gr.Dropdown, choices=(),
                options={"elem_id": "pairs", "min_width": 260}),
    )  # fmt: skip
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("task", elem_classes=["t-bare"])
        controls.render("encoder")
    notice = parts.notice()
    missing = parts.static("", elem_id="missing")
    measure = gr.Button("Measure them", variant="primary", visible=False, elem_id="measure")
    following = RunPanel(workspace)
    controls.add("run", following.run)
    headline = parts.static("", elem_id="headline")
    picture = chart(elem_id="densities", elem_classes=["t-answer"])
    readings = parts.static("", elem_id="readings")
    space_title = parts.static("")
    space = chart(elem_id="space")
    pictures = [headline, picture, readings, space_title, space]
    shown = [missing, measure, *pictures]

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
        return {controls["run"]: densities.measure(workspace, asked.encoder, asked.task)}

    on_load(load, [*controls.values(), *shown], notice)
    on([controls["encoder"].input, controls["task"].input, following.moved.change],
       show, controls, shown, notice, **ALWAYS_LAST)  # fmt: skip
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
    said = views.missing(absent, lost, task) if found or lost else views.none_measured(task)
    return said, absent, views.pictures(tuple(found.items()), task) if found else views.NOTHING
