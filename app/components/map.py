"""A map of points with sentences behind them: WebGL, millions of points, rendered in the browser.

Hover, zoom, pan, lasso, filter and recolour never leave the browser; it fetches coordinates and
columns once, as binary, and texts on demand. The component knows nothing of encoders or
projections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from theodolite.app.components.modules import mount
from theodolite.app.web import address as query
from theodolite.app.web.theme import SERIES

if TYPE_CHECKING:
    import gradio as gr
    import numpy as np

STATE = ("view", "colour", "find", "pattern", "size", "names", "draw", "ids", "said")
"""Names of a map's state in an address, which `js/map/address.js` writes."""
PROPS = {"palette": list(SERIES)}
"""What the script is given besides its value."""
MAX_CHOSEN, MAX_FILTERS, MAX_LABELS = 1000, 300, 65_534


@dataclass(frozen=True)
class MapColumn:
    """An attribute of every point, to colour and filter by.

    Attributes:
        key: name of its binary at `URL/column/KEY`: uint16 label numbers, or float32 with NaN for
            missing values.
        name: display name.
        kind: `label` or `number`.
        labels: the labels, indexed by number; for labels only.
        low, high: range of the numbers.
    """

    key: str
    name: str
    kind: Literal["label", "number"]
    labels: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class Region:
    """A name on the map: its position, level (0: visible from afar) and number of points."""

    x: float
    y: float
    text: str
    level: int
    size: int


@dataclass
class Facts:
    """Columns and regions being collected."""

    columns: list[MapColumn] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)

    def label(self, key: str, name: str, labels: Sequence[str], numbers: np.ndarray) -> None:
        """Add a column of labels; those beyond the 65,534th are merged into `other`."""
        import numpy as np

        kept = list(labels)
        if len(kept) > MAX_LABELS:
            kept = [*kept[:MAX_LABELS], "other"]
            numbers = np.minimum(numbers, MAX_LABELS)
        self.columns.append(MapColumn(key, name, "label", tuple(kept)))
        self.arrays[key] = np.asarray(numbers, np.uint16)

    def number(self, key: str, name: str, values: np.ndarray) -> None:
        """Add a column of numbers, NaN for missing values; skipped when all are missing."""
        import numpy as np

        known = values[np.isfinite(values)]
        if not len(known):
            return
        low, high = float(known.min()), float(known.max())
        self.columns.append(MapColumn(key, name, "number", (), low, high))
        self.arrays[key] = np.asarray(values, np.float32)


def point_map(value: dict[str, Any] | None = None, **kwargs: Any) -> gr.HTML:
    """Make the component. Events: `select` (`ids`, `count`), `click` (`id`), `view` (`view`).

    Args:
        value: a value of `points`, or None for an empty map.
        **kwargs: arguments of `gr.HTML`.
    """
    import gradio as gr

    return gr.HTML(
        value,
        html_template="",
        js_on_load=mount("map/map.js"),
        apply_default_css=False,
        **PROPS,
        **kwargs,
    )


def points(
    url: str,
    label: str,
    *,
    name: str = "map",
    columns: Sequence[MapColumn] = (),
    regions: Sequence[Region] = (),
    colour: str | None = None,
    plain: str | None = None,
    view: str = "",
    whole: str = "",
    find: str = "",
    pattern: bool = False,
    filters: Sequence[str] = (),
    size: str = "usual",
    names: bool = True,
    chosen: Sequence[int] = (),
    canvas: bool = False,
    collection: str = "",
    neighbours: bool = False,
    placing: bool = False,
    decoding: bool = False,
    training: str = "",
    said: str = "",
    search: str = "",
    linked: str = "",
    towards: str = "",
    ends: tuple[str, str] = ("", ""),
    making: str = "",
    address: bool = False,
) -> dict[str, Any]:
    """Make the value of a map.

    Args:
        url: base address of `points` (float32 x, y in turn), `column/KEY`, `texts?ids=`,
            `find?text=`, `point?id=`, `decode?x=&y=`, `place` and `table.csv`; see
            `app.pages.map.routes`.
        label: a sentence that describes the map, for screen readers.
        name: name of saved files, without ending.
        columns: columns to colour and filter by.
        regions: names to write on the map.
        colour: key of the initial colour column.
        plain: key of the default colour column, which the address leaves out.
        view: initial `x,y,span`, as in an address.
        whole: `x,y,span` of the full view; empty: fit all points.
        find: initial search words, whose matches are highlighted.
        pattern: whether these are a regular expression.
        filters: initial filters, `column:label` or `column:lowest~highest`.
        size: size of points: `small`, `usual` or `large`.
        names: whether to write the regions' names.
        chosen: numbers of the points selected initially.
        canvas: draw without WebGL, as browsers that lack it do.
        collection: key of the sentences: a next value with the same key keeps the selection, and
            its points glide to their new positions.
        neighbours: whether a click requests the true neighbours of a point.
        placing: whether a sentence can be placed.
        decoding: whether a position can be decoded.
        training: address where a decoder can be trained; empty for none.
        said: `x,y` of the position decoded initially; empty for none.
        search: address that searches for a sentence when `&q=` is added; empty for none.
        linked: group key; maps of a page with the same key hover, select and zoom together.
        towards: `url` of a map of the same points, to which a slider moves these; empty for none.
        ends: names of the two ends of that slider.
        making: `url` of a map of the same points that is being laid out: the points follow
            `making/unfinished`; empty for none.
        address: whether the state is written to the page's address, see `js/map/address.js`.
    """
    by_size = sorted(regions, key=lambda region: -region.size)
    return {
        "url": url,
        "label": label,
        "name": name,
        "colour": colour,
        "plain": plain,
        "view": view,
        "whole": whole,
        "pattern": pattern,
        "filters": list(filters),
        "size": size,
        "names": names,
        "canvas": canvas,
        "find": find,
        "chosen": list(chosen),
        "collection": collection,
        "neighbours": neighbours,
        "placing": placing,
        "decoding": decoding,
        "training": training,
        "said": said,
        "search": search,
        "linked": linked,
        "address": address,
        "towards": towards,
        "ends": list(ends),
        "making": making,
        "columns": [asdict(column) for column in columns],
        "regions": [asdict(region) for region in by_size],
    }


def state(request: gr.Request, collection: str) -> dict[str, Any]:
    """Read the state of a map of this collection from the address: of the first map of a page."""
    found: dict[str, Any] = {name: query.first(request, name) for name in STATE}
    return {**found, "filter": query.every(request, "filter")[:MAX_FILTERS], "in": collection}


def opened(
    view: Mapping[str, Any], dataset: str, has: Sequence[str], plain: str | None
) -> dict[str, Any]:
    """The state as arguments of `points`; ignored for another collection.

    Args:
        view: what `state` returned.
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
