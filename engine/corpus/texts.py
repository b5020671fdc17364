"""The sentences of a file of any size, read as a stream."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from engine.datasets.files import (
    BROKEN_GZIP,
    decode,
    is_unicode,
    listed,
    not_whole_gzip,
    open_binary,
    where,
)
from engine.datasets.formats import JSON_LINES, check_start, ending_of, rows_of, separator_of
from engine.errors import UserError, first_line

_BREAKS = re.compile("[\r\n\0]+")
_BATCH = 4096


def texts_of(file: Path, column: str | None = None) -> Iterator[str]:
    """Yield the sentences of a file in order: each line of a text, each row of a table.

    An empty line of a text is an empty sentence; of a table, empty lines are left out. A line break
    within a cell becomes a space.

    Args:
        file: with one of `formats.ENDINGS`, also `.gz`.
        column: of a table; None where it has only one.

    Raises:
        UserError: a file that is missing, unreadable or not of the format of its name, no such
            column, or a cell that is not text; names the row.
    """
    name = where(file)
    if not file.is_file():
        raise UserError(f"There is no file {file}.", "Check the path.")
    ending, packed = ending_of(file.name)
    check_start(file, file.name)
    if ending == ".parquet":
        yield from _of_parquet(file, column)
        return
    try:
        with open_binary(file, packed) as raw:
            lines = decode(raw, name, newline="" if ending == ".csv" else None)
            if ending == ".txt":
                yield from lines
            else:
                yield from _of_table(lines, ending, column, name)
    except BROKEN_GZIP as error:
        raise not_whole_gzip(name, error) from error


def _of_table(lines: Iterator[str], ending: str, column: str | None, name: str) -> Iterator[str]:
    first = next(lines, "")
    separator = "\t" if ending == ".tsv" else separator_of(first)
    rows = (
        (number, row)
        for number, row in rows_of(chain([first], lines), ending, separator, name)
        if row is not None
    )
    if ending in JSON_LINES:
        for number, row in rows:
            column = column or _chosen(list(row), None, name)
            if column not in row:
                raise UserError(
                    f"{name}, line {number} has no {column!r}.", f"It has {listed(list(row))}."
                )
            yield _one_line(row[column], f"{name}, line {number}", column)
        return
    names = [cell.strip() for cell in next(rows, (1, []))[1]]
    column = _chosen(names, column, name)
    place = names.index(column)
    for number, row in rows:
        if len(row) != len(names):
            raise UserError(
                f"{name}, line {number} has {len(row)} cells, and the file {len(names)} columns.",
                "Correct or remove the row, then try again.",
            )
        yield _one_line(row[place], f"{name}, line {number}", column)


def _of_parquet(file: Path, column: str | None) -> Iterator[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    name, number = where(file), 0
    try:
        with pq.ParquetFile(file, memory_map=True) as opened:
            column = _chosen(opened.schema_arrow.names, column, name)
            for batch in opened.iter_batches(_BATCH, columns=[column]):
                for cell in batch.column(0).to_pylist():
                    number += 1
                    yield _one_line(cell, f"{name}, row {number}", column)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(f"{name} cannot be read: {first_line(error)}", "Save it again.") from error


def _chosen(columns: list[str], column: str | None, name: str) -> str:
    if column is None and len(columns) == 1:
        return columns[0]
    if column not in columns:
        missing = f"no column {column!r}" if column else f"{len(columns)} columns"
        raise UserError(
            f"{name} has {missing}.", f"Name one with --column: {listed(columns) or 'none'}."
        )
    return str(column)


def _one_line(cell: Any, place: str, column: str) -> str:
    if not isinstance(cell, str) or not is_unicode(cell):
        shown = "half a character" if isinstance(cell, str) else type(cell).__name__
        raise UserError(f"{place}: {column!r} is {shown}.", "Every row needs a text there.")
    return _BREAKS.sub(" ", cell)
