"""Files of rows with random access by byte offset, for files larger than memory.

For training, whose files may have any number of rows. Rows are parsed by `formats.rows_of`; this
module tracks their byte offsets. Packed files have no such offsets: a `.gz` is unpacked once, and a
Parquet file is converted to JSON lines. Knows nothing of what a column means.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any, NamedTuple

from filelock import FileLock

from theodolite.engine.datasets.dialect import JSON_LINES, Dialect, dialect_of, ending_of
from theodolite.engine.datasets.files import (
    BROKEN_GZIP,
    check_names,
    holds_nul,
    is_unicode,
    lines,
    not_utf8,
    not_whole_gzip,
    where,
)
from theodolite.engine.datasets.formats import open_table, rows_of
from theodolite.engine.datasets.limits import MAX_ROW, Unpacking, check_columns, row_too_long
from theodolite.engine.datasets.parquet import Opaque
from theodolite.engine.errors import UserError


class FileRow(NamedTuple):
    """A row of a file.

    Attributes:
        offset: offset of its first byte.
        line: the line on which it begins, from 1.
        cells: the cells of the chosen columns, stripped; empty if the line is empty or lacks a
            chosen cell.
        width: number of cells of the whole row; 0 for an empty line.
    """

    offset: int
    line: int
    cells: list[str]
    width: int


class RowFile:
    """A file of rows, read from the start or from any offset.

    Args:
        path: the file.
        folder: where packed files are unpacked.

    Attributes:
        name: the file's name for messages.
        columns: the names in the first line, `column 1` … without such a line, or `("text",)`.
        header: whether the first line holds names.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self.name = where(path)
        _, packed = ending_of(self.name)
        if not path.is_file():
            raise UserError(
                f"There is no file {path}.", "Give the training file's path.", code="no-file"
            )
        dialect = dialect_of(path, self.name)
        if packed or not dialect.in_place:
            unpacked = unpack(path, folder, dialect)
            if not dialect.in_place:
                dialect = Dialect(unpacked.suffix)
        else:
            unpacked = path
        self._dialect, self.header = dialect, dialect.header
        self._file = unpacked.open("rb")
        weakref.finalize(self, self._file.close)
        self._lock = Lock()  # the trainer and the interface may read from several threads
        self._lines = _Lines(self._file, self.name)
        self._body = (0, 0)  # start of the rows after the names: byte offset, lines before it
        self.columns, self._chosen = self._names(), tuple[int, ...]()
        check_columns(self.name, self.columns)
        if not self.columns:
            raise UserError(
                f"{self.name} names no column.",
                "Put the names on top, such as text.",
                code="missing",
            )
        self.choose(self.columns)

    def choose(self, columns: Sequence[str]) -> None:
        """Choose the columns whose cells are read, in this order."""
        self._chosen = tuple(self.columns.index(column) for column in columns)
        self._needed = max(self._chosen) + 1

    def rows(self) -> Iterator[FileRow]:
        """Iterate over all rows; empty lines are rows without cells."""
        self._lines.go(*self._body)
        return (self._row(*found) for found in self._scan())

    def at(self, offset: int) -> list[str]:
        """Return the chosen cells of the row at this byte offset."""
        with self._lock:
            self._lines.go(offset)
            return self._row(*next(self._scan())).cells

    def _names(self) -> tuple[str, ...]:
        """Return the columns and set where the rows begin."""
        if self._dialect.ending == ".txt":
            return ("text",)
        for _ in range(self._dialect.skip):
            next(self._lines)
        self._body = (self._lines.offset, self._lines.number)
        first = next((found for _, _, found in self._scan() if found is not None), ())
        if self._dialect.ending in JSON_LINES:
            check_names(self.name, first)
            return tuple(first)
        if not self.header:
            return tuple(f"column {i}" for i in range(1, len(first) + 1))
        self._body = (self._lines.offset, self._lines.number)
        return tuple(cell.strip("\ufeff").strip() for cell in first)

    def _scan(self) -> Iterator[tuple[int, int, Any]]:
        """Yield offset, line and content of each row from the current position."""
        lines = self._lines
        rows = rows_of(lines, self._dialect, self.name, lines.number + 1)
        while True:
            offset = lines.offset
            if (row := next(rows, None)) is None:
                return
            yield offset, *row

    def _row(self, offset: int, line: int, found: Any) -> FileRow:
        if found is None:
            return FileRow(offset, line, [], 0)
        if isinstance(found, dict):
            place = f"{self.name}, line {line}"
            chosen = [self.columns[i] for i in self._chosen]
            cells = [_as_text(found.get(column), place, column).strip() for column in chosen]
            return FileRow(offset, line, cells, len(self.columns))
        whole = len(found) >= self._needed
        cells = [found[i].strip() for i in self._chosen] if whole else []
        return FileRow(offset, line, cells, len(found))


