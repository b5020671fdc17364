"""The page *Map*: a collection in two dimensions, and how far to trust the picture."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.pages.layout import ask
from theodolite.app.pages.map import service
from theodolite.app.pages.map.answer import MAP
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.pages.map.service import NAMES
from theodolite.app.published import Published, Static
from theodolite.app.spec import parameters
from theodolite.app.web import parts
from theodolite.app.web.controls import Controls, shape
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store.derived import arrays

TITLE = "Map"
PATH = "map"
DESCRIPTION = (
    "Every sentence of a collection is a point; points close together have similar meanings "
    "to the encoder, as far as two dimensions can show it. Move, zoom, draw a lasso, click a "
    "point for its true neighbours, or decode a position between points."
)
OFFERED = [name for name in NAMES if name != "quick" and (name != "pacmap" or find_spec("pacmap"))]
_FIELDS = {parameter.name: parameter for parameter in parameters(MapSpec)}
FINE = ("neighbours", "min_dist", "seed")
CONTROLS = web.controls(
    MapSpec,
    (),
    method=replace(
        web.control(_FIELDS["method"]),
        box=gr.Dropdown,
        choices=[(NAMES[name], name) for name in OFFERED],
    ),
    **{name: web.control(_FIELDS[name], _FIELDS[name].field.help, min_width=110) for name in FINE},
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
            controls.render(*FINE)
    shape(lambda method: {fine: gr.update(visible=method != "pca")}, {controls["method"]: OFFERED})
    ask(workspace, MAP, controls, go, report=True, elem_id="answer")


def _carry(published: Published) -> None:
    """Copy the stored maps of published encoders and data sets."""
    small = published.workspace
    for row in published.source.store.derived.list(service.KIND):
        info = row["info"]
        encoder, dataset = info["encoder"], info["dataset"]
        if not _is_computed(info) or encoder not in published.encoders:
            continue
        with suppress(UserError):  # an encoder whose files are gone
            if dataset in published.data and _spec_of(info).key(published.source) == row["key"]:
                public = info | {
                    "encoder": published.encoders[encoder],
                    "dataset": published.data[dataset],
                }
                key = _spec_of(public).key(small)
                small.store.derived.put(key, service.KIND, public, arrays(row))


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
    rows = [row["info"] for row in reversed(small.store.derived.list(service.KIND))]
    made = [_spec_of(info) for info in rows if _is_computed(info)]
    for data, encoder in product(published.data.values(), published.with_vectors):
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


PUBLISHED = Static(MAP, _views, _carry)
