"""Judging sessions: the pool, the draws, and every mark as it was made."""

import builtins
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from theodolite.store.database import Table, where
from theodolite.store.errors import StoreError
from theodolite.store.hashing import to_json


class JudgingRow(TypedDict):
    """A judging session, without its pool."""

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
    """A random id for a session."""
    return secrets.token_hex(6)


class Judgements(Table):
    """Sessions by id. Draws and marks are appended, and never changed.

    Answers of models belong to no session: each question is asked once for all sessions.
    """

    def begin(
        self, title: str, spec: Mapping[str, Any], pool: Mapping[str, Any], session: str = ""
    ) -> str:
        """Create a session and return its id; an existing session of that id stays as it is."""
        name = session or new_id()
        self._database.change(
            "INSERT OR IGNORE INTO judgings VALUES (?, ?, ?, ?, ?)",
            [name, title, to_json(spec), to_json(pool), time.time()],
        )
        return name

    def list(self) -> list[JudgingRow]:
        """All sessions, newest first, with the number of marks in force."""
        rows = self._database.rows(f"{_LISTED} ORDER BY created DESC, rowid DESC")
        return [JudgingRow(**row) for row in rows]  # type: ignore[typeddict-item]

    def get(self, session: str) -> JudgingRow:
        """The session of that id."""
        row = self._database.row(f"{_LISTED} WHERE id = ?", [session])
        if row is None:
            raise StoreError(
                f"There is no session of judging {session[:80]!r}.",
                "`theodolite judge list` shows the sessions.",
                code="unknown",
            )
        return JudgingRow(**row)  # type: ignore[typeddict-item]

    def pool(self, session: str) -> dict[str, Any]:
        """The pool of a session; empty when there is no such session."""
        row = self._database.row("SELECT pool FROM judgings WHERE id = ?", [session])
        return row["pool"] if row else {}

    def remove(self, session: str) -> None:
        """Forget a session with all its marks."""
        self._database.change("DELETE FROM judgings WHERE id = ?", [session])

    def add_draw(self, session: str, position: int, draw: Mapping[str, Any]) -> None:
        """Store the draw of a position; an earlier draw there stays."""
        self._database.change(
            "INSERT OR IGNORE INTO draws VALUES (?, ?, ?)", [session, position, to_json(draw)]
        )

    def draws(self, session: str) -> builtins.list[dict[str, Any]]:
        """The draws of a session, by position."""
        rows = self._database.rows(
            "SELECT draw FROM draws WHERE judging = ? ORDER BY position", [session]
        )
        return [row["draw"] for row in rows]

    def add_mark(self, session: str, position: int, judge: str, mark: float | None) -> bool:
        """Append a mark, or None to withdraw the last one; return whether anything changed.

        A second mark by the same judge is ignored, as is a second withdrawal.
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
        """Position -> judge -> mark in force, in the order the marks were made."""
        by_unit: dict[int, dict[str, float]] = {}
        rows = self._database.rows(
            "SELECT position, judge, mark FROM marks WHERE judging = ? ORDER BY id", [session]
        )
        for row in rows:
            at = by_unit.setdefault(row["position"], {})
            at.pop(row["judge"], None)
            if row["mark"] is not None:
                at[row["judge"]] = row["mark"]
        return {position: at for position, at in sorted(by_unit.items()) if at}

    def add_second_mark(self, key: str, mark: int | None) -> None:
        """Store a model's answer, None for an unreadable one; the first answer stays.

        The key is a hash of the whole question.
        """
        self._database.change(
            "INSERT OR IGNORE INTO second_marks (key, mark, created) VALUES (?, ?, ?)",
            [key, mark, time.time()],
        )

    def second_marks(self, keys: Sequence[str]) -> dict[str, tuple[int, int | None]]:
        """Key -> (id, mark) of the answered keys; ids grow with every answer."""
        condition, parameters = where(key=keys)
        rows = self._database.rows(
            f"SELECT key, id, mark FROM second_marks WHERE {condition}",
            parameters,
        )
        return {row["key"]: (row["id"], row["mark"]) for row in rows}
