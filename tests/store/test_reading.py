"""A store that is opened for reading: whatever would write to it is refused."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from theodolite.store import Store
from theodolite.store.errors import StoreClosed, StoreError
from theodolite.store.part import ship

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
    assert store.encoders.names() == ["random:16"]
    found, _ = store.vectors.of("random:16").get("ab", [b"k" * 16], 4)
    assert not found.any()
    assert store.reading
