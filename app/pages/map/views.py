"""Views of the page *Map*: the map, how far to trust it, or how to compute one."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.components import map_address
from theodolite.app.components.map import points
from theodolite.app.pages.map import service
from theodolite.app.web import address, parts
from theodolite.app.web.figures import percent

if TYPE_CHECKING:
    from theodolite.app.pages.map.service import StoredMap
    from theodolite.app.workspace import Workspace

COLOURS = ("label", "cluster", "topic1", "part", "role", "length")
"""Default colour columns of a map, in order of preference."""


def render(
    workspace: Workspace,
    found: StoredMap,
    view: Mapping[str, Any],
    meanwhile: bool,
    making: str = "",
) -> dict[str, Any]:
    """The map and how far to trust it.

    Args:
        workspace: the workspace.
        found: the map.
        view: the view of the map in the address, see `map_address.from_address`.
        meanwhile: whether the map is a placeholder until the requested one is computed.
        making: key of the requested map while a run computes it.
    """
    if meanwhile:  # the position in the address is of the requested map
        view = {**view, "view": ""}
    training = "" if workspace.read_only else address.link("train-decoder")
    return {
        "trust": _trust(workspace, found, meanwhile),
        "map": _value(found, view, training) | {"making": service.url(making) if making else ""},
    }


def nothing(
    workspace: Workspace, collection: str, alive: bool, left: float | None = None
) -> dict[str, Any]:
    """The views without a map: what to do."""
    return {"trust": _nothing(workspace, collection, alive, left), "map": None}


def _nothing(workspace: Workspace, collection: str, alive: bool, left: float | None) -> str:
    sentences, _ = workspace.catalog.sentences(collection)
    if not sentences:
        return parts.empty("No sentences", "This collection is empty. Choose another.")
    count = formats.plural(len(sentences), "sentence")
    if alive:
        return parts.empty(
            f"{count}, being encoded", "The map will appear here as soon as possible."
        )
    rest = "" if left is None else formats.time_left(left).removesuffix(" left")
    long = f" That takes {rest}." if rest else ""
    hint = parts.next_step(
        workspace.read_only,
        "choose another collection or encoder",
        f"Press Compute map: the sentences are encoded in the background, once.{long} The map "
        "will appear here.",
    )
    return parts.empty(f"{count}, not on a map yet", hint)


def contained(found: StoredMap) -> dict[str, Any]:
    """The value of a map in a document that loads nothing, with all its files in it."""
    colour = _default_colour(found)
    static, files = service.contained(found)
    value = points(
        "",
        _label(found),
        name=f"map-{found.key[:8]}",
        columns=found.columns,
        regions=found.regions,
        colour=colour,
        plain=colour,
        collection=found.info["data_hash"],
        neighbours=True,
    )
    held = {name: base64.b64encode(file).decode() for name, file in files.items()}
    return value | {"parts": static, "held": held}


def _default_colour(found: StoredMap) -> str | None:
    """Key of the column that a map is coloured by at first."""
    has = {column.key for column in found.columns}
    return next((key for key in COLOURS if key in has), None)


def _label(found: StoredMap) -> str:
    info = found.info
    return (
        f"Map of {len(found.points):,} sentences of {info['dataset']} as {info['encoder']} has "
        f"them, by {service.NAMES[info['method']]}"
    )


def _value(found: StoredMap, view: Mapping[str, Any], training: str) -> dict[str, Any]:
    info = found.info
    has = [column.key for column in found.columns]
    plain = _default_colour(found)
    return points(
        service.url(found.key),
        _label(found),
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
        **map_address.opened(view, info["dataset"], has, plain),
    )


def _trust(workspace: Workspace, found: StoredMap, meanwhile: bool) -> str:
    """How far to trust the map, as a paragraph with numbers."""
    info, facts = found.info, []
    ask = "" if workspace.read_only else " Press Compute map."
    if meanwhile:
        facts.append(
            "These are the first two principal components, drawn immediately; the requested "
            "map has not been computed yet." + ask
        )
    if same := service.equal_vectors(info):
        facts.append(same)
    if info["explained"] is not None:
        facts.append(
            f"The map preserves {percent(info['explained'])} of the variance of {info['dim']} "
            "dimensions."
        )
    trust = info["trust"]
    if trust:
        sample = trust["looked_at"]
        of = "" if sample == info["n"] else f", on average over {sample:,} sentences looked at"
        facts.append(
            f"{percent(trust['recall'])} of a sentence's {trust['k']} nearest are its nearest "
            f"here too{of}. Trustworthiness {trust['trustworthiness']:.3f} (1: no false neighbour "
            f"on the map), continuity {trust['continuity']:.3f} (1: no true neighbour lost)."
        )
    elif info["n"] < 3:
        facts.append("There are too few sentences to measure how far the map can be trusted.")
    elif not meanwhile and not same:
        facts.append("Its trustworthiness, clusters and names have not been computed yet." + ask)
    if found.nearest is not None:
        facts.append("This map ships with Theodolite.")
    return f'<p class="t-map-trust">{escape(" ".join(facts))}</p>'
