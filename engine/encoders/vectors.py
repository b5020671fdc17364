"""Precomputed vectors: an encoder for the sentences that a file contains.

The formats:

    x.npy       float (n, dim), beside it `x.txt` with n sentences, one a line, UTF-8 (or `.txt.gz`)
    x.npz       an array `sentences` of text (n,) and an array `vectors`, float (n, dim)
    x.parquet   a column of text and a column of lists of numbers, all of one length
    x.csv       the same, as pandas writes it; also .tsv, .json and .jsonl. Or a column for each
                dimension, numbered through: `0`, `1`, …, or `dim_1`, `dim_2`, …

A folder that `theodolite encode-corpus` wrote is read too: `engine.corpus`.

A sentence is found by its text, with runs of white space read as one space; for a sentence that
occurs twice the first vector counts. Nothing is unpickled.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.engine.datasets import limits
from theodolite.engine.datasets.archives import BROKEN_ZIP
from theodolite.engine.datasets.columns import is_number
from theodolite.engine.datasets.files import find, lines
from theodolite.engine.datasets.formats import open_table, text_of, whole_rows
from theodolite.engine.datasets.parquet import ParquetFile, is_text
from theodolite.engine.encoders.fingerprint import file_sha256, fingerprint
from theodolite.engine.encoders.source import KnownVectors
from theodolite.engine.encoders.spec import SourceSpec, parse
from theodolite.engine.errors import UserError, first_line
from theodolite.engine.filetypes import refuse_pointer
from theodolite.engine.stamps import check_unchanged, stamp


def open_vectors(spec: SourceSpec) -> KnownVectors:
    """Open the file or folder of vectors that a source names."""
    columns = (spec.option("text"), spec.option("vector"))
    if (folder := Path(spec.value)).is_dir():
        from theodolite.engine.corpus.reading import open_folder

        return open_folder(str(spec), folder, columns)
    return VectorFile(str(spec), spec.value, *columns)


class VectorFile(KnownVectors):
    """The vectors of a file.

    Args:
        name: canonical spec.
        file: its path.
        text: a table's column of sentences; None takes the only column of text.
        vector: a table's column of vectors; None takes the only column of lists.
    """

    def __init__(
        self, name: str, file: str, text: str | None = None, vector: str | None = None
    ) -> None:
        self.name = name
        self.path = Path(file)
        if not self.path.is_file():
            raise UserError(f"There is no file {file}.", SHAPES, code="no-file")
        refuse_pointer(self.path)
        kind = self.path.suffix.lower()
        if kind not in _READERS:
            raise UserError(
                f"{self.path.name} does not end as files of vectors do.",
                SHAPES,
                code="wrong-kind",
            )
        if kind in (".npy", ".npz") and (text or vector):
            raise UserError(
                f"{self.path.name} has no columns to choose.",
                "Only Parquet, CSV and JSON take text and vector.",
                code="conflict",
            )
        before = stamp(self.path)
        self._file = _READERS[kind](self.path, text, vector)
        self._stamp = stamp(*self._file.paths)
        check_unchanged(before, stamp(self.path), self.path.name)
        self.dim, self.bytes = self._file.dim, self.path.stat().st_size
        self._columns = (text, vector)

    @cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
        """Hash of the content of the files, which are read for it at first use."""
        digest = fingerprint("vectors", *map(file_sha256, self._file.paths), *self._columns)
        self._check_unchanged()
        return digest

    def read(self) -> None:
        """See `Source.read`: the sentences, and whether each has a vector."""
        self._rows  # noqa: B018

    @cached_property
    def _rows(self) -> dict[str, int]:
        """Row of each sentence."""
        sentences = self._file.sentences()
        rows: dict[str, int] = {}
        for row, sentence in enumerate(sentences):
            rows.setdefault(_one_space(sentence), row)
        return rows

    @cached_property
    def _vectors(self) -> np.ndarray:
        return self._file.vectors()

    def missing(self, sentences: Sequence[str]) -> list[str]:
        """See `KnownVectors.missing`."""
        return [s for s in sentences if _one_space(s) not in self._rows]

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        rows = [self._rows[_one_space(s)] for s in sentences]
        vectors = np.asarray(self._vectors[rows], np.float32)
        self._check_unchanged()  # a mapped array shows what another process writes
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            at = int(finite.argmin())
            raise UserError(
                f"Vector {rows[at] + 1:,} of {self.path.name} holds NaN or infinity; its sentence "
                f"is {sentences[at][:80]!r}.",
                "Compute it again, or remove it from the file.",
                code="not-finite",
            )
        return vectors

    def _check_unchanged(self) -> None:
        check_unchanged(self._stamp, stamp(*self._file.paths), self.path.name)


def files_of(spec: str) -> list[KnownVectors]:
    """The files of vectors in a spec, opened for many look-ups; none for other encoders."""
    return [open_vectors(source) for source in parse(spec).sources if source.kind == "vectors"]


def missing(files: Sequence[KnownVectors], sentences: Sequence[str]) -> list[str]:
    """The sentences that any of the files lacks, in order, repetitions included."""
    left_out = {s for file in files for s in file.missing(sentences)}
    return [s for s in sentences if s in left_out]


def save(path: Path, sentences: Sequence[str], vectors: np.ndarray) -> None:
    """Write a Parquet file that `vectors:` reads, which brings any encoder into the app.

        sentences = Catalog().load("STSBenchmark").sentences
        save(Path("mine.parquet"), sentences, my_model(sentences))

    Then `vectors:mine.parquet` is an encoder for these sentences, on the pages, on the command line
    and in Python; `theodolite encoders coverage vectors:mine.parquet` says which tasks it covers.

    Args:
        path: ends in `.parquet`.
        sentences: n texts.
        vectors: float (n, dim); kept as float32.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    flat = pa.array(np.ascontiguousarray(vectors, np.float32).reshape(-1))
    column = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    pq.write_table(pa.table({"sentence": pa.array(sentences, pa.string()), "vector": column}), path)


