"""The sentences of a file of any size, read as a stream."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from theodolite.engine.datasets.dialect import dialect_of
from theodolite.engine.datasets.files import is_unicode, listed, where
from theodolite.engine.datasets.formats import lines_of, open_table, whole_rows
from theodolite.engine.datasets.parquet import Opaque
from theodolite.engine.errors import UserError, first_line

_BREAKS = re.compile("[\r\n\0]+")
_BATCH = 4096


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
    if dialect.ending == ".parquet":
        yield from _of_parquet(file, column)
    elif dialect.ending == ".txt":
        yield from lines_of(file)
    else:
        yield from _of_table(file, column, name)


def _of_table(file: Path, column: str | None, name: str) -> Iterator[str]:
    table = open_table(file, name, bounded=False)
    column = _chosen(list(table.columns), column, name)
    at = table.columns.index(column)
    for place, cells in whole_rows(table, name):
        yield _one_line(cells[at], place, column)


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
        raise UserError(
            f"{name} cannot be read: {first_line(error)}", "Save it again.", code="damaged"
        ) from error


def _chosen(columns: list[str], column: str | None, name: str) -> str:
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
    cell = "" if cell is None else cell  # empty, as in a CSV
    if not isinstance(cell, str) or not is_unicode(cell):
        shown = "text with an unpaired surrogate" if isinstance(cell, str) else type(cell).__name__
        raise UserError(
            f"{place}: {column!r} is {shown}.", "Every row needs a text there.", code="damaged"
        )
    return _BREAKS.sub(" ", cell)
