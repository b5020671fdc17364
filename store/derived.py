"""Expensive results derived from vectors, by content key: maps, geometry, curation, indexes.

Each has named files (arrays, or a file written elsewhere) and one row that names them. The row is
written last, so that an interrupted write leaves no result.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import re
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar, cast

import numpy as np

from theodolite.store.database import Database
from theodolite.store.errors import StoreError, as_store_errors
from theodolite.store.files import TEMPORARY, chunks_of, write_once
from theodolite.store.hashing import to_json

KEY = re.compile(r"[0-9a-f]{32}")


class ProjectionRow(TypedDict):
    """A projection: name of each array or file -> its path, facts, the time it was stored."""

    key: str
    files: dict[str, Path]
    info: dict[str, Any]
    created: float


class DerivedRow(ProjectionRow):
    """A derived result: as `ProjectionRow`, with its kind."""

    kind: str


Row = TypeVar("Row", bound=ProjectionRow)


class _ByKey(Generic[Row]):
    """A table of files by key, and their folder."""

    table: str

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self.folder = folder

    def remove(self, key: str) -> bool:
        """Forget a key; return whether it was known. `clean` removes its files."""
        sql = f"DELETE FROM {self.table} WHERE key = ?"
        return self._database.change(sql, [key]) > 0

    def get(self, key: str) -> Row | None:
        """The result under a key; None when there is none, or one of its files is gone."""
        return next(iter(self._whole("key = ?", key)), None) if KEY.fullmatch(key) else None

    def _whole(self, where: str = "1", *values: str) -> builtins.list[Row]:
        """All rows whose files exist, newest first."""
        sql = f"SELECT * FROM {self.table} WHERE {where} ORDER BY created DESC, rowid DESC"
        rows = self._database.rows(sql, values)
        for row in rows:
            row["files"] = {name: self.folder / file for name, file in row["files"].items()}
        return [cast("Row", row) for row in rows if all(f.exists() for f in row["files"].values())]

    def _put(
        self,
        key: str,
        info: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray],
        files: Mapping[str, Path],
        **besides: str,
    ) -> None:
        """Store files under a key, replacing what it held.

        Raises:
            ValueError: for a malformed key, or an array of objects.
        """
        self._database.refuse_writing()
        if not KEY.fullmatch(key):
            raise ValueError("expected a key of 32 hexadecimal digits")
        if any(array.dtype.hasobject for array in arrays.values()):
            raise ValueError("expected numbers: an array of objects cannot be kept")
        with as_store_errors(self._database.path.parent):
            names = {name: self._write(array) for name, array in arrays.items()}
            for name, path in files.items():
                names[name] = write_once(self.folder, chunks_of(path), path.suffix)[0]
        row = {"key": key, "files": to_json(names), "info": to_json(info), "created": time.time()}
        columns = (row | besides).keys()
        self._database.change(
            f"INSERT OR REPLACE INTO {self.table} ({', '.join(columns)})"
            f" VALUES ({', '.join(f':{column}' for column in columns)})",
            row | besides,
        )

    def _write(self, array: np.ndarray) -> str:
        held = io.BytesIO()
        np.save(held, np.ascontiguousarray(array), allow_pickle=False)
        return write_once(self.folder, [held.getvalue()], ".npy")[0]


class Derived(_ByKey[DerivedRow]):
    """Key -> files and facts."""

    table = "derived"

    def put(
        self,
        key: str,
        kind: str,
        info: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray] | None = None,
        files: Mapping[str, Path] | None = None,
    ) -> None:
        """Store a result under a key, replacing what it held.

        Args:
            key: 32 hexadecimal digits, a hash over everything that determines the result.
            kind: `geometry`, `curation`, `index`.
            info: JSON-able facts.
            arrays: numbers, written as `.npy`.
            files: to copy; the originals stay.

        Raises:
            ValueError: for a malformed key, or an array of objects.
        """
        self._put(key, info, arrays or {}, files or {}, kind=kind)

    def list(self, kind: str) -> list[DerivedRow]:
        """All results of a kind whose files exist, newest first."""
        return self._whole("kind = ?", kind)


class Projections(_ByKey[ProjectionRow]):
    """Key -> projected points, and columns of values for each point.

    All arrays have the same length: `points`, and one for each column.
    """

    table = "projections"

    def put(
        self, key: str, arrays: Mapping[str, np.ndarray], info: Mapping[str, Any]
    ) -> ProjectionRow:
        """Store a projection; a complete one under this key stays as it is.

        Args:
            key: 32 hexadecimal digits, a hash over everything that determines the result.
            arrays: `points`, numeric (n, 2), and any columns, numeric (n,).
            info: JSON-able facts.

        Raises:
            ValueError: for a malformed key, or arrays of wrong shape or type.
        """
        n = len(arrays["points"])
        if arrays["points"].shape != (n, 2) or any(len(array) != n for array in arrays.values()):
            raise ValueError(f"expected points of shape ({n}, 2), and {n} numbers in every array")
        before = self.get(key)
        if before is not None:
            return before
        self._put(key, info, arrays, {})
        found = self.get(key)
        if found is None:
            raise StoreError(
                "The projection was removed while it was stored.", "Compute it again.", code="stale"
            )
        return found

    def put_unfinished(self, key: str, points: np.ndarray) -> None:
        """Write the points of a layout in progress for the live view; float32 (n, 2).

        I/O errors are ignored, as they cost the view only; `clean` removes what a crash leaves.
        """
        folder = self.folder
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            written = folder / f"{key}-{secrets.token_hex(4)}{TEMPORARY}"
            written.write_bytes(points.astype("<f4").tobytes())
            written.replace(folder / f"{key}{TEMPORARY}")

    def unfinished(self, key: str) -> bytes | None:
        """The bytes that `put_unfinished` wrote last, "<f4" (n, 2); None when there are none."""
        if not KEY.fullmatch(key):
            return None
        try:
            return (self.folder / f"{key}{TEMPORARY}").read_bytes()
        except FileNotFoundError:
            return None

    def end_unfinished(self, key: str) -> None:
        """Remove the unfinished points, when the layout is done or abandoned."""
        with contextlib.suppress(OSError):
            (self.folder / f"{key}{TEMPORARY}").unlink(missing_ok=True)

    def list(self) -> list[ProjectionRow]:
        """All projections whose files exist, newest first."""
        return self._whole()


def array(row: ProjectionRow, name: str) -> np.ndarray:
    """An array of a row, as a memory map."""
    loaded: np.ndarray = np.load(row["files"][name], mmap_mode="r", allow_pickle=False)
    return loaded


def arrays(row: ProjectionRow) -> dict[str, np.ndarray]:
    """All arrays of a row by name, as memory maps."""
    return {name: array(row, name) for name in row["files"]}
