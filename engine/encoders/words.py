"""Files of word vectors, and the mean of a sentence's words.

Formats: GloVe's text (`word v1 … vd` a line), word2vec's text and fastText's `.vec` (the same after
a line `words dimensions`), and word2vec's binary; each also gzipped.
"""

from __future__ import annotations

import gzip
import re
import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np

from engine.encoders.averaging import Pool
from engine.encoders.fingerprint import file_sha256, fingerprint
from engine.encoders.random_words import split_words
from engine.encoders.source import Source, TableSource, Word, WordSource, in_chunks, mean_rows
from engine.encoders.spec import MAX_DIM
from engine.errors import UserError
from engine.stamps import check_unchanged

_HEADER = re.compile(rb"\s*(\d+)\s+(\d+)\s*$")


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
            raise UserError(f"There is no file {file}.", "Give a file of word vectors.")
        self.dim = _layout(self.path)[1]
        self._hash = file_sha256(self.path)
        self.fingerprint = fingerprint("words", self._hash)

    @cached_property
    def _words(self) -> tuple[dict[str, int], np.ndarray]:
        found = read_vectors(self.path)
        check_unchanged(self._hash, file_sha256(self.path), self.name)
        return found

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

    def __init__(self, name: str, dim: int, base: WordSource, pool: Pool | None, seed: int = 0
                 ) -> None:  # fmt: skip
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
                out[i] = self._pool(table[rows] @ self.matrix, [words[row] for row in rows])
        return out


def read_vectors(path: Path) -> tuple[dict[str, int], np.ndarray]:
    """Read a file of word vectors whole.

    Returns:
        word -> row (a word's first line counts), and float32 (v, d).

    Raises:
        UserError: the file has none of the layouts; names the line.
    """
    start, dim, binary = _layout(path)
    words: dict[str, int] = {}
    vectors: list[np.ndarray] = []
    with _open(path) as file:
        try:
            file.read(start)
            for word, vector in (_binary if binary else _text)(file, dim, path.name):
                if word not in words:
                    words[word] = len(vectors)
                    vectors.append(vector)
        except (OSError, EOFError) as error:
            raise UserError(f"{path.name} is damaged: {error}.", "Get the file again.") from error
    if not words:
        raise UserError(f"{path.name} holds no word vectors.", "Get the file again.")
    return words, np.stack(vectors)


def _layout(path: Path) -> tuple[int, int, bool]:
    """(bytes before the first word, dimensions, whether the vectors are binary)."""
    try:
        with _open(path) as file:
            first, second = file.readline(1 << 20), file.readline(1 << 20)
    except (OSError, EOFError) as error:
        raise UserError(f"{path.name} cannot be read: {error}.") from error
    header = _HEADER.match(first)
    if header:
        dim = int(header[2])
        if not 1 <= dim <= MAX_DIM:
            raise UserError(
                f"{path.name} states vectors of {dim} dimensions.", f"At most {MAX_DIM} are read."
            )
        return len(first), dim, _numbers(second, dim) is None
    dim = len(first.split()) - 1
    # A word may itself hold spaces; the numbers of the line are those at its end.
    while dim > 0 and _numbers(first, dim) is None:
        dim -= 1
    if dim < 1:
        raise UserError(
            f"{path.name} is no file of word vectors: its first line holds no numbers.",
            "Expected GloVe or word2vec text, fastText .vec, or word2vec binary; also gzipped.",
        )
    return 0, dim, False


def _numbers(line: bytes, dim: int) -> np.ndarray | None:
    parts = line.split()[-dim:]
    try:
        return np.array(parts, np.float32) if len(parts) == dim else None
    except ValueError:
        return None


def _text(file: BinaryIO, dim: int, name: str) -> Iterator[tuple[str, np.ndarray]]:
    for number, line in enumerate(file, 1):
        parts = line.rstrip().rsplit(b" ", dim)
        try:
            vector = np.array(parts[1:], np.float32)
        except ValueError:
            vector = np.empty(0, np.float32)
        if len(vector) != dim:
            if not line.strip():
                continue
            raise UserError(
                f"Vector {number} of {name} has not the {dim} numbers of the first one.",
                "Every line is a word and its numbers, separated by single spaces.",
            )
        yield parts[0].decode("utf-8", "replace"), vector


def _binary(file: BinaryIO, dim: int, name: str) -> Iterator[tuple[str, np.ndarray]]:
    size = struct.calcsize(f"<{dim}f")
    number = 0
    while True:
        word = bytearray()
        while (byte := file.read(1)) not in (b" ", b""):
            word += byte
        if not byte:
            if word.strip():
                raise UserError(f"{name} ends in the middle of a word.", "Get the file again.")
            return
        number += 1
        raw = file.read(size)
        if len(raw) != size:
            raise UserError(f"{name} ends in vector {number}.", "Get the file again.")
        # Some writers end every vector with a line break, which then precedes the next word.
        yield word.lstrip(b"\n").decode("utf-8", "replace"), np.frombuffer(raw, "<f4")


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        gzipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if gzipped else path.open("rb")  # type: ignore[return-value]


def _known(pieces: list[str], rows: dict[str, int], split: bool) -> Iterator[int]:
    for piece in pieces:
        row = rows.get(piece, rows.get(piece.lower()))
        if row is not None:
            yield row
        elif split:
            yield from _known(split_words(piece), rows, split=False)
