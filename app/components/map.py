"""A map of points with sentences behind them: WebGL, millions of points, rendered in the browser.

Hover, zoom, pan, lasso, filter and recolour never leave the browser; it fetches coordinates and
columns once, as binary, and texts when they are looked at. Knows nothing of encoders or
projections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from app.components.map_columns import MapColumn, Region
from app.components.modules import mount
from app.web.theme import SERIES

if TYPE_CHECKING:
    import gradio as gr

__all__ = ["MapColumn", "Region", "point_map", "points"]


def point_map(value: dict[str, Any] | None = None, **kwargs: Any) -> gr.HTML:
    """Make the component. Events: `select` (`ids`, `count`), `click` (`id`), `view` (`view`).

    Args:
        value: what `points` returns, or None for nothing.
        **kwargs: as `gr.HTML` takes them.
    """
    import gradio as gr

    return gr.HTML(
        value, html_template="", js_on_load=mount("map/map.js"), apply_default_css=False,
        palette=list(SERIES), **kwargs,
    )  # fmt: skip


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
        url: where `points` (float32 x, y in turn), `column/KEY`, `texts?ids=`, `find?text=`,
            `point?id=`, `decode?x=&y=`, `place` and `table.csv` are; see `app.pages.map.routes`.
        label: what is seen, in a sentence, for those who cannot see it.
        name: of saved files, without ending.
        columns: to colour and filter by.
        regions: names to write on it.
        colour: key of the column it opens with.
        plain: key of the column that the address need not name.
        view: `x,y,span` of an address.
        whole: the same for what is seen when all is seen; empty: all points.
        find: words to light up from the start.
        pattern: whether these are a regular expression.
        filters: `column:label` or `column:lowest~highest` that hold from the start.
        size: of points: `small`, `usual` or `large`.
        names: whether the regions' names are written.
        chosen: numbers of the points that are selected from the start.
        canvas: draw without WebGL, as where there is none.
        collection: names the sentences: the next value with the same one keeps the selection, and
            its points glide to their new places.
        neighbours: whether a click asks for the true neighbours of a point.
        placing: whether a sentence can be placed.
        decoding: whether a place can be decoded.
        training: address where a decoder can be trained; empty for none.
        said: `x,y` of the place that is decoded from the start; empty for none.
        search: address that searches for a sentence when `&q=` is added; empty for none.
        linked: maps of one page with the same text here hover, select and zoom together.
        towards: `url` of a map of the same points: a slider moves these there; empty for none.
        ends: names of the two ends of that slider.
        making: `url` of a map of the same points that is being laid out: these go along, as far as
            `making/unfinished` knows; empty for none.
        address: whether what is seen is written to the page's address, see `js/map/address.js`.
    """
    by_size = sorted(regions, key=lambda region: -region.size)
    return {
        "url": url, "label": label, "name": name, "colour": colour, "plain": plain, "view": view,
        "whole": whole, "pattern": pattern, "filters": list(filters), "size": size, "names": names,
        "canvas": canvas, "find": find, "chosen": list(chosen), "collection": collection,
        "neighbours": neighbours,
        "placing": placing, "decoding": decoding, "training": training, "said": said,
        "search": search, "linked": linked, "address": address,
        "towards": towards, "ends": list(ends), "making": making,
        "columns": [asdict(column) for column in columns],
        "regions": [asdict(region) for region in by_size],
    }  # fmt: skip
