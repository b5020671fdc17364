"""The making of the maps that ship."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.examples import shipped
from app.pages.map import service
from app.pages.map.job import MapJob
from app.pages.spaces.service import SpacesJob
from store.hashing import hash_of, to_json

if TYPE_CHECKING:
    import numpy as np

    from app.pages.map.service import StoredMap
    from app.workspace import Workspace

ENCODERS, COLLECTION = ("minilm", "wordllama"), "starter-topics"


def write(
    workspace: Workspace, name: str, made: Sequence[tuple[Mapping[str, Any], StoredMap]]
) -> None:
    """Ship maps, each with the question that it answers and the nearest of each point."""
    keys: dict[str, str] = {}
    facts: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for question, found in made:
        keys[hash_of(to_json(question))] = found.key
        columns = [vars(column) for column in found.columns]
        regions = [vars(region) for region in found.regions]
        facts[found.key] = found.info | {"columns": columns, "regions": regions}
        own = {"points": found.points, **found.values, **nearest(workspace, found)}
        arrays |= {f"{found.key}/{key}": array for key, array in own.items()}
    shipped.write(name, {"keys": keys, "maps": facts}, arrays)


def nearest(workspace: Workspace, found: StoredMap) -> dict[str, np.ndarray]:
    """Which are nearest to each point in the full space: opened, they need no vectors then."""
    import numpy as np

    from engine.search.index import neighbours_of_each

    rows = service.unit_vectors(workspace, found)
    cosines, ids = neighbours_of_each(rows, service.NEIGHBOURS)
    return {"nearest": ids.astype(np.uint16), "nearest_cosine": cosines.astype(np.float32)}


def make_map(workspace: Workspace) -> None:
    """The starter set's UMAP."""
    job = MapJob.of(ENCODERS[0], COLLECTION)
    write(workspace, "map", [(job.question(workspace), job.make(workspace))])


def make_spaces(workspace: Workspace) -> None:
    """The starter set under two encoders."""
    job = SpacesJob.of(*ENCODERS, COLLECTION)
    pair = job.make(workspace)
    sides = (pair.first, pair.second)
    write(workspace, "spaces", list(zip(job.questions(workspace), sides, strict=True)))
