"""Expensive results derived from vectors, by content key: maps, geometry, curation, indexes.

Each has named files (arrays, or a file written elsewhere) and one row that names them. The row is
written last, so that an interrupted write leaves no result.
"""

import builtins
import contextlib
import io
import re
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from theodolite.store.database import Filed
from theodolite.store.errors import as_store_errors
from theodolite.store.files import TEMPORARY, chunks_of, write_once
from theodolite.store.hashing import to_json

KEY = re.compile(r"[0-9a-f]{32}")


class DerivedRow(TypedDict):
    """A derived result: name of each array or file -> its path, facts, the time it was stored."""

    key: str
    kind: str
    files: dict[str, Path]
    info: dict[str, Any]
    created: float


class Derived(Filed):
    """Key -> files and facts."""

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
            kind: `map`, `geometry`, `curation`, `index`.
            info: JSON-able facts.
            arrays: numbers, written as `.npy`.
            files: to copy; the originals stay.

        Raises:
            ValueError: for a malformed key, or an array of objects.
        """
        self._database.refuse_writing()
        if not KEY.fullmatch(key):
            raise ValueError("expected a key of 32 hexadecimal digits")
        if any(array.dtype.hasobject for array in (arrays or {}).values()):
            raise ValueError("expected numbers: an array of objects cannot be kept")
        with as_store_errors(self._database.path.parent):
            names = {name: self._write(array) for name, array in (arrays or {}).items()}
            for name, path in (files or {}).items():
                names[name] = write_once(self.folder, chunks_of(path), path.suffix)[0]
        self._database.change(
            "INSERT OR REPLACE INTO derived (key, kind, files, info, created)"
            " VALUES (?, ?, ?, ?, ?)",
            [key, kind, to_json(names), to_json(info), time.time()],
        )

    def get(self, key: str) -> DerivedRow | None:
        """The result under a key; None when there is none, or one of its files is gone."""
        return next(iter(self._whole("key", key)), None) if KEY.fullmatch(key) else None

    def list(self, kind: str) -> list[DerivedRow]:
        """All results of a kind whose files exist, newest first."""
        return self._whole("kind", kind)

    def remove(self, key: str) -> bool:
        """Forget a key; return whether it was known. `clean` removes its files."""
        return self._database.change("DELETE FROM derived WHERE key = ?", [key]) > 0

    def put_unfinished(self, key: str, points: np.ndarray) -> None:
        """Write the points of a map's layout in progress for the live view; float32 (n, 2).

        I/O errors are ignored, as they cost the view only; `clean` removes what a crash leaves.
        """
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            written = self.folder / f"{key}-{secrets.token_hex(4)}{TEMPORARY}"
            written.write_bytes(points.astype("<f4").tobytes())
            written.replace(self.folder / f"{key}{TEMPORARY}")

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

    def _whole(self, column: str, value: str) -> builtins.list[DerivedRow]:
        """The rows with a value whose files exist, newest first."""
        rows = self._database.rows(
            f"SELECT * FROM derived WHERE {column} = ? ORDER BY created DESC, rowid DESC", [value]
        )
        for row in rows:
            row["files"] = {name: self.folder / file for name, file in row["files"].items()}
        whole = [row for row in rows if all(file.exists() for file in row["files"].values())]
        return [DerivedRow(**row) for row in whole]  # type: ignore[typeddict-item]

    def _write(self, array: np.ndarray) -> str:
        buffer = io.BytesIO()
        np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
        return write_once(self.folder, [buffer.getvalue()], ".npy")[0]


def array(row: DerivedRow, name: str) -> np.ndarray:
    """An array of a row, as a memory map."""
    loaded: np.ndarray = np.load(row["files"][name], mmap_mode="r", allow_pickle=False)
    return loaded


def arrays(row: DerivedRow) -> dict[str, np.ndarray]:
    """All arrays of a row by name, as memory maps."""
    return {name: array(row, name) for name in row["files"]}
