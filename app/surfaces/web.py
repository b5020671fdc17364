"""Specs as controls of a page, answers as one component, and questions as whole pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import gradio as gr

from theodolite.app.blocks import Block
from theodolite.app.components.modules import mount
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.submit import queue
from theodolite.app.question import Answer, Question
from theodolite.app.report.button import report_button
from theodolite.app.report.file import of_answer
from theodolite.app.spec import Parameter, Spec, parameters
from theodolite.app.surfaces import document
from theodolite.app.surfaces.static import Static
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer as Changes
from theodolite.app.web.controls import Control, Controls, Values, on, on_load
from theodolite.app.web.parts import ALWAYS_LAST
from theodolite.app.web.routes import PLOTLY_JS
from theodolite.app.workspace import STARTER_ENCODERS

if TYPE_CHECKING:
    from theodolite.app.published import Published
    from theodolite.app.workspace import Workspace

S = TypeVar("S", bound=Spec)
POLL_SECONDS = 1


def controls(spec: type[Spec], without: Collection[str] = (), **own: Control) -> list[Control]:
    """A control for each field of a spec.

    Args:
        spec: the spec.
        without: fields that the page does not offer.
        **own: controls of the page's own, by field.
    """
    return [
        own.get(parameter.name) or control(parameter)
        for parameter in parameters(spec)
        if parameter.name not in without
    ]


def control(parameter: Parameter, hint: str | None = None, **options: Any) -> Control:
    """The control of a field; `options` are for its component, `hint` stands beside it."""
    field, default = parameter.field, None if parameter.required else parameter.default
    box: Any = gr.Textbox
    given: dict[str, Any] = {}
    choices = None
    if field.choices is not None:
        box, choices = gr.Radio, [(label, value) for value, label in field.choices.items()]
    elif field.names:
        box, default = gr.Dropdown, list(default or ()) if parameter.many else default
        given = {"choices": [], "multiselect": parameter.many}
    elif parameter.type is bool:
        box = gr.Checkbox
    elif parameter.type in (int, float):
        box = gr.Number
        given = {"minimum": field.ge, "maximum": field.le}
        if parameter.type is int:
            given["precision"] = 0
    elif parameter.many:
        default = "\n".join(default or ())
    given = {name: value for name, value in given.items() if value is not None} | options
    return Control(
        parameter.name,
        field.label,
        box,
        default,
        hint,
        choices,
        given,
        key=parameter.key,
    )


def answer(*, charts: bool = False, **kwargs: Any) -> gr.HTML:
    """The component in which an answer appears; its value comes from `value`.

    Event: `act` with `act` and `id`, of a button.

    Args:
        charts: whether there are charts as a rule: their script is then asked for early.
        **kwargs: arguments of `gr.HTML`: `elem_id`, …
    """
    if charts:
        kwargs["plotly"] = PLOTLY_JS
    script = f'{mount("answer.js")} // Gradio looks for the names of events: "act"'
    return gr.HTML("", html_template="", js_on_load=script, apply_default_css=False, **kwargs)


def value(blocks: Iterable[Block]) -> str:
    """Blocks as a value of the component of `answer`, as JSON for its script."""
    return document.as_json(document.nested(blocks))


class QuestionPage:
    """The page of a module that has a `QUESTION`, a `TITLE` and a `PATH`, and no `build`."""

    def __init__(self, module: ModuleType) -> None:
        self.TITLE, self.PATH = module.TITLE, module.PATH
        self.PUBLISHED = getattr(module, "PUBLISHED", Static(module.QUESTION, _usual))
        self.build = partial(build, module.QUESTION, module.TITLE)


def _usual(published: Published) -> Iterator[tuple[str, Spec]]:
    """Nothing, unless an address is given."""
    yield from ()


def build(question: Question[Any, Any], title: str, workspace: Workspace) -> None:
    """Lay out a page: the values that must be given, a button, and the others behind it."""
    every = parameters(question.spec)
    box = Controls(*controls(question.spec))
    with parts.bar(title, question.about):
        box.render(*[one.name for one in every if one.required or one.field.names])
        go = gr.Button(title, variant="primary", elem_id=f"{question.name}-button")
        with parts.more():
            rest = [one.name for one in every if one.name not in box]
            if rest:
                box.render(*rest)
            notice = parts.notice()
            report_button(box, notice, partial(report, question, workspace))
    shown = answer(elem_classes=["t-answer"])
    timer = gr.Timer(POLL_SECONDS, active=False)

    def load(request: gr.Request) -> Changes:
        return _filled(workspace, question, box, request)

    def show(values: Values, *, start: bool = True) -> Iterator[Changes]:
        for one in _answers(question, workspace, values, start=start):
            yield {shown: value(one.blocks()), timer: gr.update(active=one.waits)}

    def opened(values: Values) -> Iterator[Changes]:
        if all(getattr(values, one.name) for one in every if one.required):
            yield from show(values, start=False)

    outputs = [shown, timer]
    on(on_load(load, [*box.values()], notice).then, opened, box, outputs, notice, **ALWAYS_LAST)
    on(go.click, show, box, outputs, notice, **ALWAYS_LAST)
    on(timer.tick, opened, box, outputs, notice, **parts.HIDE_PROGRESS)
    box.keep()


def spec_of(spec: type[S], values: Values) -> S:
    """The spec that the controls describe; of several texts each has a line of its box."""
    given = {}
    for one in parameters(spec):
        typed = getattr(values, one.name)
        lines = one.many and isinstance(typed, str)
        given[one.name] = [line for line in typed.splitlines() if line.strip()] if lines else typed
    return spec(**given)


def _answers(
    question: Question[Any, Any], workspace: Workspace, values: Values, *, start: bool
) -> Iterator[Answer]:
    def do(job: Job) -> bool:
        if start:
            queue(workspace, job)
        return job.is_stored(workspace)

    yield from question.answer(workspace, spec_of(question.spec, values), do)


def report(question: Question[Any, Any], workspace: Workspace, values: Values) -> Any:
    """The report of what a page shows; nothing is started for it."""
    *_, last = _answers(question, workspace, values, start=False)
    return of_answer(question, spec_of(question.spec, values), last.complete())


def _filled(
    workspace: Workspace, question: Question[Any, Any], box: Controls, request: gr.Request
) -> dict[Any, Any]:
    """The values of the address in the controls, and the names that can be chosen."""
    values = vars(box.from_address(request))
    filled: dict[Any, Any] = {}
    for one in parameters(question.spec):
        chosen: Any = values[one.name]
        if one.many:
            chosen = address.every(request, one.key) or chosen
        if one.field.names:
            names = _names(workspace, one)
            filled[box[one.name]] = gr.update(choices=names, value=chosen)
        else:
            filled[box[one.name]] = "\n".join(chosen) if isinstance(chosen, list) else chosen
    return filled


def _names(workspace: Workspace, parameter: Parameter) -> list[str]:
    """What there is to choose from."""
    if parameter.field.names == "dataset":
        return list(workspace.catalog.names())
    rows = workspace.store.encoders.list()
    return [row["name"] for row in rows] or list(STARTER_ENCODERS)
