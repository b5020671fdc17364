"""The page *Geometry*: how encoders use their space, measured over all pairs of a data set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.geometry import sections, service
from theodolite.app.pages.geometry.answer import GEOMETRY, RULES, GeometrySpec
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.published import Published
from theodolite.app.report.button import report_button
from theodolite.app.spec import parameters
from theodolite.app.surfaces.static import Static
from theodolite.app.web import parts
from theodolite.app.web.controls import Controls, Values
from theodolite.engine.errors import UserError
from theodolite.store.derived import arrays

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Geometry"
PATH = "geometry"
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
    notice = parts.notice()

    def refill(values: Values) -> dict[str, Any]:
        usual = Values(split=service.ALL, rule=GeometrySpec.rule, cut=None, label=None)
        return _picked(workspace, values.data, usual)

    go = gr.Button(variant="primary", visible=False, elem_id="compute")
    panel = RunPanel(workspace)
    shown = web.answer(charts=True, elem_id="answer", elem_classes=["t-answer"])
    load = partial(_fill, workspace)
    panel.ask(GEOMETRY, controls, shown, go, notice, load=load, refill={"data": refill})
    report_button(controls, notice, partial(web.report, GEOMETRY, workspace))


def _fill(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    data, offered = collections.filled(workspace, values.data, service.opening(workspace))
    return {
        "encoders": choices.filled(workspace, choices.from_address(workspace, request)),
        "data": offered,
        **_picked(workspace, data, values),
    }


def _picked(workspace: Workspace, name: str, values: Values) -> dict[str, Any]:
    """Updates of split, rule, cut and label for a data set, with the given values if valid."""
    from theodolite.engine.datasets.types import LabelledPairs, ScoredPairs

    data = workspace.catalog.load(name)
    offered = service.splits(workspace, name)
    scored = isinstance(data, ScoredPairs)
    at = service.cut(data.scale) if isinstance(data, ScoredPairs) else None
    labels = sorted(set(data.labels)) if isinstance(data, LabelledPairs) else []
    label = values.label if values.label in labels else None
    return {
        "split": gr.update(
            choices=offered,
            value=values.split if values.split in offered else service.ALL,
            visible=len(offered) > 1,
        ),
        "rule": gr.update(
            choices=[(text.replace("4", f"{at or 4:g}"), value) for value, text in RULES.items()],
            value=values.rule,
            visible=scored,
        ),
        "cut": gr.update(value=at if values.cut is None else values.cut, visible=scored),
        "label": gr.update(
            choices=labels,
            value=label or (sections.default_label(labels) if labels else None),
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
