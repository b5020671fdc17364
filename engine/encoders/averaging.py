"""From the word vectors of a sentence to one vector: the averaging methods of the baselines.

These are the methods that "Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and
Gurevych 2019) compares with trained encoders. They work on any word vectors, know the order of the
words where the method uses it, and give zero for a sentence without a known word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from theodolite.engine.encoders import gem
from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.encoders.source import Source, Word, WordSource, in_chunks, slices
from theodolite.engine.errors import UserError

MEANING = {
    "avg": "mean over words",
    "max": "largest value over words",
    "sif": "mean over words weighted a / (a + p(word)): frequent words count less",
    "pmean": "power means 1, 3, infinity and minus infinity side by side: four times as long",
    "gem": "mean weighted by what each word adds to its neighbours, common directions removed",
    "hier": "largest value over the means of every few neighbouring words",
}
WINDOW = {"hier": 5, "gem": gem.WINDOW}
"""`hier`: words of a window. `gem`: words on either side."""
A = 1e-3
"""The constant a of SIF."""


class Pool(Protocol):
    """An averaging method.

    Attributes:
        key: everything that determines its output, for fingerprints.
        factor: length of its vectors, as a multiple of that of a word's vector.
    """

    @property
    def key(self) -> str: ...  # noqa: D102
    @property
    def factor(self) -> int: ...  # noqa: D102

    def __call__(self, x: np.ndarray, words: Sequence[Word]) -> np.ndarray:
        """Pool the vectors x, float32 (n, d) with n > 0, of a sentence's n words in order."""
        ...


def largest(x: np.ndarray) -> np.ndarray:
    """Largest value of each column of (n, d)."""
    return np.asarray(x.max(axis=0))


def hierarchical(x: np.ndarray, window: int = WINDOW["hier"]) -> np.ndarray:
    """SWEM-hier (Shen et al. 2018, section 3.1.1): the largest of the means of n neighbours.

    A sentence shorter than the window is one window.
    """
    n = min(window, len(x))
    sums = np.cumsum(np.vstack([np.zeros_like(x[:1]), x]), axis=0, dtype=np.float64)
    return np.asarray((sums[n:] - sums[:-n]).max(axis=0) / n)


def power_means(x: np.ndarray) -> np.ndarray:
    """Concatenated power means (Rücklé et al. 2018), p = 1, 3, infinity, minus infinity: (4 d,).

    The third power mean of a negative sum is its real, negative root. (The authors' code takes the
    real part of the complex root there, which is half as large and positive.)
    """
    cubes = np.cbrt((x.astype(np.float64) ** 3).mean(axis=0))
    return np.concatenate([x.mean(axis=0), cubes, x.max(axis=0), x.min(axis=0)])


class Plain:
    """A method that depends on the sentence alone."""

    def __init__(self, key: str, pool: Callable[[np.ndarray], np.ndarray], factor: int = 1) -> None:
        self.key = key
        self.factor = factor
        self._pool = pool

    def __call__(self, x: np.ndarray, words: Sequence[Word]) -> np.ndarray:
        """See `Pool`."""
        return self._pool(x)


class Sif:
    """Smooth inverse frequency (Arora, Liang and Ma 2017, algorithm 1, lines 1 to 3).

    The mean of a / (a + p(w)) v(w) over the words w. p is counted on the sentences of a data set,
    where a word that does not occur has p = 0, or is the source's own estimate. The paper then
    removes the first singular vector of the sentences: the step `common:1,DATA`.
    """

    factor = 1

    def __init__(self, base: WordSource, sentences: Sequence[str] | None, data_hash: str) -> None:
        self.key = f"sif {A} {data_hash}"
        self._base = base
        self._sentences = sentences

    def __call__(self, x: np.ndarray, words: Sequence[Word]) -> np.ndarray:
        """See `Pool`."""
        return np.asarray((self.weights(words) @ x) / len(x))

    def weights(self, words: Sequence[Word]) -> np.ndarray:
        """Return a / (a + p), float64 (len(words),)."""
        if self._sentences is None:
            p = self._base.estimate(words)
        else:
            p = np.array([self._probabilities.get(word, 0.0) for word in words])
        return np.asarray(A / (A + p))

    @cached_property
    def _probabilities(self) -> dict[Word, float]:
        counts: Counter[Word] = Counter()
        for part in slices(self._sentences or []):
            for words in self._base.words(part):
                counts.update(words)
        total = counts.total()
        return {word: count / total for word, count in counts.items()}


class Gem:
    """Geometric embedding (Yang, Zhu and Chen 2019); see `engine.encoders.gem`."""

    factor = 1

    def __init__(
        self, base: WordSource, sentences: Sequence[str], data_hash: str, window: int
    ) -> None:
        self.key = f"gem {window} {gem.KEPT} {gem.REMOVED} {data_hash}"
        self._base = base
        self._sentences = sentences
        self._window = window

    def __call__(self, x: np.ndarray, words: Sequence[Word]) -> np.ndarray:
        """See `Pool`."""
        return gem.embed(x.astype(np.float64), *self._principal, self._window)

    @cached_property
    def _principal(self) -> tuple[np.ndarray, np.ndarray]:
        """The principal directions of the data set and their singular values."""
        return gem.principal(self._matrices(), self._base.dim)

    def _matrices(self) -> Iterator[np.ndarray]:
        for part in slices(self._sentences):
            _, table, ids = self._base.bag(part)
            yield from (table[rows].astype(np.float64) for rows in ids if rows)


class Pooled(Source):
    """A source of word vectors with another method than the mean."""

    def __init__(self, name: str, base: WordSource, pool: Pool) -> None:
        self.name = name
        self.dim = base.dim * pool.factor
        self.fingerprint = fingerprint("pooled words", base.fingerprint, pool.key)
        self._base = base
        self._pool = pool

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """See `Source.chunks`."""
        return in_chunks(sentences, self._encode)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        words, table, ids = self._base.bag(sentences)
        out = np.zeros((len(ids), self.dim), np.float32)
        for i, rows in enumerate(ids):
            if rows:
                out[i] = self._pool(table[rows], [words[row] for row in rows])
        return out


def plain(pooling: str, window: int | None = None) -> Plain:
    """Return the method `max`, `pmean` or `hier`."""
    if pooling == "hier":
        n = window or WINDOW["hier"]
        return Plain(f"hier {n}", lambda x: hierarchical(x, n))
    return {"max": Plain("max", largest), "pmean": Plain("pmean", power_means, 4)}[pooling]


def make(
    pooling: str,
    base: WordSource,
    data: tuple[Sequence[str], str] | None = None,
    window: int | None = None,
) -> Pool:
    """Return a method for a source of word vectors.

    Args:
        pooling: a key of `MEANING` other than `avg`.
        base: where the words and their vectors come from.
        data: sentences and their hash, for `sif` and `gem`; `sif` can do without if `base` has an
            estimate of probabilities.
        window: of `hier` and `gem`; None is the paper's.
    """
    if pooling not in ("sif", "gem"):
        return plain(pooling, window)
    if data is None:
        return Sif(base, None, "estimate")
    sentences, data_hash = data
    if len(sentences) < 2:
        raise UserError(
            f"pooling={pooling} has {len(sentences)} sentences to learn from.",
            "Give two or more.",
            code="too-few",
        )
    if pooling == "sif":
        return Sif(base, sentences, data_hash)
    return Gem(base, sentences, data_hash, window or WINDOW["gem"])
