"""The page *Map*: a collection as one encoder sees it, on a plane, and how far to trust that."""

from __future__ import annotations

from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import address, parts
from app.components.map import point_map, points
from app.pages import choices
from app.pages.following import Following
from app.space import maps
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Map"
PATH = "map"
FIRST = ("minilm", "wordllama", "random:256")
PLAIN = {"in": "starter-topics", "method": "umap", "neighbours": 15, "distance": 0.1, "seed": "0"}
ANY_SEED = "any"
MOST_CHOSEN = 1000
COLOURS = ("label", "cluster", "topic1", "part", "role", "length")
LEAD = (
    "Every sentence of a collection is a point; points near each other mean alike to the encoder, "
    "as far as a plane can show it. Move, zoom, draw a lasso, click a point for its true "
    "neighbours."
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, LEAD)
    with gr.Row():
        encoder = gr.Dropdown([], label="Encoder", elem_id="encoder", scale=2, min_width=220)
        collection = gr.Dropdown([], label="Collection", elem_id="collection", scale=2,
                                 min_width=220)  # fmt: skip
        method = gr.Radio(_methods(), label="Method", elem_id="method", scale=3, min_width=300)
    with gr.Accordion("Neighbours, least distance, seed", open=False) as fine, gr.Row():
        neighbours = gr.Number(15, label="Neighbours", minimum=2, maximum=maps.MOST_NEIGHBOURS,
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
    following = Following(workspace)
    words = parts.static("", elem_id="trust")
    drawn = point_map(elem_id="map")
    seen = gr.State({})
    controls = [encoder, collection, method, neighbours, distance, seed]

    def load(request: gr.Request) -> tuple[Any, ...]:
        names = [info.name for info in workspace.catalog.list()]
        named = address.first(request, "in")
        if named.startswith("hub:"):
            names.append(named)
        kept = choices.names(workspace)
        chosen = choices.asked(workspace, request, FIRST)[:1]
        offered = list(dict.fromkeys([*kept, *chosen]))
        way = address.choice(request, "method", [value for _, value in _methods()], "umap")
        run = address.first(request, "run")
        return (
            gr.update(choices=offered, value=next(iter(chosen), None)),
            gr.update(choices=names, value=address.choice(request, "in", names, "starter-topics")),
            way,
            _number(address.first(request, "neighbours"), 15),
            _number(address.first(request, "distance"), 0.1),
            address.first(request, "seed", "0")[:10],
            gr.update(visible=way != "pca"),
            {
                name: address.first(request, name)
                for name in ("view", "colour", "find", "draw", "ids", "in")
            },
            run if run in {r["id"] for r in workspace.store.runs.list()} else "",
        )

    def show(view: dict[str, str], *values: Any) -> tuple[Any, ...]:
        return _shown(workspace, view, *values)

    def make(view: dict[str, str], *values: Any) -> tuple[Any, ...]:
        workspace.refuse_visitors()
        name, how = _how(*values)
        run = ""
        if maps.stored(workspace, maps.key(workspace, *name, **how)) is None:
            run = maps.queue(workspace, *name, **how)
        return (*_shown(workspace, view, *values), run)

    quiet = {"show_progress": "hidden"}
    shown = [words, drawn, fine]
    opened = parts.on_load(
        parts.telling(load, 9), None, [*controls, fine, seen, following.run, notice]
    )
    opened.then(parts.telling(show, 3), [seen, *controls], [*shown, notice], **quiet)
    gr.on([c.input for c in controls], parts.telling(show, 3), [seen, *controls],
          [*shown, notice], trigger_mode="always_last", **quiet)  # fmt: skip
    go.click(parts.telling(make, 4), [seen, *controls], [*shown, following.run, notice], **quiet)
    following.moved.change(parts.telling(show, 3), [seen, *controls], [*shown, notice], **quiet)
    address.keep(
        {"encoder": encoder, "in": collection, "method": method, "neighbours": neighbours,
         "distance": distance, "seed": seed, "run": following.run}, PLAIN,
    )  # fmt: skip


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
    """The controls as `app.space.maps` takes them.

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


def _shown(workspace: Workspace, view: dict[str, str], *values: Any) -> tuple[Any, ...]:
    """The map if it was made, else its principal components at once, else what to do."""
    from app.space import map_making

    fine = gr.update(visible=values[2] != "pca")
    name, how = _how(*values)
    found = maps.stored(workspace, maps.key(workspace, *name, **how))
    meanwhile = False
    if found is None:
        found = map_making.quick(workspace, *name)
        meanwhile = how["method"] != "pca"
    if found is None:
        return _nothing(workspace, *name), None, fine
    return _trust(workspace, found, meanwhile), _value(found, view), fine


def _nothing(workspace: Workspace, encoder: str, collection: str) -> str:
    sentences, _ = workspace.catalog.sentences(collection)
    if not sentences:
        return parts.empty("No sentences", "This collection is empty. Choose another.")
    hint = (
        "This demonstration does not start runs: choose another collection or encoder."
        if workspace.read_only
        else "Press Make the map: the sentences are encoded in the background, once, and the map "
        "is here when it is ready."
    )
    return parts.empty(f"{len(sentences):,} sentences, not on a map yet", hint)


def _value(found: maps.StoredMap, view: dict[str, str]) -> dict[str, Any]:
    info = found.info
    has = [column.key for column in found.columns]
    plain = next((key for key in COLOURS if key in has), None)
    asked = view.get("colour", "")
    return points(
        maps.url(found.key),
        f"Map of {len(found.points):,} sentences of {info['dataset']} as {info['encoder']} has "
        f"them, by {maps.NAMES[info['method']]}",
        name=f"map-{found.key[:8]}",
        columns=found.columns,
        regions=found.regions,
        colour=None if asked == "none" else asked if asked in has else plain,
        plain=plain,
        view=view.get("view", ""),
        find=view.get("find", ""),
        chosen=_chosen(view, info["dataset"]),
        canvas=view.get("draw") == "canvas",
        collection=info["data_hash"],
        neighbours=True,
        placing=True,
        search=address.link("search", **{"in": info["dataset"], "encoder": info["encoder"]}),
        address=True,
    )


def _chosen(view: dict[str, str], dataset: str) -> list[int]:
    """The sentences that an address names, as long as the collection is the one it was made for."""
    if view.get("in") != dataset:
        return []
    numbers = view.get("ids", "").split(",")[:MOST_CHOSEN]
    return [int(n[:9]) for n in numbers if n.isascii() and n.isdigit()]


def _trust(workspace: Workspace, found: maps.StoredMap, meanwhile: bool) -> str:
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
