"""The map of a collection as an answer: its points, and how far to trust it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from theodolite.app.blocks import Block, Finding
from theodolite.app.pages.map import service
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.pages.map.service import StoredMap
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spaced import evenly_spaced
from theodolite.app.web.figures import percent

if TYPE_CHECKING:
    import pandas as pd

    from theodolite.app.workspace import Workspace

MAX_POINTS = 20_000
"""Points of a map in a notebook; the page draws millions."""
MAX_WITH_NEIGHBOURS = 5_000
"""Points of a map that has the true neighbours of each in its document."""


@dataclass(frozen=True, eq=False, repr=False)
class Map(Answer, StoredMap):
    """A collection on the plane."""

    def column_names(self) -> list[str]:
        """Names of the columns, of which each map has its own."""
        return ["id", "sentence", "x", "y", *(column.key for column in self.columns)]

    def to_pandas(self) -> pd.DataFrame:
        """A row per sentence: its number, text, position and attributes."""
        import numpy as np

        return service.table(self, np.arange(len(self.points)))

    def rows(self) -> list[dict[str, Any]]:
        """A row per sentence, as in `to_pandas`."""
        return [
            {name: _plain(value) for name, value in zip(row._fields, row, strict=True)}
            for row in self.to_pandas().itertuples(index=False)
        ]

    def within(self, rows: int) -> Map:
        """The map with at most so many of its points, evenly spaced."""
        if len(self.points) <= rows:
            return self
        kept = list(evenly_spaced(len(self.points), rows))
        return replace(
            self,
            points=self.points[kept],
            sentences=[self.sentences[i] for i in kept],
            values={key: values[kept] for key, values in self.values.items()},
            nearest=None,
        )

    def blocks(self) -> list[Block]:
        """How far to trust it, and its points with all that is said of them."""
        of = f"{self.info['dataset']} as {self.info['encoder']} has them"
        finding = Finding(f"{len(self.points):,} sentences of {of}", " ".join(trust(self.info)))
        return [finding, service.component(self.within(MAX_POINTS))]


def _plain(value: Any) -> Any:
    """A float32 with as few digits as identify it, None for NaN; text stays as it is."""
    if isinstance(value, str):
        return value
    return None if value != value else json.loads(str(value))


def trust(info: Mapping[str, Any]) -> list[str]:
    """How far to trust a map, in sentences; none of a map that was not measured."""
    facts = [same] if (same := service.equal_vectors(info)) else []
    if info["explained"] is not None:
        facts.append(
            f"The map preserves {percent(info['explained'])} of the variance of {info['dim']} "
            "dimensions."
        )
    measured = info["trust"]
    if measured:
        sample = measured["looked_at"]
        of = "" if sample == info["n"] else f", over {sample:,} sentences"
        facts.append(
            f"On average {percent(measured['recall'])} of a sentence's {measured['k']} true "
            f"neighbours are also neighbours on this map{of}; trustworthiness "
            f"{measured['trustworthiness']:.3f} (1: none are false), continuity "
            f"{measured['continuity']:.3f} (1: none are lost)."
        )
    elif info["n"] < 3:
        facts.append("There are too few sentences to measure how far the map can be trusted.")
    return facts


def answer(workspace: Workspace, spec: MapSpec, do: Do) -> Iterator[Map]:
    """Read the map, or have it computed; a small one has the true neighbours of each point."""
    made = spec.stored(workspace)
    if made is None:
        do(spec)
        made = spec.make(workspace)
    few = len(made.points) <= MAX_WITH_NEIGHBOURS
    if few and service.drawn_at_once(workspace, spec.encoder, spec.data):
        made = replace(made, nearest=service.nearest(workspace, made))
    yield Map(**vars(made))


MAP = Question("map", MapSpec, answer, Map, ("map minilm starter-topics",), queues=True)
