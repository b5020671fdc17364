"""The page *Checks*: duplicates, outliers, leaks, typical sentences of a collection."""

from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.pages import layout
from theodolite.app.pages.curate.answer import CURATE, NAMES, VALUES, CurateSpec
from theodolite.app.pages.data.choices import COLLECTION, fill
from theodolite.app.pages.geometry.service import ALL, splits
from theodolite.app.spec import parameters
from theodolite.app.web import parts
from theodolite.app.web.controls import Control, Controls, Values, shape
from theodolite.app.workspace import Workspace

TITLE = "Checks"
PATH = "curate"
FIRST = "outliers"
CONTROLS = web.controls(
    CurateSpec,
    find=replace(web.control(parameters(CurateSpec)[0]), default=FIRST),
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

    shape(used, {controls["find"]: NAMES})
    refill = dict.fromkeys(["dataset", "against"], partial(_splits, workspace))
    load = partial(_load, workspace)
    layout.ask(workspace, CURATE, controls, go, load=load, refill=refill, elem_id="found")


def _load(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    fields = dict(layout.fill(workspace, CurateSpec, values, request))
    place, fields["dataset"] = fill(workspace, values.dataset)
    other, against = fill(workspace, values.against, place)
    fields["against"] = against | {
        "choices": [("The same collection", ""), *against["choices"]],
        "value": values.against,
    }
    there = Values(**vars(values) | {"dataset": place, "against": other})
    return fields | _splits(workspace, there)


def _splits(workspace: Workspace, values: Values) -> dict[str, Any]:
    """The updates of both splits, with the given values if the collections have them."""
    places = {"split": values.dataset, "against_split": values.against or values.dataset}
    offered = {name: splits(workspace, place) for name, place in places.items()}
    chosen = {name: getattr(values, name) for name in places}
    return {
        name: gr.update(choices=names, value=chosen[name] if chosen[name] in names else ALL)
        for name, names in offered.items()
    }
