"""The page *Curate*: duplicates, outliers, leaks, typical sentences of a collection."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.pages.curate.answer import CURATE, VALUES, CurateSpec
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.geometry.service import ALL, splits
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import parts
from theodolite.app.web.controls import Control, Controls, Values, shape

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Curate"
PATH = "curate"
DESCRIPTION = (
    "Check a collection before you trust it: duplicates, outliers, leaks between training "
    "and test data, and typical sentences."
)
WORDS = {
    "exact": "The same words, ignoring case, spaces and final punctuation.",
    "near": "Groups in which each sentence is close to another, by cosine.",
    "outliers": "Sentences whose nearest neighbours are far away.",
    "typical": "Sentences nearest to the mean direction of all, and farthest from it.",
    "leaks": "Sentences of one part that also occur in another, exactly or nearly.",
}
FIRST = "outliers"


def _split(name: str, label: str) -> Control:
    return Control(name, label, gr.Dropdown, ALL, options={"choices": [ALL], "min_width": 140})


CONTROLS = [
    replace(control, default=FIRST) if control.name == "find" else control
    for control in web.controls(
        CurateSpec,
        dataset=replace(collections.COLLECTION, name="dataset"),
        encoder=choices.ENCODER,
        split=_split("split", "Split"),
        against=replace(
            collections.COLLECTION,
            name="against",
            label="Already seen: collection",
            default="",
            key="",
        ),
        against_split=_split("against_split", "Already seen: split"),
    )
]


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("find", "dataset", "encoder", elem_classes=["t-bare"])
        go = gr.Button("Run check", variant="primary", visible=not workspace.read_only)
        with parts.more():
            controls.render("split")
            for name in ("threshold", "neighbours", "many"):
                with gr.Row():  # one each: a hidden box would leave a gap
                    controls.render(name, visible=name in VALUES[FIRST])
    about = parts.static(_about(FIRST), elem_id="about-check")
    with gr.Row():
        controls.render("against", "against_split", visible=False)
    notice = parts.notice()
    panel = RunPanel(workspace)
    shown = web.answer(elem_id="found", elem_classes=["t-answer"])

    def shaped(find: str) -> dict[Any, Any]:
        """Updates that show only the controls a check uses."""
        used = {name for names in VALUES.values() for name in names}
        visible = {controls[name]: gr.update(visible=name in VALUES[find]) for name in used}
        return {about: _about(find), **visible}

    shape(shaped, {controls["find"]: WORDS})
    panel.ask(
        CURATE,
        controls,
        shown,
        go,
        notice,
        load=partial(_load, workspace),
        refill={
            "dataset": lambda values: {"split": _splits(workspace, values.dataset)},
            "against": lambda values: {"against_split": _splits(workspace, values.against)},
        },
    )


def _about(find: str) -> str:
    return f'<p class="t-muted">{WORDS[find]}</p>'


def _load(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    place, dataset = collections.filled(workspace, values.dataset)
    other, against = collections.filled(workspace, values.against, place)
    return vars(values) | {
        "dataset": dataset,
        "split": _splits(workspace, place, values.split),
        "encoder": choices.one(workspace, choices.first(workspace, values.encoder)),
        "against": against,
        "against_split": _splits(workspace, other, values.against_split),
    }


def _splits(workspace: Workspace, dataset: str, wanted: str = ALL) -> Any:
    offered = splits(workspace, dataset)
    return gr.update(choices=offered, value=wanted if wanted in offered else ALL)
