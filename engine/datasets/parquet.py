"""Parquet files as columns of cells, read in batches of rows, within the limits of `limits`.

Sizes are summed from the file's metadata before any column is read: a few hundred bytes may stand
for a billion rows. A dictionary-encoded text may fill any number of rows, so batches are as large
as fits in memory if every row held the longest text.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.engine.datasets import limits
from theodolite.engine.datasets.columns import LABELS, last_part
from theodolite.engine.errors import UserError, first_line

if TYPE_CHECKING:
    import pyarrow as pa

Choose = Callable[[list[str]], Collection[str]]
"""Returns the names of the columns to read, of all names."""

_ROWS = 4096
"""Maximum number of rows of a batch."""
_ROOM = 2**26
"""Bytes that the texts of a column may take in a batch."""
_BUFFER = 2**20
"""Bytes read at once of a column of a file of any size."""
_VALUE = 8
"""Minimum bytes counted for a value, however well compressed."""


@dataclass(frozen=True)
class Opaque:
    """A cell that is no text, number or list of texts, such as a vector or bytes; not decoded.

    Attributes:
        shown: its text in previews, such as Arrow's name of the type.
    """

    shown: str

    def __str__(self) -> str:
        return self.shown


class ParquetFile:
    """An open Parquet file.

    Args:
        source: the file, or its bytes.
        filename: its original name.
        choose: finds the columns to read; None to read all.
        bounded: whether all of `limits` apply, or only those on the ratio of sizes and on a cell.

    Attributes:
        columns: the names of its columns; a field inside another has the names of both, as in JSON.
        classes: column -> the names that its numbers stand for, as the hub writes them.
    """

    def __init__(
        self,
        source: Path | bytes,
        filename: str,
        choose: Choose | None = None,
        *,
        bounded: bool = True,
    ) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._filename = filename
        # KeyError: a name unknown to pyarrow, such as a time zone.
        self._faults = (pa.ArrowException, OSError, ValueError, KeyError, OverflowError)
        if choose is None:
            most = limits.MAX_BYTES if bounded else math.inf
            self._unpacking = limits.Unpacking(filename, source, most)
        else:
            self._unpacking = limits.Unpacking(filename, source, always=limits.MAX_BYTES)
        self._opened = source if isinstance(source, Path) else io.BytesIO(source)
        try:
            # Not mapped: where the file is cut off while it is read, that would end the process.
            options = {"buffer_size": 0 if bounded else _BUFFER, "arrow_extensions_enabled": False}
            self._file = pq.ParquetFile(self._opened, **options)
            schema = self._file.schema_arrow
            fields = _flat(schema.empty_table()).schema
            columns = None if choose is None else choose(fields.names)
            self._check(columns, bounded)
            self._fields = [f for f in fields if columns is None or f.name in columns]
            if lists := self._leaves([f.name for f in self._fields if _is_texts(f.type)]):
                # By number: a text may be in any number of lists, which would not fit unpacked.
                metadata = self._file.metadata
                self._file = pq.ParquetFile(
                    self._opened, metadata=metadata, read_dictionary=lists, **options
                )
        except UserError:
            raise
        except self._faults as error:
            raise self._damage(error) from error
        self.columns = [field.name for field in self._fields]
        self.classes = _classes(schema.metadata or {})
        self._plain = [field.name for field in self._fields if not _is_opaque(field)]
        if not self._plain:
            called = f" called {', '.join(columns)}" if columns else ""
            raise UserError(
                f"{filename} has no column of text or numbers{called}.",
                "Save the sentences as a column of text.",
                code="wrong-kind",
            )

    def _check(self, columns: Collection[str] | None, bounded: bool) -> None:
        """Check the limits from the file's metadata."""
        about, leaves = self._file.metadata, list(enumerate(self._file.schema))
        if columns is not None:
            within = self._leaves(columns)
            leaves = [(at, leaf) for at, leaf in leaves if leaf.path in within]
        if bounded and about.num_rows > limits.MAX_ROWS:
            raise limits.too_many_rows(self._filename)
        limits.check_columns(self._filename, leaves)
        for group in range(about.num_row_groups):
            for index, leaf in leaves:
                chunk = about.row_group(group).column(index)
                values = max(_VALUE, leaf.length) * chunk.num_values
                self._unpacking.add(max(0, chunk.total_uncompressed_size, values))

    def _leaves(self, columns: Collection[str]) -> list[str]:
        """Return the paths of what these columns consist of."""
        within = tuple(f"{name}." for name in columns)
        paths = [leaf.path for leaf in self._file.schema]
        return [path for path in paths if f"{path}.".startswith(within)]

    def batches(self) -> Iterator[list[list[Any]]]:
        """Yield the cells of every column in batches of rows."""
        try:
            with self._file as file:
                for group in range(file.metadata.num_row_groups):
                    rows = max(1, min(_ROWS, _ROOM // self._longest(group)))
                    options = {"row_groups": [group], "columns": list(dict.fromkeys(self._plain))}
                    for batch in file.iter_batches(batch_size=rows, **options):
                        yield self._cells(batch)
        except UserError:
            raise
        except self._faults as error:
            raise self._damage(error) from error

    def _longest(self, group: int) -> int:
        """Return an upper bound on the bytes of a row group's texts that are not stored plainly."""
        import pyarrow.parquet as pq

        about = self._file.metadata.row_group(group)
        longest, stored_once = 1, []
        for index, leaf in enumerate(self._file.schema):
            chunk = about.column(index)
            if leaf.path not in self._plain or leaf.physical_type != "BYTE_ARRAY":
                continue  # lists are read by number
            if "DELTA_BYTE_ARRAY" in chunk.encodings:  # a text may share most of the previous one
                longest = max(longest, chunk.total_uncompressed_size)
            elif chunk.has_dictionary_page:
                stored_once.append(leaf.path)
        if stored_once:
            metadata = self._file.metadata  # or else it would be read anew for every group
            options = {"metadata": metadata, "read_dictionary": stored_once}
            with pq.ParquetFile(self._opened, **options) as numbered:
                first = numbered.iter_batches(1, row_groups=[group], columns=stored_once)
                for column in (c for batch in islice(first, 1) for c in _columns(batch)):
                    longest = max(longest, _lengths(column.dictionary)[1])
        return longest

    def _cells(self, batch: pa.RecordBatch) -> list[list[Any]]:
        columns = iter(_columns(batch))
        return [
            [Opaque(str(field.type))] * batch.num_rows
            if _is_opaque(field)
            else self._unpack(field, next(columns))
            for field in self._fields
        ]

    def _unpack(self, field: pa.Field, column: pa.Array) -> list[Any]:
        total, longest = _lengths(column)
        if longest > limits.MAX_ROW:
            raise limits.row_too_long(f"{self._filename}, column {field.name!r}")
        self._unpacking.add(total)
        try:
            return column.to_pylist()
        except self._faults as error:
            far = isinstance(error, OverflowError)
            reason = "a value is out of range." if far else first_line(error, 200)
            raise UserError(
                f"{self._filename}: the column {field.name!r} ({field.type}) cannot be read: "
                f"{reason}",
                "Remove the column, or save it as text.",
                code="damaged",
            ) from error

    def _damage(self, error: Exception) -> UserError:
        return UserError(
            f"{self._filename} cannot be read as Parquet: {first_line(error, 200)}",
            "Save it again.",
            code="damaged",
        )


def _flat(table: pa.Table) -> pa.Table:
    """The table with fields inside others as columns, under the names of both: `translation.en`."""
    from pyarrow import types

    while any(map(types.is_struct, table.schema.types)):
        table = table.flatten()
    return table


def _columns(batch: pa.RecordBatch) -> list[pa.Array]:
    """The columns of a batch, flat; cells are missing where what they are in is."""
    import pyarrow as pa

    return [column.chunk(0) for column in _flat(pa.Table.from_batches([batch])).columns]


def _classes(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    try:
        features = json.loads(metadata.get(b"huggingface", b"{}"))["info"]["features"]
        return {
            name: list(map(str, of["names"]))
            for name, of in features.items()
            if isinstance(of, dict) and of.get("_type") == "ClassLabel"
        }
    except (ValueError, LookupError, TypeError, AttributeError):  # written by something else
        return {}


def _lengths(column: pa.Array) -> tuple[int, int]:
    """Return the bytes of all cells of a column, and of the longest."""
    import pyarrow.compute as pc

    lengths = _each(column)
    return pc.sum(lengths).as_py() or 0, pc.max(lengths).as_py() or 0


def _each(column: pa.Array) -> pa.Array:
    """Return the bytes of each cell."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if _is_list(column.type):
        within = np.append(0, np.cumsum(_each(column.values).fill_null(0)))
        return pa.array(np.diff(within[column.offsets.to_numpy()]))
    if pa.types.is_dictionary(column.type):
        return pc.take(_each(column.dictionary), column.indices)
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return pc.binary_length(column)
    return pa.repeat(pa.scalar(_VALUE, pa.int64()), len(column))


def _is_opaque(field: pa.Field) -> bool:
    from pyarrow import types

    kind = field.type
    if last_part(field.name) in LABELS and _is_list(kind):
        kind = kind.value_type
    if types.is_dictionary(kind):
        kind = kind.value_type
    number = types.is_primitive(kind) or types.is_decimal(kind) or types.is_null(kind)
    return not (is_text(kind) or number or _is_texts(kind))


def _is_list(kind: pa.DataType) -> bool:
    """Whether the values of a type are lists."""
    from pyarrow import types

    return types.is_list(kind) or types.is_large_list(kind)


def _is_texts(kind: pa.DataType) -> bool:
    """Whether the values of a type are lists of texts."""
    return _is_list(kind) and is_text(kind.value_type)


def is_text(kind: pa.DataType) -> bool:
    """Whether the values of a type are texts, as they are or by their number in a dictionary."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
