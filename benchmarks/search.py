"""Speed and recall of searching a million vectors with inverted lists (IVF).

    THEODOLITE_DATA=... python -m benchmarks.search [--n N] [--queries N] [--rounds N]
        [--only-extended]

Only the comparison with hnswlib, in minutes: `--only-extended --n 200000`, after `pip install
hnswlib` (built from source if there is no wheel).

Real vectors are those of distinct unlabelled sentences with the static encoder `wordllama`, padded
from 256 to 384 dimensions and rotated by a fixed random rotation. They are extended to N vectors:
each further one is the weighted mean of two random real ones, with weights 0.7 and 0.3, plus
Gaussian noise of a fifth of their length, normalised to length 1. Queries are held-out real
vectors. Recall against exact search is printed for the real and the extended set.

In each round brute force (FAISS Flat) and the lists answer the same queries one by one, in turn; on
200,000 vectors hnswlib answers too, if installed, with the smallest `ef` tried that reaches a
recall of 0.99. Times are wall seconds, which a person waits for queries and indexes.
"""

import argparse
import gzip
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import at_least, at_most, claim, within
from theodolite.engine import load
from theodolite.engine.search.ann_index import MappedIndex, build, mapped_rows, recall

N, DIM, SMALL = 1_000_000, 384, 200_000
MEDIAN_SECONDS, OPEN_SECONDS, RECALL, RESIDENT_GIB = 0.010, 0.2, 0.99, 2.5
MOST_REAL = 400_000
K = 10


def real_vectors(root: Path, wanted: int) -> np.ndarray:
    """Unit vectors of 384 dimensions of distinct sentences of the unlabelled files.

    Cached in the temporary folder between runs.
    """
    kept = Path(tempfile.gettempdir()) / f"theodolite-bench-search-{wanted}.npy"
    if kept.exists():
        return np.load(kept, allow_pickle=False)
    sentences: dict[str, None] = {}
    for file in sorted((root / "unlabelled").glob("*.txt.gz")):
        with gzip.open(file, "rt", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if len(line) > 20:
                    sentences[line.strip()[:300]] = None
                if len(sentences) >= wanted:
                    break
    encoder = load("wordllama")
    vectors = encoder.encode(list(sentences))
    wide = np.zeros((len(vectors), DIM), np.float32)
    wide[:, : vectors.shape[1]] = vectors
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(DIM, DIM)))[0].astype(np.float32)
    rows = unit(wide @ turned)
    rows = rows[np.linalg.norm(rows, axis=1) > 0.5]
    np.save(kept, rows, allow_pickle=False)
    return rows


def extended(real: np.ndarray, n: int, seed: int = 1) -> np.ndarray:
    """The real rows, extended to n rows by noisy mixtures of two of them."""
    rng = np.random.default_rng(seed)
    rows = np.empty((n, real.shape[1]), np.float32)
    rows[: len(real)] = real[:n]
    for start in range(len(real), n, 50_000):
        m = min(50_000, n - start)
        first, second = rng.integers(0, len(real), (2, m))
        mixed = 0.7 * real[first] + 0.3 * real[second]
        noise = rng.standard_normal(mixed.shape, dtype=np.float32) / np.sqrt(real.shape[1])
        rows[start : start + m] = unit(mixed + 0.2 * noise)
    return rows


def unit(rows: np.ndarray) -> np.ndarray:
    """Normalise rows to length 1; zero rows stay zero."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(norms == 0, 1, norms)).astype(np.float32)


def one_by_one(search: Callable[[np.ndarray], np.ndarray], queries: np.ndarray) -> list[float]:
    """Milliseconds of each query."""
    times = []
    for query in queries:
        began = time.perf_counter()
        search(query[None])
        times.append(1000 * (time.perf_counter() - began))
    return times


_OPEN = """
import sys, time, numpy as np, faiss, psutil
from pathlib import Path
from theodolite.engine.search.ann_index import MappedIndex
queries = np.load(sys.argv[2])
began = time.perf_counter()
rows = np.load(sys.argv[4], mmap_mode="r")
index = MappedIndex(Path(sys.argv[1]), rows.__getitem__, int(sys.argv[3]))
opened = time.perf_counter() - began
for query in queries:
    index.search(query[None], 10)
