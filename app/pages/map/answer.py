"""The map of a collection as an answer: its points, and how far to trust it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from theodolite.app.blocks import Block, Finding
from theodolite.app.components.map import NEIGHBOURS, StoredMap, point_map, url
from theodolite.app.formats import percent, plural
from theodolite.app.pages.map import service
from theodolite.app.pages.map.job import MapSpec, Unmade, is_running, preview
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spaced import evenly_spaced
from theodolite.app.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd

MAX_POINTS = 20_000
"""Points of a map in a document; the page draws millions."""
MAX_WITH_NEIGHBOURS = 5_000
"""Points of a map that has the true neighbours of each in its document."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Map(Answer, StoredMap):
    """A collection on the plane.

    Attributes:
        workspace: where it is stored.
        spec: what was asked; until that is computed, these are the principal components.
        k: true neighbours of each point where nobody serves them.
    """

    workspace: Workspace
    spec: MapSpec
    k: int

    @property
    def lack(self) -> str:
        """The map itself, while it is not the one that was asked for."""
        done = self.info["method"] == self.spec.method or is_running(self.workspace, self.spec)
        return "" if done else "Compute map"

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
        n, most = len(self.points), min(rows, MAX_POINTS)
        if n > most:
            indices = list(evenly_spaced(n, most))
            return replace(
                self,
                points=self.points[indices],
                sentences=[self.sentences[i] for i in indices],
                values={key: values[indices] for key, values in self.values.items()},
                nearest=None,
                k=0,
            )
        names = self.info["encoder"], self.info["dataset"]
        near = n <= MAX_WITH_NEIGHBOURS and service.drawn_at_once(self.workspace, *names)
        return self if near or self.nearest is not None else replace(self, k=0)

    def blocks(self) -> list[Block]:
        """Its points with all that is said of them, and how far to trust it."""
        facts = trust(self.info)
        more: dict[str, Any] = {"keeps": not self.workspace.read_only}
        if self.info["method"] != self.spec.method:
            facts.insert(
                0,
                "These are the first two principal components, drawn immediately. The map itself, "
                "with clusters, names and trust, has not been computed yet.",
            )
            if is_running(self.workspace, self.spec):
                more["making"] = url(self.spec.key(self.workspace))
        text = f"{plural(len(self.points), 'sentence')} of {self.info['dataset']} as "
        text += f"{self.info['encoder']} has them"
        return [
            point_map(self, self.k, partial(service.nearest, self.workspace, self), **more),
            Finding(text, " ".join(facts), self.nearest is not None),
        ]


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
    if measured := info["trust"]:
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


def answer(workspace: Workspace, spec: MapSpec, do: Do) -> Iterator[Any]:
    """Read the map, or have it computed; until then, the principal components or what to do."""
    result = spec.stored(workspace)
    if result is None and do(spec):
        result = spec.make(workspace)
    if result is None:
        result = yield from preview(workspace, spec, [spec.encoder], "Compute map")
    if isinstance(result, Unmade):
        yield result
    else:
        k = min(NEIGHBOURS, len(result.points) - 1)
        yield Map(**vars(result), workspace=workspace, spec=spec, k=k)


MAP = Question("map", MapSpec, answer, Map, ("map minilm starter-topics",), queues=True)
