"""The page *Map*: a collection in two dimensions, and how far to trust the picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from html import escape
from importlib.util import find_spec
from itertools import product
from typing import TYPE_CHECKING, Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import formats
from theodolite.app.blocks import Block, Component, Text
from theodolite.app.components.map import PROPS, opened, point_map, points, state
from theodolite.app.jobs.submit import queue_unless_stored
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs import run_panel
from theodolite.app.pages.jobs.run_panel import Named, RunPanel
from theodolite.app.pages.map import answer, service
from theodolite.app.pages.map.answer import MAP
from theodolite.app.pages.map.job import MapSpec, quick
from theodolite.app.pages.map.service import NAMES, StoredMap
from theodolite.app.published import Published
from theodolite.app.report.button import report_button
from theodolite.app.report.file import of_answer
from theodolite.app.spec import parameters
from theodolite.app.surfaces.static import Static
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Control, Controls, Values
from theodolite.engine.errors import UserError
from theodolite.store.derived import arrays
from theodolite.store.run_rows import LIVE

if TYPE_CHECKING:
    from theodolite.app.report.file import Report
    from theodolite.app.workspace import Workspace

TITLE = "Map"
PATH = "map"
DESCRIPTION = (
    "Every sentence of a collection is a point; points close together have similar meanings "
    "to the encoder, as far as two dimensions can show it. Move, zoom, draw a lasso, click a "
    "point for its true neighbours, or decode a position between points."
)
OFFERED = [name for name in NAMES if name != "quick" and (name != "pacmap" or find_spec("pacmap"))]
_FIELDS = {parameter.name: parameter for parameter in parameters(MapSpec)}
CONTROLS = web.controls(
    MapSpec,
    encoder=choices.ENCODER,
    data=replace(collections.COLLECTION, name="data"),
    method=Control(
        "method",
        "Method",
        gr.Dropdown,
        MapSpec.method,
        choices=[(NAMES[name], name) for name in OFFERED],
    ),
    neighbours=web.control(_FIELDS["neighbours"], _FIELDS["neighbours"].field.help, min_width=110),
    min_dist=web.control(
        _FIELDS["min_dist"], _FIELDS["min_dist"].field.help, step=0.05, min_width=110
    ),
    seed=Control(
        "seed",
        "Random seed",
        gr.Textbox,
        str(MapSpec.seed),
        hint="Or any: different every time.",
        options={"max_length": 10, "min_width": 110},
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("encoder", "data", "method", elem_classes=["t-bare"])
        go = gr.Button(
            "Compute map", variant="primary", elem_id="make-map", visible=not workspace.read_only
        )
        with parts.more(), gr.Column() as fine:
            controls.render("neighbours", "min_dist", "seed")
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
    place, collection = collections.filled(workspace, values.data)
    encoder = next(iter(choices.from_address(workspace, request)), None)
    return vars(values) | {
        "encoder": choices.one(workspace, encoder),
        "data": collection,
        "seen": state(request, place),
    }


def _spec(values: Values) -> MapSpec:
    """The map that the controls describe."""
    if not values.encoder:
        raise UserError(
            "No encoder chosen.", "Choose one above, or add one on Encoders.", code="missing"
        )
    return web.spec_of(MapSpec, values)


def _report(workspace: Workspace, values: Values) -> Report:
    """The report of the map shown: the principal components until the map is computed."""
    spec = _spec(values)
    for one in (spec, replace(spec, method="quick")):
        if one.is_stored(workspace):
            return of_answer(MAP, one, MAP.last(workspace, one, lambda job: False))
    raise UserError(
        f"{spec.title} has not been computed yet.", "Compute it first.", code="no-result"
    )


def _show(workspace: Workspace, values: Values, session: str | None) -> Iterator[Named]:
    """Yield progress, then the map, or its principal components, or what to do."""
    spec = _spec(values)
    alive = bool(values.run) and workspace.store.runs.get(values.run)["state"] in LIVE

    def drawn(found: StoredMap) -> dict[str, Any]:
        meanwhile = found.info["method"] != spec.method != "pca"
        making = service.url(spec.key(workspace)) if meanwhile and alive else ""
        # The position in the address is of the requested map.
        view = {**values.seen, "view": ""} if meanwhile else values.seen
        return {
            "trust": _trust(workspace, found, meanwhile),
            "map": _value(workspace, found, view) | {"making": making},
        }

    for shown in run_panel.awaited(
        workspace,
        values.run,
        spec,
        [spec.encoder],
        lambda: quick(workspace, spec.encoder, spec.data),
        session,
        most=service.QUICK_POINTS,
        words="trust",
        drawn=drawn,
        nothing=lambda alive, left: {"trust": _nothing(workspace, spec, alive, left), "map": None},
    ):
        yield {**shown, "fine": gr.update(visible=spec.method != "pca")}


def _nothing(workspace: Workspace, spec: MapSpec, alive: bool, left: float | None) -> str:
    """What to do where there is no map."""
    sentences, _ = workspace.catalog.sentences(spec.data)
    if not sentences:
        return parts.empty("No sentences", "This collection is empty. Choose another.")
    count = formats.plural(len(sentences), "sentence")
    if alive:
        hint = "The map will appear here as soon as possible."
        return parts.empty(f"{count}, being encoded", hint)
    rest = "" if left is None else formats.time_left(left).removesuffix(" left")
    long = f" That takes {rest}." if rest else ""
    hint = parts.next_step(
        workspace.read_only,
        "choose another collection or encoder",
        f"Press Compute map: the sentences are encoded in the background, once.{long} The map "
        "will appear here.",
    )
    return parts.empty(f"{count}, not on a map yet", hint)


def _value(workspace: Workspace, found: StoredMap, view: Mapping[str, Any]) -> dict[str, Any]:
    """The value of the map's component, in the view of the address."""
    info, plain = found.info, service.default_colour(found)
    return points(
        service.url(found.key),
        service.label(found),
        name=f"map-{found.key[:8]}",
        columns=found.columns,
        regions=found.regions,
        plain=plain,
        canvas=view.get("draw") == "canvas",
        collection=info["data_hash"],
        neighbours=True,
        placing=True,
        decoding=True,
        training="" if workspace.read_only else address.link("train-decoder"),
        search=address.link("search", **{"in": info["dataset"], "encoder": info["encoder"]}),
        address=True,
        **opened(view, info["dataset"], [column.key for column in found.columns], plain),
    )


