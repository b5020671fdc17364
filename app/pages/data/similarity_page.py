"""The page *Data sets*: how similar they are to an encoder, as a whole or by language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import gradio as gr

from theodolite.app.components.chart import chart
from theodolite.app.pages.data import similarity
from theodolite.app.pages.data import similarity_views as views
from theodolite.app.pages.data.similarity import SimilarityJob
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import background_call, parts
from theodolite.app.web.controls import Control, Controls, Values
from theodolite.app.workspace import Workspace

TITLE = "Data sets"
PATH = "similarity"
DESCRIPTION = (
    "How similar data sets are to an encoder: the cosine between the means of their "
    "sentences. Similar data sets measure the same thing twice."
)
CONTROLS = (
    choices.ENCODER,
    Control(
        "compared",
        "Compared",
        gr.Dropdown,
        key="of",
        options={"choices": [], "value": None, "min_width": 220},
    ),
    Control(
        "order",
        "Order",
        gr.Radio,
        "cluster",
        choices=[("Clustering", "cluster"), ("Type, then clustering", "group")],
    ),
    Control(
        "sentences",
        "Sentences per data set",
        gr.Number,
        SimilarityJob.sentences,
        "Drawn with a fixed seed.",
        options={
            "minimum": similarity.MIN_SENTENCES,
            "maximum": similarity.MAX_SENTENCES,
            "precision": 0,
        },
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("compared", "encoder")
        with parts.more():
            controls.render("order", "sentences")
    notice = parts.notice()
    shown = {"headline": parts.static("", elem_id="headline", elem_classes=["t-answer"])}
    shown["measure"] = gr.Button("Compare", variant="primary", visible=False, elem_id="measure")
    panel = RunPanel(workspace)
    shown["matrix"] = chart(elem_id="matrix")

    def show(values: Values, session: str | None) -> Iterator[Mapping[str, Any]]:
        if not values.encoder:
            yield {"headline": choices.nothing(), "matrix": None}
            return
        job = _job(values)
        ask = similarity.measure if similarity.quick(workspace, job) else similarity.found
        first = f"Loading {job.encoder}; this takes some seconds"
        yield from background_call.changes(
            lambda say: _drawn(workspace, ask(workspace, job), values.order),
            first,
            session,
            "headline",
        )

    panel.connect(
        controls,
        shown,
        shown["headline"],
        shown["measure"],
        notice,
        load=partial(_loaded, workspace),
        show=show,
        make=lambda values: similarity.queue_similarity(workspace, _job(values)),
    )


def _job(values: Values) -> SimilarityJob:
    return SimilarityJob.of(
        values.encoder or "",
        values.compared or similarity.ALL,
        int(values.sentences or SimilarityJob.sentences),
    )


def _drawn(workspace: Workspace, found: similarity.Similarity, order: str | None) -> dict[str, Any]:
    lacking = len(found.missing)
    go = gr.update(
        visible=bool(lacking) and not workspace.read_only,
        value=f"Compare {lacking} {'more' if found.rows else 'of them'}",
    )
    if found.rows:
        text = views.finding(found)
    else:
        hint = parts.next_step(
            workspace.read_only,
            "look at the starter set by topic",
            f"Up to {found.job.sentences} sentences of each are encoded, unless they are "
            "encoded already.",
        )
        text = parts.empty(f"{found.job.encoder} has not encoded these data sets yet", hint)
    return {"headline": text, "measure": go, "matrix": views.picture(found, order or "cluster")}


def _loaded(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """Values of the controls from the address."""
    encoder = choices.first(workspace, values.encoder)
    offered = similarity.offered(workspace)
    compared = values.compared or similarity.opening(workspace, encoder or "")
    if compared not in offered:
        offered.append(compared)
    return {
        "encoder": choices.one(workspace, encoder),
        "compared": gr.update(choices=views.names(offered), value=compared),
        "order": values.order,
        "sentences": values.sentences,
    }
