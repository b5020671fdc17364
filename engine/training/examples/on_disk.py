"""Rows of texts in a file that is mapped into memory: training data may be larger than memory."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from theodolite.engine.errors import UserError

_BATCH = 1024
"""Rows written at once: each may be a megabyte long."""


class Rows:
    """Rows, written once to a temporary file that ends with the process, and read by number.

    Args:
        rows: texts, as many in each row as there are columns.
        columns: their number.
        folder: of the file.
    """

    def __init__(self, rows: Iterable[Sequence[str]], columns: int, folder: Path) -> None:
        import pyarrow as pa

        schema = pa.schema([(str(column), pa.large_string()) for column in range(columns)])
        rows = iter(rows)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=folder) as file:
                with pa.ipc.new_file(file, schema) as table:
                    while batch := list(islice(rows, _BATCH)):
                        arrays = [
                            pa.array(column, pa.large_string())
                            for column in zip(*batch, strict=True)
                        ]
                        table.write_batch(pa.record_batch(arrays, schema))
                file.flush()
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise UserError(
                f"The training data could not be written into {folder} ({error.strerror}).",
                "Free some space there.",
                code="no-file",
            ) from error
        self._columns: list[Any] = pa.ipc.open_file(pa.py_buffer(mapped)).read_all().columns

    def __getitem__(self, number: int) -> tuple[str, ...]:
        return tuple(column[int(number)].as_py() for column in self._columns)
