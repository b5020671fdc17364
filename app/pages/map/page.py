"""The page *Map*: a collection as one encoder sees it, on a plane, and how far to trust that."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import formats
from app.components.map import point_map, points
from app.pages.encoders import choices
from app.pages.jobs.run_panel import RunPanel
from app.pages.map import service
from app.pages.map import views as map_views
from app.web import address, background_call, parts
from app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from engine.errors import UserError
from store.runs import LIVE

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Map"
PATH = "map"
DEFAULTS = {
    "in": "starter-topics",
    "method": "umap",
    "neighbours": 15,
    "distance": 0.1,
    "seed": "0",
}
ANY_SEED = "any"
COLOURS = ("label", "cluster", "topic1", "part", "role", "length")
DESCRIPTION = (
    "Every sentence of a collection is a point; points near each other mean alike to the encoder, "
    "as far as a plane can show it. Move, zoom, draw a lasso, click a point for its true "
    "neighbours, or decode a place between them."
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    with gr.Row():
        encoder = gr.Dropdown([], label="Encoder", elem_id="encoder", scale=2, min_width=220)
        collection = gr.Dropdown([], label="Collection", elem_id="collection", scale=2,
                                 min_width=220)  # fmt: skip
        method = gr.Radio(_methods(), label="Method", elem_id="method", scale=3, min_width=300)
    with gr.Accordion("Neighbours, least distance, seed", open=False) as fine, gr.Row():
        neighbours = gr.Number(15, label="Neighbours", minimum=2, maximum=service.MOST_NEIGHBOURS,
                               precision=0, elem_id="neighbours", min_width=110,
                               info="Few show detail, many the whole.")  # fmt: skip
        distance = gr.Number(0.1, label="Least distance", minimum=0, maximum=0.99, step=0.05,
                             elem_id="distance", min_width=110,
                             info="0 packs points tightly.")  # fmt: skip
        seed = gr.Textbox("0", label="Seed", elem_id="seed", max_length=10, min_width=110,
                          info="Or any: quicker, never twice the same.")  # fmt: skip
    with gr.Row(elem_classes=["t-tight"], visible=not workspace.read_only):
        go = gr.Button("Make the map", variant="primary", elem_id="make-map")
    notice = parts.notice()
    following = RunPanel(workspace)
    words = parts.static("", elem_id="trust")
    drawn = point_map(elem_id="map")
    seen = gr.State({})
    controls = [encoder, collection, method, neighbours, distance, seed]

    def load(request: gr.Request) -> tuple[Any, ...]:
        return _loaded(workspace, request)

    def show(
        request: gr.Request, view: dict[str, Any], run: str, *values: Any
    ) -> Iterator[tuple[Any, ...]]:
        yield from _shown(workspace, request.session_hash, view, run, *values)

    def make(request: gr.Request, view: dict[str, Any], *values: Any) -> Iterator[tuple[Any, ...]]:
        yield from _made(workspace, request.session_hash, view, *values)

    shown = [words, drawn, fine]
    opened = parts.on_load(
        parts.telling(load, 9), None, [*controls, fine, seen, following.run, notice]
    )
    followed = [seen, following.run, *controls]
    opened.then(parts.telling(show, 3), followed, [*shown, notice], **ALWAYS_LAST)
    gr.on([c.input for c in controls], parts.telling(show, 3), followed, [*shown, notice],
          trigger_mode="multiple", **HIDE_PROGRESS)  # fmt: skip
    go.click(
        parts.telling(make, 4), [seen, *controls], [*shown, following.run, notice], **HIDE_PROGRESS
    )
    following.moved.change(parts.telling(show, 3), followed, [*shown, notice], **ALWAYS_LAST)
    address.keep(
        {"encoder": encoder, "in": collection, "method": method, "neighbours": neighbours,
         "distance": distance, "seed": seed, "run": following.run}, DEFAULTS,
    )  # fmt: skip


def _loaded(workspace: Workspace, request: gr.Request) -> tuple[Any, ...]:
    """The controls as the address has them."""
    names = [info.name for info in workspace.catalog.list()]
    named = address.first(request, "in")
    if named.startswith("hub:"):
        names.append(named)
    kept = choices.names(workspace)
    chosen = choices.asked(workspace, request)[:1]
    offered = list(dict.fromkeys([*kept, *chosen]))
    place = address.choice(request, "in", names, "starter-topics")
    way = address.choice(request, "method", [value for _, value in _methods()], "umap")
    run = address.first(request, "run")
    return (
        gr.update(choices=offered, value=next(iter(chosen), None)),
        gr.update(choices=names, value=place),
        way,
        _number(address.first(request, "neighbours"), 15),
        _number(address.first(request, "distance"), 0.1),
        address.first(request, "seed", "0")[:10],
        gr.update(visible=way != "pca"),
        map_views.asked(request, place),
        run if run in {r["id"] for r in workspace.store.runs.list()} else "",
    )


def _made(
    workspace: Workspace, session: str | None, view: dict[str, Any], *values: Any
) -> Iterator[tuple[Any, ...]]:
    """The map when it is there already, else a run that makes it."""
    workspace.refuse_visitors()
    name, how = _how(*values)
    words: Any = gr.skip()
    for words_now, known in background_call.followed(
        lambda say: [service.stored(workspace, service.key(workspace, *name, **how))],
        f"Loading {name[0]}",
        session,
    ):
        if known is None:
            words = ""
            yield words_now, gr.skip(), gr.skip(), gr.skip()
        elif known[0] is not None:
            yield from ((*some, "") for some in _shown(workspace, session, view, "", *values))
        else:
            yield words, gr.skip(), gr.skip(), service.queue(workspace, *name, **how)


def _methods() -> list[tuple[str, str]]:
    ways = [("UMAP", "umap"), ("t-SNE", "tsne"), ("Principal components", "pca")]
    return [*ways, ("PaCMAP", "pacmap")] if find_spec("pacmap") else ways


def _number(text: str, default: float) -> float:
    try:
        return float(text)
    except ValueError:
        return default


def _how(
    encoder: str | None, collection: str, method: str, neighbours: Any, distance: Any, seed: str
) -> tuple[tuple[str, str], dict[str, Any]]:
    """The controls as `app.pages.map.service` takes them.

    Raises:
        UserError: no encoder, or a seed that is not a number.
    """
    if not encoder:
        raise UserError("No encoder was chosen.", "Choose one above, or add one on Encoders.")
    text = (seed or ANY_SEED).strip()
    if text != ANY_SEED and not (text.isascii() and text.isdigit()):
        raise UserError(f"{text[:20]!r} is not a seed.", f"Give a whole number, or {ANY_SEED!r}.")
    how = {"method": method, "neighbours": int(neighbours or 15),
           "min_dist": 0.1 if distance is None else float(distance),
           "seed": None if text == ANY_SEED else int(text)}  # fmt: skip
    return (encoder, collection), how


def _shown(
    workspace: Workspace, session: str | None, view: dict[str, Any], run: str, *values: Any
) -> Iterator[tuple[Any, ...]]:
    """How far it is, then the map, or its principal components, or what to do."""
    fine = gr.update(visible=values[2] != "pca")
    name, how = _how(*values)
    alive = bool(run) and workspace.store.runs.get(run)["state"] in LIVE
    try:
        for words, found in background_call.followed(
            lambda say: [_found(workspace, *name, how, alive, say)], f"Opening {name[1]}", session
        ):
            if found is None:
                yield words, gr.skip(), fine
            elif found[0] is None:
                yield _nothing(workspace, name[1], alive), None, fine
            else:
                meanwhile = found[0].info["method"] != how["method"] != "pca"
                train = "" if workspace.read_only else address.link("train-decoder")
                shown = {**view, "view": ""} if meanwhile else view  # that of another map
                yield _trust(workspace, found[0], meanwhile), _value(found[0], shown, train), fine
    except background_call.TooSlow as slow:
        yield _nothing(workspace, name[1], alive, slow.left), None, fine


def _found(
    workspace: Workspace, encoder: str, dataset: str, how: dict[str, Any], alive: bool,
    say: background_call.Say,
) -> service.StoredMap | None:  # fmt: skip
    """The map, or its principal components; what is lacking for these is encoded now.

    Unless a run is about to do that. An encoder that is fitted on the collection has no name before
    it is encoded.
    """
    from app import vectors
    from app.pages.map import making

    sentences, _ = workspace.catalog.sentences(dataset)
    say(f"Loading {encoder}; a model that was not used yet takes some seconds", None, None)
    if "@task" not in encoder:
        found = service.stored(workspace, service.key(workspace, encoder, dataset, **how))
        if found is not None or len(sentences) > service.QUICK_POINTS:
            return found
    if alive and vectors.missing(workspace, encoder, dataset):
        return None
    background_call.encode(workspace, encoder, dataset, say)
    say("Laying the points out", None, None)
    found = service.stored(workspace, service.key(workspace, encoder, dataset, **how))
    return found or making.quick(workspace, encoder, dataset)


def _nothing(workspace: Workspace, collection: str, alive: bool, left: float | None = None) -> str:
    sentences, _ = workspace.catalog.sentences(collection)
    if not sentences:
        return parts.empty("No sentences", "This collection is empty. Choose another.")
    count = formats.plural(len(sentences), "sentence")
    if alive:
        return parts.empty(f"{count}, being encoded", "The map is drawn here as soon as it can be.")
    rest = "" if left is None else formats.time_left(left).removesuffix(" left")
    long = f" That takes {rest}." if rest else ""
    hint = (
        "This demonstration does not start runs: choose another collection or encoder."
        if workspace.read_only
        else f"Press Make the map: the sentences are encoded in the background, once.{long} The "
        "map is here when it is ready."
    )
    return parts.empty(f"{count}, not on a map yet", hint)


def _value(found: service.StoredMap, view: dict[str, Any], training: str) -> dict[str, Any]:
    info = found.info
    has = [column.key for column in found.columns]
    plain = next((key for key in COLOURS if key in has), None)
    return points(
        service.url(found.key),
        f"Map of {len(found.points):,} sentences of {info['dataset']} as {info['encoder']} has "
        f"them, by {service.NAMES[info['method']]}",
        name=f"map-{found.key[:8]}",
        columns=found.columns,
        regions=found.regions,
        plain=plain,
        canvas=view.get("draw") == "canvas",
        collection=info["data_hash"],
        neighbours=True,
        placing=True,
        decoding=True,
        training=training,
        search=address.link("search", **{"in": info["dataset"], "encoder": info["encoder"]}),
        address=True,
        **map_views.opened(view, info["dataset"], has, plain),
    )


def _trust(workspace: Workspace, found: service.StoredMap, meanwhile: bool) -> str:
    """How far the plane is to be believed, in words with numbers."""
    info, said = found.info, []
    ask = "" if workspace.read_only else " Press Make the map."
    if meanwhile:
        said.append(
            "These are the first two principal components, drawn at once; the map asked for was "
            "not made yet." + ask
        )
    if info["explained"] is not None:
        said.append(
            f"The plane keeps {info['explained']:.0%} of the variance of {info['dim']} dimensions."
        )
    trust = info["trust"]
    if trust:
        sample = trust["looked_at"]
        of = "" if sample == info["n"] else f", on average over {sample:,} sentences looked at"
        said.append(
            f"Of the {trust['k']} nearest of a sentence in the full space, "
            f"{trust['recall']:.0%} are its nearest here too{of}. Trustworthiness "
            f"{trust['trustworthiness']:.3f} and continuity {trust['continuity']:.3f} (1 would be "
            "a plane without strangers among the near, and with none of them lost)."
        )
    elif info["n"] < 3:
        said.append("There are too few sentences to say how far the map can be trusted.")
    elif not meanwhile:
        said.append("Its trust, clusters and names were not worked out yet." + ask)
    return f'<p class="t-map-trust">{escape(" ".join(said))}</p>'
