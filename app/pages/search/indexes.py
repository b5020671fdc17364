"""Search indexes of large collections: built in the background, stored, opened memory-mapped."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.app.finite import finite
from theodolite.engine.progress import Progress
from theodolite.store.hashing import hash_of

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.workspace import Workspace
    from theodolite.engine.encoders.base import Encoder
    from theodolite.engine.search.ann_index import Built, MappedIndex


KIND = "index"
FORMAT = 1
"""Increased whenever the index of the same vectors would change."""


def is_large(n: int) -> bool:
    """Whether a collection of n sentences is worth an index."""
    from theodolite.engine.search.ann_index import EXACT_BELOW

    return n > EXACT_BELOW


def key(fingerprint: str, data_hash: str) -> str:
    """The store key of a collection's index."""
    return hash_of(KIND, str(FORMAT), fingerprint, data_hash)


def open_index(
    workspace: Workspace, encoder: Encoder, sentences: Sequence[str], data_hash: str
) -> MappedIndex | None:
    """Open the index; None if it was not built. Queries read vectors from the vector cache."""
    from theodolite.engine.search.ann_index import MappedIndex

    row = workspace.store.derived.get(key(encoder.fingerprint, data_hash))
    if row is None:
        return None
    return MappedIndex(row["files"]["lists"], _rows(encoder, sentences), row["info"]["probed"])


def _rows(encoder: Encoder, sentences: Sequence[str]) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from positions to unit vectors, which reads the vector cache."""
    from theodolite.engine.search.index import unit_rows

    return lambda positions: unit_rows(encoder.encode([sentences[i] for i in positions.tolist()]))


def facts(workspace: Workspace, fingerprint: str, data_hash: str) -> Built | None:
    """The recall of an index against exact search, and its times; None if it was not built."""
    from theodolite.engine.search.ann_index import Built

    row = workspace.store.derived.get(key(fingerprint, data_hash))
    if row is None:
        return None
    return Built(**{name: row["info"][name] for name in Built.__dataclass_fields__})


def make(
    workspace: Workspace, encoder: str, dataset: str, progress: Progress | None = None
) -> None:
    """Build and store the index of a collection, unless it exists."""
    from theodolite.engine.search import ann_index

    bound = workspace.bound(encoder, dataset)
    sentences, data_hash = workspace.catalog.sentences(dataset)
    place = key(bound.fingerprint, data_hash)
    if workspace.store.derived.get(place) is not None:
        return
    rows = _Encoded(bound, sentences)
    with _room(workspace) as folder:
        lists = Path(folder) / "lists.faiss"
        built = ann_index.build(rows, lists, _rows(bound, sentences), progress)
        info = asdict(built) | {"encoder": encoder, "dataset": dataset}
        workspace.store.derived.put(place, KIND, info, files={"lists": lists})


class _Encoded:
    """The vectors of a collection as an array, read from the cache or an encoded corpus."""

    def __init__(self, encoder: Encoder, sentences: Sequence[str]) -> None:
        self._encoder, self._sentences = encoder, sentences
        self.shape = (len(sentences), encoder.dim)

    def __len__(self) -> int:
        return len(self._sentences)

    def __getitem__(self, rows: Any) -> np.ndarray:
        chosen = (
            self._sentences[rows]
            if isinstance(rows, slice)
            else [self._sentences[i] for i in rows.tolist()]
        )
        return finite(self._encoder.encode(chosen), chosen)


def _room(workspace: Workspace) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder beside the store: the system's may be in memory."""
    return tempfile.TemporaryDirectory(dir=workspace.store.folder, prefix="index-")
