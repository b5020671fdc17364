"""Word vectors, random or from a file, and the mean of a sentence's words.

Files are GloVe's text (`word v1 … vd` a line), word2vec's text and fastText's `.vec` (the same
after a line `words dimensions`), and word2vec's binary; each also gzipped. Random ones are the
baseline of plain word overlap: an encoder that does not beat it has measured shared words.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import IO, cast

import numpy as np

from theodolite.engine.datasets.limits import Unpacking
from theodolite.engine.encoders.averaging import Pool
from theodolite.engine.encoders.fingerprint import file_sha256, fingerprint
from theodolite.engine.encoders.source import (
    Source,
    TableSource,
    Word,
    WordSource,
    mean_rows,
)
from theodolite.engine.encoders.spec import MAX_DIM
from theodolite.engine.errors import UserError
from theodolite.engine.filetypes import refuse_pointer
from theodolite.engine.stamps import check_unchanged

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


_HEADER = re.compile(rb"\s*(\d+)\s+(\d+)\s*$")
_BOM = b"\xef\xbb\xbf"
_LINE = 2**20
"""Most bytes of a line: `MAX_DIM` numbers of 60 characters."""
_LONGEST_WORD = 2**16
"""Most bytes of a word in a binary file."""
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_EXPECTED = "Expected GloVe or word2vec text, fastText .vec, or word2vec binary; also gzipped."
_OTHERS = [  # how a file begins, what it is, what to do
    (
        rb"PK\x03\x04",
        "a ZIP archive",
        "Unpack it, and name one of its files; name an .npz as vectors:FILE.",
    ),
    (rb"BZh[1-9]1AY&SY", "packed with bzip2", "Unpack it, or pack it with gzip."),
    (rb"\xfd7zXZ", "packed with xz", "Unpack it, or pack it with gzip."),
    (rb"\xff\xfe|\xfe\xff", "UTF-16 text", "Save it as UTF-8."),
    (rb"\xba\x16\x4f\x2f", "a fastText model", "Name the .vec file that fastText writes with it."),
    (
        rb"\x80[\x02-\x05]",
        "a Python pickle, which can run code and is not read",
        "With gensim: KeyedVectors.load(FILE).save_word2vec_format('vectors.txt').",
    ),
    (rb"\x93NUMPY", "a NumPy array", "Name it as vectors:FILE, with its texts beside it."),
    (rb"\x89HDF", "an HDF5 file", _EXPECTED),
    (rb"PAR1", "a Parquet file", "Name it as vectors:FILE."),
]


@dataclass(frozen=True)
class Layout:
    """How a file is to be read.

    Attributes:
        start: bytes before the first word.
        dim: numbers of a vector.
        binary: whether vectors are little-endian float32 rather than text.
        words: number of words that the first line states; None where no line does.
    """

    start: int
    dim: int
    binary: bool = False
    words: int | None = None


def layout(path: Path) -> Layout:
    """Find the layout from the first three lines."""
    refuse_pointer(path)
    try:
        with _open(path) as file:
            first, *lines = (file.readline(_LINE) for _ in range(3))
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise UserError(f"{path.name} cannot be read: {why}.", code="damaged") from error
    for start, what, hint in _OTHERS:
        if re.match(start, first):
            raise UserError(
                f"{path.name} is {what}, not a file of word vectors.", hint, code="wrong-kind"
            )
    skipped = len(_BOM) if first.startswith(_BOM) else 0
    first = first[skipped:]
    header = _HEADER.match(first)
    if header:
        words, dim = int(header[1]), int(header[2])
        binary = _is_binary(path.name, lines, words, dim)
        return Layout(skipped + len(first), dim, binary, words)
    dim = _numbers_at_end(first)
    if not dim:
        raise UserError(
            f"{path.name} is not a file of word vectors: {_why_no_numbers(first)}",
            _EXPECTED,
            code="wrong-kind",
        )
    if dim > MAX_DIM or len(first) == _LINE:
        raise UserError(
            f"{path.name} begins with a vector of over {MAX_DIM:,} dimensions.",
            _EXPECTED,
            code="too-large",
        )
    return Layout(skipped, dim)


def _is_binary(name: str, lines: list[bytes], words: int, dim: int) -> bool:
    """Whether vectors are binary, after checking the first lines against what the header states."""
    if not 1 <= dim <= MAX_DIM:
        raise UserError(
            f"{name} states vectors of {dim} dimensions.",
            f"At most {MAX_DIM} are read.",
            code="too-large",
        )
    if not words or not lines[0]:
        raise UserError(
            f"{name} holds no word vectors, only a first line that states {words:,} of them.",
            "Get the file again.",
            code="damaged",
        )
    fits = _vector(lines[0].rsplit(None, dim)[-dim:], dim) is not None
    # A word may end in a number, as in `world war 2`: the least of two lines counts.
    there = min(_numbers_at_end(line) for line in lines if line.strip())
    if fits and there <= dim:
        return False
    if not fits and (_NO_TEXT.search(lines[0]) or not _is_utf8(lines[0])):
        return True
    reason = f"the first vector has {there}." if there else _why_no_numbers(lines[0])
    raise UserError(
        f"{name} states vectors of {dim} dimensions in its first line, but {reason}",
        "Correct the file, or get it again.",
        code="mismatch",
    )


def _numbers_at_end(line: bytes) -> int:
    """How many numbers end a line, its first piece aside; a word may itself hold spaces."""
    count = 0
    for piece in reversed(line.split()[1:]):
        if _vector([piece], 1) is None:
            break
        count += 1
    return count


def _why_no_numbers(line: bytes) -> str:
    """Say what stands in a line where numbers should, as the end of a sentence."""
    if not line.strip():
        return "it begins with an empty line."
    if b"\0" in line:
        return "it holds a NUL byte, as UTF-16 and binary files do."
    if re.search(rb"\s\d+:[-+\d.]", line):
        return "its vectors are sparse (`3:0.5` is number 3)."
    if re.search(rb"\s[-+]?\d+,\d+(\s|$)", line):
        return "its numbers have decimal commas, where points are needed."
    for comma in (b",", b";"):
        is_table = comma in line and len(line.split()) == 1  # also of names of columns
        if is_table or _numbers_at_end(line.replace(comma, b" ")):
            return f"its columns are separated by `{comma.decode()}`, where spaces are needed."
    return "its first line holds no numbers."


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and len(line) == _LINE
    return True


def read_vectors(path: Path) -> tuple[dict[str, int], np.ndarray]:
    """Read a file of word vectors whole.

    Returns:
        word -> row (a word's first line counts), and float32 (v, d).
    """
    how = layout(path)
    words: dict[str, int] = {}
    vectors: list[np.ndarray] = []
    unpacking = Unpacking(path.name, path)
    count = 0
    with _open(path) as file, np.errstate(over="ignore"):  # infinity is refused below
        try:
            file.read(how.start)
            read = _binary if how.binary else _text
            for word, vector in read(file, how.dim, path.name, unpacking):
                count += 1
                if word not in words:
                    words[word] = len(vectors)
                    vectors.append(vector)
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(
                f"{path.name} is damaged: {error}.", "Get the file again.", code="damaged"
            ) from error
    if how.words is not None and count < how.words:
        raise UserError(
            f"{path.name} states {how.words:,} words in its first line and holds {count:,}.",
            "Get the file again; if it was shortened on purpose, correct the number.",
            code="mismatch",
        )
    table = np.stack(vectors)
    finite = np.isfinite(table).all(axis=1)
    if not finite.all():
        word = list(words)[int(finite.argmin())]
        raise UserError(
            f"The vector of {word!r} in {path.name} holds NaN or infinity.",
            f"Remove or correct it ({int((~finite).sum()):,} such vectors).",
            code="not-finite",
        )
    return words, table


def _vector(parts: list[bytes], dim: int) -> np.ndarray | None:
    try:
        return np.array(parts, np.float32) if len(parts) == dim else None
    except ValueError:
        return None


def _text(
    file: IO[bytes], dim: int, name: str, unpacking: Unpacking
) -> Iterator[tuple[str, np.ndarray]]:
    for number, line in enumerate(iter(partial(file.readline, _LINE), b""), 1):
        unpacking.add(len(line))
        parts = line.rsplit(None, dim)
        if not parts:
            continue
        if len(parts) == dim:  # the word is white space itself
            parts.insert(0, line[: -len(line.lstrip())][:-1])
        vector = _vector(parts[1:], dim)
        if vector is None:
            raise UserError(
                f"Vector {number} of {name} does not have the {dim} numbers of the first one.",
                "Every line is a word and its numbers, separated by single spaces.",
                code="mismatch",
            )
        yield parts[0].decode("utf-8", "replace"), vector


def _binary(
    file: IO[bytes], dim: int, name: str, unpacking: Unpacking
) -> Iterator[tuple[str, np.ndarray]]:
    size = struct.calcsize(f"<{dim}f")
    number = 0
    while True:
        word = bytearray()
        while (byte := file.read(1)) not in (b" ", b"") and len(word) < _LONGEST_WORD:
            word += byte
        if not byte and not word.strip():
            return
        number += 1
        if byte != b" ":
            raise UserError(
                f"{name} holds no vector after word {number}.",
                "Get the file again.",
                code="damaged",
            )
        raw = file.read(size)
        if len(raw) != size:
            raise UserError(
                f"{name} ends in vector {number}.", "Get the file again.", code="damaged"
            )
        unpacking.add(len(word) + size)
        # Some writers end every vector with a line break, which then precedes the next word.
        yield word.lstrip(b"\n").decode("utf-8", "replace"), np.frombuffer(raw, "<f4")


def _open(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        gzipped = file.read(2) == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.open(path)) if gzipped else path.open("rb")


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
        table = read_vectors(self.path)
        check_unchanged(self._hash, file_sha256(self.path), self.name)
        return table

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
