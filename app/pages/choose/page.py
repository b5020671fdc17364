"""The page *Choose*: a file in, a decision sheet out."""

from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.pages.choose.answer import (
    CHOOSE,
    EXAMPLE,
    PUBLISHED as PUBLISHED,  # found on the page
)
from theodolite.app.pages.choose.candidates import CHUNKS, ChooseSpec
from theodolite.app.pages.data import form
from theodolite.app.pages.encoders import choices, service as encoders
from theodolite.app.pages.layout import ask
from theodolite.app.published import LIVE
from theodolite.app.spec import parameters
from theodolite.app.web import parts
from theodolite.app.web.controls import Answer, Controls, Values, on
from theodolite.app.web.parts import HIDE_PROGRESS
from theodolite.app.workspace import Workspace

TITLE = "Choose"
PATH = "choose"
CLOSED = (
    "Uploads and new sheets are disabled here, because they would have to be stored. Run "
    "Theodolite on your own machine to choose on your data."
)
DESCRIPTION = (
    "Which encoder to use for your data: the best one, those that tie with it, their costs, "
    "how many more examples would separate them, and what limits confidence in the answer."
)
KINDS = ("labels", "labelled-pairs", "pairs", "retrieval", "parallel", "sentences")
"""Kinds of data set that encoders can be chosen for."""
_FIELDS = {parameter.name: parameter for parameter in parameters(ChooseSpec)}
CONTROLS = web.controls(
    ChooseSpec,
    without=["columns", "rankers"],
    data=web.control(_FIELDS["data"], elem_id="chosen-data"),
    encoders=replace(choices.ENCODERS, name="encoders", key="encoder"),
    chunks=web.control(
        _FIELDS["chunks"],
        "whole, or recursive, sentences, headings or tokens with size and overlap.",
        placeholder=CHUNKS,
    ),
    licences=replace(
        web.control(_FIELDS["licences"], "Any if empty.", choices=[], value=[], multiselect=True),
        box=gr.Dropdown,
        default=(),
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls, own = Controls(*CONTROLS), not workspace.read_only
    controls.add("columns", gr.State(""))  # those of a file are fixed once it is a data set
    controls.add("rankers", gr.State(""))  # they are among the encoders
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("data")
        controls.render("encoders", allow_custom_value=own)
        go = gr.Button("Choose", variant="primary", elem_id="choose", visible=own)
        with parts.more("File, limits", is_named=own):
            added = None
            if own:
                parts.section(
                    "Your file",
                    "Its columns are guessed. Change them before you add it; or later, and add "
                    "it again under another name.",
                )
                added = form.build(workspace, again=True)
            parts.section(
                "Documents",
                "For documents, add bm25 or fuse(bm25, minilm) to the encoders, or say how to cut.",
            )
            controls.render("chunks")
            parts.section(
                "Train", "An encoder learns from one part of the data; the sheet is on the other."
            )
            controls.render("train")
            parts.section("Limits")
            controls.render("max_ms", "max_bytes", "margin", "licences")
            command = parts.static("", elem_id="command", elem_classes=[LIVE])
    load = partial(_load, workspace)
    question = ask(workspace, CHOOSE, controls, go, load=load, report=True, elem_id="sheet")
    run, moved = question.panel.run, question.panel.moved

    def same(values: Values) -> Answer:
        spec = web.spec_of(ChooseSpec, values)
        return {command: parts.command(["theodolite", *CHOOSE.command(spec)])}

    def turn_to(name: str) -> Answer:
        return {controls["data"]: _data(workspace, name.strip()), run: "", moved: name}

    # A typed spec is no input to Gradio, but a change.
    box = controls["encoders"]
    box.change(None, box, moved, js="(specs) => specs.join(' ')")
    on(question.answer.change, same, controls, [command], question.notice, **HIDE_PROGRESS)
    if added is not None:
        added.change(None, js=parts.CLOSE_MORE)
        on(
            added.change,
            turn_to,
            [added],
            [controls["data"], run, moved],
            question.notice,
            **HIDE_PROGRESS,
        )


def _load(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    known = sorted({row["licence"] for row in encoders.list_facts(workspace) if row.get("licence")})
    return vars(values) | {
        "data": _data(workspace, values.data or ""),
        "encoders": choices.fill(workspace, choices.from_address(workspace, request), rankers=True),
        "train": choices.one(workspace, values.train or None),
        "licences": gr.update(choices=known, value=values.licences),
    }


def _data(workspace: Workspace, named: str) -> Any:
    """The update of the list of data sets, your own first."""
    names = [info.name for info in workspace.catalog.list() if info.kind in KINDS]
    own = [name for name in names if name.startswith("upload:")][::-1]
    offered = dict.fromkeys([*own, *names, *([named] if named else [])])
    return gr.update(choices=list(offered), value=named or (own or [EXAMPLE])[0])
