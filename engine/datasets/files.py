"""Shared helpers of the readers: finding, opening and decoding files, and reporting errors.

A file may be plain or a `.gz`; both are streamed line by line, so that a file of a million lines
takes no more memory than its sentences. Knows no format.
"""

import codecs
import gzip
import io
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

from theodolite.engine.datasets.limits import MAX_ROW, row_too_long
from theodolite.engine.datasets.types import Dataset, DatasetInfo
from theodolite.engine.errors import UserError
from theodolite.engine.filetypes import LFS, advice_for, is_pointer, kind_of
from theodolite.engine.stamps import Stamp, stamp

BROKEN_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)
"""Raised when reading a `.gz` that is cut short or damaged."""


_START = 512
"""Bytes that tell what a file is."""
_TELLING = 12
"""Fewest bytes that tell a script."""
_ENCODINGS = {
    "cp1252": "Windows-1252",
    "latin_1": "Latin-1",
    "utf_16_le": "UTF-16",
    "utf_16_be": "UTF-16",
}
_CHECKED = 2**20
"""Bytes read at a time to tell an encoding, of which a fourth has to do."""
_PIECE = 2**16
"""Bytes read at a time where a line may have any length."""


@dataclass(frozen=True)
class DatasetSource:
    """An available data set: its entry in lists, and a function that reads it."""

    info: DatasetInfo
    read: Callable[[], Dataset]

    @property
    def paths(self) -> list[Path]:
        """The files and folders among the arguments of `read`."""
        return list(dict.fromkeys(_paths(getattr(self.read, "args", ()))))

    @property
    def stamp(self) -> Stamp:
        """The stamp of `paths`; see `engine.stamps`."""
        return stamp(*self.paths)


