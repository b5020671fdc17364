"""Precomputed vectors: an encoder for the sentences that a file contains.

Three formats:

    x.npy       float (n, dim), beside it `x.txt` with n sentences, one a line, UTF-8 (or `.txt.gz`)
    x.npz       an array `sentences` of text (n,) and an array `vectors`, float (n, dim)
    x.parquet   a column of text and a column of lists of numbers, all of one length

A folder that `theodolite encode-corpus` wrote is read too: `engine.corpus`.

A sentence is found by its text, with runs of white space read as one space; for a sentence that
occurs twice the first vector counts. Nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from theodolite.engine.encoders.fingerprint import file_sha256, fingerprint
from theodolite.engine.encoders.known import KnownVectors
from theodolite.engine.encoders.spec import SourceSpec, parse
from theodolite.engine.encoders.vector_file import READERS, SHAPES, ParquetVectors
from theodolite.engine.errors import UserError
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
        text: Parquet's column of sentences; None takes the only column of text.
        vector: Parquet's column of vectors; None takes the only column of lists.
    """

    def __init__(
        self, name: str, file: str, text: str | None = None, vector: str | None = None
    ) -> None:
        self.name = name
        self.path = Path(file)
        if not self.path.is_file():
            raise UserError(f"There is no file {file}.", SHAPES)
        refuse_pointer(self.path)
        reader = READERS.get(self.path.suffix.lower())
        if reader is None:
            raise UserError(f"{self.path.name} is no file of vectors by its ending.", SHAPES)
        if reader is not ParquetVectors and (text or vector):
            raise UserError(
                f"{self.path.name} has no columns to choose.", "Only Parquet takes text and vector."
            )
        before = stamp(self.path)
        self._file = reader(self.path, text, vector)
        self._stamp = stamp(*self._file.paths)
        check_unchanged(before, stamp(self.path), self.path.name)
        self.dim, self.bytes = self._file.dim, self.path.stat().st_size
        self._columns = (text, vector)

    @cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
        """Hash of the content of the files, which are read for it at first use."""
        found = fingerprint("vectors", *map(file_sha256, self._file.paths), *self._columns)
        self._check_unchanged()
        return found

    def read(self) -> None:
        """See `Source.read`: the sentences, and whether each has a vector."""
        self._rows  # noqa: B018

    def __len__(self) -> int:
        """Number of different sentences."""
        return len(self._rows)

    @cached_property
    def _rows(self) -> dict[str, int]:
        """Row of each sentence."""
        sentences = self._file.sentences()
        rows: dict[str, int] = {}
        for row, sentence in enumerate(sentences):
            rows.setdefault(_spaced(sentence), row)
        return rows

    @cached_property
    def _vectors(self) -> np.ndarray:
        return self._file.vectors()

    def lacking(self, sentences: Sequence[str]) -> list[str]:
        """See `KnownVectors.lacking`."""
        return [s for s in sentences if _spaced(s) not in self._rows]

    def _look_up(self, sentences: Sequence[str]) -> np.ndarray:
        rows = [self._rows[_spaced(s)] for s in sentences]
        found = np.asarray(self._vectors[rows], np.float32)
        self._check_unchanged()  # a mapped array shows what another process writes
        finite = np.isfinite(found).all(axis=1)
        if not finite.all():
            at = int(finite.argmin())
            raise UserError(
                f"Vector {rows[at] + 1:,} of {self.path.name} holds NaN or infinity; its sentence "
                f"is {sentences[at][:80]!r}.",
                "Compute it again, or remove it from the file.",
            )
        return found

    def _check_unchanged(self) -> None:
        check_unchanged(self._stamp, stamp(*self._file.paths), self.path.name)


def lacking(spec: str, sentences: Sequence[str]) -> list[str]:
    """Sentences that the files of vectors in a spec lack; none for an encoder without such files.

    To check before a run: `lacking(spec, catalog.load(task.dataset).sentences)`.
    """
    return Coverage(spec).lacking(sentences)


class Coverage:
    """The sentences that the files of vectors in a spec cover, read once for many look-ups."""

    def __init__(self, spec: str) -> None:
        self.files = [
            open_vectors(source) for source in parse(spec).sources if source.kind == "vectors"
        ]

    def lacking(self, sentences: Sequence[str]) -> list[str]:
        """The sentences that any of the files lacks, in order, repetitions included."""
        left_out = {s for file in self.files for s in file.lacking(sentences)}
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


def _spaced(sentence: str) -> str:
    return " ".join(sentence.split())
