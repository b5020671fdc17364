"""Deletion: finished runs with their events and logs, and results."""

import time

from theodolite.store.folder import Store

_DAY = 86400.0
_OVER = "state NOT IN ('queued', 'running')"


def run(store: Store, run_id: str) -> bool:
    """Forget a run that is over, with its units, events and log; return whether it was over.

    Its results, encoders and decoders stay; so does a checkpoint, until the store is cleaned.

    Raises:
        NoSuchRun: when there is none.
    """
    store.runs.get(run_id)
    sql = f"DELETE FROM runs WHERE id = ? AND {_OVER}"
    if not store.database.change(sql, [run_id]):
        return False
    store.logs.remove(run_id)
    store.terminals.remove(run_id)
    return True


def size(store: Store, run_id: str) -> int:
    """Approximate bytes of a run's events and log.

    Raises:
        NoSuchRun: when there is none.
    """
    log = store.logs.path(run_id)
    return (log.stat().st_size if log.exists() else 0) + store.events.sizes(run_id).get(run_id, 0)


def sizes(store: Store) -> dict[str, int]:
    """Approximate bytes of events and log, by run."""
    logs, events = store.logs.sizes(), store.events.sizes()
    return {name: logs.get(name, 0) + events.get(name, 0) for name in logs | events}


def runs_older(store: Store, days: float) -> int:
    """Forget the runs that ended more than `days` ago; return how many."""
    rows = store.database.rows(
        f"SELECT id FROM runs WHERE {_OVER} AND coalesce(finished, updated) < ?",
        [time.time() - days * _DAY],
    )
    return sum(run(store, row["id"]) for row in rows)


def results_older(store: Store, days: float) -> int:
    """Forget the results older than `days`; return how many."""
    latest = time.time() - days * _DAY
    rows = store.results.table(all_versions=True)
    return store.results.remove([row["id"] for row in rows if row["created"] < latest])
