"""Projections by content key: kept once, whole or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from theodolite.store import Store, StoreError
from theodolite.store.check import clean

KEY = "0123456789abcdef" * 2
ARRAYS = {
    "points": np.arange(6, dtype=np.float32).reshape(3, 2),
    "label": np.array([0, 1, 65535], np.uint16),
    "length": np.array([1, np.nan, 3], np.float32),
}


def test_what_was_kept_is_found(store: Store) -> None:
    """Bit for bit, with its facts, by a store that was opened anew."""
    store.projections.put(KEY, ARRAYS, {"seed": 0})
    row = Store.open(store.folder).projections.get(KEY)
    assert row is not None
    assert row["info"] == {"seed": 0}
    for name, array in ARRAYS.items():
        found = np.load(row["files"][name], mmap_mode="r", allow_pickle=False)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)


def test_the_first_stays(store: Store) -> None:
    """A second run of the same question changes nothing, not even the time."""
    first = store.projections.put(KEY, ARRAYS, {"seed": 0})
    again = store.projections.put(KEY, ARRAYS | {"points": ARRAYS["points"] + 1}, {})
    assert again == first
    assert len(store.projections.list()) == 1


def test_equal_columns_share_a_file(store: Store) -> None:
    """Files are named by what they hold."""
    other = KEY[::-1]
    store.projections.put(KEY, ARRAYS, {})
    store.projections.put(other, ARRAYS | {"points": ARRAYS["points"] + 1}, {})
    assert len(list(store.projections.folder.iterdir())) == 4
    store.projections.remove(other)
    clean(store, grace=0)
    assert len(list(store.projections.folder.iterdir())) == 3
    assert store.check() == []


def test_a_crash_before_the_row_leaves_none(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files without a row are no projection; the next try makes it, `clean` takes the rest."""
    with monkeypatch.context() as patch:
        patch.setattr(store.database, "change", lambda *_: (_ for _ in ()).throw(OSError("torn")))
        with pytest.raises(OSError, match="torn"):
            store.projections.put(KEY, ARRAYS, {})
    assert store.projections.get(KEY) is None
    assert store.projections.put(KEY, ARRAYS, {})["key"] == KEY


def test_a_lost_file_is_made_again(store: Store) -> None:
    """A projection that is not whole counts as none."""
    row = store.projections.put(KEY, ARRAYS, {})
    row["files"]["label"].unlink()
    assert store.projections.get(KEY) is None
    assert store.projections.list() == []
    assert store.projections.put(KEY, ARRAYS, {})["files"]["label"].exists()


def test_damage_is_found_and_cleaned(store: Store) -> None:
    """`check` names the file; `clean` forgets the map, so that it is made again."""
    row = store.projections.put(KEY, ARRAYS, {})
    with row["files"]["points"].open("ab") as file:
        file.write(b"x")
    (finding,) = store.check()
    assert "do not have the hash" in finding.message
    store.clean()
    assert store.projections.get(KEY) is None


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "0" * 31, "G" * 32, "0" * 33])
def test_a_key_is_a_hash(store: Store, key: str) -> None:
    """Anything else is not looked for, and not kept."""
    assert store.projections.get(key) is None
    with pytest.raises(ValueError, match="32 hexadecimal"):
        store.projections.put(key, ARRAYS, {})


@pytest.mark.parametrize(
    "arrays",
    [
        {"points": np.zeros((3, 3))},
        {"points": np.zeros((3, 2)), "label": np.zeros(4)},
        {"points": np.zeros((3, 2)), "label": np.array(["a", None, {}], object)},
    ],
)
def test_arrays_must_fit(store: Store, arrays: dict[str, np.ndarray]) -> None:
    """Other shapes, other lengths, anything that would need pickle."""
    with pytest.raises(ValueError, match=r"expected|every array"):
        store.projections.put(KEY, arrays, {})


def test_a_full_disk_leaves_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so, and the projection is not there."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("theodolite.store.files.os.fsync", full)
    with pytest.raises(StoreError, match=r"(?i)space|full"):
        store.projections.put(KEY, ARRAYS, {})
    assert store.projections.get(KEY) is None
    assert list(store.projections.folder.iterdir()) == []
