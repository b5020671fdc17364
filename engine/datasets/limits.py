"""Limits on the size of files, enforced while reading, before anything is built from them.

A file of some hundred bytes may unpack to gigabytes, and one of some kilobytes may have columns
without end. What the bounds leave takes time and memory in proportion to the file as it came, so
that no clock is needed, which would refuse a file on one machine and take it on another.
"""

from __future__ import annotations

import math
from collections.abc import Sized

from engine.errors import UserError

MAX_BYTES = 512 * 2**20
"""The largest file taken, packed or unpacked."""

MAX_ROWS = 2_000_000
"""Twice what a map can show; the largest sets of sentences in use have a few hundred thousand."""

MAX_COLUMNS = 2_000
"""A text beside an embedding of 1,536 numbers, a column each, still fits."""

MAX_ROW = 2**20
"""Characters. No sentence is a megabyte long, so a longer row is no text, or has an open quote."""

_MAX_RATIO = 100
"""How many times larger a file may become by unpacking; text becomes three to ten times larger."""
_ALWAYS = 8 * 2**20
"""What any file may unpack to: a short table may well be one line over and over."""


class Unpacking:
    """Counts what a packed file has become so far.

    Args:
        filename: for people.
        packed: bytes of the file as it came.
        most: bytes that it may become at all; by default only the ratio counts.
    """

    def __init__(self, filename: str, packed: int, most: float = math.inf) -> None:
        self._filename, self._most = filename, most
        self._by_ratio = max(_ALWAYS, _MAX_RATIO * packed)
        self._size = 0

    def add(self, size: int) -> None:
        """Count some more.

        Raises:
            UserError: it is too much.
        """
        self._size += size
        if self._size > self._most:
            raise too_large(self._filename)
        if self._size > self._by_ratio:
            raise UserError(
                f"{self._filename} unpacks to more than {_MAX_RATIO} times its size, as no text "
                "does.",
                "Is it the right file? If it is, save it unpacked, as CSV or plain text.",
            )


def too_large(filename: str) -> UserError:
    """Say that a file is larger than `MAX_BYTES`."""
    return UserError(
        f"{filename} is larger than {MAX_BYTES // 2**20} MB.",
        "Split it, or keep a sample: a few hundred thousand rows are plenty.",
    )


def too_many_rows(filename: str) -> UserError:
    """Say that a file has more than `MAX_ROWS` rows."""
    return UserError(
        f"{filename} has more than {MAX_ROWS:,} rows.",
        "Split it, or keep a sample: a few hundred thousand rows are plenty.",
    )


def check_columns(filename: str, columns: Sized) -> None:
    """Refuse more than `MAX_COLUMNS` columns.

    Raises:
        UserError: there are more.
    """
    if len(columns) > MAX_COLUMNS:
        raise UserError(
            f"{filename} has {len(columns):,} columns, and at most {MAX_COLUMNS:,} are taken.",
            "Keep the columns with sentences, labels and scores, and remove the others.",
        )


def row_too_long(name: str, line: int | None = None, perhaps: str = "") -> UserError:
    """Say that a row of a file is longer than `MAX_ROW`.

    Args:
        name: of the file.
        line: that the row ends on, or was given up on.
        perhaps: another reason that it may have.
    """
    hint = "Is it text with one sentence a line? In CSV a quote may have been left open."
    which = "a row" if line is None else f"the row that holds line {line}"
    return UserError(f"{name}: {which} is longer than a megabyte.", f"{hint} {perhaps}".rstrip())
