"""What is worked out is kept by key, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from theodolite.store import Store
from theodolite.store.check import clean
from theodolite.store.derived import array

KEY, OTHER = "ab" * 16, "cd" * 16


def test_arrays_files_and_facts_come_back(store: Store, tmp_path: Path) -> None:
    """As they were given, and the newest first."""
    file = tmp_path / "lists.faiss"
    file.write_bytes(b"x" * 100)
    store.derived.put(KEY, "index", {"recall": 0.995}, {"a": np.arange(3.0)}, {"lists": file})
    store.derived.put(OTHER, "index", {})
    row = store.derived.get(KEY)
    assert row is not None
    assert array(row, "a").tolist() == [0, 1, 2]
    assert row["files"]["lists"].read_bytes() == file.read_bytes()
    assert (row["kind"], row["info"]) == ("index", {"recall": 0.995})
    assert [r["key"] for r in store.derived.list("index")] == [OTHER, KEY]
    assert store.derived.list("geometry") == []


def test_one_with_a_file_gone_is_not_there(store: Store) -> None:
    """It is found by `check`, and `clean` forgets it."""
    store.derived.put(KEY, "geometry", {}, {"a": np.arange(3.0)})
    (file,) = store.derived.folder.glob("*")
    file.unlink()
    assert store.derived.get(KEY) is None
    assert [finding.subject for finding in store.check()] == [f"derived/{file.name}"]
    clean(store)
    assert store.check() == []


def test_files_of_the_removed_are_cleaned(store: Store) -> None:
    """Once they are old enough to be nobody's."""
    store.derived.put(KEY, "geometry", {}, {"a": np.arange(3.0)})
    assert store.derived.remove(KEY)
    (file,) = store.derived.folder.glob("*")
    os.utime(file, (1e9, 1e9))
    store.clean()
    assert not file.exists()


@pytest.mark.parametrize("key", ["", "../x", "AB" * 16, "ab" * 17])
def test_keys_of_another_form(store: Store, key: str) -> None:
    """They are refused, and never found."""
    assert store.derived.get(key) is None
    with pytest.raises(ValueError, match="32"):
        store.derived.put(key, "geometry", {})
