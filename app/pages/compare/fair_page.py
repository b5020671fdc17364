"""The tab *Fairness* of Compare: what makes a comparison unfair, with the evidence."""

from collections.abc import Iterator

import gradio as gr

from theodolite.app.blocks import Link, Nothing
from theodolite.app.pages.compare.evidence import MAX_ENCODERS, FairSpec
from theodolite.app.pages.compare.fairness import FAIR, Fairness, evaluate
from theodolite.app.pages.encoders import choices, service as encoders
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.published import Published, Static
from theodolite.app.spec import parameters
from theodolite.app.surfaces import web
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, Controls, PageEvent, Values, on, on_open
from theodolite.app.workspace import Workspace

TITLE, PATH = "Fairness", "fair-play"
DESCRIPTION = (
    "Seven ways in which comparisons of sentence encoders mislead, checked on yours. After "
    "Eger, Rücklé and Gurevych, Pitfalls in the Evaluation of Sentence Embeddings (2019)."
)
HINT = "None selected: evaluated tasks, and the usual suites whose data is available."
NO_ENCODER = Nothing(
    "No encoder chosen", "Choose the encoders to compare.", Link("Encoders", "encoders")
)
CONTROLS = web.controls(
    FairSpec,
    encoders=choices.ENCODERS,
    tasks=Control("tasks", "Tasks", gr.CheckboxGroup, (), HINT, (), key="task"),
    curve=Control(
        "curve", "Task for the curve", gr.Dropdown, choices=(), options={"min_width": 220}
    ),
    classifier=web.control(parameters(FairSpec)[-1], elem_id="by-classifier"),
)


def _views(published: Published) -> Iterator[tuple[str, FairSpec]]:
    """All published encoders."""
    yield "Fairness", FairSpec(tuple(published.encoders.values())[:MAX_ENCODERS])


PUBLISHED = Static(FAIR, _views)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("encoder")
        with parts.more():
            controls.render("tasks", "projection", "curve", "classifier")
    notice, panel = parts.notice(), RunPanel(workspace)
    answer = web.answer(charts=True, elem_id="checks", elem_classes=["t-answer"])
    chips, chips_changed = choices.watch(controls["encoder"])
    asks = [box.input for name, box in controls.items() if name != "encoder"]
    run = controls.add("run", panel.run)

    def report(values: Values) -> Fairness:
        choice = (values.encoder, values.tasks, values.projection, values.curve, values.classifier)
        return FAIR.last(workspace, FairSpec(*choice), lambda job: False)

    def load(request: gr.Request) -> Answer:
        values = controls.from_address(request)
        usual = choices.names(workspace)[:MAX_ENCODERS]
        choice = choices.from_address(workspace, request, usual, MAX_ENCODERS)
        values.encoder, tasks = [name for name in choice if choices.read(name)], values.tasks
        values.tasks, updates = (), {}
        if values.encoder:
            known = report(values).evidence
            updates = {  # the answer says which tasks are unknown
                "tasks": gr.update(choices=[*dict.fromkeys([*known.tasks, *tasks])], value=tasks),
                "curve": gr.update(choices=list(known.tasks), value=known.curve or None),
            }
        updates |= {"encoder": choices.fill(workspace, choice), "projection": values.projection}
        updates |= {"classifier": values.classifier, "run": address.first(request, "run")}
        boxes = {controls[name]: value for name, value in updates.items()}
        return boxes | {chips: ",".join(choice)}

    def show(values: Values) -> Iterator[Answer]:
        blocks = report(values).blocks() if values.encoder else [NO_ENCODER]
        yield {answer: web.value(blocks)}

    def act(values: Values, event: PageEvent) -> Answer:
        if event.act == "add":
            added = encoders.add(workspace, event.id)["name"]
            choice = list(dict.fromkeys([*values.encoder, added]))
            filled = choices.fill(workspace, choice)
            return {controls["encoder"]: filled, chips: choices.joined(filled)}
        return {run: evaluate(workspace, report(values), event.id)}

    every = (show, controls, [answer, chips], notice)
    on_open(load, lambda values, _: show(values), *every[1:])
    on([*asks, chips_changed, panel.moved.change], *every, **parts.ALWAYS_LAST)
    controls.keep()
    places = [controls["encoder"], chips, run]
    done = on(
        answer.act, act, controls, places, notice, scroll_to_output=True, **parts.HIDE_PROGRESS
    )
    on(done.then, *every, **parts.ALWAYS_LAST)
