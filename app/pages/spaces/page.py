"""The page *Two spaces*: one collection under two encoders, side by side, and what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from html import escape
from itertools import combinations, permutations
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
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.service import StoredMap
from theodolite.app.pages.spaces.answer import GROUP, SPACES, below, finding
from theodolite.app.pages.spaces.job import METHODS, Pair, SpacesSpec, quick
from theodolite.app.published import Published
from theodolite.app.spec import parameters
from theodolite.app.surfaces import document
from theodolite.app.surfaces.static import Static
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Control, Controls, Values
from theodolite.app.web.figures import percent
from theodolite.engine.errors import UserError
from theodolite.store.derived import arrays

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Two spaces"
PATH = "spaces"
DESCRIPTION = (
    "The same sentences under two encoders: two maps that share hover, selection and zoom, "
    "and the differences between them, measured in all dimensions and not on the maps."
)
COLOURS = ("label", "change", "cluster_a", "part", "role", "length")
OFFERED = {label: name for name, label in METHODS.items() if name != "quick"}
LIST = {"choices": [], "min_width": 220}
_FIELDS = {parameter.name: parameter for parameter in parameters(SpacesSpec)}
CONTROLS = (
    # One key for both, so that links to and from other pages keep their encoders.
    Control("first", "First encoder", gr.Dropdown, key="encoder", options=LIST),
    Control("second", "Second encoder", gr.Dropdown, key="encoder", options=LIST),
    replace(collections.COLLECTION, name="data"),
    web.control(_FIELDS["k"], min_width=150),
    replace(web.control(_FIELDS["method"], min_width=260), choices=[*OFFERED.items()]),
    web.control(_FIELDS["clustering"], min_width=220),
    web.control(_FIELDS["size"], "Empty: the default.", min_width=200),
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
        controls.render("first", "second", "data", "show", elem_classes=["t-bare"])
        go = gr.Button(
            "Compare", variant="primary", elem_id="compare-spaces", visible=not workspace.read_only
        )
        with parts.more():
            controls.render("k", "method", "clustering", "size")
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
    shown["below"] = web.answer(elem_id="answer")
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
    place, collection = collections.filled(workspace, values.data)
    return vars(values) | {
        "first": gr.update(choices=offered, value=one),
        "second": gr.update(choices=offered, value=other),
        "data": collection,
        "seen": state(request, place),
    }


def _spec(values: Values) -> SpacesSpec:
    """The comparison that the controls describe."""
    if not values.first or not values.second:
        raise UserError(
            "Choose two encoders.", "Choose them above, or add one on Encoders.", code="missing"
        )
    values.encoders = [values.first, values.second]
    return web.spec_of(SpacesSpec, values)


def _show(workspace: Workspace, values: Values, session: str | None) -> Iterator[Named]:
    """Yield progress, then the pair, or its principal components, or what to do."""
    spec = _spec(values)
    sentences, visitor = spec.sentences(workspace), workspace.read_only

    def drawn(pair: Pair) -> dict[str, Any]:
        # The position in an address is on the requested maps, not on the placeholders.
        waits = not pair.report and spec.method != "pca"
        view = {**values.seen, "view": ""} if waits else values.seen
        moves = values.show == "move"
        head = document.pieces([finding(pair.report)])[0] if pair.report else _waiting(visitor)
        return {
            "words": head,
            "show": gr.update(visible=True),
            "left_name": "" if moves else _side(pair.first),
            "left": _left(pair, view, moves=moves),
            "right_side": gr.update(visible=not moves),
            "right_name": _side(pair.second),
            "right": None if moves else _map(pair.second, pair, view),
            "below": web.value(below(pair.report, sentences)),
        }

    yield from run_panel.awaited(
        workspace,
        values.run,
        spec,
        spec.encoders,
        lambda: quick(workspace, spec),
        session,
        most=maps.QUICK_POINTS,
        words="words",
        drawn=drawn,
        nothing=partial(_nothing, visitor, len(sentences)),
    )


def _nothing(visitor: bool, count: int, alive: bool, seconds: float | None) -> dict[str, Any]:
    """The views without maps: what to do."""
    rest = "" if seconds is None else formats.time_left(seconds).removesuffix(" left")
    long = f" For one of them this takes {rest}." if rest else ""
    title = f"{count:,} sentences, not compared yet"
    hint = parts.next_step(
        visitor,
        "choose another collection, or other encoders",
        f"Press Compare: the sentences are encoded in the background, once.{long} The maps "
        "will appear here.",
    )
    if alive:
        title = f"{count:,} sentences, being encoded"
        hint = "The maps will appear as soon as possible."
    return {
        "words": parts.empty(title, hint),
        "show": gr.update(visible=False),
        **dict.fromkeys(("left_name", "right_name", "below"), ""),
        **dict.fromkeys(("left", "right")),
    }


def _waiting(visitor: bool) -> str:
    text = "These are the first two principal components of either, drawn immediately."
    if not visitor:
        text += " Press Compare for UMAP, what changed in all dimensions, and the clusters."
    return f'<p class="t-map-trust">{escape(text)}</p>'


def _side(side: StoredMap) -> str:
    """The heading of a map: encoder, projection, and neighbour recall if measured."""
    trust, kept = side.info["trust"], maps.NAMES[side.info["method"]]
    if trust:
        kept += (
            f"; on average {percent(trust['recall'])} of a sentence's {trust['k']} true neighbours "
            "are neighbours here too"
        )
    name = escape(side.info["encoder"])
    return f'<h3 class="t-side"><span class="t-spec">{name}</span><small>{kept}</small></h3>'


def _left(pair: Pair, view: Mapping[str, Any], *, moves: bool) -> dict[str, Any]:
    """The first encoder's map, linked, which writes its view to the page's address.

    Args:
        pair: the pair.
        view: of the address.
        moves: whether its points can be moved to the second encoder's.
    """
    value = _map(pair.first, pair, view) | {"address": True}
    if not moves:
        return value
    ends = [pair.first.info["encoder"], pair.second.info["encoder"]]
    return value | {
        "towards": maps.url(pair.second.key),
        "ends": ends,
        "regions": [],
        "label": f"Map whose points move from {ends[0]} to {ends[1]}",
    }


def _map(side: StoredMap, pair: Pair, view: Mapping[str, Any]) -> dict[str, Any]:
    """A map that is linked and aligned with the other."""
    import numpy as np

    info, has = side.info, [column.key for column in side.columns]
    plain = next((key for key in COLOURS if key in has), None)
    # A view that contains the points of both, so that both open on the same region.
    every = np.vstack([pair.first.points, pair.second.points])
    low, high = every.min(axis=0), every.max(axis=0)
    x, y = (low + high) / 2
    span = 1.08 * (float((high - low).max()) or 1.0) / _width(side)
    value = points(
        maps.url(side.key),
        f"Map of {len(side.points):,} sentences of {info['dataset']} as {info['encoder']} has "
        "them, linked to the other",
        name=f"map-{side.key[:8]}",
        columns=side.columns,
        regions=side.regions,
        plain=plain,
        whole=f"{x:.5g},{y:.5g},{min(span, 4.0):.4g}",
        collection=f"{info['data_hash']} {side.key}",
        neighbours=True,
        search=address.link("search", **{"in": info["dataset"], "encoder": info["encoder"]}),
        linked=GROUP,
        **opened(view, info["dataset"], has, plain),
    )
    return value | {"view": _same_place(view.get("view", ""), side, pair)}


def _same_place(text: str, side: StoredMap, pair: Pair) -> str:
    """Convert a view from units of the first map's width to those of this map's width."""
    x, y, span = [*text.split(","), "", ""][:3]
    try:
        scaled = float(span) * _width(pair.first) / _width(side)
    except ValueError:
        return ""
    return f"{x},{y},{scaled:.6g}"


def _width(side: StoredMap) -> float:
    return float((side.points.max(axis=0) - side.points.min(axis=0)).max()) or 1.0


def _carry(published: Published) -> None:
    """Copy the stored pairs of published encoders that were compared with default settings."""
    source, small = published.source.store.projections, published.workspace
    for home, public in _questions(published):
        with suppress(UserError):  # an encoder whose files are gone
            for key, new in zip(home.keys(published.source), public.keys(small), strict=True):
                if row := source.get(key):
                    small.store.projections.put(new, arrays(row), published.renamed(row["info"]))


def _questions(published: Published) -> Iterator[tuple[SpacesSpec, SpacesSpec]]:
    """Yield each possible comparison twice: with its local names, and with the published ones."""
    names = published.encoders
    for data, public in published.data.items():
        for pair in permutations(names, 2):
            for method in OFFERED.values():
                yield (
                    SpacesSpec(pair, data, method=method),
                    SpacesSpec([names[name] for name in pair], public, method=method),
                )


def _views(published: Published) -> Iterator[tuple[str, SpacesSpec]]:
    """Every stored pair, and the first encoder with each other that is drawn at once."""
    small, made = published.workspace, set()
    for _, spec in _questions(published):
        with suppress(UserError):
            if spec.is_stored(small):
                made.add((frozenset(spec.encoders), spec.data))
                yield _label(spec), spec
    for data in published.data.values():
        for pair in combinations(published.encoders.values(), 2):
            with suppress(UserError):
                first = pair[0] == next(iter(published.encoders.values()))
                if (frozenset(pair), data) in made or not first:
                    continue
                if all(maps.drawn_at_once(small, name, data) for name in pair):
                    spec = SpacesSpec(pair, data, method="pca")
                    yield _label(spec), spec


def _label(spec: SpacesSpec) -> str:
    return f"{' and '.join(spec.encoders)} · {spec.data}"


def _blocks(workspace: Workspace, spec: SpacesSpec) -> Sequence[Block]:
    """A pair with the files that its maps read: side by side, and one that moves to the other."""
    pair = spec.stored(workspace) or quick(workspace, spec)
    if pair is None:
        raise UserError(f"{spec.title} has not been computed.", code="no-result")
    values = [_map(side, pair, {}) for side in (pair.first, pair.second)]
    blocks: list[Block] = [finding(pair.report)] if pair.report else []
    for value in values:
        blocks.append(_component(workspace, value))
    blocks += below(pair.report, spec.sentences(workspace))
    moves = _left(pair, {}, moves=True) | {"linked": "", "address": False}
    return [*blocks, Text("One map, animated"), _component(workspace, moves)]


def _component(workspace: Workspace, value: dict[str, Any]) -> Component:
    """A map with the files that it reads, also those of the map towards which its points move."""
    made, folders = maps.files(workspace, value)
    return Component("map/map", made, PROPS, folders)


PUBLISHED = Static(SPACES, _views, _carry, _blocks)
