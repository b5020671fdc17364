"""Harm to a store: full and read-only disks, damage; it is found, told, and cleaned up."""

import contextlib
import gc
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from tests.errors import refused
from tests.fakes.folder import files
from tests.store.test_results import result
from tests.store.test_vectors import keys, rows
from theodolite.store import Store, StoreError, database, forget, schema
from theodolite.store.check import check, clean, orphans
from theodolite.store.errors import StoreClosed, StoreDamaged, StoreDenied, StoreFull, StoreGone
from theodolite.store.part import ship


@pytest.fixture
def full(store: Store) -> Store:
    """A store with one of everything."""
    store.encoders.add("minilm", {})
    store.results.put(result())
    store.uploads.add("cats", "sentences", b"A cat.", mapping={})
    store.vectors.of("minilm").put("f1", keys(*range(10)), rows(10))
    store.logs.path(store.runs.create("evaluate", {}, title="")).write_text("log")
    return store


def overwrite(store: Store, pattern: str) -> None:
    """Change the first byte of the one file."""
    (path,) = store.folder.glob(pattern)
    path.write_bytes(b"\x7f" + path.read_bytes()[1:])


def age(*paths: Path) -> None:
    """Have them be of the year 2001."""
    for path in paths:
        os.utime(path, (1e9, 1e9))


def _dangling_score(store: Store) -> None:
    store.database.connection.executescript(
        "PRAGMA foreign_keys = OFF;"
        "INSERT INTO scores VALUES (99, 0, 'all', NULL, 'x', 1.0, 1, 1, '')"
    )


def old_orphan(folder: Path) -> None:
    """A file of 64 bytes that nothing names."""
    age(files(folder, {"examples/0000.npz": b"x" * 64}) / "examples/0000.npz")


def _index_torn(store: Store) -> None:
    """Put an index over other columns than it says: SQLite then misses rows in it."""
    store.database.connection.executescript(
        "PRAGMA writable_schema = ON;"
        "UPDATE sqlite_master SET sql = 'CREATE INDEX runs_spec ON runs (title)'"
        " WHERE name = 'runs_spec';"
        "PRAGMA writable_schema = OFF"
    )
    store.database.close()


@pytest.mark.parametrize(
    ("harm", "subject", "named"),
    [
        (lambda store: next(store.results.folder.iterdir()).unlink(), "examples/", "are missing"),
        (lambda store: overwrite(store, "examples/*"), "examples/", "hash"),
        (lambda store: overwrite(store, "uploads/*"), "uploads/", "hash"),
        (lambda store: overwrite(store, "vectors/f1/8.f32"), "vectors/f1/8.f32", "1 of 10"),
        (_dangling_score, "theodolite.db", "results"),
        (lambda store: old_orphan(store.folder), "examples/0000.npz", "64 bytes"),
        (_index_torn, "theodolite.db", "damaged"),
    ],
)
def test_harm_is_found(full: Store, harm, subject: str, named: str) -> None:
    """Each kind gives one finding that names the thing and what to do; what is whole gives none."""
    assert check(full) == []
    harm(full)
    (finding,) = check(full)
    assert finding.subject.startswith(subject) and named in finding.message and finding.hint


def test_clean_takes_orphans_only(full: Store) -> None:
    """Temporary files too, however they came about; not those that may be about to be named."""
    old_orphan(full.folder)
    young = files(full.folder, {"uploads/young.tmp": b"x"}) / "uploads/young.tmp"
    assert [p.name for p in orphans(full)] == ["0000.npz"]
    assert clean(full) >= 64 and young.exists()
    clean(full, grace=0)
    assert not young.exists() and check(full) == []
    assert len(full.results.examples(1)) == 2


