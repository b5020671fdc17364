"""How encoders use their space: over all pairs of a data set, and over pairs that are graded."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import gradio as gr

from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.geometry import answer, service
from theodolite.app.pages.geometry.answer import RULES, DistributionsSpec, GeometrySpec
from theodolite.app.pages.geometry.sections import default_label, read
from theodolite.app.pages.jobs.run_panel import NOTHING
from theodolite.app.pages.layout import Load, Page, ask
from theodolite.app.published import Published, Static
from theodolite.app.question import Question
from theodolite.app.spec import parameters
from theodolite.app.surfaces import web
from theodolite.app.web import parts
from theodolite.app.web.controls import Controls, Values
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.types import LabelledPairs, ScoredPairs
from theodolite.engine.errors import UserError
from theodolite.store.derived import arrays

_FIELDS = {parameter.name: parameter for parameter in parameters(GeometrySpec)}
ENCODERS = replace(choices.ENCODERS, name="encoders", key="encoder")
CONTROLS = web.controls(
    GeometrySpec,
    encoders=ENCODERS,
    split=replace(web.control(_FIELDS["split"], choices=[], value=None), box=gr.Radio),
    label=replace(web.control(_FIELDS["label"], choices=[]), box=gr.Dropdown),
)
TASK = web.control(parameters(DistributionsSpec)[1], elem_id="pairs", min_width=260)


def build(workspace: Workspace) -> None:
    """Lay out the page of geometries."""
    controls = Controls(*CONTROLS)
    with parts.bar(GEOMETRY.TITLE, GEOMETRY.DESCRIPTION):
        controls.render("data", elem_classes=["t-bare"])
        controls.render("encoders", allow_custom_value=not workspace.read_only)
        with parts.more():
            controls.render("split", "rule", "cut", "label")

    def load(values: Values, request: gr.Request) -> dict[str, Any]:
        data, offered = collections.fill(workspace, values.data, service.first_data_set(workspace))
        names = choices.fill(workspace, choices.from_address(workspace, request))
        return {"encoders": names, "data": offered, **_of_data(workspace, data, values)}

    def refill(values: Values) -> dict[str, Any]:
        usual = Values(split=service.ALL, rule=GeometrySpec.rule, cut=None, label=None)
        return _of_data(workspace, values.data, usual)

    _ask(workspace, answer.GEOMETRY, controls, load, {"data": refill})


def build_distributions(workspace: Workspace) -> None:
    """Lay out the page of distributions."""
    controls = Controls(ENCODERS, TASK)
    with parts.bar(DISTRIBUTIONS.TITLE, DISTRIBUTIONS.DESCRIPTION):
        controls.render("task", elem_classes=["t-bare"])
        controls.render("encoders", allow_custom_value=not workspace.read_only)

    def load(values: Values, request: gr.Request) -> dict[str, Any]:
        tasks = answer.pair_tasks(workspace)
        task = values.task or answer.first_task(workspace, tasks)
        return {
            "encoders": choices.fill(workspace, choices.from_address(workspace, request)),
            "task": gr.update(choices=list(dict.fromkeys([*tasks, task])), value=task),
        }

    _ask(workspace, answer.DISTRIBUTIONS, controls, load)


def _ask(
    workspace: Workspace,
    question: Question[Any, Any],
    controls: Controls,
    load: Load,
    refill: Mapping[str, Any] = NOTHING,
) -> None:
    """Ask a question whose button appears only where something is not measured."""
    go = gr.Button(variant="primary", visible=False, elem_id="compute")
    options: dict[str, Any] = {"report": True, "charts": True, "elem_id": "answer"}
    ask(workspace, question, controls, go, load=load, refill=refill, **options)


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
        "cut": gr.update(value=values.cut, placeholder=f"{at or 4:g}", visible=at is not None),
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
        for encoder in published.with_vectors:
            with suppress(UserError):
                if service.quick(published.workspace, encoder, data):
                    encoders.append(encoder)
        if encoders:
            yield data, GeometrySpec(encoders, data)


def _publishable(published: Published) -> Iterator[tuple[str, DistributionsSpec]]:
    """The encoders with results, on each task."""
    small, encoders = published.workspace, published.with_vectors
    for task in answer.pair_tasks(small):
        known, _ = read(small, encoders, task)
        if known:
            yield task, DistributionsSpec([*known], task)


GEOMETRY = Page(
    "Geometry",
    "geometry",
    "How each encoder uses its space: whether paraphrases are close, sentences are spread "
    "evenly, and all dimensions are used; and the cosine above which two sentences can be "
    "considered equivalent.",
    Static(answer.GEOMETRY, _views, _carry),
    build,
)
DISTRIBUTIONS = Page(
    "Distributions",
    "distributions",
    "How each encoder distributes the cosines of sentence pairs that people have graded. A "
    "good encoder gives low grades low cosines and high grades high ones, and does not "
    "squeeze all sentences together.",
    Static(answer.DISTRIBUTIONS, _publishable),
    build_distributions,
)
