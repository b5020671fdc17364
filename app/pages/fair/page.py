"""The tab *Fairness* of Compare: what makes a comparison unfair, with the evidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.blocks import Link, Nothing
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.fair import answer as fairness
from theodolite.app.pages.fair.answer import FAIR, MAX_ENCODERS, Fairness, FairSpec
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.spec import parameters
from theodolite.app.surfaces import web
from theodolite.app.surfaces.static import Static
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_open
from theodolite.app.web.events import PageEvent
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS

if TYPE_CHECKING:
    from theodolite.app.published import Published
    from theodolite.app.workspace import Workspace

TITLE = "Fairness"
PATH = "fair-play"
DESCRIPTION = (
    "Seven ways in which comparisons of sentence encoders mislead, checked on yours. After "
    "Eger, Rücklé and Gurevych, Pitfalls in the Evaluation of Sentence Embeddings (2019)."
)


def _views(published: Published) -> Iterator[tuple[str, FairSpec]]:
    """All published encoders."""
    yield "Fairness", FairSpec(tuple(published.encoders.values())[:MAX_ENCODERS])


PUBLISHED = Static(FAIR, _views)
CONTROLS = web.controls(
    FairSpec,
    encoders=choices.CHIPS,
    tasks=Control(
        "tasks",
        "Tasks",
        gr.CheckboxGroup,
        (),
        "None selected: evaluated tasks, and the usual suites whose data is available.",
        (),
        key="task",
    ),
    curve=Control(
        "curve", "Task for the curve", gr.Dropdown, choices=(), options={"min_width": 220}
    ),
    classifier=web.control(parameters(FairSpec)[-1], elem_id="by-classifier"),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("encoder")
        with parts.more():
            controls.render("tasks", "projection", "curve", "classifier")
    notice = parts.notice()
    panel = RunPanel(workspace)
    shown = web.answer(charts=True, elem_id="checks", elem_classes=["t-answer"])
    boxes = list(controls.values())
    run = controls.add("run", panel.run)

    def load(request: gr.Request) -> Answer:
        filled = _loaded(workspace, controls.from_address(request), request)
        named = {controls[name]: value for name, value in filled.items()}
        return {**named, run: address.first(request, "run")}

    def show(values: Values) -> Iterator[Answer]:
        hint = "Choose the encoders to compare."
        blocks: Any = [Nothing("No encoder chosen", hint, Link("Encoders", "encoders"))]
        if values.encoder:
            blocks = _report(workspace, values).blocks()
        yield {shown: web.value(blocks)}

    def act(values: Values, event: PageEvent) -> Answer:
        if event.act == "add":
            name = encoders.add(workspace, event.id)["name"]
            ticked = list(dict.fromkeys([*(values.encoder or []), name]))
            return {controls["encoder"]: choices.filled(workspace, ticked)}
        return {run: fairness.evaluate(workspace, _report(workspace, values), event.id)}

    every = (show, controls, [shown], notice)
    on_open(load, lambda values, _: show(values), controls, [shown], notice)
    on([*(box.input for box in boxes), panel.moved.change], *every, **ALWAYS_LAST)
    controls.keep()
    places = [controls["encoder"], run]
    done = on(shown.act, act, controls, places, notice, scroll_to_output=True, **HIDE_PROGRESS)
    on(done.then, *every, **ALWAYS_LAST)


def _report(workspace: Workspace, values: Values) -> Fairness:
    spec = FairSpec(
        values.encoder or (),
        values.tasks or (),
        values.projection,
        values.curve or "",
        values.classifier,
    )
    return FAIR.last(workspace, spec, lambda job: False)


def _loaded(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    listed = choices.names(workspace)[:MAX_ENCODERS]
    chosen = choices.from_address(workspace, request, listed, MAX_ENCODERS)
    if not chosen:
        return {}
    values.encoder = [name for name in chosen if choices.read(name)]
    wanted, values.tasks = values.tasks, ()
    report = _report(workspace, values)
    return {
        "encoder": choices.filled(workspace, chosen),
        "tasks": gr.update(
            choices=list(report.tasks), value=[task for task in wanted if task in report.tasks]
        ),
        "projection": values.projection,
        "curve": gr.update(choices=list(report.tasks), value=report.curve or None),
        "classifier": values.classifier,
    }
