"""The sentences of a file of any size, read as a stream."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from theodolite.engine.datasets.dialect import dialect_of
from theodolite.engine.datasets.files import listed, where
from theodolite.engine.datasets.formats import lines_of, open_table, text_of, whole_rows
from theodolite.engine.datasets.parquet import Opaque
from theodolite.engine.errors import UserError

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
    if dialect_of(file, name).ending == ".txt":
        yield from lines_of(file)
        return

    def chosen(columns: Sequence[str]) -> list[str]:
        return [_chosen(columns, column, name)]

    table = open_table(file, name, bounded=False, choose=chosen)
    (called,) = chosen(table.columns)
    at = table.columns.index(called)
    for place, cells in whole_rows(table, name):
        yield _one_line(cells[at], place, called)


def _chosen(columns: Sequence[str], column: str | None, name: str) -> str:
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
