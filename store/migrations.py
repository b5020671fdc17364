"""The tables, as migrations. A released migration is never edited: add a new one."""

from __future__ import annotations

import sqlite_utils

migrations = sqlite_utils.Migrations("theodolite")


@migrations()
def m001_settings(db: sqlite_utils.Database) -> None:
    """Small values by name."""
    db.execute("CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")


@migrations()
def m002_encoders(db: sqlite_utils.Database) -> None:
    """The listed encoders, by canonical spec."""
    db.execute("""
        CREATE TABLE encoders (
            name TEXT PRIMARY KEY,
            info TEXT NOT NULL,
            added REAL NOT NULL
        )""")


@migrations()
def m003_uploads(db: sqlite_utils.Database) -> None:
    """Uploaded data sets; `file` is a name in the folder `uploads`."""
    db.execute("""
        CREATE TABLE uploads (
            name TEXT PRIMARY KEY,
            filename TEXT NOT NULL,
            kind TEXT NOT NULL,
            file TEXT NOT NULL,
            mapping TEXT NOT NULL,
            bytes INTEGER NOT NULL,
            info TEXT NOT NULL,
            added REAL NOT NULL
        )""")


@migrations()
def m004_results(db: sqlite_utils.Database) -> None:
    """One row per result, with its main score copied in so that a table needs no join.

    AUTOINCREMENT: an id is never reused, even after an error row was replaced.
    """
    db.execute("""
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
            details TEXT NOT NULL,
            examples TEXT,
            seconds REAL NOT NULL,
            error TEXT,
            hint TEXT NOT NULL,
            created REAL NOT NULL,
            UNIQUE (encoder, fingerprint, task, protocol, seed, data_hash)
        )""")
    db.execute("CREATE INDEX results_examples ON results (examples)")


@migrations()
def m005_scores(db: sqlite_utils.Database) -> None:
    """Every number of a result, in the order it was given. A score of NaN is kept as NULL."""
    db.execute("""
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
        ) WITHOUT ROWID""")


@migrations()
def m006_runs(db: sqlite_utils.Database) -> None:
    """Background work: its spec, its progress, how it ended.

    `clock` and `clock_fraction` are the time and progress at which the present worker took it up:
    the rate behind `eta_seconds` is measured from there.
    """
    db.execute("""
        CREATE TABLE runs (
            id TEXT PRIMARY KEY,
            kind TEXT NOT NULL,
            title TEXT NOT NULL,
            spec TEXT NOT NULL,
            spec_hash TEXT NOT NULL,
            state TEXT NOT NULL
                CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
            priority INTEGER NOT NULL,
            attempt INTEGER NOT NULL,
            enqueued INTEGER NOT NULL DEFAULT 0,
            total INTEGER NOT NULL,
            done INTEGER NOT NULL DEFAULT 0,
            fraction REAL NOT NULL DEFAULT 0,
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
            hint TEXT NOT NULL DEFAULT ''
        )""")
    db.execute("CREATE INDEX runs_state ON runs (state, enqueued)")
    db.execute("CREATE INDEX runs_spec ON runs (spec_hash)")
    db.execute("CREATE INDEX runs_created ON runs (created)")


@migrations()
def m007_units(db: sqlite_utils.Database) -> None:
    """The parts of a run that are finished one at a time; a finished one is not done again."""
    db.execute("""
        CREATE TABLE units (
            run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            label TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('waiting', 'done', 'failed')),
            deaths INTEGER NOT NULL DEFAULT 0,
            seconds REAL,
            error TEXT,
            hint TEXT NOT NULL DEFAULT '',
            PRIMARY KEY (run, position)
        ) WITHOUT ROWID""")


@migrations()
def m008_events(db: sqlite_utils.Database) -> None:
    """Events of running runs, appended and read by cursor."""
    db.execute("""
        CREATE TABLE events (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            time REAL NOT NULL,
            kind TEXT NOT NULL,
            data TEXT NOT NULL
        )""")
    db.execute("CREATE INDEX events_run ON events (run, id)")


@migrations()
def m009_workers(db: sqlite_utils.Database) -> None:
    """The processes that work on the queue, and when each was last seen."""
    db.execute("""
        CREATE TABLE workers (
            slot TEXT PRIMARY KEY,
            pid INTEGER NOT NULL,
            host TEXT NOT NULL,
            started REAL NOT NULL,
            seen REAL NOT NULL
        ) WITHOUT ROWID""")


@migrations()
def m010_vector_users(db: sqlite_utils.Database) -> None:
    """Which encoders have used which cached vectors, for `clean`."""
    db.execute("""
        CREATE TABLE vector_users (
            fingerprint TEXT NOT NULL,
            encoder TEXT NOT NULL,
            PRIMARY KEY (fingerprint, encoder)
        ) WITHOUT ROWID""")


@migrations()
def m011_weights(db: sqlite_utils.Database) -> None:
    """A weight for each unit, as they differ in length, and the progress of the running one."""
    db.execute("ALTER TABLE units ADD COLUMN weight REAL NOT NULL DEFAULT 1")
    db.execute("ALTER TABLE runs ADD COLUMN unit_fraction REAL NOT NULL DEFAULT 0")


@migrations()
def m012_projections(db: sqlite_utils.Database) -> None:
    """Projections by content key; `files` are names in the folder `projections`."""
    db.execute("""
        CREATE TABLE projections (
            key TEXT PRIMARY KEY,
            files TEXT NOT NULL,
            info TEXT NOT NULL,
            created REAL NOT NULL
        )""")