class _Lines:
    """The decoded lines of a file with their line ends, and the offset of the next line."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self.go(0)

    def go(self, offset: int, number: int = 0) -> None:
        """Continue at this byte offset, after `number` lines if known."""
        self._file.seek(offset)
        self.offset, self.number = offset, number
        if offset == 0 and self._file.read(3) == b"\xef\xbb\xbf":  # UTF-8 byte order mark
            self.offset = 3
        self._file.seek(self.offset)

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        raw = self._file.readline(MAX_ROW + 1)
        if not raw:
            raise StopIteration
        self.number += 1
        if len(raw) > MAX_ROW:
            raise row_too_long(self._name, self.number)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise not_utf8(self._name, raw, self.number, self.offset, error) from error
        if "\0" in text:
            raise holds_nul(self._name, self.number)
        self.offset += len(raw)
        return text


def unpack(path: Path, folder: Path, dialect: Dialect) -> Path:
    """Unpack a file into a folder, unless done before, and return the result.

    A `.gz` of UTF-8 is unpacked as it is, and lines of another encoding become UTF-8; Parquet and
    all other files become JSON lines.

    Of several processes one unpacks, and the others wait for it.
    """
    state = path.stat()
    facts = f"{path.resolve()}\0{state.st_size}\0{state.st_mtime_ns}"
    key = hashlib.blake2b(facts.encode(), digest_size=8).hexdigest()
    ending = dialect.ending if dialect.in_place or dialect.ending == ".txt" else ".jsonl"
    target = folder / f"unpacked-{key}{ending}"
    lock = target.with_name(target.name + ".lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(lock):
            try:
                return target if target.is_file() else _unpacked(path, target, dialect)
            finally:
                with suppress(OSError):  # waiting processes hold it open, and find the file
                    lock.unlink()
    except OSError as error:
        raise UserError(
            f"{where(path)} could not be unpacked into {folder} ({error.strerror}).",
            "Free some space, or unpack it yourself and name the unpacked file.",
            code="no-file",
        ) from error


def _unpacked(path: Path, target: Path, dialect: Dialect) -> Path:
    partial = target.with_name(target.name + ".part")
    try:
        with partial.open("wb") as plain:
            if dialect.in_place:
                plain.writelines(_pieces(path))
            elif dialect.ending == ".txt":
                plain.writelines(f"{line}\n".encode() for line in lines(path))
            else:
                plain.writelines(_json_lines(path))
        return partial.replace(target)
    except BROKEN_GZIP as error:
        raise not_whole_gzip(where(path), error) from error
    finally:
        partial.unlink(missing_ok=True)


def _pieces(path: Path) -> Iterator[bytes]:
    unpacking = Unpacking(where(path), path.stat().st_size)
    with gzip.open(path) as packed:
        while piece := packed.read(2**20):
            unpacking.add(len(piece))
            yield piece


def _json_lines(path: Path) -> Iterator[bytes]:
    """Yield the rows as JSON lines; of a Parquet file only columns of text or numbers."""
    table = open_table(path, where(path), bounded=False)
    for _, cells in table.rows:
        row = zip(table.columns, cells, strict=False)
        plain = {name: cell for name, cell in row if not isinstance(cell, Opaque)}
        yield json.dumps(plain, default=str).encode() + b"\n"


def _as_text(value: Any, place: str, column: str) -> str:
    if value is None:
        return ""
    if isinstance(value, list | dict):
        raise UserError(
            f"{place}: {column!r} is a JSON {type(value).__name__}.",
            "Expected a text or a number.",
            code="damaged",
        )
    text = str(value)
    if not is_unicode(text):
        raise UserError(
            f"{place}: {column!r} contains an unpaired surrogate.",
            "Save the file as UTF-8 again.",
            code="damaged",
        )
    return text
