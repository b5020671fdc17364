"""What the readers of data files share: finding, opening, decoding, and reporting errors.

A file may lie there plain or as `.gz`; both are read in place, line by line, so that a file of a
million lines costs the memory of its sentences and no more. Knows no format.
"""

from __future__ import annotations

import gzip
import io
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

from engine.datasets.limits import MAX_ROW, row_too_long
from engine.datasets.types import Dataset, DatasetInfo
from engine.errors import UserError
from engine.stamps import Stamp, stamp

BROKEN_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)
"""What reading a `.gz` raises that is cut short or damaged."""


_PIECE = 2**16
"""Bytes read at once where a line may be without end."""


@dataclass(frozen=True)
class DatasetSource:
    """A data set that is there: what a list shows of it, and how to read it."""

    info: DatasetInfo
    read: Callable[[], Dataset]

    @property
    def paths(self) -> list[Path]:
        """The files and folders that `read` is given."""
        return list(_paths(getattr(self.read, "args", ())))

    @property
    def stamp(self) -> Stamp:
        """Of these; see `engine.stamps`."""
        return stamp(*self.paths)


def _paths(given: object) -> Iterator[Path]:
    if isinstance(given, Path):
        yield given
    elif isinstance(given, list | tuple | dict):
        for part in given.values() if isinstance(given, dict) else given:
            yield from _paths(part)


def find(path: Path) -> Path | None:
    """Return the file itself, or its `.gz`, or None when neither is there."""
    packed = path.with_name(path.name + ".gz")
    return next((p for p in (path, packed) if p.is_file()), None)


def existing(path: Path) -> Path:
    """Return the file or its `.gz`.

    Raises:
        UserError: neither is there.
    """
    found = find(path)
    if found is None:
        raise UserError(
            f"The file {where(path)} is missing.",
            "Put it there (plain or as .gz), or remove the folder to hide the data set.",
        )
    return found


def where(path: Path) -> str:
    """Name a file for people: its folder and its name, not the whole path of the machine."""
    return "/".join(path.parts[-2:])


