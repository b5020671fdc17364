"""The page *Map*: a collection as one encoder sees it, on a plane, and how far to trust that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import gradio as gr

from app.components import map_address
from app.components.map import point_map
from app.jobs.submit import queue
from app.pages.data import choices as collections
from app.pages.encoders import choices
from app.pages.jobs import run_panel
from app.pages.jobs.run_panel import RunPanel
from app.pages.map import service, views
from app.pages.map.job import MOST_NEIGHBOURS, MapJob, quick, seed_of
from app.web import background_call, parts
from app.web.controls import Answer, Control, Controls, Values, on, on_load
from app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Map"
PATH = "map"
DESCRIPTION = (
    "Every sentence of a collection is a point; points near each other mean alike to the encoder, "
    "as far as a plane can show it. Move, zoom, draw a lasso, click a point for its true "
    "neighbours, or decode a place between them."
)
METHODS = [("UMAP", "umap"), ("t-SNE", "tsne"), ("Principal components", "pca"),
           *([("PaCMAP", "pacmap")] if find_spec("pacmap") else [])]  # fmt: skip
WIDE = {"scale": 2, "min_width": 220}
CONTROLS = (
    choices.ENCODER,
    collections.COLLECTION,
    Control("method", "Method", gr.Radio, MapJob.method, choices=METHODS,
            options={"scale": 3, "min_width": 300}),
    Control("neighbours", "n_neighbors", gr.Number, MapJob.neighbours,
            hint="Few show detail, many the whole; for t-SNE the perplexity.",
            options={"minimum": 2, "maximum": MOST_NEIGHBOURS, "precision": 0,
                     "min_width": 110}),
    Control("distance", "min_dist", gr.Number, MapJob.min_dist,
            hint="How close UMAP may put points: 0 packs them tightly.",
            options={"minimum": 0, "maximum": 0.99, "step": 0.05, "min_width": 110}),
    Control("seed", "Random seed", gr.Textbox, str(MapJob.seed),
            hint="Or any: quicker, never twice the same.",
            options={"max_length": 10, "min_width": 110}),
)  # fmt: skip


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    controls = Controls(*CONTROLS)
    with gr.Row():
        controls.render("encoder", "collection", **WIDE)
        controls.render("method")
    with gr.Accordion("n_neighbors, min_dist, random seed", open=False) as fine, gr.Row():
        controls.render("neighbours", "distance", "seed")
    asks = [control.input for control in controls.values()]
    with gr.Row(elem_classes=["t-tight"], visible=not workspace.read_only):
        go = gr.Button("Compute map", variant="primary", elem_id="make-map")
    notice = parts.notice()
    panel = RunPanel(workspace)
    shown = {"run": controls.add("run", panel.run), "fine": fine,
             "trust": parts.static("", elem_id="trust"),
             "map": point_map(elem_id="map")}  # fmt: skip
    controls.add("seen", gr.State({}))

    def changed(named: Mapping[str, Any]) -> Answer:
        return {shown[name]: value for name, value in named.items()}

    def load(request: gr.Request) -> Answer:
        found = _loaded(workspace, controls, request)
        return {controls[name]: value for name, value in found.items()}

    def show(asked: Values, request: gr.Request) -> Iterator[Answer]:
        yield from map(changed, _shown(workspace, request.session_hash, asked))

    def make(asked: Values, request: gr.Request) -> Iterator[Answer]:
        yield from map(changed, _made(workspace, request.session_hash, asked))

    opened = on_load(load, controls.values(), notice)
    outputs = [shown[name] for name in ("fine", "trust", "map")]
    on(opened.then, show, controls, outputs, notice, **ALWAYS_LAST)
    on(asks, show, controls, outputs, notice, trigger_mode="multiple", **HIDE_PROGRESS)
    on(go.click, make, controls, [*outputs, panel.run], notice, **HIDE_PROGRESS)
    on(panel.moved.change, show, controls, outputs, notice, **ALWAYS_LAST)
    controls.keep()


def _loaded(workspace: Workspace, controls: Controls, request: gr.Request) -> dict[str, Any]:
    """The controls as the address has them."""
    asked = controls.asked(request)
    place, collection = collections.filled(workspace, asked.collection)
    encoder = next(iter(choices.asked(workspace, request)), None)
    return vars(asked) | {
        "encoder": choices.one(workspace, encoder), "collection": collection,
        "run": run_panel.asked(workspace, request), "seen": map_address.asked(request, place),
    }  # fmt: skip


def _spec(asked: Values) -> MapJob:
    """The controls as a question.

    Raises:
        UserError: no encoder, or a parameter that cannot be used.
    """
    if not asked.encoder:
        raise UserError("No encoder was chosen.", "Choose one above, or add one on Encoders.")
    given = {"neighbours": asked.neighbours, "min_dist": asked.distance}
    return MapJob.of(
        asked.encoder, asked.collection, method=asked.method, seed=seed_of(asked.seed),
        **{name: value for name, value in given.items() if value is not None},
    )  # fmt: skip


def _made(workspace: Workspace, session: str | None, asked: Values) -> Iterator[dict[str, Any]]:
    """The map when it is there already, else a run that makes it."""
    workspace.refuse_visitors()
    spec, said = _spec(asked), {}
    for words, known in background_call.followed(
        lambda say: [spec.stored(workspace)],
        f"Loading {spec.encoder}", session,
    ):  # fmt: skip
        if known is None:
            said = {"trust": ""}
            yield {"trust": words}
        elif known[0] is None:
            yield {**said, "run": queue(workspace, spec)}
        else:
            yield {"run": ""}
            asked.run = ""
            yield from _shown(workspace, session, asked)


def _shown(workspace: Workspace, session: str | None, asked: Values) -> Iterator[dict[str, Any]]:
    """How far it is, then the map, or its principal components, or what to do."""
    fine = {"fine": gr.update(visible=asked.method != "pca")}
    spec = _spec(asked)
    alive = run_panel.is_alive(workspace, asked.run)
    try:
        for words, found in background_call.followed(
            lambda say: [_found(workspace, spec, alive, say)], f"Opening {spec.dataset}", session
        ):
            if found is None:
                yield {"trust": words, **fine}
            elif found[0] is None:
                yield {**views.nothing(workspace, spec.dataset, alive), **fine}
            else:
                meanwhile = found[0].info["method"] != spec.method != "pca"
                yield {**views.drawn(workspace, found[0], asked.seen, meanwhile), **fine}
    except background_call.TooSlow as slow:
        yield {**views.nothing(workspace, spec.dataset, alive, slow.left), **fine}


def _found(
    workspace: Workspace, spec: MapJob, alive: bool, say: background_call.Say
) -> service.StoredMap | None:
    """The map, or its principal components; what is lacking for these is encoded now.

    Unless a run is about to do that. An encoder that is fitted on the collection has no name before
    it is encoded.
    """
    from app import vectors

    sentences, _ = workspace.catalog.sentences(spec.dataset)
    say(f"Loading {spec.encoder}; a model that was not used yet takes some seconds", None, None)
    if "@task" not in spec.encoder:
        found = spec.stored(workspace)
        if found is not None or len(sentences) > service.QUICK_POINTS:
            return found
    if alive and vectors.missing(workspace, spec.encoder, spec.dataset):
        return None
    background_call.encode(workspace, spec.encoder, spec.dataset, say)
    say("Laying the points out", None, None)
    found = spec.stored(workspace)
    return found or quick(workspace, spec.encoder, spec.dataset)