print(opened, psutil.Process().memory_info().rss / 2**30)
"""


def opened(file: Path, rows: Path, queries: np.ndarray, probed: int) -> tuple[float, float]:
    """Seconds to open the index in a fresh process, and its memory (GiB) after all queries."""
    asked = file.with_suffix(".npy")
    np.save(asked, queries)
    done = subprocess.run(
        [sys.executable, "-c", _OPEN, str(file), str(asked), str(probed), str(rows)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, memory = map(float, done.stdout.split())
    return seconds, memory


def hnsw(
    vectors: np.ndarray, queries: np.ndarray, truth: np.ndarray
) -> tuple[float, Callable[[np.ndarray], np.ndarray]] | None:
    """Build time of hnswlib (M 16, ef 200), and its search, with `ef` chosen for recall 0.99."""
    try:
        import hnswlib
    except ImportError:
        print("hnswlib is not installed, so it is left out: pip install hnswlib")
        return None
    index = hnswlib.Index("ip", vectors.shape[1])
    began = time.perf_counter()
    index.init_index(len(vectors), M=16, ef_construction=200)
    index.add_items(vectors)
    took = time.perf_counter() - began
    for ef in (100, 141, 200, 283, 400, 566, 800, 1131, 1600):
        index.set_ef(ef)
        if recall(index.knn_query(queries, K)[0], truth) >= RECALL:
            break
    print(f"hnswlib searches with ef {ef}")
    return took, lambda query: index.knn_query(query, K)[0]


def measured(
    name: str, vectors: np.ndarray, queries: np.ndarray, rounds: int, peer: bool
) -> dict[str, Any]:
    """Build, open and search the index of one set; print a line per contestant."""
    import faiss

    with tempfile.TemporaryDirectory() as folder:
        file, stored = Path(folder) / "lists.faiss", Path(folder) / "rows.npy"
        began = time.perf_counter()
        rows = mapped_rows(vectors, stored).__getitem__
        built = build(vectors, file, rows)
        took = time.perf_counter() - began
        seconds, memory = opened(file, stored, queries, built.probed)
        mapped = MappedIndex(file, rows, built.probed)
        flat = faiss.IndexFlatIP(vectors.shape[1])
        flat.add(vectors)
        truth = flat.search(queries, K)[1]
        runs: dict[str, Callable[[np.ndarray], np.ndarray]] = {
            "brute force": lambda q: flat.search(q, K)[1],
            "lists": lambda q: mapped.search(q, K)[1],
        }
        builds = {"lists": took}
        other = hnsw(vectors, queries, truth) if peer else None
        if other is not None:
            builds["hnswlib"], runs["hnswlib"] = other
        times: dict[str, list[list[float]]] = {contestant: [] for contestant in runs}
        for _ in range(rounds):
            for contestant, search in runs.items():
                some = queries[:20] if contestant == "brute force" else queries
                times[contestant].append(one_by_one(search, some))
        print(f"{name}: {len(vectors):,} x {vectors.shape[1]}, {len(queries)} queries")
        print(f"{'':14}{'build s':>9}{'median ms':>11}{'p95 ms':>9}{'recall@10':>11}")
        found = {}
        for contestant, all_rounds in times.items():
            flat_times = [t for one in all_rounds for t in one]
            found[contestant] = recall(runs[contestant](queries), truth)
            built_in = builds.get(contestant, 0.0)
            print(
                f"{contestant:14}{built_in:9.1f}{statistics.median(flat_times):11.2f}"
                f"{np.percentile(flat_times, 95):9.2f}{found[contestant]:11.4f}"
            )
        disk = sum(written.stat().st_size for written in (file, stored)) / 2**30
        print(
            f"{built.probed} of {built.lists} lists looked into; opened in {seconds:.3f} s; "
            f"{memory:.2f} GiB resident after all queries; {disk:.2f} GiB on disk"
        )
    rounds_of = {who: [statistics.median(one) for one in all_] for who, all_ in times.items()}
    ours = rounds_of.pop("lists")
    return {
        "median_s": [ms / 1000 for ms in ours],
        "recall": found["lists"],
        "open_s": seconds,
        "resident_gib": memory,
        "build_against": {who: s / took for who, s in builds.items() if who != "lists"},
        "against": {
            who: [b / a for a, b in zip(ours, theirs, strict=True)]
            for who, theirs in rounds_of.items()
        },
    }


def main() -> int:
    """Measure, print tables and a JSON line per claim; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=N)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only-extended", action="store_true", help="leave out the smaller sets")
    options = parser.parse_args()
    root = os.environ.get("THEODOLITE_DATA")
    if not root:
        print("THEODOLITE_DATA is not set: no sentences to search.")
        return 0
    real = real_vectors(Path(root), min(MOST_REAL, options.n))
    order = np.random.default_rng(2).permutation(len(real))
    queries, real = real[order[: options.queries]], real[order[options.queries :]]
    if not options.only_extended:
        measured("real", real, queries, options.rounds, peer=False)
        small = min(SMALL, options.n)
        measured(f"{small:,}", extended(real, small), queries, options.rounds, peer=True)
    rows = extended(real, options.n)
    del real
    found = measured("extended", rows, queries, options.rounds, peer=options.n <= SMALL)
    met = [
        at_least("recall@10", found["recall"], RECALL),
        at_most("resident GiB", found["resident_gib"], RESIDENT_GIB),
        within("search.open", OPEN_SECONDS, [found["open_s"]]),
        within("search.median", MEDIAN_SECONDS, found["median_s"]),
    ]
    for peer, ratio in found["build_against"].items():
        met.append(claim(f"search.build against {peer}", [ratio], 1.0, "wall"))
    for peer, ratios in found["against"].items():
        met.append(claim(f"search.against {peer}", ratios, 1.0, "wall"))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
