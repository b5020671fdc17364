"""The tables of the database, and how a later version of Theodolite will change them.

A released migration is never edited: add a new one.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from theodolite.store.errors import StoreError

if TYPE_CHECKING:
    import sqlite_utils

TABLES = """
-- Small values by name.
CREATE TABLE settings (name TEXT PRIMARY KEY, value JSON_TEXT NOT NULL) WITHOUT ROWID;

-- The listed encoders, by canonical spec.
CREATE TABLE encoders (name TEXT PRIMARY KEY, info JSON_TEXT NOT NULL, added REAL NOT NULL);

-- The names that people give to listed encoders.
CREATE TABLE labels (
    name TEXT PRIMARY KEY,
    encoder TEXT NOT NULL UNIQUE REFERENCES encoders (name) ON DELETE CASCADE
);

-- The listed decoders, trained here or elsewhere; each belongs to an encoder.
CREATE TABLE decoders (
    name TEXT PRIMARY KEY,
    encoder TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    folder TEXT NOT NULL,
    info JSON_TEXT NOT NULL,
    added REAL NOT NULL
);
CREATE INDEX decoders_fingerprint ON decoders (fingerprint);

-- Uploaded data sets; `file` is a name in the folder `uploads`.
CREATE TABLE uploads (
    name TEXT PRIMARY KEY,
    filename TEXT NOT NULL,
    kind TEXT NOT NULL,
    file TEXT NOT NULL,
    mapping JSON_TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    info JSON_TEXT NOT NULL,
    added REAL NOT NULL
);

-- One row per result, with its main score copied in so that a table needs no join.
-- AUTOINCREMENT: an id is never reused, even after an error row was replaced.
CREATE TABLE results (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    encoder TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    dim INTEGER NOT NULL,
    task TEXT NOT NULL,
    protocol TEXT NOT NULL,
    seed INTEGER NOT NULL,
    data_hash TEXT NOT NULL,
    split TEXT, aggregation TEXT, metric TEXT, score REAL, n INTEGER, unit TEXT,
    details JSON_TEXT NOT NULL,
    examples TEXT,
    seconds REAL NOT NULL,
    error TEXT,
    hint TEXT NOT NULL,
    created REAL NOT NULL,
    UNIQUE (encoder, fingerprint, task, protocol, seed, data_hash)
);
CREATE INDEX results_examples ON results (examples);

-- Every number of a result, in the order it was given. A score of NaN is stored as NULL.
CREATE TABLE scores (
    result INTEGER NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    split TEXT NOT NULL,
    aggregation TEXT,
    metric TEXT NOT NULL,
    score REAL,
    n INTEGER NOT NULL,
    main INTEGER NOT NULL,
    unit TEXT NOT NULL,
    PRIMARY KEY (result, position)
) WITHOUT ROWID;

-- Published results of others; `scores` holds every number of a result.
CREATE TABLE published (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    model TEXT NOT NULL,
    revision TEXT NOT NULL,
    task TEXT NOT NULL,
    data_revision TEXT NOT NULL,
    version TEXT NOT NULL,
    metric TEXT NOT NULL,
    score REAL,
    facts JSON_TEXT NOT NULL,
    scores JSON_TEXT NOT NULL,
    added REAL NOT NULL,
    UNIQUE (model, revision, task, data_revision, version)
);
CREATE INDEX published_task ON published (task);

-- Background work: its spec, its progress, how it ended. `clock` and `clock_fraction` are the time
-- and progress at which the present worker took it up: the rate behind `eta_seconds` is measured
-- from there. `asked` is a request to the process that executes it.
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    spec JSON_TEXT NOT NULL,
    spec_hash TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN
        ('queued', 'running', 'done', 'partly failed', 'failed', 'cancelled')),
    priority INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
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
);
CREATE INDEX runs_state ON runs (state, priority);
CREATE INDEX runs_spec ON runs (spec_hash);
CREATE INDEX runs_created ON runs (created);

-- The parts of a run that are finished one at a time; a finished one is not done again. `reached`
-- is the furthest progress at which a process crashed, `share` that of another machine.
CREATE TABLE units (
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
    share REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (run, position)
) WITHOUT ROWID;