def _one_space(sentence: str) -> str:
    return " ".join(sentence.split())


SHAPES = (
    "Give x.npy beside x.txt, x.npz with `sentences` and `vectors`, or x.parquet, x.csv or x.jsonl."
)


@dataclass(frozen=True)
class _Contents:
    """What a file of vectors holds.

    Attributes:
        paths: the file, and those that belong to it.
        dim: length of a vector.
        sentences: reads the texts, one for each vector.
        vectors: reads the vectors, float (n, dim).
    """

    paths: tuple[Path, ...]
    dim: int
    sentences: Callable[[], Iterable[str]]
    vectors: Callable[[], np.ndarray]


def _npy(path: Path, *_: str | None) -> _Contents:
    """`x.npy` beside `x.txt`; the array is mapped, not read."""
    beside = find(path.with_suffix(".txt"))
    if beside is None:
        raise UserError(
            f"{path.name} has no {path.stem}.txt beside it.",
            "Put its sentences there, one a line in the order of the rows.",
            code="no-file",
        )
    refuse_pointer(beside)
    array = _check(_load(path, mmap_mode="r"), path.name)

    def sentences() -> list[str]:
        texts = list(lines(beside))
        _same_length(len(texts), len(array), beside.name, path.name)
        return texts

    return _Contents((path, beside), array.shape[1], sentences, lambda: array)


def _npz(path: Path, *_: str | None) -> _Contents:
    """`x.npz` with `sentences` and `vectors`; refused if its arrays unpack to too much."""
    _check_unpacked(path)
    archive = _load(path)
    names = getattr(archive, "files", [])
    if "sentences" not in names or "vectors" not in names:
        raise UserError(
            f"{path.name} holds {', '.join(names) or 'no named array'}.",
            "It needs an array `sentences` and an array `vectors`.",
            code="missing",
        )
    try:
        sentences, vectors = archive["sentences"], _check(archive["vectors"], path.name)
    except UserError:
        raise
    except (*BROKEN_ZIP, OSError, MemoryError) as error:
        raise _unreadable(path, error) from error
    if sentences.dtype.kind != "U" or sentences.ndim != 1:
        raise UserError(
            f"`sentences` of {path.name} is not an array of texts.",
            "Save it as np.array(sentences, dtype=str).",
            code="wrong-kind",
        )
    _same_length(len(sentences), len(vectors), "`sentences`", "`vectors`")
    return _Contents((path,), vectors.shape[1], lambda: map(str, sentences), lambda: vectors)


