"""Derived results by content key: stored whole or not at all."""

import os
from pathlib import Path

import numpy as np
import pytest

from theodolite.store import Store
from theodolite.store.check import check, clean
from theodolite.store.derived import DerivedRow, array
from theodolite.store.errors import StoreFull

KEY, OTHER = "0123456789abcdef" * 2, "cd" * 16
ARRAYS = {
    "points": np.arange(6, dtype=np.float32).reshape(3, 2),
    "label": np.array([0, 1, 65535], np.uint16),
    "length": np.array([1, np.nan, 3], np.float32),
}


def put(store: Store, key: str = KEY, **more: np.ndarray) -> DerivedRow:
    """Keep a map."""
    store.derived.put(key, "map", {"seed": 0}, ARRAYS | more)
    return store.derived.get(key)  # type: ignore[return-value]


def test_what_was_kept_is_found(store: Store) -> None:
    """Bit for bit, with its facts, by a store that was opened anew."""
    put(store, points=ARRAYS["points"] + 1)
    put(store)
    (row,) = Store.open(store.folder).derived.list("map")
    assert row["info"] == {"seed": 0}
    for name, given in ARRAYS.items():
        np.testing.assert_array_equal(array(row, name), given, strict=True)


def test_equal_columns_share_a_file(store: Store) -> None:
    """Files are named by what they hold."""
    put(store)
    put(store, OTHER, points=ARRAYS["points"] + 1)
    files = [len(list(store.derived.folder.iterdir()))]
    store.derived.remove(OTHER)
    clean(store, grace=0)
    assert [*files, len(list(store.derived.folder.iterdir()))] == [4, 3]
    assert check(store) == []


def test_a_crash_before_the_row_leaves_none(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files without a row are no result; the next try makes it, `clean` takes the rest."""
    with monkeypatch.context() as patch, pytest.raises(TypeError):
        patch.setattr(store.database, "change", None)
        put(store)
    assert store.derived.get(KEY) is None
    assert put(store)["key"] == KEY


def test_a_lost_file_is_made_again(store: Store) -> None:
    """A result that is not whole counts as none."""
    put(store)["files"]["label"].unlink()
    assert store.derived.get(KEY) is None and store.derived.list("map") == []
    assert put(store)["files"]["label"].exists()


def test_damage_is_found_and_cleaned(store: Store) -> None:
    """`check` names the file; `clean` forgets the map, so that it is made again."""
    path = put(store)["files"]["points"]
    path.write_bytes(path.read_bytes() + b"x")
    assert [finding.subject for finding in check(store)] == [f"derived/{path.name}"]
    clean(store)
    assert store.derived.get(KEY) is None


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "0" * 31, "G" * 32, "AB" * 16, "0" * 33])
def test_a_key_is_a_hash(store: Store, key: str) -> None:
    """Anything else is not looked for, and not stored."""
    assert store.derived.get(key) is None
    with pytest.raises(ValueError, match="32"):
        store.derived.put(key, "geometry", {})


def test_objects_are_refused(store: Store) -> None:
    """They would need pickle."""
    with pytest.raises(ValueError, match="numbers"):
        put(store, label=np.array(["a", None, {}], object))


def test_a_full_disk_leaves_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so, and the result is not there."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("theodolite.store.files.os.fsync", full)
    with pytest.raises(StoreFull):
        put(store)
    assert store.derived.get(KEY) is None
    assert list(store.derived.folder.iterdir()) == []


def test_arrays_files_and_facts_come_back(store: Store, tmp_path: Path) -> None:
    """As they were given, and the newest first."""
    file = tmp_path / "lists.faiss"
    file.write_bytes(b"x" * 100)
    store.derived.put(KEY, "index", {"recall": 0.995}, {"a": np.arange(3.0)}, {"lists": file})
    store.derived.put(OTHER, "index", {})
    row = store.derived.get(KEY)
    assert array(row, "a").tolist() == [0, 1, 2]
    assert row["files"]["lists"].read_bytes() == file.read_bytes()
    assert (row["kind"], row["info"]) == ("index", {"recall": 0.995})
    listed = [[r["key"] for r in store.derived.list(kind)] for kind in ("index", "geometry")]
    assert listed == [[OTHER, KEY], []]


def test_files_of_the_lost_and_the_removed_are_cleaned(store: Store) -> None:
    """`check` finds one whose file is gone; files are cleaned once they are old enough."""
    for key, number in ((KEY, 3.0), (OTHER, 4.0)):
        store.derived.put(key, "geometry", {}, {"a": np.arange(number)})
    (gone,) = store.derived.get(KEY)["files"].values()  # type: ignore[index]
    gone.unlink()
    assert store.derived.get(KEY) is None
    assert [finding.subject for finding in check(store)] == [f"derived/{gone.name}"]
    assert store.derived.remove(OTHER)
    (file,) = store.derived.folder.glob("*")
    os.utime(file, (1e9, 1e9))
    clean(store)
    assert not file.exists() and check(store) == []
