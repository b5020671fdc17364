"""From the word vectors of a sentence to one vector: the averaging methods of the baselines.

These are the methods that "Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and
Gurevych 2019) compares with trained encoders. They work on any word vectors, know the order of the
words where the method uses it, and give zero for a sentence without a known word.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from theodolite.engine.encoders import gem
from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.encoders.source import Source, Word, WordSource, slices
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


@dataclass(frozen=True, eq=False)
class Pool:
    """An averaging method.

    Attributes:
        key: everything that determines its output, for fingerprints.
        of: pools the vectors, float32 (n, d) with n > 0, of a sentence's n words in order.
        factor: length of its vectors, as a multiple of that of a word's vector.
    """

    key: str
    of: Callable[[np.ndarray, Sequence[Word]], np.ndarray]
    factor: int = 1


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


def _sif(base: WordSource, sentences: Sequence[str] | None, data_hash: str) -> Pool:
    """Smooth inverse frequency (Arora, Liang and Ma 2017, algorithm 1, lines 1 to 3).

    The mean of a / (a + p(w)) v(w) over the words w. p is counted on the sentences of a data set,
    where a word that does not occur has p = 0, or is the source's own estimate. The paper then
    removes the first singular vector of the sentences: the step `common:1,DATA`.
    """

    @cache
    def probabilities() -> dict[Word, float]:
        counts: Counter[Word] = Counter()
        for part in slices(sentences or []):
            for words in base.words(part):
                counts.update(words)
        total = counts.total()
        return {word: count / total for word, count in counts.items()}

    def pooled(x: np.ndarray, words: Sequence[Word]) -> np.ndarray:
        if sentences is None:
            p = base.estimate(words)
        else:
            p = np.array([probabilities().get(word, 0.0) for word in words])
        return np.asarray((A / (A + p) @ x) / len(x))

    return Pool(f"sif {A} {data_hash}", pooled)


def _gem(base: WordSource, sentences: Sequence[str], data_hash: str, window: int) -> Pool:
    """Geometric embedding (Yang, Zhu and Chen 2019); see `engine.encoders.gem`."""

    def matrices() -> Iterator[np.ndarray]:
        for part in slices(sentences):
            _, table, ids = base.bag(part)
            yield from (table[rows].astype(np.float64) for rows in ids if rows)

    @cache
    def principal() -> tuple[np.ndarray, np.ndarray]:
        return gem.principal(matrices(), base.dim)

    def pooled(x: np.ndarray, _: Sequence[Word]) -> np.ndarray:
        return gem.embed(x.astype(np.float64), *principal(), window)

    return Pool(f"gem {window} {gem.KEPT} {gem.REMOVED} {data_hash}", pooled)


class Pooled(Source):
    """A source of word vectors with another method than the mean."""

    def __init__(self, name: str, base: WordSource, pool: Pool) -> None:
        self.name = name
        self.dim = base.dim * pool.factor
        self.fingerprint = fingerprint("pooled words", base.fingerprint, pool.key)
        self._base = base
        self._pool = pool

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        words, table, ids = self._base.bag(sentences)
        out = np.zeros((len(ids), self.dim), np.float32)
        for i, rows in enumerate(ids):
            if rows:
                out[i] = self._pool.of(table[rows], [words[row] for row in rows])
        return out


def plain(pooling: str, window: int | None = None) -> Pool:
    """Return `max`, `pmean` or `hier`, which depend on the sentence alone."""
    if pooling == "hier":
        n = window or WINDOW["hier"]
        return Pool(f"hier {n}", lambda x, _: hierarchical(x, n))
    if pooling == "pmean":
        return Pool("pmean", lambda x, _: power_means(x), 4)
    return Pool("max", lambda x, _: np.asarray(x.max(axis=0)))


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
        return _sif(base, None, "estimate")
    sentences, data_hash = data
    if len(sentences) < 2:
        raise UserError(
            f"pooling={pooling} has {len(sentences)} sentences to learn from.",
            "Give two or more.",
            code="too-few",
        )
    if pooling == "sif":
        return _sif(base, sentences, data_hash)
    return _gem(base, sentences, data_hash, window or WINDOW["gem"])
