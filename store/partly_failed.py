"""Rebuild the tables of runs and units with more states in their CHECK constraints."""

from __future__ import annotations

import sqlite_utils


def states_of_units(db: sqlite_utils.Database) -> None:
    """Add the state `left out` and the column `reached`, and rename `deaths` to `crashes`."""
    db.execute("""
        CREATE TABLE units_new (
            run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            label TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('waiting', 'done', 'failed', 'left out')),
            crashes INTEGER NOT NULL DEFAULT 0,
            reached REAL NOT NULL DEFAULT 0,
            seconds REAL,
            error TEXT,
            hint TEXT NOT NULL DEFAULT '',
            weight REAL NOT NULL DEFAULT 1,
            PRIMARY KEY (run, position)
        ) WITHOUT ROWID""")
    db.execute("""
        INSERT INTO units_new (run, position, label, state, crashes, seconds, error, hint, weight)
        SELECT run, position, label,
            CASE WHEN error = 'Left out: the sweep was asked to stop before.'
                THEN 'left out' ELSE state END,
            deaths, seconds, error, hint, weight FROM units""")
    db.execute("DROP TABLE units")
    db.execute("ALTER TABLE units_new RENAME TO units")


def states_of_runs(db: sqlite_utils.Database) -> None:
    """Add the state `partly failed` and the number of failed units."""
    columns = (
        "id, kind, title, spec, spec_hash, priority, attempt, enqueued, total, fraction,"
        " unit_fraction, eta_seconds, clock, clock_fraction, message, worker, created, started,"
        " finished, updated, error, hint, asked"
    )
    count = "(SELECT count(*) FROM units WHERE run = runs.id AND state = '{}')"
    done, failed = count.format("done"), count.format("failed")
    db.execute("""
        CREATE TABLE runs_new (
            id TEXT PRIMARY KEY,
            kind TEXT NOT NULL,
            title TEXT NOT NULL,
            spec TEXT NOT NULL,
            spec_hash TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN
                ('queued', 'running', 'done', 'partly failed', 'failed', 'cancelled')),
            priority INTEGER NOT NULL,
            attempt INTEGER NOT NULL,
            enqueued INTEGER NOT NULL DEFAULT 0,
            total INTEGER NOT NULL,
            done INTEGER NOT NULL DEFAULT 0,
            failed INTEGER NOT NULL DEFAULT 0,
            fraction REAL NOT NULL DEFAULT 0,
            unit_fraction REAL NOT NULL DEFAULT 0,
            eta_seconds REAL,
            clock REAL,
            clock_fraction REAL,
            message TEXT NOT NULL DEFAULT '',
            worker TEXT,
            created REAL NOT NULL,
            started REAL,
            finished REAL,
            updated REAL NOT NULL,
            error TEXT,
            hint TEXT NOT NULL DEFAULT '',
            asked TEXT NOT NULL DEFAULT ''
        )""")
    db.execute(
        f"INSERT INTO runs_new ({columns}, state, done, failed)"  # noqa: S608
        f" SELECT {columns}, CASE WHEN state = 'done' AND {failed} > 0 THEN 'partly failed'"
        f" ELSE state END, {done}, {failed} FROM runs ORDER BY rowid"
    )
    db.execute("DROP TABLE runs")
    db.execute("ALTER TABLE runs_new RENAME TO runs")
    db.execute("CREATE INDEX runs_state ON runs (state, enqueued)")
    db.execute("CREATE INDEX runs_spec ON runs (spec_hash)")
    db.execute("CREATE INDEX runs_created ON runs (created)")
