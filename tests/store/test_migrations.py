"""A store of every earlier schema is brought up to date with what is in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sqlite_utils

from theodolite.store import Store
from theodolite.store.migrations import migrations

STEPS = [step.name for step in migrations.pending(sqlite_utils.Database(memory=True))]
SPEC = {"version": 1, "encoders": ["minilm"], "tasks": ["MR"], "protocol": None, "seed": None}
LEFT_OUT = "Left out: the sweep was asked to stop before."

ROWS: dict[str, list[str]] = {
    "m001_settings": ["INSERT INTO settings (name, value) VALUES ('theme', '\"dark\"')"],
    "m002_encoders": ["INSERT INTO encoders (name, info, added) VALUES ('minilm', '{}', 1.0)"],
    "m003_uploads": [
        "INSERT INTO uploads (name, filename, kind, file, mapping, bytes, info, added)"
        " VALUES ('cats', 'cats.txt', 'sentences', 'abc', '{}', 6, '{}', 1.0)"
    ],
    "m004_results": [
        "INSERT INTO results (id, encoder, fingerprint, dim, task, protocol, seed, data_hash,"
        " score, details, examples, seconds, hint, created) VALUES"
        " (7, 'minilm', 'f', 384, 'MR', 'senteval', 1111, 'd', 81.5, '{}', '', 1.0, '', 1.0)"
    ],
    "m005_scores": [
        "INSERT INTO scores (result, position, split, metric, score, n, main, unit)"
        " VALUES (7, 0, 'test', 'accuracy', 81.5, 10, 1, '')"
    ],
    "m006_runs": [
        "INSERT INTO runs (id, kind, title, spec, spec_hash, state, priority, attempt, total, done,"  # noqa: S608
        f" fraction, created, updated) VALUES ('{name}', 'evaluate', '{name}',"
        f" '{json.dumps(SPEC)}', '{name}', '{state}', 0, 1, 2, 2, 1.0, {created}, 1.0)"
        for created, (name, state) in enumerate(
            [("whole", "done"), ("partly", "done"), ("stopped", "done"), ("waits", "queued")]
        )
    ],
    "m007_units": [
        "INSERT INTO units (run, position, label, state, error, seconds)"  # noqa: S608
        f" VALUES ('{run}', {position}, 'part', '{state}', {error}, 1.0)"
        for run, second, why in (
            ("whole", "done", "NULL"),
            ("partly", "failed", "'The disk is full.'"),
            ("stopped", "failed", f"'{LEFT_OUT}'"),
        )
        for position, state, error in ((0, "done", "NULL"), (1, second, why))
    ],
    "m008_events": [
        "INSERT INTO events (run, time, kind, data) VALUES ('whole', 1.0, 'stepped', '{\"a\": 1}')"
    ],
    "m009_workers": [
        "INSERT INTO workers (slot, pid, host, started, seen) VALUES ('local-0', 1, 'h', 1.0, 1.0)"
    ],
    "m010_vector_users": ["INSERT INTO vector_users (fingerprint, encoder) VALUES ('f', 'minilm')"],
    "m012_projections": [
        "INSERT INTO projections (key, files, info, created) VALUES ('k', '{}', '{}', 1.0)"
    ],
    "m013_derived": [
        "INSERT INTO derived (key, kind, files, info, created)"
        " VALUES ('k', 'index', '{}', '{}', 1.0)"
    ],
    "m015_decoders": [
        "INSERT INTO decoders (name, encoder, fingerprint, folder, info, added)"
        " VALUES ('d', 'minilm', 'f', 'd', '{}', 1.0)"
    ],
    "m020_judgements": [
        "INSERT INTO judgings (id, title, spec, pool, created) VALUES ('j', 'j', '{}', '{}', 1.0)",
        "INSERT INTO draws (judging, position, draw) VALUES ('j', 0, '{}')",
        "INSERT INTO marks (judging, position, judge, mark, created) VALUES ('j', 0, 'a', 1, 1.0)",
    ],
    "m021_second_marks": ["INSERT INTO second_marks (key, mark, created) VALUES ('k', 3, 1.0)"],
}
"""Rows as they were written when the table came about."""


def store_of(folder: Path, last: str) -> dict[str, int]:
    """Make a store whose schema ends with a step, with rows in every table; how many in each."""
    folder.mkdir()
    old = sqlite_utils.Database(folder / "theodolite.db")
    at = STEPS.index(last) + 1
    migrations.apply(old, stop_before=STEPS[at:])
    old.execute("PRAGMA foreign_keys = ON")
    for step in STEPS[:at]:
        for sql in ROWS.get(step, ()):
            old.execute(sql)
    old.conn.commit()
    tables = [name for name in old.table_names() if not name.startswith(("_", "sqlite"))]
    counts = {name: old.table(name).count for name in tables}
    old.close()
    return counts


@pytest.mark.parametrize("last", STEPS)
def test_a_store_of_an_earlier_schema_keeps_its_rows(tmp_path: Path, last: str) -> None:
    """Every row of every table, and what refers to them."""
    before = store_of(tmp_path / "store", last)
    store = Store.open(tmp_path / "store")
    connection = store.database.connection
    assert {name: connection.table(name).count for name in before} == before
    assert connection.execute("PRAGMA foreign_keys").fetchone()[0] == 1
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert [m.name for m in migrations.pending(connection)] == []
    assert store.settings.get("theme") == "dark"
    if "results" in before:
        assert [(r["id"], r["score"]) for r in store.results.table()] == [(7, 81.5)]
    if "scores" in before:
        assert [score["score"] for score in store.results.scores(7)] == [81.5]
    if "runs" in before:
        assert [run["id"] for run in store.runs.list()] == ["waits", "stopped", "partly", "whole"]
        assert {run["spec"]["tasks"][0] for run in store.runs.list()} == {"MR"}
    if "events" in before:
        assert [event["data"] for event in store.events.of("whole")] == [{"a": 1}]
        assert store.runs.cancel("waits") and store.runs.retry("waits")
    store.close()


@pytest.mark.parametrize("last", [step for step in STEPS if "m007" < step < "m018"])
def test_runs_of_before_that_failed_in_part_say_so(tmp_path: Path, last: str) -> None:
    """They stood as done; a part that was left out as asked is no failure."""
    store_of(tmp_path / "store", last)
    store = Store.open(tmp_path / "store")
    runs = {run["id"]: run for run in store.runs.list()}
    assert {name: (run["state"], run["done"], run["failed"]) for name, run in runs.items()} == {
        "whole": ("done", 2, 0),
        "partly": ("partly failed", 1, 1),
        "stopped": ("done", 1, 0),
        "waits": ("queued", 0, 0),
    }
    assert [unit["state"] for unit in store.runs.units("stopped")] == ["done", "left out"]
    assert store.runs.retry("partly")
    assert [unit["state"] for unit in store.runs.units("partly")] == ["done", "waiting"]
    store.close()


def test_a_migration_broken_off_before_it_was_noted_is_done_once(tmp_path: Path) -> None:
    """One that cannot be a transaction with its note may be met again, done."""
    store_of(tmp_path / "store", STEPS[-1])
    database = sqlite_utils.Database(tmp_path / "store" / "theodolite.db")
    database.execute("DELETE FROM _sqlite_migrations WHERE name LIKE 'm018%'")
    database.conn.commit()
    database.close()
    store = Store.open(tmp_path / "store")
    assert len(store.runs.list()) == 4
    store.close()