def lines(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    r"""Yield the lines of a text file without their ends (`\n`, `\r\n` or `\r`).

    Raises:
        UserError: the bytes are not in this encoding (names the line), or a broken `.gz`.
    """
    with open_binary(path) as raw:
        yield from decode(raw, where(path), encoding)


def open_binary(source: Path | bytes, packed: bool | None = None) -> IO[bytes]:
    """Open a file, or bytes in memory, and unpack gzip on the way.

    Args:
        source: a path or the content itself.
        packed: whether it is gzip; by default the path's ending says so.
    """
    if packed is None:
        packed = isinstance(source, Path) and source.suffix == ".gz"
    if isinstance(source, bytes):
        raw = io.BytesIO(source)
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if packed else raw
    return cast("IO[bytes]", gzip.open(source)) if packed else source.open("rb")


def decode(
    raw: IO[bytes], name: str, encoding: str = "utf-8", newline: str | None = None
) -> Iterator[str]:
    """Yield the decoded lines of a binary stream, without their ends unless `newline` is "".

    Args:
        raw: a seekable binary stream, at its start.
        name: of the file, for the error.
        encoding: of the file; a byte order mark of UTF-8 is dropped.
        newline: as for `open`.

    Raises:
        UserError: the bytes are not in this encoding (names line and byte), a broken `.gz`, or a
            line longer than `limits.MAX_ROW`, which is not read to its end.
    """
    try:
        yield from _decoded(raw, name, encoding, newline)
    except BROKEN_GZIP as error:
        raise not_whole_gzip(name, error) from error


def _decoded(raw: IO[bytes], name: str, encoding: str, newline: str | None) -> Iterator[str]:
    text = io.TextIOWrapper(raw, "utf-8-sig" if encoding == "utf-8" else encoding, newline=newline)
    try:
        read = iter(partial(text.readline, MAX_ROW + 1), "")
        for count, line in enumerate(read, start=1):
            if len(line) > MAX_ROW:
                raise row_too_long(name, count)
            if "\0" in line:  # no text has it: half of UTF-16, or no text at all
                raise holds_nul(name, count)
            yield line.removesuffix("\n") if newline is None else line
    except UnicodeDecodeError as error:
        raise _not_utf8(raw, name) from error
    finally:
        if not raw.closed:
            text.detach()  # whoever opened the stream closes it


def not_whole_gzip(name: str, error: Exception) -> UserError:
    """Say that a file was cut short or damaged."""
    return UserError(f"{name} is not a whole gzip file ({error}).", "Copy or download it again.")


def holds_nul(name: str, number: int) -> UserError:
    """Say that a line of a file is no text."""
    return UserError(
        f"{name}, line {number} holds a NUL byte, as UTF-16 and binary files do.",
        "Save it as UTF-8 text.",
    )


def _not_utf8(raw: IO[bytes], name: str) -> UserError:
    """Say where the first bad byte is and which encoding the file seems to have."""
    raw.seek(0)
    number, begins, before, held = 1, 0, 0, b""
    while chunk := raw.readline(_PIECE):  # a line without end is read in pieces
        piece, held = held + chunk, b""
        try:
            piece.decode("utf-8")
        except UnicodeDecodeError as error:
            # A character cut in two by the file's end shows up here as well: same advice.
            if error.reason != "unexpected end of data" or len(chunk) < _PIECE:
                return not_utf8(name, piece, number, begins, error, before)
            held = piece[error.start :]  # it goes on in the next piece
        before += len(piece) - len(held)
        if chunk.endswith(b"\n"):
            number, begins, before = number + 1, begins + before, 0
    return UserError(f"{name} is not UTF-8.", "Save it as UTF-8.")


def not_utf8(
    name: str,
    piece: bytes,
    number: int,
    offset: int,
    error: UnicodeDecodeError,
    before: int = 0,
) -> UserError:
    """Say that a line of a file is not UTF-8, and what it may be.

    Args:
        name: of the file.
        piece: of the line, the one that could not be decoded.
        number: of the line.
        offset: byte at which the line begins.
        error: what decoding the piece raised.
        before: bytes of the line before the piece.
    """
    looks = _looks_like(piece)
    at = before + error.start
    return UserError(
        f"{name} is not UTF-8: line {number}, byte {at + 1} of the line "
        f"(byte offset {offset + at} of the file) is 0x{piece[error.start]:02X}. "
        f"It looks like {looks}.",
        f"Save it as UTF-8, for example: iconv -f {looks} -t UTF-8 OLD > NEW",
    )


def _looks_like(line: bytes) -> str:
    """Guess the encoding of a line that is not UTF-8; only ever shown as a guess."""
    if b"\0" in line or line[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "UTF-16"
    # Bytes 0x80-0x9F are control characters in ISO-8859-1 and quotes and dashes in Windows-1252.
    return "WINDOWS-1252" if any(0x80 <= byte < 0xA0 for byte in line) else "ISO-8859-1"


def number(text: str, place: str) -> float:
    """Read a finite number.

    Raises:
        UserError: it is none; `place` says where it stands.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(
            f"{place}: the score {shorten(text)} is not a number.",
            "Scores are plain numbers with a point, such as 3.8.",
        )
    return value


def is_unicode(text: str) -> bool:
    """Tell whether a text can be written as UTF-8: JSON can hold half a character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def check_names(filename: str, columns: Iterable[str]) -> None:
    """Refuse a name of a column that is no text.

    Raises:
        UserError: there is one; names it.
    """
    broken = next((column for column in columns if not is_unicode(column)), None)
    if broken is not None:
        raise UserError(
            f"{filename}: the name of the column {shorten(broken)} holds half a character.",
            "Save the file as UTF-8 again.",
        )


def listed(names: Sequence[str], most: int = 20) -> str:
    """Name things for an error message, such as the columns of a file."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(n if len(n) <= 60 else f"{n[:59]}…" for n in names[:most]) + more


def shorten(text: str, limit: int = 40) -> str:
    """Quote a piece of a file for an error message, cut to `limit` characters."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
