"""Files of training rows read by number: where each row begins is all that stays in memory.

Text (one sentence a line), CSV (RFC 4180: quotes, line ends inside quotes; `;` or a tab as the
separator is noticed), TSV (a bare tab split) and JSON lines, each also as `.gz`, which is unpacked
once because nothing can be found by position in a packed file. Knows nothing of what a column
means.
"""

from __future__ import annotations

import csv
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

from engine.datasets.files import (
    BROKEN_GZIP,
    check_names,
    holds_nul,
    is_unicode,
    not_utf8,
    not_whole_gzip,
    where,
)
from engine.datasets.limits import MAX_ROW, Unpacking, check_columns, row_too_long
from engine.errors import UserError

ENDINGS = (".txt", ".csv", ".tsv", ".jsonl", ".ndjson")
"""What a training file may end in; all also with `.gz`."""

_MACINTOSH = "Files of old Macintosh programs end their lines in a carriage return alone."


class Row(NamedTuple):
    """A row of a file.

    Attributes:
        offset: of its first byte.
        line: on which it begins, from 1.
        cells: of the chosen columns; nothing when the line is empty or a chosen cell is not there.
        width: how many cells the whole row has; 0 for an empty line.
    """

    offset: int
    line: int
    cells: list[str]
    width: int


class RowFile:
    """A file of rows, read from the start or from any offset.

    Args:
        path: of the file.
        folder: where a `.gz` is unpacked.

    Attributes:
        name: of the file, for people.
        columns: as the first line names them, or `("text",)`.

    Raises:
        UserError: an unknown ending, a file that is not what its name says, an empty one.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self.name = where(path)
        self.ending = ending(path.name)
        if not path.is_file():
            raise UserError(f"There is no file {path}.", "Give the training file's path.")
        _check_start(path)
        self._file = (unpack(path, folder) if path.suffix == ".gz" else path).open("rb")
        weakref.finalize(self, self._file.close)
        self._lock = Lock()  # the trainer and whoever looks on may ask from several threads
        self._separator = self._guess_separator() if self.ending == ".csv" else "\t"
        self._lines = _Lines(self._file, self.name)
        self._body = (0, 0)  # where the rows begin after the names: byte, lines before it
        self.columns, self._chosen = self._names(), tuple[int, ...]()
        check_columns(self.name, self.columns)
        if not self.columns:
            raise UserError(f"{self.name} names no column.", "Put the names on top, such as text.")
        self.choose(self.columns)

    def choose(self, columns: Sequence[str]) -> None:
        """Read the cells of these columns from here on, in this order."""
        self._chosen = tuple(self.columns.index(column) for column in columns)
        self._needed = max(self._chosen) + 1

    def rows(self) -> Iterator[Row]:
        """Yield every row from the first, empty lines as rows without cells.

        Raises:
            UserError: not UTF-8, a broken quote, no JSON, a row of more than a megabyte (each with
                the line).
        """
        self._lines.go(*self._body)
        for offset, line, cells in self._scan():
            yield Row(offset, line, self._picked(cells), len(cells))

    def at(self, offset: int) -> list[str]:
        """Return the chosen cells of the row that begins at this byte."""
        with self._lock:
            self._lines.go(offset)
            return self._picked(next(self._scan())[2])

    def _picked(self, cells: list[str]) -> list[str]:
        return [cells[i] for i in self._chosen] if len(cells) >= self._needed else []

    def _names(self) -> tuple[str, ...]:
        """Return the columns and find where the rows begin."""
        if self.ending == ".txt":
            return ("text",)
        if self.ending in (".csv", ".tsv"):
            first = next((cells for _, _, cells in self._scan() if cells), [])
            self._body = (self._lines.offset, self._lines.number)
            return tuple(cell.strip() for cell in first)
        line = next((line for line in self._lines if line.strip()), "{}")
        columns = tuple(self._object(line))
        check_names(self.name, columns)
        return columns

    def _scan(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yield offset, line and all cells of each row from where the lines are now."""
        return self._scan_csv() if self.ending == ".csv" else self._scan_lines()

    def _scan_lines(self) -> Iterator[tuple[int, int, list[str]]]:
        lines = self._lines
        while True:
            offset = lines.begin_row()
            line = next(lines, None)
            if line is None:
                return
            text = line.rstrip("\r\n")
            if not text.strip():
                cells = []
            elif self.ending == ".txt":
                cells = [text.strip()]
            else:
                cells = text.split("\t") if self.ending == ".tsv" else self._values(text)
            yield offset, lines.number, cells

    def _values(self, text: str) -> list[str]:
        """Return the values of a JSON object by the names of the first one."""
        value, place = self._object(text), f"{self.name}, line {self._lines.number}"
        return [
            _as_text(value.get(column), place, column) if i in self._chosen else ""
            for i, column in enumerate(self.columns)
        ]

    def _object(self, text: str) -> dict[str, Any]:
        place = f"{self.name}, line {self._lines.number}"
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UserError(
                f"{place} is not JSON ({error}).", "JSON lines holds one whole object on each line."
            ) from error
        if not isinstance(value, dict):
            raise UserError(
                f"{place} holds a JSON {type(value).__name__}, not an object.",
                'Every line looks like {"premise": "…", "hypothesis": "…", "label": "entailment"}.',
            )
        return value

    def _scan_csv(self) -> Iterator[tuple[int, int, list[str]]]:
        lines = self._lines
        csv.field_size_limit(MAX_ROW)  # the library's own is 131,072 characters
        reader = csv.reader(lines, delimiter=self._separator, strict=True)
        while True:
            offset, line = lines.begin_row(), lines.number + 1
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise UserError(
                    f"{self.name}: the row that begins on line {line} has a broken quote "
                    f"({error}).",
                    'In CSV a quote inside a quoted cell is written twice: "She said ""yes""."',
                ) from error
            if cells is None:
                return
            yield offset, line, cells if any(cell.strip() for cell in cells) else []

    def _guess_separator(self) -> str:
        first = self._file.readline(MAX_ROW)
        return next((s for s in ",;\t" if s.encode() in first), ",")


