"""Speed of the store: reading cached vectors, and the table of all results.

Vectors: 20,000 of 100,000 by key, against the same rows as blobs in a SQLite table with an index,
the simplest cache one might write. Results: the table of 100 encoders on 50 tasks.

    python -m benchmarks.store
"""

import hashlib
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.claims import claim
from theodolite.store import Store

ROWS, WANTED, DIM, ROUNDS = 100_000, 20_000, 384, 7
FINGERPRINT = "ab" * 16


def seconds(work: Callable[[], object]) -> float:
    """Run once and return the CPU seconds."""
    start = time.process_time()
    work()
    return time.process_time() - start


def vectors(folder: Path) -> bool:
    """Measure reading vectors by key, from our files and from a table of blobs."""
    store = Store(folder / "store")
    rows = np.random.default_rng(0).normal(size=(ROWS, DIM)).astype(np.float32)
    keys = [hashlib.blake2b(str(i).encode(), digest_size=16).digest() for i in range(ROWS)]
    store.vectors.put(FINGERPRINT, keys, rows)
    peer = sqlite3.connect(folder / "peer.db")
    peer.execute("create table vectors (key blob primary key, row blob) without rowid")
    with peer:
        pairs = ((key, row.tobytes()) for key, row in zip(keys, rows, strict=True))
        peer.executemany("insert into vectors values (?, ?)", pairs)
    picked = np.random.default_rng(1).permutation(ROWS)[:WANTED]
    wanted = [keys[i] for i in picked]

    def theirs() -> np.ndarray:
        ask = "select row from vectors where key = ?"
        blobs = [peer.execute(ask, (key,)).fetchone()[0] for key in wanted]
        return np.frombuffer(b"".join(blobs), np.float32).reshape(-1, DIM)

    def ours() -> np.ndarray:
        return store.vectors.get(FINGERPRINT, wanted, DIM)[1]

    np.testing.assert_array_equal(theirs(), rows[picked])
    np.testing.assert_array_equal(ours(), rows[picked])
    times = [(seconds(theirs), seconds(ours)) for _ in range(ROUNDS)]
    for name, column in zip(("SQLite blobs", "Theodolite"), zip(*times, strict=True), strict=True):
        best = min(column)
        print(f"{name:14} {best * 1000:8.1f} ms  {WANTED / best:12,.0f} vectors a second")
    met = claim("store.vectors", [a / b for a, b in times], 1.0, "cpu")
    return limited("store.vectors", 0.1, [b for _, b in times]) and met


def results(folder: Path) -> bool:
    """Measure the table of results, as the overview queries it."""
    store = Store(folder / "results")
    for encoder in range(100):
        for task in range(50):
            store.results.put(result(f"e{encoder}", f"t{task}"))
    times = [seconds(store.results.table) for _ in range(ROUNDS)]
    print(f"{'5,000 results':14} {min(times) * 1000:8.1f} ms")
    return limited("store.results", 0.05, times)


def limited(name: str, limit: float, times: list[float]) -> bool:
    """Claim that the median is within a limit of CPU seconds."""
    return claim(f"{name} within {limit:g} s", [limit / s for s in times], 1.0, "cpu")


def result(encoder: str, task: str) -> dict[str, object]:
    """A result with one score, in the engine's form."""
    score = {
        "split": "test",
        "aggregation": "all",
        "metric": "spearman",
        "score": 81.5,
        "n": 1379,
        "main": True,
        "unit": "",
    }
    return {
        "encoder": encoder,
        "fingerprint": encoder,
        "dim": DIM,
        "task": task,
        "protocol": "simcse-2021",
        "seed": 0,
        "data_hash": "d1",
        "scores": [score],
        "examples": {},
        "details": {},
        "seconds": 1.0,
        "error": None,
        "hint": "",
        "notes": (),
    }


def main() -> None:
    """Measure both, each in a new store; exit 1 if a target is missed."""
    with tempfile.TemporaryDirectory() as folder:
        met = [vectors(Path(folder)), results(Path(folder))]
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