def _parquet(path: Path, text: str | None, vector: str | None) -> _Contents:
    """`x.parquet`; each column is read when it is needed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.ParquetFile(path).schema_arrow
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    texts = [field.name for field in schema if is_text(field.type)]
    lists = [field.name for field in schema if _is_vector(field.type)]
    if not (vector or lists) and _numbered(schema.names):
        return _table(path, text, vector)
    columns = (
        _column(text, texts, "text", "text", path.name),
        _column(vector, lists, "vector", "lists of numbers", path.name),
    )
    _open(path, columns)
    dim = _width(path, columns[1], schema.field(columns[1]).type)
    return _Contents(
        (path,),
        dim,
        partial(_texts_of_column, path, columns),
        partial(_vectors_of_column, path, columns[1], dim),
    )


def _open(path: Path, columns: tuple[str, str]) -> ParquetFile:
    """Open two columns of Parquet, and check the sizes that the file states for them."""
    return ParquetFile(path, path.name, lambda _: columns, bounded=False)


def _width(path: Path, column: str, kind: Any) -> int:
    """The width that a column of Parquet declares, or else the length of its first list."""
    if hasattr(kind, "list_size"):
        return int(kind.list_size)
    import pyarrow.parquet as pq

    for batch in pq.ParquetFile(path).iter_batches(1, columns=[column]):
        if batch.column(0)[0].is_valid:
            return len(batch.column(0)[0])
        break
    raise UserError(
        f"Column {column} of {path.name} begins with no vector.",
        "Every row needs one.",
        code="damaged",
    )


def _texts_of_column(path: Path, columns: tuple[str, str]) -> Iterator[str]:
    """The texts in the first of two columns of Parquet."""
    file = _open(path, columns)
    place = file.columns.index(columns[0])
    for batch in file.batches():
        for sentence in batch[place]:
            if sentence is None:
                raise _empty(path, columns[0])
            yield sentence


def _vectors_of_column(path: Path, column: str, dim: int) -> np.ndarray:
    """The lists in a column of Parquet, float32 (n, dim)."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        read = pq.read_table(path, columns=[column]).column(0)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if read.null_count:
        raise _empty(path, column)
    lengths = pc.list_value_length(read).to_numpy()
    if (lengths != dim).any():
        row = int(np.flatnonzero(lengths != dim)[0])
        raise UserError(
            f"Row {row + 1} of {path.name} has {lengths[row]} numbers, the first row has {dim}.",
            "All vectors need one length.",
            code="mismatch",
        )
    flat = pc.list_flatten(read).to_numpy()
    return np.asarray(flat, np.float32).reshape(len(read), dim)


def _table(path: Path, text: str | None, vector: str | None) -> _Contents:
    """A table of texts and of lists of numbers; read when the first of either is needed."""

    def rows() -> tuple[tuple[str, ...], Iterator[tuple[str, list[Any]]]]:
        table = open_table(path, path.name, bounded=False)
        return table.columns, whole_rows(table, path.name)

    names, first = rows()
    _, cells = next(first, ("", []))
    one = dict(zip(names, cells, strict=False))
    lists = [name for name, cell in one.items() if _numbers(cell) is not None]
    spread = [] if vector or lists or not cells else _numbered(names)
    if _numbers([cells[at] for at in spread]) is None:
        spread = []
    named = f"{names[spread[0]]} to {names[spread[-1]]}" if spread else ""
    column = named or _column(vector, lists, "vector", "lists of numbers", path.name)
    texts = [n for n, cell in one.items() if isinstance(cell, str) and not is_number(cell)]
    texts = [name for name in texts if name not in (*lists, "id", "_id")]
    sentence = _column(text, texts, "text", "text", path.name)
    text_at, vector_at = names.index(sentence), -1 if spread else names.index(column)

    def vector_of(row: Sequence[Any]) -> Any:
        return _numbers([row[at] for at in spread] if spread else row[vector_at])

    dim = len(vector_of(cells))

    @cache
    def both() -> tuple[list[str], np.ndarray]:
        sentences, vectors = list[str](), list[np.ndarray]()
        for place, row in rows()[1]:
            vectors.append(vector_of(row))
            if vectors[-1] is None or len(vectors[-1]) != dim:
                raise UserError(
                    f"{place}: {column!r} is no list of {dim} numbers, as in the first row.",
                    "All vectors need one length.",
                    code="mismatch",
                )
            sentences.append(text_of(row[text_at], place, sentence))
        return sentences, np.stack(vectors)

    return _Contents((path,), dim, lambda: both()[0], lambda: both()[1])


