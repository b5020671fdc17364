"""Small settings of the user, by name."""

from __future__ import annotations

from typing import Any

from theodolite.store.database import Database
from theodolite.store.hashing import from_json, to_json


class Settings:
    """JSON values by name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, name: str, default: Any = None) -> Any:
        """The value kept under a name, or `default`."""
        row = self._database.row("SELECT value FROM settings WHERE name = ?", [name])
        return default if row is None else from_json(row["value"])

    def set(self, name: str, value: Any) -> None:
        """Keep a JSON-able value; None forgets the name."""
        if value is None:
            self._database.change("DELETE FROM settings WHERE name = ?", [name])
            return
        self._database.change(
            "INSERT INTO settings VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [name, to_json(value)],
        )