def _trust(workspace: Workspace, found: StoredMap, meanwhile: bool) -> str:
    """How far to trust the map, as a paragraph with numbers."""
    ask = "" if workspace.read_only else " Press Compute map."
    facts = answer.trust(found.info)
    if meanwhile:
        facts.insert(
            0,
            "These are the first two principal components, drawn immediately; the requested "
            "map has not been computed yet." + ask,
        )
    elif found.info["method"] == "quick" and found.info["vectors"] == found.info["n"] > 2:
        facts.append("Its trustworthiness, clusters and names have not been computed yet." + ask)
    shipped = "" if found.nearest is None else f" {parts.SHIPPED}"
    return f'<p class="t-map-trust">{escape(" ".join(facts))}{shipped}</p>'


def _carry(published: Published) -> None:
    """Copy the stored maps of published encoders and data sets."""
    small = published.workspace
    for row in published.source.store.projections.list():
        info = row["info"]
        encoder, dataset = info["encoder"], info["dataset"]
        if not _is_computed(info) or encoder not in published.encoders:
            continue
        with suppress(UserError):  # an encoder whose files are gone
            if dataset in published.data and _spec_of(info).key(published.source) == row["key"]:
                public = {
                    "encoder": published.encoders[encoder],
                    "dataset": published.data[dataset],
                }
                key = _spec_of(info | public).key(small)
                small.store.projections.put(key, arrays(row), info | public)


def _is_computed(info: Mapping[str, Any]) -> bool:
    """Whether a stored map is one that a person asked for."""
    return not ("spaces" in info or info["initial"] or info["method"] == "quick")


def _spec_of(info: Mapping[str, Any]) -> MapSpec:
    """The question that a stored map answers."""
    names = [name for name in _FIELDS if name != "data"]
    return MapSpec(data=info["dataset"], **{name: info[name] for name in names})


def _views(published: Published) -> Iterator[tuple[str, MapSpec]]:
    """Every computed map; where there is none, the principal components if they are quick."""
    small = published.workspace
    rows = [row["info"] for row in reversed(small.store.projections.list())]
    made = [_spec_of(info) for info in rows if _is_computed(info)]
    for data, encoder in product(published.data.values(), published.encoders.values()):
        usual = MapSpec(encoder, data)
        specs = [one for one in made if (one.encoder, one.data) == (encoder, data)]
        with suppress(UserError):
            if usual not in specs and usual.is_stored(small):  # it ships
                specs.insert(0, usual)
            if not specs and service.drawn_at_once(small, encoder, data):
                specs.append(MapSpec(encoder, data, "pca"))
        for spec in sorted(dict.fromkeys(specs), key=lambda one: one != usual):
            name = NAMES[spec.method] if len(specs) > 1 else ""
            yield " · ".join(part for part in (encoder, data, name) if part), spec


def _blocks(workspace: Workspace, spec: MapSpec) -> list[Block]:
    """A map with the files that it reads."""
    made = spec.stored(workspace) or quick(workspace, spec.encoder, spec.data)
    if made is None:
        raise UserError(f"{spec.title} has not been computed.", code="no-result")
    value, folders = service.files(workspace, _value(workspace, made, {}))
    text = Text("", " ".join(answer.trust(made.info)))
    return [Component("map/map", value, PROPS, folders), text]


PUBLISHED = Static(MAP, _views, _carry, _blocks)
