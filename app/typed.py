"""Sentences that people type: encoded in batches with others that wait, and not stored.

The sentences of data sets are encoded once and kept on disk for ever. What is typed into a page or
comes out of a decoder is asked for once or twice: it is held in memory, as much as has room there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from app.batches import Batches
from engine.progress import Progress

if TYPE_CHECKING:
    from engine.encoders.base import Encoder, VectorCache

MEMORY_BYTES = 64 * 2**20
"""Room for the vectors of typed sentences: 40,000 of 384 numbers."""
TOGETHER = 64
"""Sentences encoded in one batch."""

_typing: ContextVar[frozenset[bytes]] = ContextVar("typing", default=frozenset())
"""Keys of the sentences that are encoded now because they were typed: the data that a step is
fitted on in passing is not among them."""
_batches = Batches(at_once=4)


class TypedApart:
    """A `VectorCache` that writes to disk what data sets hold, and holds in memory what is typed.

    Args:
        disk: of the sentences of data sets; typed ones are looked up there too.
        memory: of typed sentences.
    """

    def __init__(self, disk: VectorCache, memory: VectorCache) -> None:
        self._disk, self._memory = disk, memory

    def get(
        self, fingerprint: str, keys: Sequence[bytes], dim: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `VectorCache.get`."""
        typed = _typing.get()
        return _looked_up(self._disk, self._memory, fingerprint, keys, dim, typed.__contains__)

    def put(self, fingerprint: str, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """See `VectorCache.put`."""
        typed = np.array([key in _typing.get() for key in keys], bool)
        for cache, chosen in ((self._memory, typed), (self._disk, ~typed)):
            if chosen.any():
                cache.put(fingerprint, list(compress(keys, chosen)), vectors[chosen])


class NothingKept:
    """A `VectorCache` that reads what is on disk, and holds all else in memory.

    Args:
        disk: never written to.
        memory: of sentences of data sets and typed ones alike.
    """

    def __init__(self, disk: VectorCache, memory: VectorCache) -> None:
        self._disk, self._memory = disk, memory

    def get(
        self, fingerprint: str, keys: Sequence[bytes], dim: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `VectorCache.get`."""
        return _looked_up(self._disk, self._memory, fingerprint, keys, dim, lambda key: True)

    def put(self, fingerprint: str, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """See `VectorCache.put`."""
        self._memory.put(fingerprint, keys, vectors)


class Typed:
    """An encoder of a workspace, for typed sentences; the rest is the encoder's own."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.name, self.dim = encoder.name, encoder.dim
        self.fingerprint, self.warnings = encoder.fingerprint, encoder.warnings

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """See `Encoder.encode`."""

        def work(texts: list[str]) -> Sequence[np.ndarray]:
            from engine.threads import one_torch_thread

            # Sentences are few: a second thread would only be taken from other visitors.
            with _typed(texts), one_torch_thread():
                return list(self._encoder.encode(texts))

        rows = _batches.ask(self.fingerprint, sentences, work, TOGETHER)
        if progress:
            progress(len(rows), len(rows))
        return np.stack(rows) if rows else np.empty((0, self.dim), np.float32)


def _looked_up(
    disk: VectorCache,
    memory: VectorCache,
    fingerprint: str,
    keys: Sequence[bytes],
    dim: int,
    may_be_held: Callable[[bytes], bool],
) -> tuple[np.ndarray, np.ndarray]:
    """What the disk has, and of the rest what may be in memory and is."""
    found, known = disk.get(fingerprint, keys, dim)
    rest = [i for i in np.flatnonzero(~found).tolist() if may_be_held(keys[i])]
    if not rest:
        return found, known
    vectors = np.empty((len(keys), dim), np.float32)
    vectors[found] = known
    here, held = memory.get(fingerprint, [keys[i] for i in rest], dim)
    remembered = np.array(rest)[here]
    vectors[remembered] = held
    found[remembered] = True
    return found, vectors[found]


@contextmanager
def _typed(sentences: Sequence[str]) -> Iterator[None]:
    """Say that what is encoded now was typed."""
    from engine.encoders.base import sentence_key

    before = _typing.set(frozenset(map(sentence_key, sentences)))
    try:
        yield
    finally:
        _typing.reset(before)
