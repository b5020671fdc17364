"""Arrays of texts in a cache of vectors: ColBERT's vectors of tokens, SPLADE's weights of words.

An array is cut into rows of one width, each under a key of its own; its shape is a vector too, and
is put last, so that what a killed job left is made again.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from theodolite.engine.encoders.base import VectorCache, sentence_key

_WIDTH = 128


class ArrayCache:
    """Float32 arrays of two dimensions by texts.

    Args:
        cache: of vectors.
        fingerprint: of what makes the arrays.
    """

    def __init__(self, cache: VectorCache, fingerprint: str) -> None:
        self._cache, self._fingerprint = cache, fingerprint

    def get(self, texts: Sequence[str]) -> list[np.ndarray | None]:
        """Return the array of each text, None where it is not known."""
        names = [sentence_key(text) for text in texts]
        known, shapes = self._cache.get(self._fingerprint, names, 2)
        shape = np.zeros((len(texts), 2), np.int64)
        shape[known] = shapes
        pieces = [list(_pieces(name, n * d)) for name, (n, d) in zip(names, shape, strict=True)]
        there, rows = self._cache.get(self._fingerprint, list(chain.from_iterable(pieces)), _WIDTH)
        every = np.empty((len(there), _WIDTH), np.float32)
        every[there] = rows
        found, start = list[np.ndarray | None](), 0
        for is_known, keys, (n, d) in zip(known, pieces, shape, strict=True):
            at, start = slice(start, start + len(keys)), start + len(keys)
            is_whole = is_known and there[at].all()
            found.append(every[at].ravel()[: n * d].reshape(n, d) if is_whole else None)
        return found

    def put(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Add the arrays of texts."""
        names = [sentence_key(text) for text in arrays]
        keys = [list(_pieces(name, a.size)) for name, a in zip(names, arrays.values(), strict=True)]
        rows = [np.resize(a, (len(k), _WIDTH)) for k, a in zip(keys, arrays.values(), strict=True)]
        self._cache.put(self._fingerprint, list(chain.from_iterable(keys)), np.concatenate(rows))
        shapes = np.array([array.shape for array in arrays.values()], np.float32)
        self._cache.put(self._fingerprint, names, shapes)


def _pieces(name: bytes, size: int) -> Iterator[bytes]:
    """The keys of an array's rows."""
    for i in range(-(-size // _WIDTH)):
        yield hashlib.blake2b(name + i.to_bytes(4, "little"), digest_size=16).digest()
