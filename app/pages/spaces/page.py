"""The page *Two spaces*: one collection under two encoders, side by side, and what differs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.components import map_address
from theodolite.app.components.chart import chart
from theodolite.app.components.map import point_map
from theodolite.app.jobs.submit import queue_unless_stored
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs import run_panel
from theodolite.app.pages.jobs.run_panel import Named, RunPanel
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.service import QUICK_POINTS
from theodolite.app.pages.spaces import freezing, service, views
from theodolite.app.pages.spaces.changes import changes
from theodolite.app.pages.spaces.service import SpacesJob
from theodolite.app.web import parts
from theodolite.app.web.controls import Control, Controls, Values
from theodolite.app.web.frozen import Frozen
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.pages.spaces.service import Pair
    from theodolite.app.workspace import Workspace

TITLE = "Two spaces"
PATH = "spaces"
FROZEN = Frozen(
    controls=("show",),
    carry=freezing.carry,
    views=freezing.views,
    files=dict.fromkeys(("left-map", "right-map"), maps.files),
)
DESCRIPTION = (
    "The same sentences under two encoders: two maps that share hover, selection and zoom, "
    "and the differences between them, measured in all dimensions and not on the maps."
)
LIST = {"choices": [], "min_width": 220}
CONTROLS = (
    # One key for both, so that links to and from other pages keep their encoders.
    Control("first", "First encoder", gr.Dropdown, key="encoder", options=LIST),
    Control("second", "Second encoder", gr.Dropdown, key="encoder", options=LIST),
    collections.COLLECTION,
    Control(
        "k",
        "Neighbours compared",
        gr.Number,
        SpacesJob.k,
        hint="Per sentence, by cosine.",
        options={
            "minimum": 1,
            "maximum": service.MAX_NEIGHBOURS,
            "precision": 0,
            "min_width": 150,
        },
    ),
    Control(
        "method",
        "Maps",
        gr.Radio,
        SpacesJob.method,
        options={"min_width": 260},
        choices=[("UMAP", "umap"), ("Principal components", "pca")],
    ),
    Control(
        "groups",
        "Clusters",
        gr.Radio,
        SpacesJob.clustering,
        options={"min_width": 220},
        choices=[("k-means", "k-means"), ("HDBSCAN", "hdbscan")],
    ),
    Control(
        "size",
        "Groups, or smallest group size",
        gr.Number,
        hint="Empty: the default.",
        options={"minimum": 2, "maximum": service.MAX_GROUPS, "precision": 0, "min_width": 200},
    ),
    Control(
        "show",
        "View",
        gr.Radio,
        "side",
        options={"visible": False},
        choices=[("Side by side", "side"), ("One map, animated", "move")],
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("first", "second", "collection", "show", elem_classes=["t-bare"])
        go = gr.Button(
            "Compare", variant="primary", elem_id="compare-spaces", visible=not workspace.read_only
        )
        with parts.more():
            controls.render("k", "method", "groups", "size")
    notice = parts.notice()
    panel = RunPanel(workspace)
    shown = {"words": parts.static("", elem_id="finding"), "show": controls["show"]}
    with gr.Row(equal_height=False, elem_classes=["t-answer"]):
        with gr.Column(min_width=320):
            shown["left_name"] = parts.static("")
            shown["left"] = point_map(elem_id="left-map")
        with gr.Column(min_width=320, visible=True) as shown["right_side"]:
            shown["right_name"] = parts.static("")
            shown["right"] = point_map(elem_id="right-map")
    shown["figures"] = parts.static("", elem_id="figures")
    shown["changed_head"] = parts.static("")
    shown["changed"] = changes(elem_id="changed")
    shown["flow_head"] = parts.static("")
    shown["flow"] = chart(elem_id="flow")
    controls.add("seen", gr.State({}))
    panel.connect(
        controls,
        shown,
        shown["words"],
        go,
        notice,
        load=partial(_fill, workspace),
        show=partial(_show, workspace),
        make=lambda values: queue_unless_stored(workspace, _spec(values)),
    )


def _fill(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    chosen = choices.from_address(workspace, request)[:2]
    offered = list(dict.fromkeys([*choices.names(workspace), *chosen]))
    one, other, *_ = [*chosen, *(n for n in offered if n not in chosen), None, None]
    place, collection = collections.filled(workspace, values.collection)
    return vars(values) | {
        "first": gr.update(choices=offered, value=one),
        "second": gr.update(choices=offered, value=other),
        "collection": collection,
        "seen": map_address.from_address(request, place),
    }


def _spec(values: Values) -> SpacesJob:
    """The comparison that the controls describe."""
    if not values.first or not values.second:
        raise UserError(
            "Choose two encoders.", "Choose them above, or add one on Encoders.", code="missing"
        )
    return SpacesJob.of(
        values.first,
        values.second,
        values.collection,
        clustering=values.groups,
        method=values.method,
        k=SpacesJob.k if values.k is None else int(values.k),
        size=None if values.size is None else int(values.size),
    )


def _show(workspace: Workspace, values: Values, session: str | None) -> Iterator[Named]:
    """Yield progress, then the pair, or its principal components, or what to do."""
    spec = _spec(values)
    sentences = spec.sentences(workspace)

    def drawn(pair: Pair) -> dict[str, Any]:
        # The position in an address is on the requested maps, not on the placeholders.
        waits = not pair.report and spec.method != "pca"
        view = {**values.seen, "view": ""} if waits else values.seen
        return views.render(
            pair, sentences, view, moves=values.show == "move", visitor=workspace.read_only
        )

    yield from run_panel.awaited(
        workspace,
        values.run,
        spec,
        [spec.first, spec.second],
        lambda: service.quick(workspace, spec),
        session,
        most=QUICK_POINTS,
        words="words",
        drawn=drawn,
        nothing=partial(views.nothing, workspace.read_only, len(sentences)),
    )
