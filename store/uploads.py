"""Files that users uploaded as data sets. Knows their bytes, not their meaning."""

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from theodolite.store.database import Filed
from theodolite.store.errors import StoreError, as_store_errors
from theodolite.store.files import chunks_of, write_once
from theodolite.store.hashing import to_json

_NAME = re.compile(r"[\w][\w .+-]{0,79}")


class UploadRow(TypedDict):
    """An uploaded data set; its bytes are in the file `path`."""

    name: str
    filename: str
    kind: str
    path: Path
    bytes: int
    mapping: dict[str, Any]
    info: dict[str, Any]
    added: float


class Uploads(Filed):
    """Name -> file and how to read it."""

    def add(
        self,
        name: str,
        kind: str,
        source: bytes | Path,
        *,
        mapping: Mapping[str, Any],
        info: Mapping[str, Any] | None = None,
        filename: str | None = None,
    ) -> UploadRow:
        """Keep a copy of a file under a name.

        Args:
            name: letters, digits, spaces and `. _ + -`, at most 80.
            kind: of data set that it holds.
            source: the bytes, or a file to copy.
            mapping: which column has which role.
            info: JSON-able facts for lists.
            filename: original name of the file, whose suffix tells its format; taken from `source`
                when that is a path.
        """
        self.check_name(name)
        if filename is None:
            filename = source.name if isinstance(source, Path) else name
        chunks = [source] if isinstance(source, bytes) else chunks_of(source)
        with as_store_errors(self._database.path.parent):
            file, size = write_once(self.folder, chunks, "")
        facts = (kind, file, to_json(mapping))
        with self._database.write() as connection:
            before = connection.execute(
                "SELECT kind, file, mapping FROM uploads WHERE name = ?", [name]
            ).fetchone()
            if before is not None and (*before[:2], to_json(before[2])) != facts:
                raise StoreError(
                    f"There is an upload named {name!r} already, with other content.",
                    "Choose another name, or remove that one first.",
                    code="conflict",
                )
            connection.execute(
                "INSERT OR IGNORE INTO uploads VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [name, filename, *facts, size, to_json(info or {}), time.time()],
            )
        row = self.get(name)
        if row is None:
            raise StoreError(
                f"The upload {name!r} was removed while it was added.",
                "Add it again.",
                code="stale",
            )
        return row

    @staticmethod
    def check_name(name: str) -> None:
        """Raise a StoreError for a name that no upload can have."""
        if not _NAME.fullmatch(name):
            raise StoreError(
                f"{name[:80]!r} cannot name a data set.",
                "Use letters, digits, spaces and . _ + -, at most 80 of them.",
                code="invalid",
            )

    def get(self, name: str) -> UploadRow | None:
        """The upload of that name, or None."""
        row = self._database.row("SELECT * FROM uploads WHERE name = ?", [name])
        return None if row is None else self._read(row)

    def list(self) -> list[UploadRow]:
        """All uploads, in the order they were added."""
        rows = self._database.rows("SELECT * FROM uploads ORDER BY added, rowid")
        return [self._read(row) for row in rows]

    def remove(self, name: str) -> bool:
        """Forget an upload; return whether it was known. Its file goes unless another shares it."""
        with self._database.write() as connection:
            row = connection.execute("SELECT file FROM uploads WHERE name = ?", [name]).fetchone()
            if row is None:
                return False
            connection.execute("DELETE FROM uploads WHERE name = ?", [name])
            if not connection.execute("SELECT 1 FROM uploads WHERE file = ?", row).fetchone():
                (self.folder / row[0]).unlink(missing_ok=True)
        return True

    def _read(self, row: dict[str, Any]) -> UploadRow:
        path = self.folder / row.pop("file")
        return UploadRow(**row, path=path)  # type: ignore[typeddict-item]