def test_clean_takes_the_vectors_of_removed_encoders(full: Store) -> None:
    """Unless another encoder uses them, or they are young and it is not known whose they are."""
    full.encoders.add("minilm | normalise", {})
    full.vectors.of("minilm | normalise").get("f1", keys(0), 8)
    full.vectors.put("f2", keys(0), rows(1))
    full.encoders.remove("minilm")
    clean(full)
    assert set(full.vectors.usage()) == {"f1", "f2"}
    full.encoders.remove("minilm | normalise")
    assert clean(full) >= 10 * 8 * 4
    assert set(full.vectors.usage()) == {"f2"}
    assert not full.vectors.get("f1", keys(0), 8)[0].any()


def test_clean_takes_vectors_without_an_owner(full: Store) -> None:
    """Old ones, as a removal leaves them that broke off; they are found by `check` before."""
    full.database.change("DELETE FROM vector_users")
    assert check(full) == []
    clean(full)
    assert set(full.vectors.usage()) == {"f1"}
    age(full.folder / "vectors/f1", *(full.folder / "vectors/f1").iterdir())
    assert [finding.subject for finding in check(full)] == ["vectors/f1"]
    assert clean(full) >= 10 * 8 * 4
    assert full.vectors.usage() == {}


def test_vectors_that_come_after_a_removal_have_their_owner_again(full: Store) -> None:
    """Their encoder was in memory all the while, as in an app when a terminal cleans."""
    view = full.vectors.of("wordllama")
    view.put("f2", keys(0), rows(1))
    clean(full)
    assert set(full.vectors.usage()) == {"f1"}
    view.put("f2", keys(1), rows(1))
    assert set(full.vectors.usage()) == {"f1", "f2"}
    clean(full)
    assert set(full.vectors.usage()) == {"f1"}


def test_clean_takes_the_checkpoints_of_removed_trainings(store: Store) -> None:
    """In the store's folders, of encoders, children of sweeps and decoders; not one still young."""
    outs = ("encoders/sup-minilm-1", "encoders/sweep-1/02-lr", "decoders/minilm-1")
    one, several, decoder = places = [f"{store.folder}/{out}" for out in outs]
    runs = [
        store.runs.create("train", {"out": one}, title=""),
        store.runs.create("sweep", {"children": [{"spec": {"out": several}}]}, title=""),
        store.runs.create("train-decoder", {"out": decoder}, title=""),
    ]
    folders = [Path(f"{out}.training") for out in places]
    for folder, run in zip(folders, runs, strict=True):
        files(folder, {"step-5/weights": b"x" * 1000})
        store.runs.cancel(run)
    clean(store, grace=0)
    assert all(folder.is_dir() for folder in folders), "they can be retried"
    assert all(forget.run(store, run) for run in runs)
    assert (check(store), clean(store)) == ([], 0), "an hour has to pass"
    for folder in folders:
        age(folder, *folder.rglob("*"))
    assert {f.subject for f in check(store)} == {f"{out}.training" for out in outs}
    assert clean(store) >= 3000
    assert not any(folder.exists() for folder in folders)


def test_clean_gives_pages_of_the_database_back(store: Store) -> None:
    """After much was replaced."""
    store.settings.set("big", "x" * 2_000_000)
    store.settings.set("big", None)
    assert clean(store) > 1_500_000


# --- disks that are full or read-only, and damaged databases ---


NOBODY = 65534


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The folder of a closed store with a setting, an encoder and results."""
    store = Store.open(tmp_path / "store")
    store.settings.set("theme", "dark")
    store.encoders.add("minilm", {"dim": 384})
    for number in range(10):
        store.results.put(result() | {"task": f"T{number}"})
    store.close()
    return store.folder


@pytest.fixture
def read_only() -> Iterator[Path]:
    """As `kept`, in a folder that we may read and not write, also when the tests run as root."""
    folder = Path(tempfile.mkdtemp())  # not below `tmp_path`, which only its owner may enter
    store = Store.open(folder)
    store.encoders.add("minilm", {"dim": 384})
    store.results.examples(store.results.put(result()))  # imports, which nobody else may
    store.close()
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_store_on_a_read_only_disk_can_be_looked_at(
    read_only: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that reads works, from a copy that goes with it; all that writes says why not."""
    copies = Path(tempfile.mkdtemp())
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    store = Store.open(read_only)
    assert store.reading and store.encoders.names() == ["minilm"]
    assert len(store.results.examples(1)) == 2 and check(store) == []
    with pytest.raises(StoreDenied):
        store.settings.set("a", 1)
    with pytest.raises(StoreDenied):
        clean(store)
    assert len(list(copies.iterdir())) == 1
    del store
    gc.collect()
    copies.rmdir()  # which fails if anything is left


