"""Splits a corpus into shards: the same files always give the same shards.

A shard lies within one file, so that adding or changing a file does not affect the shards of the
others: they are found by their hash and not encoded again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from theodolite.engine.corpus.files import (
    CUT,
    SHARDS,
    TEMPORARY,
    read_json,
    shard_file,
    whole,
    write_json,
)
from theodolite.engine.datasets.dialect import dialect_of
from theodolite.engine.datasets.files import listed, where
from theodolite.engine.datasets.formats import lines_of, open_table, text_of, whole_rows
from theodolite.engine.datasets.parquet import Opaque
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.errors import UserError

VERSION = 1
SHARD_ROWS = 16_384
"""25 MB at 384 dimensions: the most that a killed run loses."""
SHARD_BYTES = 64 * 2**20
"""Most bytes of text in a shard: it is held in memory while a corpus is cut."""


@dataclass(frozen=True)
class Shard:
    """Some consecutive rows of a corpus.

    Attributes:
        name: SHA-256 of its sentences, one per line.
        source: name of the file of its sentences.
        start, stop: rows of the corpus.
    """

    name: str
    source: str
    start: int
    stop: int

    @property
    def rows(self) -> int:
        """Number of sentences."""
        return self.stop - self.start


@dataclass(frozen=True)
class Cut:
    """The division of a corpus into shards.

    Attributes:
        shards: in the order of the corpus. One with the same content as another is listed twice.
        encoder: canonical spec.
        fingerprint: of the encoder.
        format: of the shards' files, see `files.ENDINGS`.
        dtype: of the vectors.
    """

    shards: tuple[Shard, ...]
    encoder: str
    fingerprint: str
    format: str
    dtype: str

    @property
    def rows(self) -> int:
        """Number of sentences in all."""
        return self.shards[-1].stop if self.shards else 0

    @property
    def hash(self) -> str:
        """Hash of everything that determines the finished folder."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:32]

    def write(self, folder: Path) -> None:
        """Write the cut to a folder, in place of an earlier one."""
        write_json(folder / CUT, {"version": VERSION, **asdict(self)})

    @classmethod
    def read(cls, folder: Path) -> Cut:
        """Read the cut of a folder."""
        stored = read_json(folder / CUT)
        if stored is None:
            raise UserError(
                f"{folder} contains no encoded corpus.", "Encode one into it first.", code="no-file"
            )
        if stored.get("version") != VERSION:
            raise UserError(
                f"{folder} was written by another version of Theodolite.",
                "Update Theodolite, or choose another folder.",
                code="unsupported",
            )
        shards = tuple(Shard(**shard) for shard in stored["shards"])
        fields: Any = {name: stored[name] for name in ("encoder", "fingerprint", "format", "dtype")}
        return cls(shards, **fields)


