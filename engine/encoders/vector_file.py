"""The formats of files of precomputed vectors; see `engine.encoders.vectors`.

A reader takes a path and the names of two columns, and has `paths`, the files that it reads, `dim`,
`sentences()` and `vectors()`, float (n, dim).
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.engine.errors import UserError, first_line
from theodolite.engine.filetypes import refuse_pointer

if TYPE_CHECKING:
    from theodolite.engine.datasets.parquet import ParquetFile

SHAPES = "Give x.npy beside x.txt, x.npz with `sentences` and `vectors`, or x.parquet."


class NpyVectors:
    """`x.npy` beside `x.txt`; the array is mapped, not read."""

    def __init__(self, path: Path, text: str | None, vector: str | None) -> None:
        from theodolite.engine.datasets.files import find

        beside = find(path.with_suffix(".txt"))
        if beside is None:
            raise UserError(
                f"{path.name} has no {path.stem}.txt beside it.",
                "Put its sentences there, one a line in the order of the rows.",
            )
        refuse_pointer(beside)
        self.paths = (path, beside)
        self._array = _checked(_loaded(path, mmap_mode="r"), path.name)
        self.dim = self._array.shape[1]

    def sentences(self) -> list[str]:
        """The texts, one for each vector."""
        from theodolite.engine.datasets.files import lines

        sentences = list(lines(self.paths[1]))
        _same_length(len(sentences), len(self._array), self.paths[1].name, self.paths[0].name)
        return sentences

    def vectors(self) -> np.ndarray:
        """The vectors, float (n, dim)."""
        return self._array


class NpzVectors:
    """`x.npz` with `sentences` and `vectors`; refused if its arrays unpack to too much."""

    def __init__(self, path: Path, text: str | None, vector: str | None) -> None:
        from theodolite.engine.datasets.archives import BROKEN_ZIP

        self.paths = (path,)
        _check_unpacked(path)
        archive = _loaded(path)
        names = getattr(archive, "files", [])
        if "sentences" not in names or "vectors" not in names:
            raise UserError(
                f"{path.name} holds {', '.join(names) or 'no named array'}.",
                "It needs an array `sentences` and an array `vectors`.",
            )
        try:
            self._sentences = archive["sentences"]
            self._vectors = _checked(archive["vectors"], path.name)
        except UserError:
            raise
        except (*BROKEN_ZIP, OSError, MemoryError) as error:
            raise _unreadable(path, error) from error
        if self._sentences.dtype.kind != "U" or self._sentences.ndim != 1:
            raise UserError(
                f"`sentences` of {path.name} is no list of texts.",
                "Save it as np.array(sentences, dtype=str).",
            )
        _same_length(len(self._sentences), len(self._vectors), "`sentences`", "`vectors`")
        self.dim = self._vectors.shape[1]

    def sentences(self) -> Iterable[str]:
        """The texts, one for each vector."""
        return map(str, self._sentences)

    def vectors(self) -> np.ndarray:
        """The vectors, float (n, dim)."""
        return self._vectors


class ParquetVectors:
    """`x.parquet`; each column is read when it is needed."""

    def __init__(self, path: Path, text: str | None, vector: str | None) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.paths = (path,)
        try:
            file = pq.ParquetFile(path)
            schema = file.schema_arrow
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _unreadable(path, error) from error
        texts = [f.name for f in schema if pa.types.is_string(f.type) or _is_large_string(f.type)]
        lists = [f.name for f in schema if _is_vector(f.type)]
        self._text = _column(text, texts, "text", "text", path.name)
        self._vector = _column(vector, lists, "vector", "lists of numbers", path.name)
        self._open()
        self.dim = self._width(schema.field(self._vector).type)

    def _open(self) -> ParquetFile:
        """Open both columns, and check the sizes that the file states for them."""
        from theodolite.engine.datasets.parquet import ParquetFile

        path = self.paths[0]
        return ParquetFile(path, path.name, (self._text, self._vector))

    def _width(self, kind: Any) -> int:
        """The width that the column declares, or else the length of the first list."""
        if hasattr(kind, "list_size"):
            return int(kind.list_size)
        import pyarrow.parquet as pq

        for batch in pq.ParquetFile(self.paths[0]).iter_batches(1, columns=[self._vector]):
            if batch.column(0)[0].is_valid:
                return len(batch.column(0)[0])
            break
        raise UserError(
            f"Column {self._vector} of {self.paths[0].name} begins with no vector.",
            "Every row needs one.",
        )

    def sentences(self) -> Iterator[str]:
        """The texts, one for each vector."""
        file = self._open()
        place = file.columns.index(self._text)
        for batch in file.batches():
            for sentence in batch[place]:
                if sentence is None:
                    raise self._empty(self._text)
                yield sentence

    def _empty(self, column: str) -> UserError:
        return UserError(
            f"Column {column} of {self.paths[0].name} has empty cells.", "Remove these rows."
        )

    def vectors(self) -> np.ndarray:
        """The vectors, float (n, dim)."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        try:
            column = pq.read_table(self.paths[0], columns=[self._vector]).column(0)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _unreadable(self.paths[0], error) from error
        if column.null_count:
            raise self._empty(self._vector)
        lengths = pc.list_value_length(column).to_numpy()
        if (lengths != self.dim).any():
            row = int(np.flatnonzero(lengths != self.dim)[0])
            raise UserError(
                f"Row {row + 1} of {self.paths[0].name} has {lengths[row]} numbers, the first row "
                f"has {self.dim}.",
                "All vectors need one length.",
            )
        flat = pc.list_flatten(column).to_numpy()
        return np.asarray(flat, np.float32).reshape(len(column), self.dim)


