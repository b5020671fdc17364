"""Tables in one JSON value: a list of rows, or what pandas and the hub write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from theodolite.engine.datasets.columns import known_name
from theodolite.engine.datasets.files import BROKEN_GZIP, not_whole_gzip, open_binary
from theodolite.engine.errors import UserError

_MOST = 2**26
"""Bytes: one value is parsed in memory, where it takes up to twenty times as much."""
_INNER = ("data", "rows", "examples", "records")
"""Keys under which a list of rows is found in an object."""


def json_table(
    source: Path | bytes, filename: str, encoding: str
) -> tuple[tuple[str, ...], Iterator[list[Any]]]:
    """Read a table from a JSON value.

    A list of objects or lists, an object of columns (lists, or objects by row as pandas writes
    them), pandas' orients `index`, `split` and `table`, or an object whose `data` or `rows` are one
    of these.

    Args:
        source: the file, or its bytes.
        filename: its original name.
        encoding: the text's encoding.

    Returns:
        The names of the columns, and the rows' cells.
    """
    try:
        with open_binary(source, filename.lower().endswith(".gz")) as raw:
            text = raw.read(_MOST + 1)
    except BROKEN_GZIP as error:
        raise not_whole_gzip(filename, error) from error
    if len(text) > _MOST:
        raise UserError(
            f"{filename} is one JSON value of more than {_MOST // 2**20} MB.",
            "Save it as JSON lines, in pandas with to_json(orient='records', lines=True).",
            code="too-large",
        )
    try:
        value = json.loads(text.decode("utf-8-sig" if encoding == "utf-8" else encoding))
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{filename} is not JSON ({error}).",
            "JSON lines holds one whole object on every line, JSON one list of objects.",
            code="damaged",
        ) from error
    rows = _rows(value)
    if not rows:
        raise UserError(
            f"{filename} holds a JSON {type(value).__name__} that is not a table.",
            'A table is a list of objects: [{"text": "A sentence.", "label": "topic"}, …].',
            code="wrong-kind",
        )
    columns = tuple(rows[0])
    return columns, ([row.get(column) for column in columns] for row in rows)


def _rows(value: Any) -> list[dict[str, Any]]:
    """Return the rows of a value; none if it is no table."""
    if isinstance(value, list):
        return _of_list(value)
    if not isinstance(value, dict) or not value:
        return []
    if isinstance(names := value.get("columns"), list) and isinstance(value.get("data"), list):
        return [
            dict(zip(map(str, names), row, strict=False))
            for row in value["data"]
            if isinstance(row, list)
        ]
    inner = [value[key] for key in _INNER if isinstance(value.get(key), list)]
    if len(inner) == 1 and (found := _of_list(inner[0])) and not isinstance(inner[0][0], str):
        keys = value.get("schema", {}) if isinstance(value.get("schema"), dict) else {}
        index = keys.get("primaryKey", ())
        return [{k: cell for k, cell in row.items() if k not in index} for row in found]
    if all(isinstance(column, list) for column in value.values()):
        if len({len(column) for column in value.values()}) > 1:
            return []
        return [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]
    if all(isinstance(column, dict) for column in value.values()):
        inside = list(next(iter(value.values())))
        numbered = all(map(str.isdecimal, value)) and not all(map(str.isdecimal, inside))
        if numbered or (any(map(known_name, inside)) and not any(map(known_name, value))):
            return list(value.values())
        return [{name: column.get(key) for name, column in value.items()} for key in inside]
    return []


def _of_list(rows: list[Any]) -> list[dict[str, Any]]:
    first = rows[0] if rows else None
    if not all(isinstance(row, type(first)) for row in rows):
        return []
    if isinstance(first, dict):
        nested = all(isinstance(row.get("row"), dict) for row in rows)  # the hub's viewer
        return [row["row"] for row in rows] if nested else rows
    if isinstance(first, list):
        return [{f"column {i}": cell for i, cell in enumerate(row, start=1)} for row in rows]
    return [{"text": row} for row in rows] if isinstance(first, str) else []
