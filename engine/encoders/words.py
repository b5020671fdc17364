"""Word vectors from a file, and the mean of a sentence's words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from theodolite.engine.encoders.averaging import Pool
from theodolite.engine.encoders.fingerprint import file_sha256, fingerprint
from theodolite.engine.encoders.random_words import split_words
from theodolite.engine.encoders.source import (
    Source,
    TableSource,
    Word,
    WordSource,
    in_chunks,
    mean_rows,
)
from theodolite.engine.encoders.word_file import layout, read_vectors
from theodolite.engine.errors import UserError
from theodolite.engine.stamps import check_unchanged


class WordVectors(TableSource):
    """Mean of the vectors of the known words; a sentence without one is the zero vector.

    Words are separated by white space, as in SentEval's tokenized files; a piece is looked up as it
    is, then lower-cased. A piece that is still unknown is split at punctuation and its parts are
    looked up likewise, so that text that was not tokenized works too. Unknown words are skipped.
    """

    def __init__(self, name: str, file: str) -> None:
        self.name = name
        self.path = Path(file)
        if not self.path.is_file():
            raise UserError(
                f"There is no file {file}.", "Give a file of word vectors.", code="no-file"
            )
        self.dim = layout(self.path).dim
        self._hash = file_sha256(self.path)
        self.fingerprint = fingerprint("words", self._hash)

    @cached_property
    def _words(self) -> tuple[dict[str, int], np.ndarray]:
        found = read_vectors(self.path)
        check_unchanged(self._hash, file_sha256(self.path), self.name)
        return found

    def read(self) -> None:
        """See `Source.read`."""
        self._words  # noqa: B018

    @property
    def table(self) -> np.ndarray:
        """Word vectors, float32 (v, d)."""
        return self._words[1]

    @property
    def vocabulary(self) -> list[str]:
        """The words of the rows of `table`."""
        return list(self._words[0])

    def words(self, sentences: Sequence[str]) -> list[list[int]]:
        """See `WordSource.words`: rows of `table`."""
        rows = self._words[0]
        return [list(_known(s.split(), rows, split=True)) for s in sentences]

    def estimate(self, words: Sequence[Word]) -> np.ndarray:
        """Zipf's law over the order of the file: the r-th word's probability falls as 1 / r.

        The files of GloVe, word2vec and fastText begin with the most frequent word.
        """
        total = (1 / np.arange(1, len(self.table) + 1)).sum()
        return 1 / ((np.asarray(words, np.float64) + 1) * total)


class Borep(Source):
    """Bag of random embedding projections (Wieting and Kiela 2019, section 3.1.1).

    Every word vector e of length d is multiplied by one fixed matrix W, dim x d, drawn uniformly
    from [-1/sqrt(d), 1/sqrt(d)]; the sentence is the largest value of each coordinate over its
    words (`pooling=max`; `avg`, `pmean` and `hier` as for any word vectors). Untrained: a baseline
    of random features. The matrix comes from numpy's default generator with `seed` (0).
    """

    def __init__(
        self, name: str, dim: int, base: WordSource, pool: Pool | None, seed: int = 0
    ) -> None:
        """`pool` None is the mean."""
        self.name = name
        self.dim = dim if pool is None else pool.factor * dim
        key = "avg" if pool is None else pool.key
        self.fingerprint = fingerprint("borep", dim, base.fingerprint, key, seed)
        self._width = dim
        self._base = base
        self._pool = pool
        self._seed = seed

    @cached_property
    def matrix(self) -> np.ndarray:
        """W, float32 (d, dim): transposed, to be multiplied from the right."""
        width = self._base.dim
        bound = width**-0.5
        rng = np.random.default_rng(self._seed)
        return rng.uniform(-bound, bound, (width, self._width)).astype(np.float32)

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """See `Source.chunks`."""
        return in_chunks(sentences, self._encode)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        words, table, ids = self._base.bag(sentences)
        if self._pool is None:  # a projection of the mean is the mean of the projections
            return mean_rows(table, ids) @ self.matrix
        out = np.zeros((len(ids), self.dim), np.float32)
        for i, rows in enumerate(ids):
            if rows:
                out[i] = self._pool.of(table[rows] @ self.matrix, [words[row] for row in rows])
        return out


def _known(pieces: list[str], rows: dict[str, int], split: bool) -> Iterator[int]:
    for piece in pieces:
        row = rows.get(piece, rows.get(piece.lower()))
        if row is not None:
            yield row
        elif split:
            yield from _known(split_words(piece), rows, split=False)
