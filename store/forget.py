"""What a person lets go of: runs that are over with all they said, and results."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from store.folder import Store

_DAY = 86400.0
_OVER = "state NOT IN ('queued', 'running')"


def run(store: Store, run_id: str) -> bool:
    """Forget a run that is over: its parts, events and log; say whether it was over.

    Results, encoders and decoders that came of it stay.

    Raises:
        NoSuchRun: when there is none.
    """
    store.runs.get(run_id)
    sql = f"DELETE FROM runs WHERE id = ? AND {_OVER}"  # noqa: S608
    if not store.database.change(sql, [run_id]):
        return False
    store.logs.remove(run_id)
    store.terminals.remove(run_id)
    return True


def runs_older(store: Store, days: float) -> int:
    """Forget the runs that ended longer ago; return how many."""
    rows = store.database.rows(
        f"SELECT id FROM runs WHERE {_OVER} AND coalesce(finished, updated) < ?",  # noqa: S608
        [time.time() - days * _DAY],
    )
    return sum(run(store, row["id"]) for row in rows)


def results_older(store: Store, days: float) -> int:
    """Forget the results that are older; return how many."""
    latest = time.time() - days * _DAY
    rows = store.results.table(all_versions=True)
    return store.results.remove([row["id"] for row in rows if row["created"] < latest])
