"""Search indexes of large collections: made by a background run, kept by content, opened mapped."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.jobs.kinds import versioned
from store.database import hash_of

if TYPE_CHECKING:
    import numpy as np

    from app.workspace import Workspace
    from engine.index_ladder import Built, MappedIndex
    from engine.neighbours import Index

Progress = Callable[[int, int], None]

KIND = "index"
FORMAT = 1
"""Raised when an index of the same vectors would come out otherwise."""


def is_large(n: int) -> bool:
    """Whether a collection of so many sentences is searched by lists."""
    from engine.index_ladder import EXACT_BELOW

    return n > EXACT_BELOW


def key(fingerprint: str, data_hash: str) -> str:
    """Under which the index of a collection is kept."""
    return hash_of(KIND, str(FORMAT), fingerprint, data_hash)


def opened(workspace: Workspace, fingerprint: str, data_hash: str) -> MappedIndex | None:
    """The index if it was made; it reads from the disk what a query needs."""
    from engine.index_ladder import MappedIndex

    row = workspace.store.derived.get(key(fingerprint, data_hash))
    if row is None:
        return None
    files = row["files"]
    return MappedIndex(files["lists"], files["rows"], row["info"]["probed"])


def facts(workspace: Workspace, fingerprint: str, data_hash: str) -> Built | None:
    """What is known of an index: its recall against comparing with all, and its times."""
    from engine.index_ladder import Built

    row = workspace.store.derived.get(key(fingerprint, data_hash))
    if row is None:
        return None
    return Built(**{name: row["info"][name] for name in Built.__dataclass_fields__})


def make(
    workspace: Workspace, encoder: str, dataset: str, progress: Progress | None = None
) -> None:
    """Make the index of a collection, unless it is there.

    Raises:
        UserError: an encoder or data set that cannot be used, or vectors that hold no numbers.
    """
    from app.space import maps
    from engine import index_ladder

    bound = maps.bound(workspace, maps.Wanted(encoder, dataset))
    _, data_hash = workspace.catalog.sentences(dataset)
    place = key(bound.fingerprint, data_hash)
    if workspace.store.derived.get(place) is not None:
        return
    vectors = maps.vectors(workspace, encoder, dataset)
    with _room(workspace) as folder:
        files = {"lists": Path(folder) / "lists.faiss", "rows": Path(folder) / "rows.npy"}
        built = index_ladder.build(vectors, files["lists"], files["rows"], progress)
        info = asdict(built) | {"encoder": encoder, "dataset": dataset}
        workspace.store.derived.put(place, KIND, info, files=files)


def _room(workspace: Workspace) -> tempfile.TemporaryDirectory[str]:
    """Beside the store: the system's own place for such files may be memory."""
    return tempfile.TemporaryDirectory(dir=workspace.store.folder, prefix="index-")


def passing(vectors: np.ndarray) -> Index | MappedIndex:
    """An index for one use: exact, or with lists where there are many vectors."""
    from engine import index_ladder, neighbours

    if not is_large(len(vectors)):
        return neighbours.Index(vectors)
    with tempfile.TemporaryDirectory() as folder:
        lists, rows = Path(folder) / "lists.faiss", Path(folder) / "rows.npy"
        built = index_ladder.build(vectors, lists, rows)
        # The mapping keeps the rows alive after the name of their file is gone.
        return index_ladder.MappedIndex(lists, rows, built.probed)


def spec(encoder: str, dataset: str) -> dict[str, Any]:
    """What a run is asked."""
    return versioned(KIND, {"encoder": encoder, "dataset": dataset})


def queue(workspace: Workspace, encoder: str, dataset: str) -> str:
    """Queue encoding and indexing of a collection and return the run's id.

    Raises:
        UserError: for visitors.
    """
    workspace.refuse_visitors()
    title = f"Index {dataset} with {encoder}"
    return workspace.jobs.enqueue(KIND, spec(encoder, dataset), title=title, priority=-1)


def units(asked: Mapping[str, Any]) -> list[str]:
    """The parts of a run, as its progress names them."""
    return [
        f"Encoding {asked['dataset']} with {asked['encoder']}",
        f"Index of {asked['dataset']}, and its recall",
    ]


def work(workspace: Workspace, asked: Mapping[str, Any], position: int, progress: Progress) -> None:
    """Do one of `units`; each leaves the same however often it is begun."""
    from app.space import maps

    if position == 0:
        maps.vectors(workspace, asked["encoder"], asked["dataset"], progress)
    else:
        make(workspace, asked["encoder"], asked["dataset"], progress)
