"""A store of an earlier version is brought up to date, whole or not at all."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from theodolite.store import Store, StoreError, schema

NEXT = "ALTER TABLE settings ADD COLUMN since REAL NOT NULL DEFAULT 7;"
VERSION = len(schema.STEPS)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The folder of a closed store of the present version."""
    store = Store.open(tmp_path / "store")
    store.settings.set("theme", "dark")
    store.close()
    return store.folder


def content(file: Path) -> tuple[int, list[tuple[object, ...]]]:
    """Version and settings of a database."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return version, connection.execute("SELECT * FROM settings").fetchall()


def test_a_step_is_applied_once_after_a_backup(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store.open(old).close()
    assert not list(old.glob("*.version-*")), "nothing was to be done"
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, NEXT))
    for _ in range(2):
        store = Store.open(old)
        assert store.settings.get("theme") == "dark"
        assert store.check() == []
        store.close()
    assert content(old / "theodolite.db") == (VERSION + 1, [("theme", '"dark"', 7.0)])
    (backup,) = old.glob("*.version-*")
    assert backup.name == f"theodolite.db.version-{VERSION}"
    assert content(backup) == (VERSION, [("theme", '"dark"')])


def test_a_step_that_fails_changes_nothing(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", (*schema.STEPS, NEXT, "INSERT INTO nowhere VALUES (1);"))
        with pytest.raises(StoreError, match="nowhere"):
            Store.open(old)
    assert content(old / "theodolite.db") == (VERSION, [("theme", '"dark"')])
    assert Store.open(old).settings.get("theme") == "dark"


def test_a_first_start_that_was_killed_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", (*schema.STEPS, "INSERT INTO nowhere VALUES (1);"))
        with pytest.raises(StoreError, match="nowhere"):
            Store.open(tmp_path)
    assert Store.open(tmp_path).check() == []
