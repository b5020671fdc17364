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
"""Ended units by their weight, of the present one, the first that waits, what it has done here, and
of all that wait what other machines have done of them."""


def weigh(connection: Any, run_id: str) -> None:
    """Work out anew how far the whole run is."""
    connection.execute(_WEIGH, [run_id])


def count(connection: Any, run_id: str) -> None:
    """Count the units that are over anew: nothing is ever counted twice. The next begins at 0."""
    connection.execute(
        "UPDATE runs SET updated = ?, unit_fraction = 0,"
        " (done, failed) = (SELECT count(*) FILTER (WHERE state = 'done'),"
        " count(*) FILTER (WHERE state = 'failed') FROM units WHERE run = runs.id) WHERE id = ?",
        [time.time(), run_id],
    )
    weigh(connection, run_id)


def time_left(connection: Any, run_id: str, now: float) -> None:
    """Time left at the rate since the present worker took the run up; None until there is one."""
    connection.execute(
        "UPDATE runs SET eta_seconds = CASE WHEN fraction > clock_fraction"
        " THEN (? - clock) * (1 - fraction) / (fraction - clock_fraction) END WHERE id = ?",
        [now, run_id],
    )
