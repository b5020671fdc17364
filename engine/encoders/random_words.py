"""A bag of random word vectors: what plain word overlap can do.

Every comparison should carry this baseline: an encoder that does not beat it has measured shared
words.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

import numpy as np

from engine.encoders.fingerprint import fingerprint
from engine.encoders.source import Source, in_chunks, mean_rows

_WORD = re.compile(r"\w+|[^\w\s]")


def split_words(text: str) -> list[str]:
    """Runs of letters, digits and underscores, and every other sign that is not a space alone."""
    return _WORD.findall(text)


def word_vector(word: str, dim: int) -> np.ndarray:
    """Standard normal float32 (dim,), seeded by 8 bytes of blake2b of the lower-cased word."""
    raw = word.lower().encode("utf-8", "surrogatepass")
    seed = int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "little")
    return np.random.default_rng(seed).standard_normal(dim, np.float32)


class RandomWords(Source):
    """Mean of the words' random vectors, `split_words(text.lower())`; no word gives zero.

    A word has the same vector on every machine and in every vocabulary, so the cosine of two
    sentences estimates their overlap in words (up to about 1 / sqrt(dim)).
    """

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim
        self.fingerprint = fingerprint("random", dim)

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """See `Source.chunks`."""
        return in_chunks(sentences, self._encode)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        numbers: dict[str, int] = {}
        ids = [
            [numbers.setdefault(word, len(numbers)) for word in split_words(text.lower())]
            for text in sentences
        ]
        table = np.empty((len(numbers), self.dim), np.float32)
        for word, row in numbers.items():
            table[row] = word_vector(word, self.dim)
        return mean_rows(table, ids)
