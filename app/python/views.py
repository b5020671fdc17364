"""Results in a notebook: the tables and charts of the pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from theodolite.app.publish.standalone import Piece, point_map
from theodolite.app.spaced import evenly_spaced
from theodolite.app.web import parts
from theodolite.app.web.figures import percent

if TYPE_CHECKING:
    from theodolite.app.pages.map.service import StoredMap

Parts = Sequence[str | Piece]
MAX_POINTS = 20_000
"""Points of a map in a notebook; the page draws millions."""


def plane(answer: StoredMap) -> Parts:
    """The map's neighbour recall, and its points."""
    from theodolite.app.pages.map import views as map_views

    info, caption = answer.info, ""
    if info["trust"]:
        caption = (
            f"{percent(info['trust']['recall'])} of a sentence's {info['trust']['k']} nearest are "
            "its nearest here too."
        )
    title = f"{len(answer.points):,} sentences of {info['dataset']} as {info['encoder']} has them"
    return [parts.heading(title, caption), point_map(map_views.contained(answer))]


def thinned(found: StoredMap, most: int) -> StoredMap:
    """The map with at most `most` of its points, evenly spaced."""
    if len(found.points) <= most:
        return found
    kept = list(evenly_spaced(len(found.points), most))
    return replace(
        found,
        points=found.points[kept],
        sentences=[found.sentences[i] for i in kept],
        values={key: values[kept] for key, values in found.values.items()},
        nearest=None,
    )
