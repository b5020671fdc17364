"""What was worked out of vectors and took long, by content key: geometry, curation, indexes.

Each has named files (arrays, or a file someone else wrote) and one row that names them. The row
comes last, so that half of one is none.
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
from store.errors import said_plainly
from store.files import chunks_of, write_once
from store.hashing import to_json

KEY = re.compile(r"[0-9a-f]{32}")


class DerivedRow(TypedDict):
    """Name of an array or file -> where it lies, what is known besides, when it was made."""

    key: str
    kind: str
    files: dict[str, Path]
    info: dict[str, Any]
    created: float


class Derived:
    """Key -> files and facts."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self.folder = folder

    def put(
        self,
        key: str,
        kind: str,
        info: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray] | None = None,
        files: Mapping[str, Path] | None = None,
    ) -> None:
        """Keep something; one that is under this key already is replaced.

        Args:
            key: 32 hexadecimal digits, a hash over everything that decides it.
            kind: `geometry`, `curation`, `index`.
            info: JSON-able facts.
            arrays: numbers, written as `.npy`.
            files: copied; they stay where they are.

        Raises:
            ValueError: for a key of another form, or an array of objects.
            StoreError: when the disk refuses; nothing has changed then.
        """
        if not KEY.fullmatch(key):
            raise ValueError("expected a key of 32 hexadecimal digits")
        if any(array.dtype.hasobject for array in (arrays or {}).values()):
            raise ValueError("an array of objects cannot be kept")
        with said_plainly(self._database.path.parent):
            names = {name: self._write(array) for name, array in (arrays or {}).items()}
            for name, path in (files or {}).items():
                names[name] = write_once(self.folder, chunks_of(path), path.suffix)[0]
        self._database.change(
            "INSERT OR REPLACE INTO derived VALUES (?, ?, ?, ?, ?)",
            [key, kind, to_json(names), to_json(info), time.time()],
        )

    def get(self, key: str) -> DerivedRow | None:
        """What is under a key; None when there is nothing, or one of its files is gone."""
        if not KEY.fullmatch(key):
            return None
        row = self._database.row("SELECT * FROM derived WHERE key = ?", [key])
        return None if row is None else self._read(row)

    def list(self, kind: str) -> list[DerivedRow]:
        """All of a kind that are whole, the newest first."""
        rows = self._database.rows(
            "SELECT * FROM derived WHERE kind = ? ORDER BY created DESC, rowid DESC", [kind]
        )
        return [found for row in rows if (found := self._read(row)) is not None]

    def remove(self, key: str) -> bool:
        """Forget one and say whether it was there; `clean` takes its files away."""
        return self._database.change("DELETE FROM derived WHERE key = ?", [key]) > 0

    def _write(self, array: np.ndarray) -> str:
        held = io.BytesIO()
        np.save(held, np.ascontiguousarray(array), allow_pickle=False)
        return write_once(self.folder, [held.getvalue()], ".npy")[0]

    def _read(self, row: dict[str, Any]) -> DerivedRow | None:
        files = {name: self.folder / file for name, file in json.loads(row["files"]).items()}
        if not all(file.exists() for file in files.values()):
            return None
        return {
            "key": row["key"],
            "kind": row["kind"],
            "files": files,
            "info": json.loads(row["info"]),
            "created": row["created"],
        }


def array(row: DerivedRow, name: str) -> np.ndarray:
    """One of its arrays, a memory map."""
    loaded: np.ndarray = np.load(row["files"][name], mmap_mode="r", allow_pickle=False)
    return loaded
