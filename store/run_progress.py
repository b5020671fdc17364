"""The progress of a run and its time left, computed from its rows in one transaction."""

from __future__ import annotations

import time
from typing import Any

_WEIGH = """
    UPDATE runs SET fraction = coalesce((
        SELECT (sum(weight * CASE state WHEN 'waiting' THEN share ELSE 1 END)
            + runs.unit_fraction * coalesce((
            SELECT weight FROM units WHERE run = runs.id AND state = 'waiting'
            ORDER BY position LIMIT 1), 0)) / sum(weight)
        FROM units WHERE run = runs.id), 0)
    WHERE id = ?"""
"""The weighted mean over units: 1 for those that are over, the local progress for the present one
(the first that waits), and the progress of other machines for all that wait."""


def weigh(connection: Any, run_id: str) -> None:
    """Recompute the progress of the whole run."""
    connection.execute(_WEIGH, [run_id])


def count(connection: Any, run_id: str) -> None:
    """Recount the units that are over, so that none counts twice. The next one begins at 0."""
    connection.execute(
        "UPDATE runs SET updated = ?, unit_fraction = 0,"
        " (done, failed) = (SELECT count(*) FILTER (WHERE state = 'done'),"
        " count(*) FILTER (WHERE state = 'failed') FROM units WHERE run = runs.id) WHERE id = ?",
        [time.time(), run_id],
    )
    weigh(connection, run_id)


def time_left(connection: Any, run_id: str, now: float) -> None:
    """Set the time left by the rate since the present worker began; NULL until there is one."""
    connection.execute(
        "UPDATE runs SET eta_seconds = CASE WHEN fraction > clock_fraction"
        " THEN (? - clock) * (1 - fraction) / (fraction - clock_fraction) END WHERE id = ?",
        [now, run_id],
    )
