"""Planes of projected points and what is known of each point, kept by a content key.

A projection has arrays of one length (`points`, and one for every column) in files named by what
they hold, and one row that names them. The row comes last, so that half a projection is none.
"""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from store.database import Database
from store.errors import StoreError, said_plainly
from store.files import write_once
from store.hashing import to_json

POINTS = "points"
KEY = re.compile(r"[0-9a-f]{32}")


class ProjectionRow(TypedDict):
    """A projection: name of an array -> its file, what is known of it, when it was made."""

    key: str
    files: dict[str, Path]
    info: dict[str, Any]
    created: float


class Projections:
    """Key -> arrays and facts."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self.folder = folder

    def put(
        self, key: str, arrays: Mapping[str, np.ndarray], info: Mapping[str, Any]
    ) -> ProjectionRow:
        """Keep a projection; one that is whole under this key already stays as it is.

        Args:
            key: 32 hexadecimal digits, a hash over everything that decides the result.
            arrays: `points`, numeric (n, 2), and any columns, numeric (n,).
            info: JSON-able facts.

        Raises:
            ValueError: for a key or arrays that cannot be those of a projection.
            StoreError: when the disk refuses; nothing has changed then.
        """
        n = len(arrays[POINTS])
        if not KEY.fullmatch(key) or arrays[POINTS].shape != (n, 2):
            raise ValueError("expected a key of 32 hexadecimal digits and points of shape (n, 2)")
        if any(len(array) != n or array.dtype.hasobject for array in arrays.values()):
            raise ValueError(f"every array of a projection must hold {n} numbers a point")
        before = self.get(key)
        if before is not None:
            return before
        with said_plainly(self._database.path.parent):
            files = {name: self._write(array) for name, array in arrays.items()}
        self._database.change(
            "INSERT OR REPLACE INTO projections VALUES (?, ?, ?, ?)",
            [key, to_json(files), to_json(info), time.time()],
        )
        found = self.get(key)
        if found is None:
            raise StoreError("The projection was removed while it was kept.", "Make it again.")
        return found

    def get(self, key: str) -> ProjectionRow | None:
        """The projection under a key; None when there is none, or one of its files is gone."""
        if not KEY.fullmatch(key):
            return None
        row = self._database.row("SELECT * FROM projections WHERE key = ?", [key])
        return None if row is None else self._read(row)

    def list(self) -> list[ProjectionRow]:
        """All that are whole, the newest first."""
        rows = self._database.rows("SELECT * FROM projections ORDER BY created DESC, rowid DESC")
        return [found for row in rows if (found := self._read(row)) is not None]

    def remove(self, key: str) -> bool:
        """Forget a projection and say whether it was there; `clean` takes its files away."""
        return self._database.change("DELETE FROM projections WHERE key = ?", [key]) > 0

    def _write(self, array: np.ndarray) -> str:
        held = io.BytesIO()
        np.save(held, np.ascontiguousarray(array), allow_pickle=False)
        return write_once(self.folder, [held.getvalue()], ".npy")[0]

    def _read(self, row: dict[str, Any]) -> ProjectionRow | None:
        files = {name: self.folder / file for name, file in json.loads(row["files"]).items()}
        if not all(file.exists() for file in files.values()):
            return None
        return {
            "key": row["key"],
            "files": files,
            "info": json.loads(row["info"]),
            "created": row["created"],
        }
