"""Specs as controls of a page, and answers as one component."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

import gradio as gr

from theodolite.app.blocks import Block
from theodolite.app.components.modules import mount
from theodolite.app.question import Question
from theodolite.app.report.file import Report, of_answer
from theodolite.app.spec import Parameter, Spec, parameters
from theodolite.app.surfaces import document
from theodolite.app.web.controls import Control, Values
from theodolite.app.web.routes import PLOTLY_JS
from theodolite.app.workspace import Workspace

S = TypeVar("S", bound=Spec)


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
    elif field.names or field.offers:  # what there is to choose is known when the page is opened
        box, default = gr.Dropdown, list(default or ()) if parameter.many else default
        given = {"choices": [], "multiselect": parameter.many, "min_width": 220}
        given["value"] = [] if parameter.many else None
        given["allow_custom_value"] = field.names == "encoder"  # specs can be typed
    elif field.none:
        default = parameter.text(default)
    elif parameter.type is bool:
        box = gr.Checkbox
    elif parameter.type in (int, float):
        box = gr.Number
        bounds = {"minimum": field.ge, "maximum": field.le}
        given = {name: bound for name, bound in bounds.items() if bound is not None}
        if parameter.type is int:
            given["precision"] = 0
    elif parameter.many:
        default = "\n".join(default or ())
    given |= options
    return Control(
        parameter.name, field.label, box, default, hint, choices, given, key=parameter.key
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


def spec_of(spec: type[S], values: Values) -> S:
    """The spec that the controls describe; of several texts each has a line of its box."""
    fields = {}
    for parameter in parameters(spec):
        typed = getattr(values, parameter.name)
        lines = parameter.many and isinstance(typed, str)
        fields[parameter.name] = (
            [line for line in typed.splitlines() if line.strip()] if lines else typed
        )
    return spec(**fields)


def report(
    question: Question[Any, Any],
    workspace: Workspace,
    values: Values,
    read: Callable[[Values], Any] | None = None,
) -> Report:
    """The report of what a page shows; nothing is started for it. `read` makes the spec."""
    spec = read(values) if read else spec_of(question.spec, values)
    return of_answer(
        question, spec, question.last(workspace, spec, lambda job: job.is_stored(workspace))
    )
