"""The page *Map*: a collection in two dimensions, and how far to trust the picture."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.components import map_address
from theodolite.app.components.map import point_map
from theodolite.app.jobs.submit import queue_unless_stored
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs import run_panel
from theodolite.app.pages.jobs.run_panel import Named, RunPanel
from theodolite.app.pages.map import freezing, service, views
from theodolite.app.pages.map.job import MAX_NEIGHBOURS, MapJob, quick, seed_of
from theodolite.app.report import answers
from theodolite.app.report.button import report_button
from theodolite.app.web import parts
from theodolite.app.web.controls import Control, Controls, Values
from theodolite.app.web.frozen import Frozen
from theodolite.engine.errors import UserError
from theodolite.store.run_rows import LIVE

if TYPE_CHECKING:
    from theodolite.app.report.file import Report
    from theodolite.app.workspace import Workspace

TITLE = "Map"
PATH = "map"
FROZEN = Frozen(carry=freezing.carry, views=freezing.views, files={"map": service.files})
DESCRIPTION = (
    "Every sentence of a collection is a point; points close together have similar meanings "
    "to the encoder, as far as two dimensions can show it. Move, zoom, draw a lasso, click a "
    "point for its true neighbours, or decode a position between points."
)
METHODS = [
    ("UMAP", "umap"),
    ("UMAP by umap-learn", "umap-learn"),
    ("t-SNE", "tsne"),
    ("Principal components", "pca"),
    *([("PaCMAP", "pacmap")] if find_spec("pacmap") else []),
]
BARE = {"elem_classes": ["t-bare"]}
CONTROLS = (
    choices.ENCODER,
    collections.COLLECTION,
    Control("method", "Method", gr.Dropdown, MapJob.method, choices=METHODS),
    Control(
        "neighbours",
        "n_neighbors",
        gr.Number,
        MapJob.neighbours,
        hint="Few show detail, many the overall structure; for t-SNE the perplexity.",
        options={"minimum": 2, "maximum": MAX_NEIGHBOURS, "precision": 0, "min_width": 110},
    ),
    Control(
        "distance",
        "min_dist",
        gr.Number,
        MapJob.min_dist,
        hint="Minimum distance between points: 0 packs them tightly.",
        options={"minimum": 0, "maximum": 0.99, "step": 0.05, "min_width": 110},
    ),
    Control(
        "seed",
        "Random seed",
        gr.Textbox,
        str(MapJob.seed),
        hint="Or any: different every time.",
        options={"max_length": 10, "min_width": 110},
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("encoder", "collection", "method", **BARE)
        go = gr.Button(
            "Compute map", variant="primary", elem_id="make-map", visible=not workspace.read_only
        )
        with parts.more(), gr.Column() as fine:
            controls.render("neighbours", "distance", "seed")
    notice = parts.notice()
    panel = RunPanel(workspace)
    controls.add("seen", gr.State({}))
    shown = {
        "fine": fine,
        "map": point_map(elem_id="map", elem_classes=["t-answer"]),
        "trust": parts.static("", elem_id="trust"),
    }
    panel.connect(
        controls,
        shown,
        shown["trust"],
        go,
        notice,
        load=partial(_fill, workspace),
        show=partial(_show, workspace),
        make=lambda values: queue_unless_stored(workspace, _spec(values)),
    )
    report_button(controls, notice, partial(_report, workspace))


def _fill(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    place, collection = collections.filled(workspace, values.collection)
    encoder = next(iter(choices.from_address(workspace, request)), None)
    return vars(values) | {
        "encoder": choices.one(workspace, encoder),
        "collection": collection,
        "seen": map_address.from_address(request, place),
    }


def _spec(values: Values) -> MapJob:
    """The map that the controls describe."""
    if not values.encoder:
        raise UserError(
            "No encoder chosen.", "Choose one above, or add one on Encoders.", code="missing"
        )
    given = {"neighbours": values.neighbours, "min_dist": values.distance}
    return MapJob.of(
        values.encoder,
        values.collection,
        method=values.method,
        seed=seed_of(values.seed),
        **{name: value for name, value in given.items() if value is not None},
    )


def _report(workspace: Workspace, values: Values) -> Report:
    """The report of the map shown: the principal components until the map is computed."""
    spec = _spec(values)
    meanwhile = MapJob.of(spec.encoder, spec.dataset, method="quick")
    if not spec.is_stored(workspace) and meanwhile.is_stored(workspace):
        spec = meanwhile
    return answers.map_of(workspace, spec)


def _show(workspace: Workspace, values: Values, session: str | None) -> Iterator[Named]:
    """Yield progress, then the map, or its principal components, or what to do."""
    spec = _spec(values)
    alive = bool(values.run) and workspace.store.runs.get(values.run)["state"] in LIVE

    def drawn(found: service.StoredMap) -> dict[str, Any]:
        meanwhile = found.info["method"] != spec.method != "pca"
        making = spec.key(workspace) if meanwhile and alive else ""
        return views.render(workspace, found, values.seen, meanwhile, making)

    for shown in run_panel.awaited(
        workspace,
        values.run,
        spec,
        [spec.encoder],
        lambda: quick(workspace, spec.encoder, spec.dataset),
        session,
        most=service.QUICK_POINTS,
        words="trust",
        drawn=drawn,
        nothing=partial(views.nothing, workspace, spec.dataset),
    ):
        yield {**shown, "fine": gr.update(visible=spec.method != "pca")}
