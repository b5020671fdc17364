"""The page *Cost*: quality against cost on this machine, and smaller vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from html import escape
from typing import Any

import gradio as gr

from theodolite.app.components.board import board as table
from theodolite.app.components.chart import chart
from theodolite.app.pages.board import cost, cost_views, curves, service, views
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import parts
from theodolite.app.web.controls import Control, Controls, Values
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

TITLE = "Cost"
PATH = "cost"
AXIS = "per_second_64"
DESCRIPTION = (
    "Quality against cost on this machine. The line is the Pareto front: no encoder is "
    "better than those on it in both."
)
CONTROLS = (
    Control(
        "suite",
        "Suite",
        gr.Dropdown,
        service.ALL,
        options={"min_width": 180, "choices": views.suites([service.ALL])},
    ),
    Control(
        "axis",
        "Cost",
        gr.Dropdown,
        AXIS,
        choices=[(what, key) for key, (what, _, _) in cost.AXES.items()],
        options={"min_width": 260},
    ),
    Control("encoder", "Encoder for the curves", gr.Dropdown, options={"choices": []}),
    Control(
        "task",
        "Task for the curves",
        gr.Dropdown,
        options={"choices": [], "value": None},
        key="task",
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("suite", "axis")
    notice = parts.notice()
    shown = {"headline": parts.static("", elem_id="headline", elem_classes=["t-answer"])}
    shown["measure"] = gr.Button("Measure", variant="primary", visible=False, elem_id="measure")
    panel = RunPanel(workspace)
    shown["pareto"] = chart(elem_id="pareto", elem_classes=["t-answer"])
    shown["costs"] = table(elem_id="costs")
    parts.section("Smaller vectors", cost_views.CURVES_LEAD)
    with gr.Row():
        controls.render("encoder", "task")
    shown["said"] = parts.static("", elem_id="curves-said")
    shown["curves"] = chart(elem_id="curves")

    def show(values: Values, session: str | None) -> Iterator[Mapping[str, Any]]:
        yield _priced(workspace, values)
        yield _curves(workspace, values)

    def make(values: Values) -> str:
        return cost.queue_measurement(workspace, _encoders(workspace, values))

    panel.connect(
        controls,
        shown,
        shown["headline"],
        shown["measure"],
        notice,
        load=partial(_loaded, workspace),
        show=show,
        make=make,
    )


def _encoders(workspace: Workspace, values: Values) -> list[str]:
    """The encoders on the suite's board, or all listed ones if there are no results."""
    try:
        return list(
            service.board(workspace, service.BoardSpec(values.suite or service.ALL)).encoders
        )
    except UserError:
        return choices.names(workspace)


def _priced(workspace: Workspace, values: Values) -> dict[str, Any]:
    names, found = _encoders(workspace, values), cost.measured(workspace)
    rows = {name: found[name] for name in names if name in found}
    left = len(names) - len(rows)
    label = f"Measure the cost of {left if left > 1 else 'one'}{' more' if rows else ''}"
    go = gr.update(visible=not workspace.read_only, value=label if left else "Measure again")
    quality: dict[str, float] = {}
    tasks, hint = 0, ""
    if not rows:
        rows, quality, tasks = cost.example()
        hint = f'<p class="t-said">{escape(cost_views.elsewhere(rows, workspace.read_only))}</p>'
    else:
        if text := cost.disturbance(rows.values()):
            hint = f'<p class="t-said">{escape(text)}</p>'
        with suppress(UserError):
            board = service.board(workspace, service.BoardSpec(values.suite or service.ALL))
            quality, tasks = cost.quality(board), len(board.shared)
    finding, picture = cost_views.pareto(quality, tasks, rows, values.axis or AXIS)
    return {
        "headline": finding + hint,
        "measure": go,
        "pareto": picture,
        "costs": cost_views.table(rows),
    }


def _curves(workspace: Workspace, values: Values) -> dict[str, Any]:
    if not values.encoder or not values.task:
        return {"said": "", "curves": None}
    try:
        lines = curves.curves(workspace, values.encoder, values.task)
    except UserError as error:
        return {"said": parts.say(str(error.message)), "curves": None}
    text, picture = cost_views.curves(lines, values.encoder, values.task)
    return {"said": text, "curves": picture}


def _loaded(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """Values of the controls from the address."""
    suites = service.offered(workspace)[0]
    chosen = choices.first(workspace, values.encoder)
    offered = curves.tasks(workspace, chosen or "")
    first = next(iter(offered), None)
    return {
        "suite": gr.update(
            choices=views.suites(suites),
            value=values.suite if values.suite in suites else service.ALL,
        ),
        "axis": values.axis,
        "encoder": choices.one(workspace, chosen),
        "task": gr.update(
            choices=curves.tasks(workspace, ""),
            value=values.task if values.task else first,
        ),
    }
