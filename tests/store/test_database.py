import contextlib
import gc
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.errors import refused
from tests.fakes.folder import files
from theodolite.engine.errors import Code
from theodolite.store import Store, StoreError, schema
from theodolite.store.check import check
from theodolite.store.errors import StoreGone


def test_every_thread_has_a_connection_of_its_own(store: Store) -> None:
    """With WAL, a patient lock, NORMAL syncing and foreign keys."""

    def look() -> tuple[sqlite3.Connection, list[object]]:
        ask = store.database.connection
        names = ("journal_mode", "busy_timeout", "synchronous", "foreign_keys")
        return ask, [ask.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    with ThreadPoolExecutor() as pool:
        (here, facts), (there, others) = look(), pool.submit(look).result()
    assert here is not there
    assert facts == others == ["wal", 10000, 1, 1]


def test_connections_end_with_their_threads(store: Store) -> None:
    """Also while the garbage collector sleeps: 960 calls by 320 threads leave no file open."""
    process = psutil.Process()
    store.settings.get("theme")
    gc.collect()
    gc.disable()
    try:
        before = process.num_fds()
        for _ in range(40):
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(store.settings.get, ["theme"] * 24))
        # SQLite keeps the file of a closed connection for the next one: as many as were at once.
        assert process.num_fds() <= before + 8
    finally:
        gc.enable()


def test_a_store_that_is_removed_while_in_use_says_so(store: Store) -> None:
    """Nothing is read from it or written to it, in any thread, until it is back."""
    store.settings.set("theme", "dark")
    away = store.folder.with_name("away")
    store.folder.rename(away)
    with ThreadPoolExecutor() as pool:
        elsewhere = pool.submit(store.settings.get, "theme").exception()
    with pytest.raises(StoreGone) as caught:
        store.settings.set("theme", "light")
    assert (type(elsewhere), str(elsewhere)) == (StoreGone, str(caught.value))
    assert caught.value.hint and not store.folder.exists()
    replaced = Store.open(store.folder)
    with pytest.raises(StoreGone):
        store.settings.get("theme")
    replaced.close()
    shutil.rmtree(store.folder)
    away.rename(store.folder)
    assert store.settings.get("theme") == "dark"


def test_many_processes_open_a_new_store_at_once(tmp_path: Path) -> None:
    """Only one of them makes the tables; none fails."""
    code = "from pathlib import Path; from theodolite.store import Store; Store.open(Path('new'))"
    processes = [subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4


def _newer(folder: Path) -> None:
    store = Store.open(folder)
    insert = "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES (?, ?, ?)"
    store.database.change(insert, ("theodolite", "of the future", ""))
    store.close()


def _of_another_program(folder: Path) -> None:
    folder.mkdir()
    with contextlib.closing(sqlite3.connect(folder / "theodolite.db")) as connection:
        connection.execute("CREATE TABLE settings (a)")


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (_newer, "unsupported"),
        (_of_another_program, "wrong-kind"),
        (lambda folder: files(folder, {"theodolite.db": "this is no database" * 99}), "damaged"),
        (lambda folder: folder.write_text("a file"), "wrong-kind"),
    ],
    ids=["newer", "of another program", "not SQLite", "a file"],
)
def test_a_folder_that_is_no_store_is_refused(tmp_path: Path, make, code: Code) -> None:
    """With one sentence that says why, and a hint."""
    make(tmp_path / "x")
    with refused(code, tmp_path / "x") as caught:
        Store.open(tmp_path / "x")
    assert caught.value.hint


def test_a_transaction_is_undone_whole_and_a_locked_database_said_plainly(store: Store) -> None:
    """An exception leaves no part behind; a writer that never ends is no traceback of SQLite."""
    with pytest.raises(RuntimeError), store.database.write() as connection:
        connection.execute("INSERT INTO settings VALUES ('a', '1')")
        raise RuntimeError
    assert store.settings.get("a") is None
    holder = sqlite3.connect(store.database.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    store.database.connection.execute("PRAGMA busy_timeout = 50")
    with refused("failed", "another program"):
        store.settings.set("a", 1)
    holder.close()


# --- a store of an earlier version is brought up to date, whole or not at all ---


def since(database: Any) -> None:
    """A step of the next version."""
    database.execute("ALTER TABLE settings ADD COLUMN since REAL NOT NULL DEFAULT 7")


def wrong(database: Any) -> None:
    """A step that fails."""
    database.execute("INSERT INTO nowhere VALUES (1)")


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
    monkeypatch.setattr(schema, "STEPS", (schema.tables, since))
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
        patch.setattr(schema, "STEPS", (schema.tables, since, wrong))
        with pytest.raises(StoreError, match="nowhere"):
            Store.open(old)
    assert content(old / "theodolite.db") == (1, [("theme", '"dark"')])
    assert Store.open(old).settings.get("theme") == "dark"


def test_a_first_start_that_was_killed_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", (schema.tables, wrong))
        with pytest.raises(StoreError, match="nowhere"):
            Store.open(tmp_path)
    assert check(Store.open(tmp_path)) == []
