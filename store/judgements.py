"""Judging sessions: the pool, the draws, and every mark as it was made."""

from __future__ import annotations

import builtins
import json
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from store.database import Database
from store.errors import StoreError
from store.hashing import to_json


class JudgingRow(TypedDict):
    """A session; its `pool` is read on its own."""

    id: str
    title: str
    spec: dict[str, Any]
    created: float
    marks: int


_LISTED = (
    "SELECT id, title, spec, created, (SELECT count(*) FROM (SELECT judge, position, mark,"
    " max(marks.id) FROM marks WHERE judging = judgings.id GROUP BY judge, position)"
    " WHERE mark IS NOT NULL) AS marks FROM judgings"
)


def new_id() -> str:
    """Of a session."""
    return secrets.token_hex(6)


class Judgements:
    """Sessions by id. Nothing of one is ever changed: draws and marks are appended.

    What a model answered is of no session: it is asked the same once for all of them.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(
        self, title: str, spec: Mapping[str, Any], pool: Mapping[str, Any], session: str = ""
    ) -> str:
        """Keep a new session, and return its id: a new one, or that given, if it is not there."""
        name = session or new_id()
        self._database.change(
            "INSERT OR IGNORE INTO judgings VALUES (?, ?, ?, ?, ?)",
            [name, title, to_json(spec), to_json(pool), time.time()],
        )
        return name

    def list(self) -> list[JudgingRow]:
        """All, the newest first, with how many marks stand."""
        rows = self._database.rows(f"{_LISTED} ORDER BY created DESC, rowid DESC")
        return [self._read(row) for row in rows]

    def get(self, session: str) -> JudgingRow:
        """One session.

        Raises:
            StoreError: there is none of that id.
        """
        row = self._database.row(f"{_LISTED} WHERE id = ?", [session])
        if row is None:
            raise StoreError(
                f"There is no session of judging {session[:80]!r}.",
                "`theodolite judge list` shows them.",
            )
        return self._read(row)

    def pool(self, session: str) -> dict[str, Any]:
        """What is judged in a session that is there."""
        row = self._database.row("SELECT pool FROM judgings WHERE id = ?", [session])
        found: dict[str, Any] = json.loads(row["pool"]) if row else {}
        return found

    def remove(self, session: str) -> None:
        """Forget a session with all its marks."""
        self._database.change("DELETE FROM judgings WHERE id = ?", [session])

    def add_draw(self, session: str, position: int, draw: Mapping[str, Any]) -> None:
        """Keep what is judged at a position; what was drawn there before stays."""
        self._database.change(
            "INSERT OR IGNORE INTO draws VALUES (?, ?, ?)", [session, position, to_json(draw)]
        )

    def draws(self, session: str) -> builtins.list[dict[str, Any]]:
        """What was drawn, by position."""
        rows = self._database.rows(
            "SELECT draw FROM draws WHERE judging = ? ORDER BY position", [session]
        )
        return [json.loads(row["draw"]) for row in rows]

    def add_mark(self, session: str, position: int, judge: str, mark: float | None) -> bool:
        """Append a mark, or None to take the last one back; whether it changed anything.

        A mark where the judge has one is not taken, nor one taken back twice.
        """
        with self._database.write() as connection:
            last = connection.execute(
                "SELECT mark FROM marks WHERE judging = ? AND position = ? AND judge = ?"
                " ORDER BY id DESC LIMIT 1",
                [session, position, judge],
            ).fetchone()
            if (last is None or last[0] is None) == (mark is None):
                return False
            connection.execute(
                "INSERT INTO marks (judging, position, judge, mark, created)"
                " VALUES (?, ?, ?, ?, ?)",
                [session, position, judge, mark, time.time()],
            )
        return True

    def marks(self, session: str) -> dict[int, dict[str, float]]:
        """Position -> judge -> the mark that stands, in the order they were made."""
        found: dict[int, dict[str, float]] = {}
        rows = self._database.rows(
            "SELECT position, judge, mark FROM marks WHERE judging = ? ORDER BY id", [session]
        )
        for row in rows:
            at = found.setdefault(row["position"], {})
            at.pop(row["judge"], None)
            if row["mark"] is not None:
                at[row["judge"]] = row["mark"]
        return {position: at for position, at in sorted(found.items()) if at}

    def add_second_mark(self, key: str, mark: int | None) -> None:
        """Keep what a model answered, None for what could not be read; the first answer stays.

        Args:
            key: a hash of all that it was asked.
            mark: its answer.
        """
        self._database.change(
            "INSERT OR IGNORE INTO second_marks (key, mark, created) VALUES (?, ?, ?)",
            [key, mark, time.time()],
        )

    def second_marks(self, keys: Sequence[str]) -> dict[str, tuple[int, int | None]]:
        """Key -> id, which grows with every answer, and mark, of those that were answered."""
        rows = self._database.rows(
            "SELECT key, id, mark FROM second_marks WHERE key IN (SELECT value FROM json_each(?))",
            [json.dumps(list(keys))],
        )
        return {row["key"]: (row["id"], row["mark"]) for row in rows}

    def _read(self, row: dict[str, Any]) -> JudgingRow:
        return {
            "id": row["id"],
            "title": row["title"],
            "spec": json.loads(row["spec"]),
            "created": row["created"],
            "marks": row["marks"],
        }
