"""Collections opened for search: exact over the vectors encoded so far, or with an index."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from theodolite.app import vectors
from theodolite.app.pages.search import indexes
from theodolite.engine.progress import Progress

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.workspace import Workspace
    from theodolite.engine.encoders.base import Encoder
    from theodolite.engine.search.ann_index import MappedIndex

IN_MEMORY = 2 * 2**30
"""Bytes of vectors kept for exact search; the least recently used collection goes first."""

MAX_MAPPED = 6
"""Most indexes kept open."""

Key = tuple[Path, str, str]
"""Store, fingerprint, hash of the collection."""
T = TypeVar("T")

_exact: OrderedDict[Key, Exact] = OrderedDict()
_mapped: OrderedDict[Key, MappedIndex] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class Searchable:
    """A collection with its index.

    Attributes:
        index: finds positions of sentences.
        sentences: the sentences by position.
        encoder: encodes queries.
        lacking: number of sentences that cannot be found yet, for lack of vectors or an index.
    """

    index: Exact | MappedIndex
    sentences: list[str]
    encoder: Encoder
    lacking: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether queries are compared with every vector."""
        return isinstance(self.index, Exact)

    @property
    def needs_index(self) -> bool:
        """Whether the collection is too large to be searched without an index."""
        return isinstance(self.index, Exact) and self.index.bytes > IN_MEMORY


class Exact:
    """Exact search over the vectors of a collection in memory, which may be added in parts."""

    def __init__(self, encoder: Encoder, sentences: Sequence[str]) -> None:
        import numpy as np

        from theodolite.engine.search.index import Index

        self.encoder = encoder
        self._sentences = sentences
        self._there = np.zeros(len(sentences), bool)
        self._index = Index(np.empty((0, encoder.dim), np.float32))
        self._lock = threading.Lock()
        self._refreshed = False

    @property
    def size(self) -> int:
        """Number of sentences whose vectors are loaded."""
        return int(self._there.sum())

    @property
    def lacking(self) -> int:
        """Number of sentences without a loaded vector."""
        return len(self._there) - self.size

    @property
    def bytes(self) -> int:
        """Memory that all vectors of the collection take."""
        return 4 * len(self._there) * self.encoder.dim

    def search(
        self, queries: np.ndarray, k: int, among: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Search the loaded vectors; see `engine.search.index.Index.search`."""
        if self._there.all():
            return self._index.search(queries, k, among)
        with self._lock:
            return self._index.search(queries, k, among)

    def refresh(self) -> None:
        """Load the vectors that the cache has.

        A run encodes in the order of the sentences. So only the first refresh visits all of them;
        later ones stop where the run is.
        """
        for block in self._blocks():
            found, rows = vectors.known(self.encoder, [self._sentences[i] for i in block.tolist()])
            self._take(block[found], rows)
            if self._refreshed and not found.all():
                break
        self._refreshed = True

    def complete(self, progress: Progress | None = None) -> None:
        """Encode the lacking sentences."""
        total = len(self._there)
        for block in self._blocks():
            moved = None if progress is None else partial(_report, progress, self.size, total)
            rows = self.encoder.encode([self._sentences[i] for i in block.tolist()], moved)
            self._take(block, rows)

    def _blocks(self) -> Iterator[np.ndarray]:
        import numpy as np

        lacking = np.flatnonzero(~self._there)
        return (
            lacking[start : start + vectors.BLOCK]
            for start in range(0, len(lacking), vectors.BLOCK)
        )

    def _take(self, positions: np.ndarray, rows: np.ndarray) -> None:
        with self._lock:  # another thread may have added some of them meanwhile
            new = ~self._there[positions]
            self._index.add(rows[new], positions[new])
            self._there[positions] = True


def _report(progress: Progress, before: int, total: int, done: int, of: int) -> None:
    progress(before + done, total)


def so_far(workspace: Workspace, spec: str, collection: str) -> Searchable:
    """Open a collection as far as it can be searched now, without encoding.

    With an encoder that has a fitted step, nothing can be found until all is encoded.
    """
    opened = _open(workspace, spec, collection)
    if not isinstance(opened.index, Exact) or opened.needs_index:
        return opened
    if vectors.is_fitted(opened.encoder):
        waiting = vectors.missing(workspace, spec, collection) if opened.index.lacking else 0
        return replace(opened, lacking=waiting)
    opened.index.refresh()
    return replace(opened, lacking=opened.index.lacking)


def open_collection(
    workspace: Workspace, spec: str, collection: str, progress: Progress | None = None
) -> Searchable:
    """Open a whole collection: with its index if it has one, else exact, encoding the rest."""
    opened = _open(workspace, spec, collection)
    if opened.needs_index and progress is not None:  # a command waits; a page queues a run instead
        indexes.make(workspace, spec, collection, progress)
        opened = _open(workspace, spec, collection)
    if isinstance(opened.index, Exact):
        opened.index.complete(progress)
    return replace(opened, lacking=0)


def _open(workspace: Workspace, spec: str, collection: str) -> Searchable:
    """Open a collection with its index, else with the vectors loaded before."""
    sentences, data_hash = workspace.catalog.sentences(collection)
    encoder = workspace.bound(spec, collection)
    key = (workspace.store.folder, encoder.fingerprint, data_hash)
    if indexes.is_large(len(sentences)):
        mapped = _mapped.get(key) or indexes.open_index(workspace, encoder, sentences, data_hash)
        if mapped is not None:
            with _lock:
                _exact.pop(key, None)
                _keep(_mapped, key, mapped, lambda kept: len(kept) > MAX_MAPPED)
            return Searchable(mapped, sentences, encoder)
    with _lock:
        exact = _exact.get(key) or Exact(encoder, sentences)
        _keep(_exact, key, exact, lambda kept: sum(e.bytes for e in kept.values()) > IN_MEMORY)
    return Searchable(exact, sentences, exact.encoder, len(sentences))


def _keep(
    kept: OrderedDict[Key, T], key: Key, made: T, too_many: Callable[[OrderedDict[Key, T]], bool]
) -> None:
    """Insert as the most recent, and evict the oldest while there are too many."""
    kept[key] = made
    kept.move_to_end(key)
    while len(kept) > 1 and too_many(kept):
        kept.popitem(last=False)
