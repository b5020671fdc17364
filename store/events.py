"""What runs report: events, appended and read by cursor, and the output of their processes."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from theodolite.store.database import Database
from theodolite.store.errors import StoreError
from theodolite.store.hashing import to_json
from theodolite.store.runs import Runs

RUN = re.compile(r"[0-9a-f]{12}")
_ROW = 64
"""Approximate bytes of an event besides its data, in the table and its indexes."""
_LIMIT = 2 << 20  # bytes read from the end of a log; nobody reads more in a page


class Events:
    """Events of the units of runs, in the order they happened."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, run_id: str, kind: str, data: Mapping[str, Any], position: int = 0) -> None:
        """Append an event: a metric, a sample, a note."""
        self._database.change(
            "INSERT INTO events (run, position, time, kind, data) VALUES (?, ?, ?, ?, ?)",
            [run_id, position, time.time(), kind, to_json(data)],
        )

    def of(
        self, run_id: str, position: int = 0, after: int = 0, limit: int = 1000
    ) -> list[dict[str, Any]]:
        """Events of a unit with an `id` above `after`, the oldest first."""
        return self._database.rows(
            "SELECT id, time, kind, data FROM events WHERE run = ? AND position = ? AND id > ?"
            " ORDER BY id LIMIT ?",
            [run_id, position, after, limit],
        )

    def sizes(self, run_id: str | None = None) -> dict[str, int]:
        """Approximate bytes of the events of each run, or of one run if given."""
        only, given = ("", []) if run_id is None else ("WHERE run = ?", [run_id])
        rows = self._database.rows(
            f"SELECT run, sum(length(data) + {_ROW}) AS size FROM events {only} GROUP BY run",
            given,
        )
        return {row["run"]: int(row["size"]) for row in rows}

    def last(
        self, run_id: str, kind: str, position: int = 0, having: str = ""
    ) -> dict[str, Any] | None:
        """The data of the newest event of a kind, or None.

        If `having` is given, only events count in whose data that field is true.
        """
        # Matched as text: SQLite's JSON functions reject an event that holds a NaN.
        row = self._database.row(
            "SELECT data FROM events WHERE run = ? AND position = ? AND kind = ?"
            " AND (? = '' OR data LIKE ?) ORDER BY id DESC LIMIT 1",
            [run_id, position, kind, having, f'%"{having}": true%'],
        )
        return None if row is None else row["data"]


class Logs:
    """The output of runs' processes, one file per run."""

    def __init__(self, runs: Runs, folder: Path) -> None:
        self._runs = runs
        self.folder = folder

    def path(self, run_id: str) -> Path:
        """The file that a run's processes write to."""
        return self.folder / f"{self._runs.get(run_id)['id']}.log"

    def sizes(self) -> dict[str, int]:
        """Bytes of every log, by run."""
        return {path.stem: path.stat().st_size for path in self.folder.glob("*.log")}

    def remove(self, run_id: str) -> None:
        """Delete the log of a run that is forgotten."""
        if RUN.fullmatch(run_id):  # no other file is ever named
            (self.folder / f"{run_id}.log").unlink(missing_ok=True)

    def note(self, run_id: str, *lines: str) -> None:
        """Append lines with the time of day, unless the disk is full or the run is gone."""
        stamp = time.strftime("%H:%M:%S")
        with (
            contextlib.suppress(OSError, StoreError),
            self.path(run_id).open("a", encoding="utf-8") as file,
        ):
            file.writelines(f"{stamp}  {line}\n" for line in lines)

    def lines(self, run_id: str, after: int = 0) -> list[str]:
        """The lines of a run's log from number `after` on; of a huge log only the end."""
        path = self.path(run_id)
        if not path.exists():
            return []
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _LIMIT))
            text = file.read().decode("utf-8", "replace")
        return text.splitlines()[after:]
