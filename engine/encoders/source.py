"""The base classes of all sources of vectors: chunks in, validated float32 rows out.

A source knows no cache, no de-duplication and no steps; those are wrapped around it.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from theodolite.engine.encoders.base import encoder_repr
from theodolite.engine.errors import UserError
from theodolite.engine.given import texts
from theodolite.engine.progress import Progress

CHUNK = 1024
"""Sentences encoded at a time: the most that a killed job loses, and a bound on the memory.

Sorting 1,024 sentences by length costs MiniLM 3 % of its speed against sorting all of them.
"""
CHARACTERS = 2**21
"""Characters encoded at a time, for texts of unusual length."""

Word = int | str
"""A word of a source of word vectors: its row in a table, or its text."""

_SURROGATES = re.compile("[\ud800-\udfff]")


class Source(ABC):
    """An encoder without a cache. Subclasses set `name`, `dim` and `fingerprint`.

    Attributes:
        prompt: text put before every sentence.
        uses_gpu: whether it runs on a GPU where there is one.
    """

    name: str
    dim: int
    fingerprint: str
    prompt: str = ""
    uses_gpu: bool = False

    __repr__ = encoder_repr

    @property
    def warnings(self) -> tuple[str, ...]:
        """See `Encoder`."""
        return ()

    def read(self) -> None:  # noqa: B027, most have nothing to read
        """Read the weights now rather than at the first sentence."""

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """Yield float32 rows for consecutive sentences, some at a time, until all are done."""
        return map(self._encode, slices(sentences))

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        """Float32 (n, dim) of some sentences; not needed by a source with `chunks` of its own."""
        raise NotImplementedError

    def watched(
        self, sentences: Sequence[str], tick: Callable[[int], None]
    ) -> Iterator[np.ndarray]:
        """Yield as `chunks`; a source whose chunks take seconds says how far the present one is.

        Args:
            sentences: what to encode.
            tick: called with the number of the chunk's sentences that are done; may raise.
        """
        return self.chunks(sentences)

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Return float32 (n, dim); see `Encoder.encode`."""
        out = np.empty((len(sentences), self.dim), np.float32)
        done = 0
        for rows in self.chunks(sentences):
            out[done : done + len(rows)] = rows
            check_finite(rows, self.name, range(done, done + len(rows)))
            done += len(rows)
            if progress:
                progress(done, len(sentences))
        return out


class WordSource(Source):
    """A source with a vector for every word; a sentence is their mean, or zero without a word."""

    @abstractmethod
    def words(self, sentences: Sequence[str]) -> Sequence[Sequence[Word]]:
        """The known words of each sentence, in order, repeated as often as they occur."""

    @abstractmethod
    def vectors(self, words: Sequence[Word]) -> np.ndarray:
        """Vectors of words that `words` gave, float32 (len(words), dim)."""

    def estimate(self, words: Sequence[Word]) -> np.ndarray:
        """Probabilities of words without counting them, float64 (len(words),).

        Only for a source that can estimate them.
        """
        raise NotImplementedError

    def bag(self, sentences: Sequence[str]) -> tuple[list[Word], np.ndarray, list[list[int]]]:
        """The distinct words, their vectors, and for each sentence the rows of its words."""
        numbers: dict[Word, int] = {}
        rows = [[numbers.setdefault(w, len(numbers)) for w in ws] for ws in self.words(sentences)]
        distinct = list(numbers)
        return distinct, self.vectors(distinct), rows

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return mean_rows(*self.bag(sentences)[1:])


class TableSource(WordSource):
    """A source whose words are rows of a table."""

    @property
    @abstractmethod
    def table(self) -> np.ndarray:
        """Word vectors, float32 (v, d)."""

    @abstractmethod
    def words(self, sentences: Sequence[str]) -> list[list[int]]:
        """See `WordSource.words`: rows of `table`."""

    def vectors(self, words: Sequence[Word]) -> np.ndarray:
        """See `WordSource.vectors`."""
        return np.asarray(self.table[np.asarray(words, np.intp)])

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        # Distinct words need not be found for a mean of rows.
        return mean_rows(self.table, self.words(sentences))


def check_finite(rows: np.ndarray, name: str, indices: Sequence[int] | np.ndarray) -> None:
    """Refuse rows with NaN or infinity; `indices` are the rows' positions in the caller's list."""
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise UserError(
            f"{name} gave NaN or infinity for sentence {int(indices[finite.argmin()])}"
            f" ({int((~finite).sum())} of {len(rows)} in this chunk).",
            "The weights may be damaged, or overflow in half precision: try dtype=float32.",
            code="not-finite",
        )


def slices(
    sentences: Sequence[str], size: int = CHUNK, most_characters: int = CHARACTERS
) -> Iterator[Sequence[str]]:
    """Yield consecutive slices of at most `size` sentences and about `most_characters`."""
    start = characters = 0
    for stop, sentence in enumerate(sentences):
        if stop - start == size or characters > most_characters:
            yield sentences[start:stop]
            start, characters = stop, 0
        characters += len(sentence)
    if start < len(sentences):
        yield sentences[start:]


def clean(sentence: str) -> str:
    """Replace lone surrogates, which no tokenizer takes, by U+FFFD."""
    return _SURROGATES.sub("\ufffd", sentence)


def mean_rows(table: np.ndarray, ids: Sequence[Sequence[int]]) -> np.ndarray:
    """Float32 mean of the table's rows for each list of ids; no ids give a zero vector.

    Args:
        table: float32 (v, d).
        ids: n lists of row numbers.

    Returns:
        float32 (n, d).
    """
    from scipy.sparse import csr_array

    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    places = np.concatenate([[0], np.cumsum(lengths)])
    rows = np.fromiter(chain.from_iterable(ids), np.int64, places[-1])
    # One sparse product adds in the order of the words, and so gives exactly a loop's numbers.
    counts = csr_array((np.ones(len(rows), np.float32), rows, places), (len(ids), len(table)))
    return np.asarray((counts @ table) / np.maximum(lengths, 1).astype(np.float32)[:, None])


class KnownVectors(Source):
    """Precomputed vectors of some sentences, and of no others.

    Attributes:
        path: of the file or folder.
        bytes: size on disk.
    """

    path: Path
    bytes: int

    @abstractmethod
    def missing(self, sentences: Sequence[str]) -> list[str]:
        """The sentences without a vector, in order, repetitions included."""

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """See `Encoder.encode`."""
        sentences = texts(sentences)
        missing = self.missing(sentences)
        if missing:
            raise UserError(
                f"{self.path.name} lacks {len(missing):,} of {len(sentences):,} sentences, "
                f"the first being {missing[0][:80]!r}.",
                "Add their vectors to the file, or choose a task whose sentences it has.",
                code="missing",
            )
        return super().encode(sentences, progress)