@pytest.fixture
def full_disk(kept: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The disk of the store has no room: the system refuses bytes beyond the 64th of any file.

    The folder for temporary files is on another disk, which has.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
    copied = database._copied

    def elsewhere(path: Path) -> Path | None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        return copied(path)

    monkeypatch.setattr(database, "_copied", elsewhere)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
    yield kept
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, before)


def test_a_store_on_a_full_disk_can_be_looked_at_and_cleaned(full_disk: Path) -> None:
    """Cleaning removes files, which takes no room; what would is left for later."""
    old_orphan(full_disk)
    store = Store.open(full_disk)
    assert len(store.results.table()) == 10
    with pytest.raises(StoreFull):
        store.settings.set("a", 1)
    assert (clean(store), check(store)) == (64, [])


@pytest.mark.parametrize("wal", [b"", b"x" * 100])
def test_a_database_that_was_emptied_is_not_begun_afresh(kept: Path, wal: bytes) -> None:
    """SQLite would take it for a new one, and remove the log that is beside it."""
    files(kept, {"theodolite.db": b"", "theodolite.db-wal": wal})
    with pytest.raises(StoreDamaged, match="empty"):
        Store.open(kept)
    assert (kept / "theodolite.db-wal").read_bytes() == wal
    files(kept, {"alone/theodolite.db": b""})  # as when the first start was killed
    assert check(Store.open(kept / "alone")) == []


def test_whatever_bytes_are_changed_there_is_no_internal_error(kept: Path) -> None:
    """A damaged store is refused or its check finds it; whatever reads says so or answers."""
    whole, rng = (kept / "theodolite.db").read_bytes(), random.Random(7)
    found = 0
    for _ in range(40):
        length = rng.choice([1, 16, 512, 4096])
        with (kept / "theodolite.db").open("r+b") as file:
            file.seek(rng.randrange(len(whole) - length))
            file.write(rng.randbytes(length))
        try:
            store = Store.open(kept)
            for read in (store.encoders.list, store.results.table, store.runs.list):
                read()
            found += bool(check(store))
        except StoreError:
            found += 1
        finally:
            (kept / "theodolite.db").write_bytes(whole)
    assert found > 5


def test_a_value_that_is_no_json_is_found(kept: Path) -> None:
    """By the check, and by whoever reads it; then nothing is cleaned, as it could be in use."""
    store = Store.open(kept)
    store.database.change("UPDATE encoders SET info = substr(info, 2)")
    assert [finding.subject for finding in check(store)] == ["theodolite.db"]
    for read in (store.encoders.list, lambda: clean(store)):
        with pytest.raises(StoreDamaged, match="no JSON"):
            read()


# --- opened for reading: whatever would write is refused ---


KEY = "0" * 32
WRITES = {
    "encoder": lambda store: store.encoders.add("random:8"),
    "removal": lambda store: store.encoders.remove("random:16"),
    "setting": lambda store: store.settings.set("a", 1),
    "run": lambda store: store.runs.create("evaluate", {}, "A run"),
    "derived": lambda store: store.derived.put(KEY, "kind", {}, {"a": np.zeros(2)}),
    "vectors": lambda store: store.vectors.put("ab", [b"k" * 16], np.zeros((1, 4), np.float32)),
}


