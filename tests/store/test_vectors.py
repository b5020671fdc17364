import errno
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from tests.fakes.folder import files
from theodolite.store import Store, StoreError
from theodolite.store.check import check, clean
from theodolite.store.derived import DerivedRow, array
from theodolite.store.errors import StoreFull
from theodolite.store.vectors import _weights

F = "ab" * 16


def keys(*names: object) -> list[bytes]:
    """Keys as the engine makes them: 16 bytes of BLAKE2."""
    return [hashlib.blake2b(str(name).encode(), digest_size=16).digest() for name in names]


def rows(n: int, dim: int = 8, seed: int = 0) -> np.ndarray:
    """Random vectors, float32 (n, dim)."""
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


def assert_there(store: Store, names: list[bytes], vectors: np.ndarray) -> None:
    """All are found, and are these."""
    found, got = store.vectors.get(F, names, 8)
    assert found.all()
    np.testing.assert_array_equal(got, vectors)


def test_vectors_come_back_bit_for_bit(store: Store) -> None:
    """In the order of the keys asked for, with the unknown ones told; a known key keeps its own."""
    assert {store.vectors.get(F, some, 8)[1].shape for some in (keys("a", "b"), [])} == {(0, 8)}
    assert store.vectors.usage() == {}
    x = rows(3)
    x[0, 0], x[1, 1] = -0.0, 1e-42
    store.vectors.put(F, keys("a", "b", "c"), x)
    found, got = store.vectors.get(F, keys("c", "?", "a", "b"), 8)
    assert found.tolist() == [True, False, True, True]
    assert (got.dtype, got.tobytes()) == (np.float32, x[[2, 0, 1]].tobytes())
    size = store.vectors.usage()
    store.vectors.put(F, keys("a"), rows(1, seed=1))
    assert store.vectors.usage() == size
    assert store.vectors.get(F, keys("a"), 8)[1].tobytes() == x[[0]].tobytes()
    for fingerprint, dim in (("f2", 8), (F, 4)):
        assert not store.vectors.get(fingerprint, keys("a"), dim)[0].any()


@pytest.mark.parametrize("bad", ["", "../up", "a/b", "x" * 129, "a.b"])
def test_a_fingerprint_is_no_path(store: Store, bad: str) -> None:
    """Nothing outside the folder is ever opened."""
    with pytest.raises(ValueError, match=re.escape(f"{bad[:40]!r} cannot be a fingerprint")):
        store.vectors.get(bad, keys("a"), 8)


def test_the_multipliers_of_checksums_are_odd() -> None:
    """Modulo a power of two no bit of a word is lost then."""
    assert (_weights(64) % 2 == 1).all()


@pytest.mark.parametrize(
    ("names", "vectors"),
    [(keys("a"), rows(2)), ([b"short"], rows(1)), (keys("a"), rows(1)[0])],
)
def test_shapes_are_checked(store: Store, names: list[bytes], vectors: np.ndarray) -> None:
    """A key has 16 bytes and a row of its own."""
    with pytest.raises(ValueError, match="key"):
        store.vectors.put(F, names, vectors)


def test_another_process_sees_what_was_appended(store: Store) -> None:
    """Also after it has looked once."""
    other = Store.open(store.folder)
    for start in range(0, 30, 10):
        names = keys(*range(start, start + 10))
        store.vectors.put(F, names, rows(10, seed=start))
        assert_there(other, names, rows(10, seed=start))


WRITER = """
import sys, hashlib, numpy as np
from pathlib import Path
from theodolite.store import Store
store, seed = Store.open(Path(sys.argv[1])), int(sys.argv[2])
order = np.random.default_rng(seed).permutation(600)
for part in np.split(order, 30):
    names = [hashlib.blake2b(str(i).encode(), digest_size=16).digest() for i in part]
    store.vectors.put("ab" * 16, names, np.repeat(part[:, None], 8, 1).astype(np.float32))
"""


def test_processes_write_at_once(store: Store) -> None:
    """Three of them, the same 600 keys in other orders: each row is there once, and right."""
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(store.folder), str(seed)])
        for seed in range(3)
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert_there(store, keys(*range(600)), np.arange(600.0)[:, None].repeat(8, 1))
    assert (store.folder / "vectors" / F / "8.f32").stat().st_size == 600 * 8 * 4


@pytest.mark.parametrize(
    ("damage", "file", "size"),
    [
        (lambda row: row[:5], "8.f32", 32),
        (lambda row: row[:5], "8.keys", 24),
        (lambda row: bytes(len(row)), "8.f32", 32),
        (lambda row: bytes(len(row)), "8.keys", 24),
        (lambda row: row[:12] + bytes([row[12] ^ 1]) + row[13:], "8.f32", 32),
    ],
    ids=["cut", "cut key", "zeros", "zeros for a key", "one bit"],
)
def test_a_torn_row_is_dropped_and_written_again(
    store: Store, damage: Callable[[bytes], bytes], file: str, size: int
) -> None:
    """The tenth of ten rows is torn: nine remain, and after a new put all ten are right."""
    names = keys(*range(10))
    store.vectors.put(F, names, rows(10))
    path = store.folder / "vectors" / F / file
    data = path.read_bytes()
    path.write_bytes(data[:-size] + damage(data[-size:]))
    again = Store.open(store.folder)
    found, got = again.vectors.get(F, names, 8)
    assert found.tolist() == [True] * 9 + [False]
    np.testing.assert_array_equal(got, rows(10)[:9])
    again.vectors.put(F, names, rows(10))
    for reader in (again, Store.open(store.folder)):
        assert_there(reader, names, rows(10))


