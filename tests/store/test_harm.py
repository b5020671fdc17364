"""Stores whose disk is full or read-only, and stores whose database was damaged."""

import gc
import os
import random
import re
import resource
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.store.test_results import result
from theodolite.store import Store, StoreError, database
from theodolite.store.check import check, clean
from theodolite.store.errors import StoreClosed, StoreDamaged, StoreDenied, StoreFull
from theodolite.store.part import ship

NOBODY = 65534


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The folder of a closed store with an encoder and results."""
    store = Store.open(tmp_path / "store")
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


def test_a_store_on_a_read_only_disk_can_be_looked_at(read_only: Path) -> None:
    """All that reads works, from a copy that goes with it; all that writes says why not."""
    before = set(Path(tempfile.gettempdir()).glob("theodolite-*"))
    store = Store.open(read_only)
    assert store.reading and store.encoders.names() == ["minilm"]
    assert len(store.results.examples(1)) == 2 and check(store) == []
    with pytest.raises(StoreDenied):
        store.settings.set("a", 1)
    with pytest.raises(StoreDenied):
        clean(store)
    assert len(set(Path(tempfile.gettempdir()).glob("theodolite-*")) - before) == 1
    del store
    gc.collect()
    assert set(Path(tempfile.gettempdir()).glob("theodolite-*")) <= before


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
    orphan = full_disk / "examples" / "0000.npz"
    orphan.write_bytes(bytes(64))
    os.utime(orphan, (1e9, 1e9))
    store = Store.open(full_disk)
    assert len(store.results.table()) == 10
    with pytest.raises(StoreFull):
        store.settings.set("a", 1)
    assert (clean(store), check(store)) == (64, [])


def harm(kept: Path, at: int, data: bytes) -> None:
    """Overwrite bytes of the database."""
    with (kept / "theodolite.db").open("r+b") as file:
        file.seek(at)
        file.write(data)


def test_a_damaged_header_is_said_with_what_to_do(kept: Path) -> None:
    """The file is named; nobody is sent to the check that they just ran, or to another folder."""
    harm(kept, 0, b"no database")
    with pytest.raises(StoreDamaged, match=r"theodolite\.db") as caught:
        Store.open(kept)
    assert "copy" in caught.value.hint
    assert not re.search("check|another folder", caught.value.hint)


@pytest.mark.parametrize("wal", [b"", b"x" * 100])
def test_a_database_that_was_emptied_is_not_begun_afresh(kept: Path, wal: bytes) -> None:
    """SQLite would take it for a new one, and remove the log that is beside it."""
    (kept / "theodolite.db").write_bytes(b"")
    (kept / "theodolite.db-wal").write_bytes(wal)
    with pytest.raises(StoreDamaged, match="empty"):
        Store.open(kept)
    assert (kept / "theodolite.db-wal").read_bytes() == wal
    (kept / "alone").mkdir()
    (kept / "alone" / "theodolite.db").touch()  # as when the first start was killed
    assert check(Store.open(kept / "alone")) == []


def test_whatever_bytes_are_changed_there_is_no_internal_error(kept: Path) -> None:
    """A damaged store is refused or its check finds it; whatever reads says so or answers."""
    whole, rng = (kept / "theodolite.db").read_bytes(), random.Random(7)
    found = 0
    for _ in range(40):
        length = rng.choice([1, 16, 512, 4096])
        harm(kept, rng.randrange(len(whole) - length), rng.randbytes(length))
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
WRITES: dict[str, Callable[[Store], object]] = {
    "encoder": lambda store: store.encoders.add("random:8"),
    "removal": lambda store: store.encoders.remove("random:16"),
    "setting": lambda store: store.settings.set("a", 1),
    "run": lambda store: store.runs.create("evaluate", {}, "A run"),
    "derived": lambda store: store.derived.put(KEY, "kind", {}, {"a": np.zeros(2)}),
    "vectors": lambda store: store.vectors.put("ab", [b"k" * 16], np.zeros((1, 4), np.float32)),
}


@pytest.fixture(params=["reading", "shipped"])
def store(tmp_path: Path, request: pytest.FixtureRequest) -> Store:
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


def files(folder: Path) -> dict[str, bytes]:
    """What the files below a folder hold; SQLite makes empty ones to read."""
    every = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".db-shm")
    held = {str(path.relative_to(folder)): path.read_bytes() for path in every}
    return {name: what for name, what in held.items() if what}


@pytest.mark.parametrize("what", WRITES)
def test_nothing_is_written(store: Store, what: str) -> None:
    """Neither to the database nor beside it; it is said why, in words for visitors."""
    before = files(store.folder)
    with pytest.raises(StoreClosed):
        WRITES[what](store)
    assert files(store.folder) == before


def test_it_is_read_as_ever(store: Store) -> None:
    """SQLite itself refuses whoever forgets to ask; vectors are looked up without a note."""
    with pytest.raises(StoreError):
        store.database.rows("DELETE FROM encoders RETURNING name")
    assert store.reading and store.encoders.names() == ["random:16"]
    assert not store.vectors.of("random:16").get("ab", [b"k" * 16], 4)[0].any()