@migrations()
def m013_derived(db: sqlite_utils.Database) -> None:
    """Results derived from vectors, by content key; `files` are names in the folder `derived`."""
    db.execute("""
        CREATE TABLE derived (
            key TEXT PRIMARY KEY,
            kind TEXT NOT NULL,
            files TEXT NOT NULL,
            info TEXT NOT NULL,
            created REAL NOT NULL
        )""")
    db.execute("CREATE INDEX derived_kind ON derived (kind, created)")


@migrations()
def m014_asked(db: sqlite_utils.Database) -> None:
    """A request to a running run, and the unit that an event belongs to."""
    db.execute("ALTER TABLE runs ADD COLUMN asked TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE events ADD COLUMN position INTEGER NOT NULL DEFAULT 0")
    db.execute("DROP INDEX events_run")
    db.execute("CREATE INDEX events_unit ON events (run, position, id)")
    db.execute("CREATE INDEX events_kind ON events (run, position, kind, id)")


@migrations()
def m015_decoders(db: sqlite_utils.Database) -> None:
    """The listed decoders, trained here or elsewhere; each belongs to an encoder."""
    db.execute("""
        CREATE TABLE decoders (
            name TEXT PRIMARY KEY,
            encoder TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            folder TEXT NOT NULL,
            info TEXT NOT NULL,
            added REAL NOT NULL
        )""")
    db.execute("CREATE INDEX decoders_fingerprint ON decoders (fingerprint)")


@migrations()
def m016_unsaid_precisions(db: sqlite_utils.Database) -> None:
    """Results of a time when a GPU chose half precision by itself for a spec without `dtype`.

    The tables cannot tell the precision: a fingerprint alone does not show it. Each encoder is
    checked when it is next loaded, see `store.precisions`.
    """
    db.execute("""
        CREATE TABLE unsaid_precisions (
            encoder TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            data_hash TEXT NOT NULL,
            PRIMARY KEY (encoder, fingerprint, data_hash)
        ) WITHOUT ROWID""")
    db.execute("""
        INSERT OR IGNORE INTO unsaid_precisions
        SELECT encoder, fingerprint, data_hash FROM results WHERE fingerprint != ''
        AND (encoder LIKE '%hf:%' OR encoder LIKE '%dir:%' OR encoder LIKE '%minilm%')""")


@migrations()
def m017_renamed_poolings(db: sqlite_utils.Database) -> None:
    """Replace `cls`, which meant two poolings, in stored specs; see `store.renamed_poolings`."""
    from theodolite.store import renamed_poolings

    renamed_poolings.rename(db)


@migrations(transactional=False)
def m018_partly_failed(db: sqlite_utils.Database) -> None:
    """Add the states `partly failed` of a run and `left out` of a unit.

    The tables are rebuilt, because the states are in a CHECK constraint. Foreign keys are off
    meanwhile: with them, dropping the old `runs` would empty the tables that refer to it, and they
    cannot be turned off inside a transaction. `reached` is the furthest progress of a unit at which
    a process crashed.
    """
    from theodolite.store import partly_failed

    db.execute("PRAGMA foreign_keys = OFF")
    try:
        with db.atomic():
            if "failed" not in db.table("runs").columns_dict:  # else applied, but not yet recorded
                partly_failed.states_of_units(db)
                partly_failed.states_of_runs(db)
    finally:
        db.execute("PRAGMA foreign_keys = ON")


@migrations()
def m019_published(db: sqlite_utils.Database) -> None:
    """Published results of others; `scores` holds every number of a result as JSON."""
    db.execute("""
        CREATE TABLE published (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            model TEXT NOT NULL,
            revision TEXT NOT NULL,
            task TEXT NOT NULL,
            data_revision TEXT NOT NULL,
            version TEXT NOT NULL,
            metric TEXT NOT NULL,
            score REAL,
            facts TEXT NOT NULL,
            scores TEXT NOT NULL,
            added REAL NOT NULL,
            UNIQUE (model, revision, task, data_revision, version)
        )""")
    db.execute("CREATE INDEX published_task ON published (task)")


@migrations()
def m020_judgements(db: sqlite_utils.Database) -> None:
    """Judging sessions, the draws of each, and every mark.

    A mark is never changed: the last one of a position and judge counts, and NULL withdraws it.
    """
    db.execute("""
        CREATE TABLE judgings (
            id TEXT PRIMARY KEY,
            title TEXT NOT NULL,
            spec TEXT NOT NULL,
            pool TEXT NOT NULL,
            created REAL NOT NULL
        )""")
    db.execute("""
        CREATE TABLE draws (
            judging TEXT NOT NULL REFERENCES judgings (id) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            draw TEXT NOT NULL,
            PRIMARY KEY (judging, position)
        ) WITHOUT ROWID""")
    db.execute("""
        CREATE TABLE marks (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            judging TEXT NOT NULL,
            position INTEGER NOT NULL,
            judge TEXT NOT NULL,
            mark REAL,
            created REAL NOT NULL,
            FOREIGN KEY (judging, position) REFERENCES draws (judging, position) ON DELETE CASCADE
        )""")
    db.execute("CREATE INDEX marks_judging ON marks (judging, position)")


@migrations()
def m021_second_marks(db: sqlite_utils.Database) -> None:
    """Models' marks of documents, by a hash of the whole question; NULL for an unreadable answer.

    Ids grow in the order in which the answers came: a draw remembers the newest that it knew.
    """
    db.execute("""
        CREATE TABLE second_marks (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            key TEXT NOT NULL UNIQUE,
            mark INTEGER,
            created REAL NOT NULL
        )""")


@migrations()
def m022_shares(db: sqlite_utils.Database) -> None:
    """The progress of other machines on units; several may work on one run."""
    db.execute("ALTER TABLE units ADD COLUMN share REAL NOT NULL DEFAULT 0")