-- Events of units, appended and read by cursor.
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position INTEGER NOT NULL DEFAULT 0,
    time REAL NOT NULL,
    kind TEXT NOT NULL,
    data JSON_TEXT NOT NULL
);
CREATE INDEX events_unit ON events (run, position, id);
CREATE INDEX events_kind ON events (run, position, kind, id);

-- The processes that work on the queue, and when each was last seen.
CREATE TABLE workers (
    slot TEXT PRIMARY KEY,
    pid INTEGER NOT NULL,
    host TEXT NOT NULL,
    started REAL NOT NULL,
    seen REAL NOT NULL
) WITHOUT ROWID;

-- Which encoders have used which cached vectors, for `clean`.
CREATE TABLE vector_users (
    fingerprint TEXT NOT NULL,
    encoder TEXT NOT NULL,
    PRIMARY KEY (fingerprint, encoder)
) WITHOUT ROWID;

-- Results derived from vectors, by content key; `files` are names in the folder `derived`.
CREATE TABLE derived (
    key TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    files JSON_TEXT NOT NULL,
    info JSON_TEXT NOT NULL,
    created REAL NOT NULL
);
CREATE INDEX derived_kind ON derived (kind, created);

-- Judging sessions, the draws of each, and every mark. A mark is never changed: the last one of a
-- position and judge counts, and NULL withdraws it.
CREATE TABLE judgings (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    spec JSON_TEXT NOT NULL,
    pool JSON_TEXT NOT NULL,
    created REAL NOT NULL
);
CREATE TABLE draws (
    judging TEXT NOT NULL REFERENCES judgings (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    draw JSON_TEXT NOT NULL,
    PRIMARY KEY (judging, position)
) WITHOUT ROWID;
CREATE TABLE marks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    judging TEXT NOT NULL,
    position INTEGER NOT NULL,
    judge TEXT NOT NULL,
    mark REAL,
    created REAL NOT NULL,
    FOREIGN KEY (judging, position) REFERENCES draws (judging, position) ON DELETE CASCADE
);
CREATE INDEX marks_judging ON marks (judging, position);

-- Models' marks of documents, by a hash of the whole question; NULL for an unreadable answer. Ids
-- grow in the order in which the answers came: a draw remembers the newest that it knew.
CREATE TABLE second_marks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    mark INTEGER,
    created REAL NOT NULL
);
"""


def tables(database: sqlite_utils.Database) -> None:
    """Make the tables."""
    for statement in re.split(r";\n", TABLES):
        database.execute(statement)


STEPS = (tables,)
"""What is applied to a database, one after the other."""


def bring_up_to_date(connection: sqlite3.Connection, folder: Path) -> None:
    """Apply the steps that a database lacks, all or none.

    The database as it was before is copied to a file beside it first, unless it is new.

    Args:
        connection: in autocommit mode; the caller holds a lock between processes.
        folder: of the store, for messages.

    Raises:
        StoreError: the database is of a newer version, or not one of ours.
    """
    applied, known = _applied(connection), {step.__name__ for step in STEPS}
    if applied - known:
        raise StoreError(
            f"The store at {folder} was written by a newer version of Theodolite.",
            "Update this one, or choose another folder with --store.",
            code="unsupported",
        )
    if applied == known:
        return
    import sqlite_utils  # it imports pandas, which a store that is up to date must not wait for

    database = sqlite_utils.Database(connection)
    if applied:
        file = connection.execute("PRAGMA database_list").fetchone()[2]
        with contextlib.closing(sqlite3.connect(f"{file}.version-{len(applied)}")) as backup:
            connection.backup(backup)
    elif database.table_names():
        raise StoreError(
            f"The database in {folder} was not written by Theodolite.",
            "Choose another folder with --store.",
            code="wrong-kind",
        )
    migrations = sqlite_utils.Migrations("theodolite")
    for step in STEPS:
        migrations()(step)
    with database.atomic():  # a process killed here leaves what was there
        migrations.apply(database)


def _applied(connection: sqlite3.Connection) -> set[str]:
    """The names of the steps that were applied to a database, as sqlite-utils notes them."""
    notes = "SELECT name FROM sqlite_master WHERE name = '_sqlite_migrations'"
    if connection.execute(notes).fetchone() is None:
        return set()
    ours = "SELECT name FROM _sqlite_migrations WHERE migration_set = 'theodolite'"
    return {name for (name,) in connection.execute(ours)}