class _Lines:
    """The decoded lines of a file with their ends, and where the next one begins."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self.go(0)

    def go(self, offset: int, number: int = 0) -> None:
        """Continue at this byte, `number` lines into the file if anyone wants to know."""
        self._file.seek(offset)
        self.offset, self.number, self._row = offset, number, offset
        if offset == 0 and self._file.read(3) == b"\xef\xbb\xbf":  # the mark of UTF-8
            self.offset = self._row = 3
        self._file.seek(self.offset)

    def begin_row(self) -> int:
        """Count the bytes of a row from here, and say where that is."""
        self._row = self.offset
        return self.offset

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        raw = self._file.readline(MAX_ROW + 1)
        if not raw:
            raise StopIteration
        self.number += 1
        if self.offset + len(raw) - self._row > MAX_ROW:
            raise row_too_long(self._name, self.number, _MACINTOSH)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise not_utf8(self._name, raw, self.number, self.offset, error) from error
        if "\0" in text:
            raise holds_nul(self._name, self.number)
        self.offset += len(raw)
        return text


def ending(filename: str) -> str:
    """Return what the name of a training file ends in, without `.gz`.

    Raises:
        UserError: an ending not known here.
    """
    found = Path(filename.lower().removesuffix(".gz")).suffix
    if found not in ENDINGS:
        raise UserError(
            f"{filename} is no format that training reads.",
            f"Known are {', '.join(ENDINGS)}, also packed as .gz. "
            "Rename a file with one sentence a line so that it ends in .txt.",
        )
    return found


def _check_start(path: Path) -> None:
    """Refuse a file whose first bytes are not what its name says."""
    with path.open("rb") as raw:
        start = raw.read(2)
    if not start:
        raise UserError(f"{where(path)} is empty.", "Give a file with at least two sentences.")
    if (start == b"\x1f\x8b") != (path.suffix == ".gz"):
        told = "a gzip file, but its name does not end" if path.suffix != ".gz" else (
            "no gzip file, but its name ends"
        )  # fmt: skip
        raise UserError(f"{where(path)} is {told} in .gz.", "Rename it to what it is.")


def unpack(path: Path, folder: Path) -> Path:
    """Unpack a `.gz` into a folder, unless it was unpacked there before, and return the file.

    Of several processes one unpacks, and the others wait for it.

    Raises:
        UserError: it is broken, or the disk is full.
    """
    state = path.stat()
    facts = f"{path.resolve()}\0{state.st_size}\0{state.st_mtime_ns}"
    key = hashlib.blake2b(facts.encode(), digest_size=8).hexdigest()
    target = folder / f"unpacked-{key}{Path(path.stem).suffix}"
    lock = target.with_name(target.name + ".lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(lock):
            try:
                return target if target.is_file() else _unpacked(path, target)
            finally:
                with suppress(OSError):  # whoever waits holds it open, and finds the file
                    lock.unlink()
    except OSError as error:
        raise UserError(
            f"{where(path)} could not be unpacked into {folder} ({error.strerror}).",
            "Free some space, or unpack it yourself and name the unpacked file.",
        ) from error


def _unpacked(path: Path, target: Path) -> Path:
    partial = target.with_name(target.name + ".part")
    unpacking = Unpacking(where(path), path.stat().st_size)
    try:
        with gzip.open(path) as packed, partial.open("wb") as plain:
            while piece := packed.read(2**20):
                unpacking.add(len(piece))
                plain.write(piece)
        return partial.replace(target)
    except BROKEN_GZIP as error:
        raise not_whole_gzip(where(path), error) from error
    finally:
        partial.unlink(missing_ok=True)


def _as_text(value: Any, place: str, column: str) -> str:
    if value is None:
        return ""
    if isinstance(value, list | dict):
        raise UserError(
            f"{place}: {column!r} is a JSON {type(value).__name__}.", "Expected a text or a number."
        )
    text = str(value)
    if not is_unicode(text):
        raise UserError(
            f"{place}: {column!r} holds half a character.", "Save the file as UTF-8 again."
        )
    return text
