"""The listed encoders. Knows a spec only as a name."""

from __future__ import annotations

import builtins
import time
from collections.abc import Mapping
from typing import Any, TypedDict

from theodolite.store.database import Database
from theodolite.store.hashing import from_json, to_json


class EncoderRow(TypedDict):
    """An encoder in the list."""

    name: str
    info: dict[str, Any]
    added: float


class Encoders:
    """Canonical spec -> facts about it, in the order they were added."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, info: Mapping[str, Any] | None = None) -> EncoderRow:
        """Keep an encoder; adding it again replaces its facts and keeps its place.

        Args:
            name: the canonical spec.
            info: JSON-able facts for lists.
        """
        self._database.change(
            "INSERT INTO encoders VALUES (?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET info = excluded.info",
            [name, to_json(info or {}), time.time()],
        )
        added = self.get(name)
        if added is None:  # removed by another process just now: return what was given
            return {"name": name, "info": dict(info or {}), "added": time.time()}
        return added

    def get(self, name: str) -> EncoderRow | None:
        """The encoder of that name, or None."""
        row = self._database.row("SELECT * FROM encoders WHERE name = ?", [name])
        return None if row is None else _read(row)

    def list(self) -> list[EncoderRow]:
        """All encoders, in the order they were added."""
        return [
            _read(row)
            for row in self._database.rows("SELECT * FROM encoders ORDER BY added, rowid")
        ]

    def names(self) -> builtins.list[str]:
        """Their names, in the same order."""
        return [row["name"] for row in self.list()]

    def infos(self) -> dict[str, dict[str, Any]]:
        """Name -> facts, in the same order."""
        return {row["name"]: row["info"] for row in self.list()}

    def remove(self, name: str) -> bool:
        """Forget an encoder; return whether it was listed.

        Its results stay; its vectors go at the next `Store.clean`.
        """
        return self._database.change("DELETE FROM encoders WHERE name = ?", [name]) > 0


def _read(row: dict[str, Any]) -> EncoderRow:
    return {"name": row["name"], "info": from_json(row["info"]), "added": row["added"]}