READERS: dict[str, type[NpyVectors] | type[NpzVectors] | type[ParquetVectors]] = {
    ".npy": NpyVectors,
    ".npz": NpzVectors,
    ".parquet": ParquetVectors,
}


def _check_unpacked(path: Path) -> None:
    """Check the sizes that the entries of an `.npz` state, before any is unpacked.

    Texts are padded to the longest, and so compress well: there is no ratio below the size of an
    upload.
    """
    from theodolite.engine.datasets.limits import MAX_BYTES, Unpacking

    if not zipfile.is_zipfile(path):
        return  # reading it will say what it is
    unpacking = Unpacking(path.name, path.stat().st_size, always=MAX_BYTES)
    with zipfile.ZipFile(path) as archive:
        unpacking.add(sum(entry.file_size for entry in archive.infolist()))


def _loaded(path: Path, mmap_mode: Any = None) -> Any:
    try:
        return np.load(path, mmap_mode=mmap_mode, allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise _unreadable(path, error) from error


def _checked(array: np.ndarray, name: str) -> np.ndarray:
    if array.ndim != 2 or array.dtype.kind != "f" or not array.shape[1]:
        raise UserError(
            f"The vectors of {name} are {array.dtype} of shape {array.shape}.",
            "Expected floating-point numbers of shape (sentences, dimensions).",
        )
    return array


def _same_length(sentences: int, vectors: int, left: str, right: str) -> None:
    if sentences != vectors:
        raise UserError(
            f"{left} has {sentences:,} sentences and {right} has {vectors:,} vectors.",
            "Sentence i belongs to vector i, so both need the same number.",
        )


def _is_large_string(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_large_string(kind))


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
    wanted = f"no column {chosen!r}" if chosen else f"{len(fitting)} columns"
    raise UserError(
        f"{name} has {wanted} of {what}.",
        f"Choose with ?{option}=COLUMN among {', '.join(fitting)}."
        if fitting
        else "Save sentences as text and vectors as lists of floats.",
    )


def _unreadable(path: Path, error: Exception) -> UserError:
    reason = first_line(error, 200)
    if "pickle" in reason:  # NumPy takes whatever begins otherwise than its arrays for a pickle
        reason = "it is no array of NumPy, or one of Python objects, which are never unpickled."
    return UserError(f"{path.name} cannot be read: {reason}", f"Save it again. {SHAPES}")