def test_a_full_disk_is_said_plainly_and_harms_nothing(store: Store) -> None:
    """A process that may write no more than 100 kB to a file stands for a disk that fills up."""
    code = """
import resource, sys, hashlib, numpy as np
from pathlib import Path
from theodolite.store import Store, StoreError
store = Store.open(Path(sys.argv[1]))
names = [hashlib.blake2b(str(i).encode(), digest_size=16).digest() for i in range(1000)]
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for part in range(0, 1000, 50):
    try:
        store.vectors.put("ab" * 16, names[part:part + 50], np.ones((50, 64), np.float32))
    except StoreError as error:
        print(part, error)
        break
found, rows = store.vectors.get("ab" * 16, names, 64)
assert found[:part].all() and not found[part:].any() and (rows == 1).all()
"""
    pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-c", code, str(store.folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("350 No space is left on the disk")  # 7 x 50 rows of 256 bytes
    found, _ = store.vectors.get(F, keys(*range(1000)), 64)
    assert found.sum() == 350
    store.vectors.put(F, keys(*range(350, 1000)), np.ones((650, 64), np.float32))
    assert store.vectors.get(F, keys(*range(1000)), 64)[0].all()
    assert check(store) == []


def test_other_disk_errors_are_said_plainly(store: Store) -> None:
    """A file where the folder should be."""
    (store.folder / "vectors").write_text("in the way")
    with pytest.raises(StoreError, match=f"used: {os.strerror(errno.ENOTDIR)}"):
        store.vectors.put(F, keys("a"), rows(1))


# --- derived results by content key ---


KEY, OTHER = "0123456789abcdef" * 2, "cd" * 16
ARRAYS = {
    "points": np.arange(6, dtype=np.float32).reshape(3, 2),
    "label": np.array([0, 1, 65535], np.uint16),
    "length": np.array([1, np.nan, 3], np.float32),
}


def put(store: Store, key: str = KEY, **more: np.ndarray) -> DerivedRow:
    """Keep a map."""
    store.derived.put(key, "map", {"seed": 0}, ARRAYS | more)
    return store.derived.get(key)


def test_equal_columns_share_a_file(store: Store) -> None:
    """Files are named by what they hold."""
    put(store)
    put(store, OTHER, points=ARRAYS["points"] + 1)
    assert len(list(store.derived.folder.iterdir())) == 4
    store.derived.remove(OTHER)
    clean(store, grace=0)
    assert len(list(store.derived.folder.iterdir())) == 3 and check(store) == []


@pytest.mark.parametrize(
    "harm",
    [Path.unlink, lambda path: path.write_bytes(path.read_bytes() + b"x")],
    ids=["gone", "a byte more"],
)
def test_what_is_not_whole_is_found_and_made_again(
    store: Store, harm: Callable[[Path], None]
) -> None:
    """`check` names the file; `clean` forgets the map; without a file it counts as none already."""
    path = put(store)["files"]["label"]
    harm(path)
    assert (store.derived.get(KEY) is None) == (not path.exists())
    assert [finding.subject for finding in check(store)] == [f"derived/{path.name}"]
    clean(store)
    assert store.derived.get(KEY) is None and store.derived.list("map") == []
    assert put(store)["files"]["label"].exists() and check(store) == []


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
    full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr("theodolite.store.files.os.fsync", full)
    with pytest.raises(StoreFull):
        put(store)
    assert store.derived.get(KEY) is None
    assert list(store.derived.folder.iterdir()) == []


def test_arrays_files_and_facts_come_back(store: Store, tmp_path: Path) -> None:
    """Bit for bit, by a store that was opened anew, and the newest first."""
    file = files(tmp_path, {"lists.faiss": b"x" * 100}) / "lists.faiss"
    store.derived.put(KEY, "index", {"recall": 0.995}, ARRAYS, {"lists": file})
    store.derived.put(OTHER, "index", {})
    row = Store.open(store.folder).derived.get(KEY)
    for name, given in ARRAYS.items():
        np.testing.assert_array_equal(array(row, name), given, strict=True)
    assert row["files"]["lists"].read_bytes() == file.read_bytes()
    assert (row["kind"], row["info"]) == ("index", {"recall": 0.995})
    listed = [[r["key"] for r in store.derived.list(kind)] for kind in ("index", "geometry")]
    assert listed == [[OTHER, KEY], []]


def test_a_crash_before_the_row_leaves_none(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files without a row are no result; the next try makes it, `clean` takes the rest."""
    with monkeypatch.context() as patch, pytest.raises(TypeError):
        patch.setattr(store.database, "change", None)
        put(store)
    assert store.derived.get(KEY) is None
    assert put(store)["key"] == KEY
