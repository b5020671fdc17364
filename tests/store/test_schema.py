"""A store of an earlier version is brought up to date, whole or not at all."""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlite_utils import Migrations

from theodolite.store import Store, StoreError, schema
from theodolite.store.check import check


def since(database: Any) -> None:
    """A step of the next version."""
    database.execute("ALTER TABLE settings ADD COLUMN since REAL NOT NULL DEFAULT 7")


def wrong(database: Any) -> None:
    """A step that fails."""
    database.execute("INSERT INTO nowhere VALUES (1)")


def with_steps(*steps: Callable[[Any], None]) -> Migrations:
    """The migrations of a later version."""
    later = Migrations("theodolite")
    for step in (schema.tables, *steps):
        later()(step)
    return later


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The folder of a closed store of the present version."""
    store = Store.open(tmp_path / "store")
    store.settings.set("theme", "dark")
    store.close()
    return store.folder


def content(file: Path) -> tuple[int, list[tuple[object, ...]]]:
    """The number of migrations that were applied to a database, and its settings."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        (version,) = connection.execute("SELECT count(*) FROM _sqlite_migrations").fetchone()
        return version, connection.execute("SELECT * FROM settings").fetchall()


def test_a_step_is_applied_once_after_a_backup(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store.open(old).close()
    assert not list(old.glob("*.version-*")), "nothing was to be done"
    monkeypatch.setattr(schema, "migrations", with_steps(since))
    for _ in range(2):
        store = Store.open(old)
        assert store.settings.get("theme") == "dark"
        assert check(store) == []
        store.close()
    assert content(old / "theodolite.db") == (2, [("theme", '"dark"', 7.0)])
    (backup,) = old.glob("*.version-*")
    assert backup.name == "theodolite.db.version-1"
    assert content(backup) == (1, [("theme", '"dark"')])


def test_a_step_that_fails_changes_nothing(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "migrations", with_steps(since, wrong))
        with pytest.raises(StoreError, match="nowhere"):
            Store.open(old)
    assert content(old / "theodolite.db") == (1, [("theme", '"dark"')])
    assert Store.open(old).settings.get("theme") == "dark"


def test_a_first_start_that_was_killed_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "migrations", with_steps(wrong))
        with pytest.raises(StoreError, match="nowhere"):
            Store.open(tmp_path)
    assert check(Store.open(tmp_path)) == []
