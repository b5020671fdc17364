"""Limits on the size of files, enforced while reading, before anything is built from them.

A file of some hundred bytes may unpack to gigabytes, and one of some kilobytes may have thousands
of columns. Within these limits, time and memory are proportional to the file's size, so there is no
need for a timeout, which would refuse a file on one machine and accept it on another.
"""

import math
from collections.abc import Sized
from pathlib import Path

from theodolite.engine.errors import UserError

MAX_BYTES = 512 * 2**20
"""The largest file accepted, packed or unpacked."""

MAX_ROWS = 2_000_000
"""Twice what a map can show; the largest sets of sentences in use have a few hundred thousand."""

MAX_COLUMNS = 2_000
"""Enough for a text beside an embedding of 1,536 numbers, one per column."""

MAX_ROW = 2**20
"""In characters. No sentence is a megabyte long: a longer row is not text or has an open quote."""

_MAX_RATIO = 100
"""The largest compression ratio accepted; text compresses three to ten times."""
_ALWAYS = 8 * 2**20
"""Bytes that any file may unpack to: a short table may well repeat one line."""


class Unpacking:
    """Counts the unpacked bytes of a file against its limits.

    Args:
        filename: the name for messages.
        source: the packed file, or its bytes.
        most: maximum of bytes, packed and unpacked; by default only the ratio counts.
        always: bytes that the file may unpack to whatever the ratio.
    """

    def __init__(
        self,
        filename: str,
        source: Path | bytes,
        most: float = math.inf,
        always: int = _ALWAYS,
    ) -> None:
        packed = source.stat().st_size if isinstance(source, Path) else len(source)
        if packed > most:
            raise too_large(filename)
        self._filename, self._most = filename, most
        self._by_ratio = max(always, _MAX_RATIO * packed)
        self._size = 0

    def add(self, size: int) -> None:
        """Count more bytes."""
        self._size += size
        if self._size > self._most:
            raise too_large(self._filename)
        if self._size > self._by_ratio:
            raise UserError(
                f"{self._filename} unpacks to more than {_MAX_RATIO} times its size, as neither "
                "text nor vectors do.",
                "Is it the right file? If it is, save it unpacked.",
                code="too-large",
            )


def too_large(filename: str) -> UserError:
    """Return the error for a file larger than `MAX_BYTES`."""
    return UserError(
        f"{filename} is larger than {MAX_BYTES // 2**20} MB.",
        "Split it, or keep a sample: a few hundred thousand rows are plenty.",
        code="too-large",
    )


def too_many_rows(filename: str) -> UserError:
    """Return the error for a file with more than `MAX_ROWS` rows."""
    return UserError(
        f"{filename} has more than {MAX_ROWS:,} rows.",
        "Split it, or keep a sample: a few hundred thousand rows are plenty.",
        code="too-large",
    )


def check_columns(filename: str, columns: Sized) -> None:
    """Check the number of columns."""
    if len(columns) > MAX_COLUMNS:
        raise UserError(
            f"{filename} has {len(columns):,} columns, more than the limit of {MAX_COLUMNS:,}.",
            "Keep the columns with sentences, labels and scores, and remove the others.",
            code="too-large",
        )


def row_too_long(name: str, line: int | None = None) -> UserError:
    """Return the error for a row longer than `MAX_ROW`.

    Args:
        name: the file's name.
        line: the line that the row ends on, or that reading stopped at.
    """
    hint = "Is it text with one sentence a line? In CSV a quote may have been left open."
    which = "a row" if line is None else f"the row that holds line {line}"
    return UserError(f"{name}: {which} is longer than a megabyte.", hint, code="too-large")
