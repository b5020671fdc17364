"""The page *Geometry*: how encoders use their space, measured over all pairs of a data set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import gradio as gr

from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.geometry import service
from theodolite.app.pages.geometry.answer import GEOMETRY, RULES, GeometrySpec
from theodolite.app.pages.geometry.sections import default_label
from theodolite.app.pages.layout import ask
from theodolite.app.published import Published
from theodolite.app.spec import parameters
from theodolite.app.surfaces import web
from theodolite.app.surfaces.static import Static
from theodolite.app.web import parts
from theodolite.app.web.controls import Controls, Values
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.types import LabelledPairs, ScoredPairs
from theodolite.engine.errors import UserError
from theodolite.store.derived import arrays

TITLE, PATH = "Geometry", "geometry"
DESCRIPTION = (
    "How each encoder uses its space: whether paraphrases are close, sentences are spread "
    "evenly, and all dimensions are used; and the cosine above which two sentences can be "
    "considered equivalent."
)
_FIELDS = {parameter.name: parameter for parameter in parameters(GeometrySpec)}
CONTROLS = web.controls(
    GeometrySpec,
    encoders=replace(choices.ENCODERS, name="encoders", key="encoder"),
    split=replace(web.control(_FIELDS["split"], choices=[], value=None), box=gr.Radio),
    label=replace(web.control(_FIELDS["label"], choices=[]), box=gr.Dropdown),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("data", elem_classes=["t-bare"])
        controls.render("encoders")
        with parts.more():
            controls.render("split", "rule", "cut", "label")

    def load(values: Values, request: gr.Request) -> dict[str, Any]:
        data, offered = collections.filled(workspace, values.data, service.opening(workspace))
        named = choices.filled(workspace, choices.from_address(workspace, request))
        return {"encoders": named, "data": offered, **_of_data(workspace, data, values)}

    def refill(values: Values) -> dict[str, Any]:
        usual = Values(split=service.ALL, rule=GeometrySpec.rule, cut=None, label=None)
        return _of_data(workspace, values.data, usual)

    ask(
        workspace,
        GEOMETRY,
        controls,
        gr.Button(variant="primary", visible=False, elem_id="compute"),
        load=load,
        refill={"data": refill},
        report=True,
        charts=True,
        elem_id="answer",
    )


def _of_data(workspace: Workspace, name: str, values: Values) -> dict[str, Any]:
    """Updates of split, rule, cut and label for a data set, with the given values if valid."""
    data, offered = workspace.catalog.load(name), service.splits(workspace, name)
    at = service.cut(data.scale) if isinstance(data, ScoredPairs) else None
    labels = sorted(set(data.labels)) if isinstance(data, LabelledPairs) else []
    usual = default_label(labels) if labels else None
    return {
        "split": gr.update(
            choices=offered,
            value=values.split if values.split in offered else service.ALL,
            visible=len(offered) > 1,
        ),
        "rule": gr.update(
            choices=[(text.replace("4", f"{at or 4:g}"), value) for value, text in RULES.items()],
            value=values.rule,
            visible=at is not None,
        ),
        "cut": gr.update(value=at if values.cut is None else values.cut, visible=at is not None),
        "label": gr.update(
            choices=labels,
            value=values.label if values.label in labels else usual,
            visible=bool(labels),
        ),
    }


def _carry(published: Published) -> None:
    """Copy the stored geometries of published encoders and data sets."""
    for row in published.source.store.derived.list(service.KIND):
        info = row["info"]
        if info["encoder"] in published.encoders and info["dataset"] in published.data:
            info |= {
                "encoder": published.encoders[info["encoder"]],
                "dataset": published.data[info["dataset"]],
            }
            published.workspace.store.derived.put(row["key"], service.KIND, info, arrays(row))


def _views(published: Published) -> Iterator[tuple[str, GeometrySpec]]:
    """The encoders whose geometry is known, on each data set."""
    for data in published.data.values():
        encoders = []
        for encoder in published.encoders.values():
            with suppress(UserError):
                if service.quick(published.workspace, encoder, data):
                    encoders.append(encoder)
        if encoders:
            yield data, GeometrySpec(encoders, data)


PUBLISHED = Static(GEOMETRY, _views, _carry)
