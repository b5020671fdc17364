"""Specs as controls of a page, and answers as one component."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

import gradio as gr

from theodolite.app import formats
from theodolite.app.blocks import Block
from theodolite.app.components.modules import mount
from theodolite.app.publish.standalone import Piece
from theodolite.app.spec import Parameter, Spec, parameters
from theodolite.app.surfaces import document
from theodolite.app.web.controls import Control

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


def control(parameter: Parameter, **options: Any) -> Control:
    """The control of a field; `options` are for its component."""
    field, default = parameter.field, None if parameter.required else parameter.default
    box: Any = gr.Textbox
    given: dict[str, Any] = {}
    choices = None
    if field.choices is not None:
        box, choices = gr.Radio, [(label, value) for value, label in field.choices.items()]
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
        choices=choices,
        options=given,
        key=parameter.key,
    )


def answer(**kwargs: Any) -> gr.HTML:
    """The component in which an answer appears; its value comes from `value`."""
    return gr.HTML(
        "", html_template="", js_on_load=mount("answer.js"), apply_default_css=False, **kwargs
    )


def value(blocks: Iterable[Block]) -> str:
    """Blocks as a value of the component of `answer`, as JSON for its script."""
    return formats.json_text([_piece(piece) for piece in document.pieces(blocks)])


def _piece(piece: str | Piece) -> dict[str, Any]:
    if isinstance(piece, str):
        return {"html": piece}
    module = f"{piece.name.removeprefix('js/')}.js"
    return {"module": module, "props": {**piece.props, "value": piece.value}}
