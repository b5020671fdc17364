"""The durable cache of vectors: a sentence is encoded once per fingerprint.

Per fingerprint and dimension there are two append-only files: `DIM.f32`, the rows, and
`DIM.keys`, for each row the sentence's key and a checksum over key and row. Rows are read through
mmap and every row is checked when it is read, so a row torn by a crash or corrupted on the disk
counts as missing, and is encoded and appended again. That is also why there is no fsync here: what
a power cut takes from a cache is only time.

Appending happens under a lock between processes; reading needs none, because rows never move.
"""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from filelock import FileLock

from theodolite.store.database import Database
from theodolite.store.errors import as_store_errors

_KEY = np.dtype([("key", "V16"), ("check", "<u8")])
_FINGERPRINT = re.compile(r"[0-9A-Za-z_-]{1,128}")
_SLICE = 8192  # rows checked at a time: 12 MB at dimension 384


class VectorStore:
    """Vectors by fingerprint and key, shared by threads and processes.

    Args:
        folder: of the files.
        database: which records the encoders that use each fingerprint.
        user: the encoder on whose behalf they are read and written, for `clean`; see `of`.
    """

    def __init__(self, folder: Path, database: Database, user: str | None = None) -> None:
        self._folder = folder
        self._database = database
        self._user = user
        self._matrices: dict[tuple[str, int], Matrix] = {}
        self._lock = threading.Lock()

    def of(self, encoder: str) -> VectorStore:
        """The same vectors, recording which encoder uses them.

        When that encoder is removed and no other one used them, `Store.clean` removes them.
        """
        view = VectorStore(self._folder, self._database, encoder)
        view._matrices, view._lock = self._matrices, self._lock  # one index for all
        return view

    def get(
        self, fingerprint: str, keys: Sequence[bytes], dim: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Look up keys of 16 bytes.

        Returns:
            (found, vectors): bool (n,), and float32 (found.sum(), dim) in the order of keys.
        """
        self._note(fingerprint)
        with as_store_errors(self._folder.parent):
            return self._matrix(fingerprint, dim).get(keys)

    def put(self, fingerprint: str, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """Add float32 (n, dim) rows under distinct keys of 16 bytes; a known key changes nothing.

        Raises:
            ValueError: when the shapes do not fit.
        """
        self._database.refuse_writing()
        rows = np.ascontiguousarray(vectors, dtype="<f4")
        if rows.ndim != 2 or len(rows) != len(keys):
            raise ValueError(f"{len(keys)} keys need as many rows, got shape {rows.shape}")
        self._note(fingerprint)
        with as_store_errors(self._folder.parent):
            self._matrix(fingerprint, rows.shape[1]).put(keys, rows)

    def usage(self) -> dict[str, int]:
        """Bytes kept for each fingerprint."""
        return {
            folder.name: sum(file.stat().st_size for file in folder.iterdir())
            for folder in self._fingerprints()
        }

    def last_used(self, fingerprint: str) -> float:
        """When the vectors of a fingerprint were last added to, in seconds since 1970."""
        files = [self._folder / _safe(fingerprint)]
        files += files[0].iterdir()
        return max(file.stat().st_mtime for file in files)

    def remove(self, fingerprint: str) -> int:
        """Forget all vectors of a fingerprint; return the bytes freed."""
        freed = self.usage().get(fingerprint, 0)
        with self._lock, as_store_errors(self._folder.parent):
            for key in [key for key in self._matrices if key[0] == fingerprint]:
                del self._matrices[key]
            shutil.rmtree(self._folder / _safe(fingerprint), ignore_errors=True)
        self._database.change("DELETE FROM vector_users WHERE fingerprint = ?", [fingerprint])
        return freed

    def damaged(self) -> Iterator[tuple[Path, int, int]]:
        """For each file of rows: (path, rows, how many of them fail their checksum)."""
        for folder in self._fingerprints():
            for path in sorted(folder.glob("*.f32")):
                matrix = self._matrix(folder.name, int(path.stem))
                yield path, *matrix.damaged()

    def _fingerprints(self) -> list[Path]:
        return sorted(p for p in self._folder.glob("*") if p.is_dir())

    def _matrix(self, fingerprint: str, dim: int) -> Matrix:
        with self._lock:
            key = (fingerprint, dim)
            if key not in self._matrices:
                self._matrices[key] = Matrix(self._folder / _safe(fingerprint), dim)
            return self._matrices[key]

    def _note(self, fingerprint: str) -> None:
        """Record the user of these vectors, again if another process has deleted the record."""
        if self._user is None or self._database.reading:
            return
        row = [fingerprint, self._user]
        known = "SELECT 1 FROM vector_users WHERE fingerprint = ? AND encoder = ?"
        if self._database.row(known, row) is None:
            self._database.change("INSERT OR IGNORE INTO vector_users VALUES (?, ?)", row)


class Matrix:
    """The two files of one fingerprint and dimension, and an index of their keys in memory.

    The index is the first half of every key, sorted: 16 bytes a row, and a look-up is a binary
    search in NumPy. Full keys are compared afterwards.
    """

    def __init__(self, folder: Path, dim: int) -> None:
        self._rows_file = folder / f"{dim}.f32"
        self._keys_file = folder / f"{dim}.keys"
        self._file_lock = FileLock(folder / f"{dim}.lock", timeout=60.0)
        self._lock = threading.RLock()
        self._dim = dim
        self._weights = _weights(4 + dim)
        self._forget()

    def get(self, keys: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
        """As `VectorStore.get`."""
        with self._lock:
            self._catch_up()
            targets = _key_array(keys)
            return self._look_up(targets)

    def put(self, keys: Sequence[bytes], rows: np.ndarray) -> None:
        """As `VectorStore.put`."""
        entries = _key_array(keys)
        with self._lock:
            self._rows_file.parent.mkdir(parents=True, exist_ok=True)
            with self._file_lock:
                self._catch_up()
                is_stored, _ = self._look_up(entries)
                if not is_stored.all():
                    self._append(entries[~is_stored], rows[~is_stored])

    def damaged(self) -> tuple[int, int]:
        """(rows, how many fail their checksum), read from the disk."""
        with self._lock:
            self._forget()
            self._catch_up()
            bad = 0
            for start in range(0, len(self._keys), _SLICE):
                part = slice(start, start + _SLICE)
                sums = _checksums(self._keys["key"][part], self._rows[part], self._weights)
                bad += int((sums != self._keys["check"][part]).sum())
            return len(self._keys), bad

    def _forget(self) -> None:
        self._keys = np.empty(0, _KEY)
        self._rows = np.empty((0, self._dim), "<f4")
        self._sorted = np.empty(0, "<u8")
        self._order = np.empty(0, np.int64)

    def _length(self) -> int:
        """Number of rows that are complete in both files."""
        if not (self._keys_file.exists() and self._rows_file.exists()):
            return 0
        keys = self._keys_file.stat().st_size // _KEY.itemsize
        return min(keys, self._rows_file.stat().st_size // (4 * self._dim))

    def _catch_up(self) -> None:
        """Index the rows that any process has appended since the last call."""
        length, known = self._length(), len(self._keys)
        if length < known:  # the files were removed and created anew
            self._forget()
            known = 0
        if length == known:
            return
        with self._keys_file.open("rb") as file:
            file.seek(known * _KEY.itemsize)
            new = np.fromfile(file, _KEY, length - known)
        self._keys = np.concatenate([self._keys, new])
        self._rows = np.memmap(self._rows_file, "<f4", "r", shape=(length, self._dim))
        prefixes = np.concatenate([self._sorted, _prefixes(new["key"])])
        order = np.concatenate([self._order, np.arange(known, length)])
        # Stable, so that of two rows under one key the newer comes last: it replaces a torn one.
        by_prefix = np.argsort(prefixes, kind="stable")
        self._sorted, self._order = prefixes[by_prefix], order[by_prefix]

    def _look_up(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows for keys "V16" (n,): those present whose checksum holds."""
        is_stored = np.zeros(len(keys), bool)
        if not len(self._keys) or not len(keys):
            return is_stored, np.empty((0, self._dim), np.float32)
        place = np.searchsorted(self._sorted, _prefixes(keys), side="right") - 1
        at = self._order[np.maximum(place, 0)]
        is_stored = self._keys["key"][at] == keys
        rows = np.asarray(self._rows[at[is_stored]], np.float32)
        whole = np.empty(len(rows), bool)
        for start in range(0, len(rows), _SLICE):
            part = slice(start, start + _SLICE)
            sums = _checksums(keys[is_stored][part], rows[part], self._weights)
            whole[part] = sums == self._keys["check"][at[is_stored][part]]
        if not whole.all():
            is_stored[np.flatnonzero(is_stored)[~whole]] = False
            rows = rows[whole]
        return is_stored, rows

    def _append(self, keys: np.ndarray, rows: np.ndarray) -> None:
        """Write rows, then keys. The next writer truncates what a crash left half-written."""
        records = np.empty(len(keys), _KEY)
        records["key"], records["check"] = keys, _checksums(keys, rows, self._weights)
        length = self._length()
        for path, row_bytes, data in (
            (self._rows_file, 4 * self._dim, rows),
            (self._keys_file, _KEY.itemsize, records),
        ):
            whole = length * row_bytes
            with path.open("ab", buffering=0) as file:
                file.truncate(whole)
                view = memoryview(data.tobytes())
                try:
                    while len(view):  # a full disk may take a part before it refuses
                        view = view[file.write(view) :]
                except OSError:
                    file.truncate(whole)
                    raise


def _key_array(keys: Sequence[bytes]) -> np.ndarray:
    joined = b"".join(keys)
    if len(joined) != 16 * len(keys) or any(len(key) != 16 for key in keys):
        raise ValueError("a key has 16 bytes")
    return np.frombuffer(joined, "V16")


def _prefixes(keys: np.ndarray) -> np.ndarray:
    """First 8 bytes of keys "V16" (n,) as "<u8" (n,)."""
    return np.ascontiguousarray(keys).view("<u8")[::2]


def _weights(words: int) -> np.ndarray:
    """The fixed random multipliers of `_checksums`, uint64 (1 + words,)."""
    return np.random.Generator(np.random.PCG64(20_211_102)).integers(
        0, 2**64, 1 + words, dtype=np.uint64
    ) | np.uint64(1)


def _checksums(keys: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Multilinear hash of each key and row, uint64 (n,): w0 + sum of w(i) * word(i) modulo 2^64.

    The family is from Lemire and Kaser, Strongly universal string hashing is fast, 2014; it is a
    check against accidents, not against malice. Multipliers are odd, so that a change of any single
    word always shows.
    """
    key_words = np.ascontiguousarray(keys).view("<u4").reshape(len(keys), 4)
    total = key_words.astype(np.uint64) @ weights[1:5] + weights[0]
    return total + np.ascontiguousarray(rows).view("<u4").astype(np.uint64) @ weights[5:]


def _safe(fingerprint: str) -> str:
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise ValueError(f"{fingerprint[:40]!r} cannot be a fingerprint: hexadecimal was expected")
    return fingerprint