def check_free(folder: Path, encoder: Encoder, format: str, dtype: str) -> None:
    """Refuse a folder with other content."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UserError(f"{folder} is a file.", "Name a folder with --out.", code="wrong-kind")
    if not (folder / CUT).is_file():
        if any(one.name != SHARDS and one.suffix != TEMPORARY for one in folder.iterdir()):
            raise UserError(
                f"{folder} is not empty and contains no encoded corpus.",
                "Choose another folder.",
                code="conflict",
            )
        return
    there = Cut.read(folder)
    identity = (encoder.fingerprint, format, dtype)
    if (there.fingerprint, there.format, there.dtype) != identity:
        changed = there.encoder == encoder.name and there.fingerprint != encoder.fingerprint
        how = "with earlier weights" if changed else f"{there.dtype}, {there.format}"
        raise UserError(
            f"{folder} holds the vectors of {there.encoder} ({how}).",
            "Choose another folder.",
            code="conflict",
        )


def cut(
    files: Sequence[Path],
    column: str | None,
    folder: Path,
    encoder: Encoder,
    *,
    format: str = "npy",
    dtype: str = "float32",
    rows: int = SHARD_ROWS,
    progress: Callable[[str, int], None] | None = None,
) -> Cut:
    """Cut files into shards and write the sentences of those that are not done.

    It can be interrupted at any moment; started again, it reuses the shards written.

    Args:
        files: in the order of the corpus.
        column: of tables, see `texts_of`.
        folder: created if missing.
        encoder: the encoder for the vectors.
        format: `npy` or `parquet`.
        dtype: `float32` or `float16`.
        rows: most rows of a shard.
        progress: called with the name of the file and the rows so far; may raise.
    """
    check_free(folder, encoder, format, dtype)
    (folder / SHARDS).mkdir(parents=True, exist_ok=True)
    shards: list[Shard] = []
    for file in files:
        for sentences in _shards(file, column, rows):
            start = shards[-1].stop if shards else 0
            name = _keep_sentences(folder, sentences)
            shards.append(Shard(name, file.name, start, start + len(sentences)))
            if progress is not None:
                progress(file.name, shards[-1].stop)
    if not shards:
        raise UserError("The corpus has no sentence.", "Are these the right files?", code="missing")
    result = Cut(tuple(shards), encoder.name, encoder.fingerprint, format, dtype)
    result.write(folder)
    return result


def _shards(file: Path, column: str | None, rows: int) -> Iterator[list[bytes]]:
    """Yield the sentences of each shard as UTF-8."""
    some: list[bytes] = []
    size = 0
    for text in texts_of(file, column):
        line = text.encode()
        if some and (len(some) == rows or size + len(line) > SHARD_BYTES):
            yield some
            some, size = [], 0
        some.append(line)
        size += len(line)
    if some:
        yield some


def _keep_sentences(folder: Path, sentences: Sequence[bytes]) -> str:
    """Write sentences under their hash, unless they exist; return the hash."""
    content = b"\n".join(sentences) + b"\n"
    name = hashlib.sha256(content).hexdigest()
    file = shard_file(folder, name, ".txt")
    if not file.exists() and not shard_file(folder, name, ".json").exists():
        with whole(file) as path:
            path.write_bytes(content)
    return name


_BREAKS = re.compile("[\r\n\0]+")


def texts_of(file: Path, column: str | None = None) -> Iterator[str]:
    """Yield the sentences of a file in order: each line of a text, each row of a table.

    An empty line of a text is an empty sentence; of a table, empty lines are left out. A line break
    within a cell becomes a space.

    Args:
        file: with one of `dialect.ENDINGS`, also `.gz`.
        column: of a table; None where it has only one.
    """
    name = where(file)
    if not file.is_file():
        raise UserError(f"There is no file {file}.", "Check the path.", code="no-file")
    dialect = dialect_of(file, name)
    if dialect.ending == ".txt":
        yield from lines_of(file, dialect.encoding)
        return

    def chosen(columns: Sequence[str]) -> list[str]:
        return [_choose_column(columns, column, name)]

    table = open_table(file, name, bounded=False, choose=chosen)
    (called,) = chosen(table.columns)
    at = table.columns.index(called)
    for place, cells in whole_rows(table, name):
        yield _one_line(cells[at], place, called)


def _choose_column(columns: Sequence[str], column: str | None, name: str) -> str:
    if column is None and len(columns) == 1:
        return columns[0]
    if column not in columns:
        missing = f"no column {column!r}" if column else f"{len(columns)} columns"
        raise UserError(
            f"{name} has {missing}.",
            f"Name one with --column: {listed(columns) or 'none'}.",
            code="unknown" if column else "ambiguous",
        )
    return str(column)


def _one_line(cell: Any, place: str, column: str) -> str:
    if isinstance(cell, Opaque):
        raise UserError(
            f"{place} has no {column!r}.", "Every row needs a text there.", code="missing"
        )
    text = text_of(cell, place, column, numbers=False)
    return text if text.isprintable() else _BREAKS.sub(" ", text)  # quick to tell
