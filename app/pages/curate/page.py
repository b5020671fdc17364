"""The page *Curate*: duplicates, outliers, leaks, typical sentences of a collection."""

from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.pages import layout
from theodolite.app.pages.curate.answer import CURATE, NAMES, VALUES, CurateSpec
from theodolite.app.pages.data.choices import COLLECTION, filled
from theodolite.app.pages.geometry.service import ALL, splits
from theodolite.app.web import parts
from theodolite.app.web.controls import Control, Controls, Values, shape
from theodolite.app.workspace import Workspace

TITLE = "Curate"
PATH = "curate"
FIRST = "outliers"
CONTROLS = web.controls(
    CurateSpec,
    split=Control("split", "Split", gr.Dropdown, ALL, options={"choices": [ALL]}),
    against=replace(
        COLLECTION, name="against", label="Already seen: collection", default="", key=""
    ),
    against_split=Control(
        "against_split", "Already seen: split", gr.Dropdown, ALL, options={"choices": [ALL]}
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, CURATE.about):
        controls.render("find", "dataset", "encoder", elem_classes=["t-bare"])
        go = gr.Button("Run check", variant="primary", visible=not workspace.read_only)
        with parts.more():
            controls.render("split")
            for name in ("threshold", "neighbours", "many"):
                with gr.Row():  # one each: a hidden box would leave a gap
                    controls.render(name, visible=name in VALUES[FIRST])
    with gr.Row():
        controls.render("against", "against_split", visible=False)

    def used(find: str) -> dict[Any, Any]:
        """Updates that show only the controls a check uses."""
        every = {name for names in VALUES.values() for name in names}
        return {controls[name]: gr.update(visible=name in VALUES[find]) for name in every}

    def split_of(data: str, split: str, values: Values) -> dict[str, Any]:
        return {split: _splits(workspace, getattr(values, data))}

    shape(used, {controls["find"]: NAMES})
    pairs = {"dataset": "split", "against": "against_split"}
    refill = {data: partial(split_of, data, split) for data, split in pairs.items()}
    load = partial(_load, workspace)
    layout.ask(workspace, CURATE, controls, go, load=load, refill=refill, elem_id="found")


def _load(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    named = dict(layout.filled(workspace, CurateSpec, values, request))
    place, named["dataset"] = filled(workspace, values.dataset)
    other, named["against"] = filled(workspace, values.against, place)
    return named | {
        "find": values.find or FIRST,
        "split": _splits(workspace, place, values.split),
        "against_split": _splits(workspace, other, values.against_split),
    }


def _splits(workspace: Workspace, dataset: str, wanted: str = ALL) -> Any:
    offered = splits(workspace, dataset)
    return gr.update(choices=offered, value=wanted if wanted in offered else ALL)
