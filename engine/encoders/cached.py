"""Encodes each sentence once: de-duplicate, look up the cache, encode what is missing.

Works in blocks, so that memory beyond the result stays the same whatever the size of the input, and
puts every chunk into the cache as soon as it is encoded, so that a killed job loses little.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from theodolite.engine.encoders.base import VectorCache, encoder_repr, sentence_key
from theodolite.engine.encoders.source import Source, check_finite
from theodolite.engine.given import texts
from theodolite.engine.progress import Progress

BLOCK = 16_384
"""Sentences looked up at a time; with 1,024 dimensions a block takes 64 MiB."""


class MemoryCache:
    """A `VectorCache` in memory. Thread-safe.

    Beyond `max_bytes` of rows, the least recently used are evicted.
    """

    def __init__(self, max_bytes: int = 512 * 2**20) -> None:
        self.max_bytes = max_bytes
        self._rows: OrderedDict[tuple[str, bytes], np.ndarray] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(
        self, fingerprint: str, keys: Sequence[bytes], dim: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `VectorCache.get`."""
        with self._lock:
            rows = [self._rows.get((fingerprint, key)) for key in keys]
            for key, row in zip(keys, rows, strict=True):
                if row is not None:
                    self._rows.move_to_end((fingerprint, key))
        is_stored = np.array([row is not None for row in rows], bool)
        known = [row for row in rows if row is not None]
        return is_stored, np.stack(known) if known else np.empty((0, dim), np.float32)

    def put(self, fingerprint: str, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """See `VectorCache.put`."""
        rows = np.asarray(vectors, np.float32)
        with self._lock:
            for key, row in zip(keys, rows, strict=True):
                if (fingerprint, key) not in self._rows:
                    # A copy: the caller may reuse its array, and a view would keep all of it.
                    self._rows[fingerprint, key] = row.copy()
                    self._bytes += row.nbytes
            while self._bytes > self.max_bytes:
                self._bytes -= self._rows.popitem(last=False)[1].nbytes


class CachedEncoder:
    """A source with a cache around it; `dim` and the rest are the source's.

    Args:
        source: computes the vectors.
        cache: keeps the vectors.
        warnings: put before the source's own; on the spec that the source is a part of.
    """

    def __init__(self, source: Source, cache: VectorCache, warnings: Sequence[str] = ()) -> None:
        self.source = source
        self.cache = cache
        self.name, self.dim, self.fingerprint = source.name, source.dim, source.fingerprint
        self.similarity = str(getattr(source, "similarity", "cosine"))
        self._warnings = tuple(warnings)

    __repr__ = encoder_repr

    @property
    def warnings(self) -> tuple[str, ...]:
        """See `Encoder`."""
        return (*self._warnings, *self.source.warnings)

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """See `Encoder.encode`."""
        sentences = texts(sentences)
        out = np.empty((len(sentences), self.dim), np.float32)
        for start in range(0, len(sentences), BLOCK):
            stop = min(start + BLOCK, len(sentences))
            out[start:stop] = self._block(sentences[start:stop], start, len(sentences), progress)
            if progress:
                progress(stop, len(sentences))
        return out

    def _block(
        self, sentences: Sequence[str], start: int, total: int, progress: Progress | None
    ) -> np.ndarray:
        first: dict[str, int] = {}  # distinct sentence -> its number, in order of appearance
        inverse = np.fromiter(
            (first.setdefault(s, len(first)) for s in sentences), np.int64, len(sentences)
        )
        unique = list(first)
        keys = [sentence_key(s) for s in unique]
        is_stored, known = self.cache.get(self.fingerprint, keys, self.dim)
        vectors = np.empty((len(unique), self.dim), np.float32)
        vectors[is_stored] = known
        missing = np.flatnonzero(~is_stored)
        done = 0

        def tell(further: int = 0) -> None:
            if progress:  # duplicates and hits count as done in proportion
                progress(start + len(sentences) * (done + further) // len(missing), total)

        texts = [unique[i] for i in missing]
        for rows in self.source.watched(texts, tell) if texts else ():  # else no model is read
            at = missing[done : done + len(rows)]
            if not np.isfinite(rows).all():  # only then are positions in the caller's list needed
                check_finite(rows, self.name, start + np.unique(inverse, return_index=True)[1][at])
            vectors[at] = rows
            self.cache.put(self.fingerprint, [keys[i] for i in at], rows)
            done += len(rows)
            tell()
        return vectors[inverse]
