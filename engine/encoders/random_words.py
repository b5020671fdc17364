"""A bag of random word vectors: the baseline of plain word overlap.

Every comparison should carry this baseline: an encoder that does not beat it has measured shared
words.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.encoders.source import Word, WordSource

_WORD = re.compile(r"\w+|[^\w\s]")


def split_words(text: str) -> list[str]:
    """Runs of letters, digits and underscores, and single other characters but white space."""
    return _WORD.findall(text)


def word_vector(word: str, dim: int) -> np.ndarray:
    """Standard normal float32 (dim,), seeded by 8 bytes of blake2b of the lower-cased word."""
    raw = word.lower().encode("utf-8", "surrogatepass")
    seed = int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "little")
    return np.random.default_rng(seed).standard_normal(dim, np.float32)


class RandomWords(WordSource):
    """Mean of the words' random vectors, `split_words(text.lower())`; no word gives zero.

    A word has the same vector on every machine and in every vocabulary, so the cosine of two
    sentences estimates their overlap in words (up to about 1 / sqrt(dim)).
    """

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim
        self.fingerprint = fingerprint("random", dim)

    def words(self, sentences: Sequence[str]) -> list[list[str]]:
        """See `WordSource.words`."""
        return [split_words(text.lower()) for text in sentences]

    def vectors(self, words: Sequence[Word]) -> np.ndarray:
        """See `WordSource.vectors`."""
        table = np.empty((len(words), self.dim), np.float32)
        for row, word in enumerate(words):
            table[row] = word_vector(str(word), self.dim)
        return table
