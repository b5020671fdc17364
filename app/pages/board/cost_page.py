"""The page *Cost*: quality against cost on this machine, and smaller vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.blocks import Block, Text
from theodolite.app.pages.board import cost, cost_answer, service
from theodolite.app.pages.board.cost_answer import COST, CURVES_LEAD, CostSpec
from theodolite.app.pages.board.page import suites
from theodolite.app.pages.board.spec import BoardSpec
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.spec import parameters
from theodolite.app.suites import ALL
from theodolite.app.web import parts
from theodolite.app.web.controls import Control, Controls, Values
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

TITLE = "Cost"
PATH = "cost"
DESCRIPTION = (
    "Quality against cost on this machine. The line is the Pareto front: no encoder is "
    "better than those on it in both."
)
_FIELDS = {parameter.name: parameter for parameter in parameters(CostSpec)}
CONTROLS = (
    replace(web.control(_FIELDS["suite"], choices=suites([ALL]), min_width=180), box=gr.Dropdown),
    replace(web.control(_FIELDS["axis"], min_width=260), box=gr.Dropdown),
    Control("encoder", "Encoder for the curves", gr.Dropdown, options={"choices": []}),
    Control("task", "Task for the curves", gr.Dropdown, options={"choices": [], "value": None}),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("suite", "axis")
        go = gr.Button("Measure", variant="primary", visible=False, elem_id="measure")
    notice = parts.notice()
    panel = RunPanel(workspace)
    answer = web.answer(charts=True, elem_id="costs", elem_classes=["t-answer"])
    parts.section("Smaller vectors", CURVES_LEAD)
    with gr.Row():
        controls.render("encoder", "task")
    smaller = web.answer(elem_id="curves")

    def show(values: Values, session: str | None) -> Iterator[Mapping[str, Any]]:
        names = _encoders(workspace, values)
        spec = CostSpec(names, values.suite, values.axis)
        found = COST.last(workspace, spec, lambda job: False)
        left = len(names) - len(found.rows())
        more = " more" if found.rows() else ""
        label = f"Measure the cost of {left if left > 1 else 'one'}{more}"
        yield {
            "answer": web.value(found.blocks()),
            "go": gr.update(
                visible=not workspace.read_only, value=label if left else "Measure again"
            ),
        }
        yield {"smaller": web.value(_curves(workspace, values))}

    def make(values: Values) -> str:
        return cost.queue_measurement(workspace, _encoders(workspace, values))

    panel.connect(
        controls,
        {"answer": answer, "go": go, "smaller": smaller},
        answer,
        go,
        notice,
        load=partial(_loaded, workspace),
        show=show,
        make=make,
    )


def _encoders(workspace: Workspace, values: Values) -> list[str]:
    """The encoders on the suite's board, or all listed ones if there are no results."""
    try:
        return list(service.board(workspace, BoardSpec(values.suite or ALL)).encoders)
    except UserError:
        return choices.names(workspace)


def _curves(workspace: Workspace, values: Values) -> Sequence[Block]:
    if not values.encoder or not values.task:
        return []
    try:
        points = cost_answer.curves(workspace, values.encoder, values.task)
    except UserError as error:
        return [Text("", error.message)]
    return cost_answer.draw_curves(points, values.encoder, values.task)


def _loaded(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """Values of the controls from the address."""
    names = service.offered(workspace)[0]
    chosen = choices.first(workspace, values.encoder)
    first = next(iter(cost_answer.tasks(workspace, chosen or "")), None)
    suite = values.suite if values.suite in names else ALL
    return {
        "suite": gr.update(choices=suites(names), value=suite),
        "axis": values.axis,
        "encoder": choices.one(workspace, chosen),
        "task": gr.update(choices=cost_answer.tasks(workspace, ""), value=values.task or first),
    }
