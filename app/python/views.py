"""Results in a notebook: the tables and charts of the pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.publish.standalone import Piece, chart, point_map
from theodolite.app.spaced import evenly_spaced
from theodolite.app.web import parts
from theodolite.app.web.figures import percent

if TYPE_CHECKING:
    from theodolite.app.pages.map.service import StoredMap
    from theodolite.engine.training.events import Event

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


def training(happened: Sequence[Event]) -> Parts:
    """The outcome of a training, and its curves."""
    from theodolite.app.pages.trainings.figures import Curve, curves_drawing
    from theodolite.engine.training.events import Evaluated, Finished, Stepped, against_base

    last = happened[-1]
    heading, kept = "", None
    if isinstance(last, Finished):
        kept = last.best_step
        best = "" if last.best_score is None else f", best dev score {last.best_score:.2f}"
        base = against_base(last.best_score, last.base_score)
        best += f", {base}" if base else ""
        heading = parts.heading(
            f"Trained in {formats.duration(last.seconds)}{best}", f"It is loaded as {last.encoder}"
        )
    shown: list[str | Piece] = [heading]
    for kind, value, what in ((Evaluated, "score", "dev score"), (Stepped, "loss", "loss")):
        events: list[Any] = [event for event in happened if isinstance(event, kind)]
        steps, values = [one.step for one in events], [getattr(one, value) for one in events]
        if events:
            line = Curve(what, steps, values, kept=kept)
            shown.append(chart(curves_drawing([line], what, what.replace(" ", "-"))))
    return shown
