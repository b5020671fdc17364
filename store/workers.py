"""The processes that work on the queue, and when each was last seen."""

from __future__ import annotations

import os
import socket
import time
from typing import TypedDict

from theodolite.store.database import Database

SILENCE = 15.0
"""Seconds without a heartbeat after which a worker counts as gone."""


class WorkerRow(TypedDict):
    """A worker; times are seconds since 1970."""

    slot: str
    pid: int
    host: str
    started: float
    seen: float


class Workers:
    """Slot -> the process that fills it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def seen(self, slot: str) -> None:
        """Record a heartbeat of this process in its slot."""
        now, pid = time.time(), os.getpid()
        self._database.change(
            "INSERT INTO workers VALUES (?, ?, ?, ?, ?) ON CONFLICT (slot) DO UPDATE SET"
            " started = CASE WHEN pid = excluded.pid THEN started ELSE excluded.started END,"
            " pid = excluded.pid, host = excluded.host, seen = excluded.seen",
            [slot, pid, socket.gethostname(), now, now],
        )

    def gone(self, slot: str) -> None:
        """Record that this process leaves its slot."""
        self._database.change("DELETE FROM workers WHERE slot = ? AND pid = ?", [slot, os.getpid()])

    def list(self) -> list[WorkerRow]:
        """Workers with a heartbeat in the last `SILENCE` seconds, by slot."""
        rows = self._database.rows(
            "SELECT * FROM workers WHERE seen > ? ORDER BY slot", [time.time() - SILENCE]
        )
        return [WorkerRow(**row) for row in rows]  # type: ignore[typeddict-item]
