"""The state of a map in an address: position, colour, size, names, filters, search, selection.

The browser writes it (`components/js/map/address.js`); it applies to the first map of a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from theodolite.app.web import address

if TYPE_CHECKING:
    import gradio as gr

NAMES = ("view", "colour", "find", "pattern", "size", "names", "draw", "ids", "said")
MAX_CHOSEN = 1000
MAX_FILTERS = 300


def from_address(request: gr.Request, collection: str) -> dict[str, Any]:
    """Read the state of a map of this collection from the address of the visit."""
    found: dict[str, Any] = {name: address.first(request, name) for name in NAMES}
    return {**found, "filter": address.every(request, "filter")[:MAX_FILTERS], "in": collection}


def opened(
    view: Mapping[str, Any], dataset: str, has: Sequence[str], plain: str | None
) -> dict[str, Any]:
    """The state as arguments of `components.map.points`; ignored for another collection.

    Args:
        view: the state that `from_address` returned.
        dataset: collection of the map.
        has: keys of its columns.
        plain: key of the default colour column.
    """
    if view.get("in") != dataset:
        return {"colour": plain}
    colour = view["colour"]
    ids = view["ids"].split(",")[:MAX_CHOSEN]
    return {
        "colour": None if colour == "none" else colour if colour in has else plain,
        "view": view["view"],
        "find": view["find"],
        "pattern": view["pattern"] == "1",
        "filters": view["filter"],
        "names": view["names"] != "none",
        "size": view["size"] if view["size"] in ("small", "large") else "usual",
        "said": view["said"],
        "chosen": [int(n[:9]) for n in ids if n.isascii() and n.isdigit()],
    }
