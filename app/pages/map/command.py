"""`theodolite project`: a collection in two dimensions, with a row for each of its sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from theodolite.app.pages.map import service
from theodolite.app.pages.map.answer import Map, trust
from theodolite.app.pages.map.job import MapSpec, Unmade
from theodolite.app.pages.search.service import attributes
from theodolite.app.question import Do, Question
from theodolite.app.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd

MAX_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Projection(Map):
    """The points of every sentence of a collection, in its order and as often as it occurs."""

    in_terminal: ClassVar = ("region", "sentences")
    formats: ClassVar[Mapping[str, Callable[[Projection, Path], None]]] = {
        ".npy": lambda self, out: self.to_npy(out),
        ".parquet": lambda self, out: self.to_pandas().to_parquet(out, index=False),
    }

    @cached_property
    def ids(self) -> np.ndarray:
        """The point of each sentence, int64 (n,)."""
        place = {sentence: number for number, sentence in enumerate(self.sentences)}
        every = self.workspace.catalog.load(self.spec.data).sentences
        return np.array([place[sentence] for sentence in every], np.int64)

    def to_pandas(self) -> pd.DataFrame:
        """A row per sentence; one that occurs twice may have two labels."""
        data = self.workspace.catalog.load(self.spec.data)
        table = service.table(
            self, self.ids, {key: values for key, (_, values) in attributes(data).items()}
        )
        return table.assign(id=range(len(table)))

    def to_npy(self, out: Path) -> None:
        """Write the points alone, float32 (n, 2)."""
        with out.open("wb") as file:
            np.save(file, self.points[self.ids], allow_pickle=False)

    def lines(self) -> list[dict[str, Any]]:
        """The facts about the map, then the points."""
        info = {name: value for name, value in self.info.items() if name != "fingerprint"}
        points = self.points[self.ids].tolist()
        texts = [self.sentences[point] for point in self.ids]
        return [
            {"key": self.key, **info},
            *(
                {"id": number, "x": x, "y": y, "sentence": text}
                for number, ((x, y), text) in enumerate(zip(points, texts, strict=True))
            ),
        ]

    def table_rows(self) -> list[dict[str, Any]]:
        """The regions that are seen from afar."""
        regions = [region for region in self.regions if region.level == 0][:MAX_SHOWN]
        return [{"region": region.text, "sentences": region.size} for region in regions]

    def notes(self) -> list[str]:
        """How many points there are, and how far to trust them."""
        points = f"{len(self.ids):,} sentences, {len(self.points):,} of them different."
        return [points, *trust(self.info)]


def answer(workspace: Workspace, spec: MapSpec, do: Do) -> Iterator[Any]:
    """Read the map, or have it computed; there is no preview of it in a terminal."""
    result = spec.stored(workspace)
    if result is None and do(spec):
        result = spec.make(workspace)
    if result is None:
        yield Unmade(spec.title, 0, "", "")
    else:
        yield Projection(**vars(result), workspace=workspace, spec=spec, k=0)


PROJECT = Question(
    "project",
    MapSpec,
    answer,
    Projection,
    (
        "project minilm starter-topics --out map.csv",
        "project wordllama STSBenchmark --method pca --data senteval --json",
    ),
    queues=True,
)