@pytest.fixture(params=["reading", "shipped"])
def closed(tmp_path: Path, request: pytest.FixtureRequest) -> Store:
    """One with an encoder, opened for reading, or from where nothing can be written."""
    made = Store.open(tmp_path / "store")
    made.encoders.add("random:16")
    if request.param == "reading":
        made.close()
        return Store.open(tmp_path / "store", reading=True)
    ship(made, tmp_path / "shipped")
    assert {path.name for path in (tmp_path / "shipped").iterdir()} == {"theodolite.db"}
    (tmp_path / "shipped").chmod(0o500)
    return Store.shipped(tmp_path / "shipped")


def held(folder: Path) -> dict[str, bytes]:
    """What the files below a folder hold; SQLite makes empty ones to read."""
    every = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".db-shm")
    found = {str(path.relative_to(folder)): path.read_bytes() for path in every}
    return {name: what for name, what in found.items() if what}


@pytest.mark.parametrize("what", WRITES)
def test_nothing_is_written(closed: Store, what: str) -> None:
    """Neither to the database nor beside it; it is said why, in words for visitors."""
    before = held(closed.folder)
    with pytest.raises(StoreClosed):
        WRITES[what](closed)
    assert held(closed.folder) == before


def test_it_is_read_as_ever(closed: Store) -> None:
    """SQLite itself refuses whoever forgets to ask; vectors are looked up without a note."""
    with pytest.raises(StoreError):
        closed.database.rows("DELETE FROM encoders RETURNING name")
    assert closed.reading and closed.encoders.names() == ["random:16"]
    assert not closed.vectors.of("random:16").get("ab", [b"k" * 16], 4)[0].any()


# Threads, processes and versions: the database itself.


@pytest.mark.parametrize(
    ("name", "value"),
    [("journal_mode", "wal"), ("busy_timeout", 10000), ("synchronous", 1), ("foreign_keys", 1)],
)
def test_how_sqlite_is_set(store: Store, name: str, value: object) -> None:
    """With WAL, a patient lock, NORMAL syncing and foreign keys."""
    assert store.database.connection.execute(f"PRAGMA {name}").fetchone()[0] == value


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
def test_a_folder_that_is_no_store_is_refused(tmp_path: Path, make, code: str) -> None:
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


def since(database) -> None:
    """A step of the next version."""
    database.execute("ALTER TABLE settings ADD COLUMN since REAL NOT NULL DEFAULT 7")


def wrong(database) -> None:
    """A step that fails."""
    database.execute("INSERT INTO nowhere VALUES (1)")


def content(file: Path) -> tuple[int, list[tuple[object, ...]]]:
    """The number of migrations that were applied to a database, and its settings."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        (version,) = connection.execute("SELECT count(*) FROM _sqlite_migrations").fetchone()
        return version, connection.execute("SELECT * FROM settings").fetchall()


def test_a_step_is_applied_once_after_a_backup(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store.open(kept).close()
    assert not list(kept.glob("*.version-*")), "nothing was to be done"
    monkeypatch.setattr(schema, "STEPS", (schema.tables, since))
    for _ in range(2):
        store = Store.open(kept)
        assert store.settings.get("theme") == "dark"
        assert check(store) == []
        store.close()
    assert content(kept / "theodolite.db") == (2, [("theme", '"dark"', 7.0)])
    (backup,) = kept.glob("*.version-*")
    assert backup.name == "theodolite.db.version-1"
    assert content(backup) == (1, [("theme", '"dark"')])


def test_a_step_that_fails_changes_nothing(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", (schema.tables, since, wrong))
        with pytest.raises(StoreError, match="nowhere"):
            Store.open(kept)
    assert content(kept / "theodolite.db") == (1, [("theme", '"dark"')])
    assert Store.open(kept).settings.get("theme") == "dark"


def test_a_first_start_that_was_killed_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", (schema.tables, wrong))
        with pytest.raises(StoreError, match="nowhere"):
            Store.open(tmp_path)
    assert check(Store.open(tmp_path)) == []
