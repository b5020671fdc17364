"""The page *Two spaces*: one collection under two encoders, side by side, and what differs."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import combinations, permutations
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.layout import ask, fill
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.spaces.answer import SPACES
from theodolite.app.pages.spaces.job import METHODS, SpacesSpec
from theodolite.app.published import Published, Static
from theodolite.app.spec import parameters
from theodolite.app.web import parts
from theodolite.app.web.controls import Controls, Values
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store.derived import arrays

TITLE = "Two spaces"
PATH = "spaces"
DESCRIPTION = (
    "The same sentences under two encoders: two maps that share hover, selection and zoom, "
    "and the differences between them, measured in all dimensions and not on the maps."
)
OFFERED = [name for name in METHODS if name != "quick"]
_FIELDS = {parameter.name: parameter for parameter in parameters(SpacesSpec)}
CONTROLS = [
    # One key for both, so that links to and from other pages keep their encoders.
    replace(choices.ENCODER, name="first", label="First encoder", key="encoder"),
    replace(choices.ENCODER, name="second", label="Second encoder", key="encoder"),
    *web.controls(
        SpacesSpec,
        without=["encoders"],
        method=replace(
            web.control(_FIELDS["method"]), choices=[(METHODS[name], name) for name in OFFERED]
        ),
        size=web.control(_FIELDS["size"], "Empty: by the number of sentences."),
    ),
]


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("first", "second", "data", elem_classes=["t-bare"])
        go = gr.Button(
            "Compare", variant="primary", elem_id="compare-spaces", visible=not workspace.read_only
        )
        with parts.more():
            controls.render("k", "method", "clustering", "size")
    load = partial(_fill, workspace)
    ask(workspace, SPACES, controls, go, load=load, spec=_spec, charts=True, elem_id="answer")


def _fill(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    names = choices.from_address(workspace, request)[:2]
    offered = dict.fromkeys([*names, *choices.names(workspace)])
    first, second, *_ = [*offered, None, None]
    return dict(fill(workspace, SpacesSpec, values, request)) | {
        "first": gr.update(choices=[*offered], value=first),
        "second": gr.update(choices=[*offered], value=second),
    }


def _spec(values: Values) -> SpacesSpec:
    """The comparison that the controls describe."""
    if not values.first or not values.second:
        raise UserError(
            "Choose two encoders.", "Choose them above, or add one on Encoders.", code="missing"
        )
    values.encoders = [values.first, values.second]
    return web.spec_of(SpacesSpec, values)


def _carry(published: Published) -> None:
    """Copy the stored pairs of published encoders that were compared with default settings."""
    source, small = published.source.store.derived, published.workspace
    for home, public in _questions(published):
        with suppress(UserError):  # an encoder whose files are gone
            for key, new in zip(home.keys(published.source), public.keys(small), strict=True):
                if row := source.get(key):
                    info = published.renamed(row["info"])
                    small.store.derived.put(new, maps.KIND, info, arrays(row))


def _questions(published: Published) -> Iterator[tuple[SpacesSpec, SpacesSpec]]:
    """Yield each possible comparison twice: with its local names, and with the published ones."""
    names = published.encoders
    for data, public in published.data.items():
        for pair in permutations(names, 2):
            for method in OFFERED:
                yield (
                    SpacesSpec(pair, data, method=method),
                    SpacesSpec([names[name] for name in pair], public, method=method),
                )


def _views(published: Published) -> Iterator[tuple[str, SpacesSpec]]:
    """Every stored pair, and the first encoder with each other that is drawn at once."""
    small, specs = published.workspace, []
    for _, spec in _questions(published):
        with suppress(UserError):
            if spec.is_stored(small):
                specs.append(spec)
    pairs = {(frozenset(spec.encoders), spec.data) for spec in specs}
    first = next(iter(published.with_vectors), None)
    for data in published.data.values():
        for pair in combinations(published.with_vectors, 2):
            with suppress(UserError):
                new = pair[0] == first and (frozenset(pair), data) not in pairs
                if new and all(maps.drawn_at_once(small, name, data) for name in pair):
                    specs.append(SpacesSpec(pair, data, method="pca"))
    for spec in specs:
        yield f"{' and '.join(spec.encoders)} · {spec.data}", spec


PUBLISHED = Static(SPACES, _views, _carry)