def _paths(value: object) -> Iterator[Path]:
    if isinstance(value, Path):
        yield value
    elif isinstance(value, list | tuple | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _paths(part)


def find(path: Path) -> Path | None:
    """Return the file itself, or its `.gz`, or None if neither exists."""
    packed = path.with_name(path.name + ".gz")
    return next((p for p in (path, packed) if p.is_file()), None)


def existing(path: Path) -> Path:
    """Return the file or its `.gz`."""
    place = find(path)
    if place is None:
        raise UserError(
            f"The file {where(path)} is missing.",
            "Put it there (plain or as .gz), or remove the folder to hide the data set.",
            code="no-file",
        )
    return place


def where(path: Path) -> str:
    """Return a file's folder and name for messages, without the rest of its path."""
    return "/".join(path.parts[-2:])


def lines(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    r"""Yield the lines of a text file without their ends (`\n`, `\r\n` or `\r`)."""
    with open_binary(path) as raw:
        yield from decode(raw, where(path), encoding)


def open_binary(source: Path | bytes, packed: bool | None = None) -> IO[bytes]:
    """Open a file or bytes in memory, decompressing gzip.

    Args:
        source: a path or the content itself.
        packed: whether it is gzip; by default by the path's ending.
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
        name: the file's name for errors.
        encoding: the file's encoding; a byte order mark is dropped, and one of UTF-16 counts more.
        newline: as for `open`.
    """
    try:
        start = raw.read(_START)
        raw.seek(0)
        refuse_other(start, name)
        encoding = encoding_of(start) if encoding == "utf-8" else encoding
        yield from _decode(raw, name, encoding, newline)
    except BROKEN_GZIP as error:
        raise not_whole_gzip(name, error) from error


def _decode(raw: IO[bytes], name: str, encoding: str, newline: str | None) -> Iterator[str]:
    text = io.TextIOWrapper(raw, "utf-8-sig" if encoding == "utf-8" else encoding, newline=newline)
    try:
        read = iter(partial(text.readline, MAX_ROW + 1), "")
        for count, line in enumerate(read, start=1):
            if len(line) > MAX_ROW:
                raise row_too_long(name, count)
            if "\0" in line:  # never in text: UTF-16 or a binary file
                raise holds_nul(name, count)
            yield line.removesuffix("\n") if newline is None else line
    except UnicodeError as error:  # UTF-16 without its mark is another one than of single bytes
        if encoding.startswith(("utf-", "utf_")) and encoding != "utf-8":
            raise UserError(
                f"{name} is not complete {encoding.upper()} text.",
                "Save it as UTF-8.",
                code="damaged",
            ) from error
        raise _not_utf8(raw, name) from error
    finally:
        if not raw.closed:
            text.detach()  # the caller closes the stream


def refuse_other(start: bytes, name: str) -> None:
    """Refuse what is no text by its first bytes."""
    if start.startswith(LFS):
        raise is_pointer(name)
    if kind := kind_of(start):
        advice = advice_for(Path(name).suffix.lower()) or kind[1]
        raise UserError(f"{name} is {kind[0]}, and should be text.", advice, code="wrong-kind")


def encoding_of(start: bytes) -> str:
    """Return the encoding that a byte order mark names; UTF-8 without one."""
    marks = {
        codecs.BOM_UTF32_LE: "utf-32",
        codecs.BOM_UTF32_BE: "utf-32",
        codecs.BOM_UTF16_LE: "utf-16",
        codecs.BOM_UTF16_BE: "utf-16",
    }
    return next((name for mark, name in marks.items() if start.startswith(mark)), "utf-8")


def pieces(raw: IO[bytes]) -> Iterator[bytes]:
    """Yield a stream in pieces, as `other_encoding` takes them."""
    yield from iter(partial(raw.read, _CHECKED), b"")


def other_encoding(text: Iterable[bytes]) -> str | None:
    """Return the encoding of a text, if it is certain to be other than UTF-8 and without a mark.

    It may be Windows-1252, of which Latin-1 is a part, or UTF-16; text of other scripts may be in
    any of dozens. Where letters of UTF-8 stand before the first fault, that is damage.

    Args:
        text: its bytes, in pieces.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    start, has_nul, has_letters = b"", False, False
    for piece in text:
        start, has_nul = start or piece, has_nul or b"\0" in piece
        try:
            has_letters = has_letters or not decoder.decode(piece).isascii()
        except UnicodeDecodeError as error:
            if has_letters or not error.object[: error.start].isascii():
                return None
            start = piece[max(0, error.start - _CHECKED // 8) :]
            break
    else:
        if not has_nul:
            return None
    return told_encoding(start) if encoding_of(start) == "utf-8" else None


def told_encoding(raw: bytes) -> str | None:
    """Return the encoding of text that is not UTF-8, by its start; None if it is not certain."""
    from charset_normalizer import from_bytes

    sample = raw[: _CHECKED // 4]
    best = from_bytes(sample, cp_isolation=list(_ENCODINGS)).best()
    # A few lines of ASCII with a NUL among them could be one of UTF-16, in rare letters.
    loses_lines = b"\n" in sample and "\n" not in str(best)
    return best.encoding if best and not loses_lines else None


def read_as(name: str, encoding: str) -> str:
    """Say that a file was read in an encoding of `other_encoding`; empty for any other."""
    # Polish or Turkish in an encoding of its own may pass for a text in one of the first two.
    doubt = " If letters look wrong, save it as UTF-8." * (encoding in ("cp1252", "latin_1"))
    told = _ENCODINGS.get(encoding)
    return f"{name} was read as {told}.{doubt}" if told else ""


def not_whole_gzip(name: str, error: Exception) -> UserError:
    """Return the error for a gzip file that was cut short or damaged."""
    return UserError(
        f"{name} is not a complete gzip file ({error}).",
        "Copy or download it again.",
        code="damaged",
    )


def unpacked(source: Path | bytes, name: str, most: int) -> bytes:
    """Return the first bytes of a file, as many as `most`, as they were before it was packed."""
    try:
        with open_binary(source, name.lower().endswith(".gz")) as raw:
            return raw.read(most)
    except BROKEN_GZIP as error:
        raise not_whole_gzip(name, error) from error


def holds_nul(name: str, number: int) -> UserError:
    """Return the error for a line with a NUL byte."""
    return UserError(
        f"{name}, line {number} contains a NUL byte, as UTF-16 and binary files do.",
        "Save it as UTF-8 text.",
        code="damaged",
    )


def _not_utf8(raw: IO[bytes], name: str) -> UserError:
    """Return the error that names the first bad byte and the file's likely encoding."""
    raw.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")()
    number, begins, read = 1, 0, 0
    while piece := raw.readline(_PIECE):  # a long line is read in pieces
        try:
            # Also fails at a character cut off at the file's end, with the same advice.
            decoder.decode(piece, final=len(piece) < _PIECE)
        except UnicodeDecodeError as error:
            # What was decoded may begin with the end of the piece before.
            at = read + len(piece) - len(error.object) + error.start
            looks = _looks_like(error.object)
            return UserError(
                f"{name} is not UTF-8: line {number}, byte {at - begins + 1} of the line "
                f"(byte offset {at} of the file) is 0x{error.object[error.start]:02X}. "
                f"It looks like {looks or 'an encoding of another script than the Latin one'}.",
                "Save it as UTF-8: in Excel as CSV UTF-8, in a terminal with "
                f"iconv -f {looks or 'ENCODING'} -t UTF-8 OLD > NEW",
                code="damaged",
            )
        read += len(piece)
        if piece.endswith(b"\n"):
            number, begins = number + 1, read
    return UserError(f"{name} is not UTF-8.", "Save it as UTF-8.", code="damaged")


def _looks_like(line: bytes) -> str:
    """Guess the encoding of a line that is not UTF-8, for a message; empty for other scripts.

    In Latin ones few letters are outside ASCII: two bytes of five are more than any language has.
    """
    if b"\0" in line or line[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "UTF-16"
    if len(line) >= _TELLING and 5 * sum(byte >= 0x80 for byte in line) > 2 * len(line):
        return ""
    # Bytes 0x80-0x9F are control characters in ISO-8859-1 and quotes and dashes in Windows-1252.
    return "WINDOWS-1252" if any(0x80 <= byte < 0xA0 for byte in line) else "ISO-8859-1"


def number(text: str, place: str) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(
            f"{place}: the score {shorten(text)} is not a number.",
            "Scores are plain numbers with a point, such as 3.8.",
            code="damaged",
        )
    return value


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded as UTF-8: JSON can hold a lone surrogate."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def check_names(filename: str, columns: Iterable[str]) -> None:
    """Check that the names of columns can be encoded as UTF-8."""
    broken = next((column for column in columns if not is_unicode(column)), None)
    if broken is not None:
        raise UserError(
            f"{filename}: the name of the column {shorten(broken)} contains an unpaired surrogate.",
            "Save the file as UTF-8 again.",
            code="damaged",
        )


def listed(names: Sequence[str], most: int = 20) -> str:
    """Join names for an error message, cut to `most` of them."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(n if len(n) <= 60 else f"{n[:59]}…" for n in names[:most]) + more


def shorten(text: str, limit: int = 40) -> str:
    """Quote text for an error message, cut to `limit` characters."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
