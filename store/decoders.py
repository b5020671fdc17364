"""The listed decoders, each a folder that belongs to an encoder. Knows both only by name."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from theodolite.store.database import Database
from theodolite.store.hashing import from_json, to_json


class DecoderRow(TypedDict):
    """A decoder in the list: the encoder whose vectors it reads, its folder, facts about it."""

    name: str
    encoder: str
    fingerprint: str
    folder: Path
    info: dict[str, Any]
    added: float


class Decoders:
    """Name -> folder of the decoder and facts about it.

    Attributes:
        folder: of the decoders that were trained here; others may be anywhere.
    """

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self.folder = folder

    def add(
        self, folder: Path, encoder: str, fingerprint: str, info: Mapping[str, Any] | None = None
    ) -> DecoderRow:
        """Keep a decoder under the name of its folder; adding it again replaces its facts.

        A different folder of the same name gets a numeric suffix.

        Args:
            folder: of the decoder.
            encoder: canonical spec of the encoder it belongs to.
            fingerprint: of that encoder.
            info: JSON-able facts for lists.
        """
        kept = self._kept(folder)
        with self._database.write() as connection:
            names = dict(connection.execute("SELECT name, folder FROM decoders").fetchall())
            names = {name: where for name, where in names.items() if where != kept}
            connection.execute("DELETE FROM decoders WHERE folder = ?", [kept])
            tried = [folder.name, *(f"{folder.name}-{n}" for n in range(2, len(names) + 3))]
            name = next(name for name in tried if name not in names)
            row = [name, encoder, fingerprint, kept, to_json(info or {}), time.time()]
            connection.execute("INSERT INTO decoders VALUES (?, ?, ?, ?, ?, ?)", row)
        return {
            "name": name,
            "encoder": encoder,
            "fingerprint": fingerprint,
            "folder": folder,
            "info": dict(info or {}),
            "added": float(str(row[-1])),
        }

    def list(self) -> list[DecoderRow]:
        """All decoders, newest first."""
        rows = self._database.rows("SELECT * FROM decoders ORDER BY added DESC, rowid DESC")
        return [self._read(row) for row in rows]

    def remove(self, name: str) -> bool:
        """Forget a decoder; return whether it was listed. Its folder stays."""
        return self._database.change("DELETE FROM decoders WHERE name = ?", [name]) > 0

    def _kept(self, folder: Path) -> str:
        """The path to store: relative for a folder of the store, so that the store can move."""
        whole = folder.expanduser().absolute()
        inside = whole.is_relative_to(self.folder.absolute())
        return str(whole.relative_to(self.folder.absolute()) if inside else whole)

    def _read(self, row: dict[str, Any]) -> DecoderRow:
        return {
            "name": row["name"],
            "encoder": row["encoder"],
            "fingerprint": row["fingerprint"],
            "folder": self.folder / row["folder"],  # an absolute one stays as it is
            "info": from_json(row["info"]),
            "added": row["added"],
        }
