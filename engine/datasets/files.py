"""What the readers of data files share: finding, opening, decoding, and saying what is wrong.

A file may lie there plain or as `.gz`; both are read in place, line by line, so that a file of a
million lines costs the memory of its sentences and no more. Knows no format.
"""

from __future__ import annotations

import gzip
import io
import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from engine.datasets.types import Dataset, DatasetInfo
from engine.errors import UserError

BROKEN_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)
"""What reading a `.gz` raises that is cut short or damaged."""


@dataclass(frozen=True)
class Source:
    """A data set that is there: what a list shows of it, and how to read it."""

    info: DatasetInfo
    read: Callable[[], Dataset]


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
        UserError: the bytes are not in this encoding (names line and byte), or a broken `.gz`.
    """
    try:
        yield from _decoded(raw, name, encoding, newline)
    except BROKEN_GZIP as error:
        raise not_whole_gzip(name, error) from error


def _decoded(raw: IO[bytes], name: str, encoding: str, newline: str | None) -> Iterator[str]:
    text = io.TextIOWrapper(raw, "utf-8-sig" if encoding == "utf-8" else encoding, newline=newline)
    try:
        for count, line in enumerate(text, start=1):
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
    offset = 0
    for number, line in enumerate(raw, start=1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            # A character cut in two at a line end shows up here as well: same advice.
            return not_utf8(name, line, number, offset, error)
        offset += len(line)
    return UserError(f"{name} is not UTF-8.", "Save it as UTF-8.")


def not_utf8(
    name: str, line: bytes, number: int, offset: int, error: UnicodeDecodeError
) -> UserError:
    """Say that a line of a file, which begins at this byte, is not UTF-8, and what it may be."""
    looks = _looks_like(line)
    return UserError(
        f"{name} is not UTF-8: line {number}, byte {error.start + 1} of the line "
        f"(byte offset {offset + error.start} of the file) is 0x{line[error.start]:02X}. "
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


def shorten(text: str, limit: int = 40) -> str:
    """Quote a piece of a file for an error message, cut to `limit` characters."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