def _numbered(names: Sequence[str]) -> list[int]:
    """The longest series of columns that are numbered through from 0 or 1; their places."""
    series: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        stem = name.rstrip("0123456789")
        places = series.setdefault(stem, [])
        start = names[places[0] if places else at][len(stem) :]
        if start in ("0", "1") and name == f"{stem}{int(start) + len(places)}":
            places.append(at)
    longest = max(series.values(), key=len, default=[])
    return longest if len(longest) > 1 else []


def _numbers(cell: Any) -> Any:
    """The numbers of a list, or of one that is written as text, float32 (n,); None for others."""
    if isinstance(cell, str):
        if not cell.startswith("["):
            return None
        cell = cell.strip("[] ").replace(",", " ").split()
    try:
        numbers = np.array(cell, np.float32)
    except (TypeError, ValueError):
        return None
    return numbers if numbers.ndim == 1 and len(numbers) else None


def _empty(path: Path, column: str) -> UserError:
    return UserError(
        f"Column {column} of {path.name} has empty cells.", "Remove these rows.", code="missing"
    )


_READERS: dict[str, Callable[[Path, str | None, str | None], _Contents]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".parquet": _parquet,
    **dict.fromkeys((".csv", ".tsv", ".json", ".jsonl"), _table),
}


def _check_unpacked(path: Path) -> None:
    """Check the sizes that the entries of an `.npz` state, before any is unpacked.

    Texts are padded to the longest, and so compress well: there is no ratio below the size of an
    upload.
    """
    if not zipfile.is_zipfile(path):
        return  # reading it will say what it is
    unpacking = limits.Unpacking(path.name, path, always=limits.MAX_BYTES)
    with zipfile.ZipFile(path) as archive:
        unpacking.add(sum(entry.file_size for entry in archive.infolist()))


def _load(path: Path, mmap_mode: Any = None) -> Any:
    try:
        return np.load(path, mmap_mode=mmap_mode, allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise _unreadable(path, error) from error


def _check(array: np.ndarray, name: str) -> np.ndarray:
    if array.ndim != 2 or array.dtype.kind != "f" or not array.shape[1]:
        raise UserError(
            f"The vectors of {name} are {array.dtype} of shape {array.shape}.",
            "Expected floating-point numbers of shape (sentences, dimensions).",
            code="wrong-kind",
        )
    return array


def _same_length(sentences: int, vectors: int, left: str, right: str) -> None:
    if sentences != vectors:
        raise UserError(
            f"{left} has {sentences:,} sentences and {right} has {vectors:,} vectors.",
            "Sentence i belongs to vector i, so both need the same number.",
            code="mismatch",
        )


def _is_vector(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(is_kind(kind) for is_kind in lists) and bool(types.is_floating(kind.value_type))


def _column(chosen: str | None, fitting: list[str], option: str, what: str, name: str) -> str:
    if chosen is None and len(fitting) == 1:
        return fitting[0]
    if chosen in fitting:
        return str(chosen)
    problem = f"no column {chosen!r}" if chosen else f"{len(fitting)} columns"
    raise UserError(
        f"{name} has {problem} of {what}.",
        f"Choose with ?{option}=COLUMN among {', '.join(fitting)}."
        if fitting
        else "Save sentences as text and vectors as lists of floats.",
        code="unknown" if chosen or not fitting else "ambiguous",
    )


def _unreadable(path: Path, error: Exception) -> UserError:
    reason = first_line(error, 200)
    if "pickle" in reason:  # NumPy takes whatever begins otherwise than its arrays for a pickle
        reason = "it is not an array of NumPy, or one of Python objects, which are never unpickled."
    return UserError(
        f"{path.name} cannot be read: {reason}", f"Save it again. {SHAPES}", code="damaged"
    )
