"""Encoded corpora as collections to search; their vectors are read in place.

The store keeps the paths of their folders. A sentence already encoded in a corpus is read from it.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from theodolite.app.recent import Recent
from theodolite.engine.corpus.reading import EncodedCorpus
from theodolite.engine.encoders.base import VectorCache
from theodolite.engine.errors import UserError
from theodolite.engine.stamps import stamp
from theodolite.store import Store

PREFIX = "corpus:"
_KEPT = "corpora"
_opened: Recent[object, EncodedCorpus | None] = Recent(8)


def folders(store: Store) -> Mapping[str, Path]:
    """Folders of the corpora, by name."""
    return {name: Path(folder) for name, folder in store.settings.get(_KEPT, {}).items()}


def add(store: Store, folder: Path) -> str:
    """Register a corpus; return the name of its data set."""
    known: dict[str, str] = store.settings.get(_KEPT, {})
    place = str(folder)
    for name, there in known.items():
        if there == place:
            return PREFIX + name
    number, name = 1, folder.name
    while name in known:
        number += 1
        name = f"{folder.name}-{number}"
    store.settings.set(_KEPT, {**known, name: place})
    return PREFIX + name


def remove(store: Store, name: str) -> None:
    """Unregister a corpus, `corpus:NAME`; its folder stays."""
    known: dict[str, str] = store.settings.get(_KEPT, {})
    if known.pop(name.removeprefix(PREFIX), None) is None:
        raise UserError(
            f"There is no corpus {name!r}.", "`theodolite data list` shows them.", code="unknown"
        )
    store.settings.set(_KEPT, known)


class WithCorpora:
    """A `VectorCache` that also reads the vectors of encoded corpora, and never writes to them.

    Args:
        cache: read first, and written to.
        store: holds the folders of the corpora.
    """

    def __init__(self, cache: VectorCache, store: Store) -> None:
        self._cache, self._store = cache, store

    def get(
        self, fingerprint: str, keys: Sequence[bytes], dim: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `VectorCache.get`."""
        rows, known = self._cache.get(fingerprint, keys, dim)
        corpora = [] if rows.all() else self._of(fingerprint)
        if not corpora:
            return rows, known
        vectors = np.empty((len(keys), dim), np.float32)
        vectors[rows] = known
        for corpus in corpora:
            rest = np.flatnonzero(~rows)
            at = corpus.find([keys[i] for i in rest.tolist()])
            there = rest[at >= 0]
            vectors[there], rows[there] = corpus.vectors(at[at >= 0]), True
        return rows, vectors[rows]

    def put(self, fingerprint: str, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """See `VectorCache.put`."""
        self._cache.put(fingerprint, keys, vectors)

    def _of(self, fingerprint: str) -> list[EncodedCorpus]:
        """The corpora with the exact float32 vectors of an encoder."""
        from theodolite.engine.corpus.files import MANIFEST

        every = [
            _opened.get(stamp(folder / MANIFEST), partial(_open, folder))
            for folder in folders(self._store).values()
        ]
        return [
            one
            for one in every
            if one is not None and one.fingerprint == fingerprint and one.dtype == "float32"
        ]


def _open(folder: Path) -> EncodedCorpus | None:
    """Open a corpus; None for a missing or damaged one, whose vectors are computed again."""
    try:
        return EncodedCorpus(folder)
    except UserError:
        return None
