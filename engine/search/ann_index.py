"""The index for large collections: inverted lists of short codes, refined with full vectors.

Up to `EXACT_BELOW` vectors a flat index in memory is exact and fast enough. Above, vectors are put
into lists around centroids (k-means). A query probes only the nearest lists, compares codes of four
bits for every two dimensions there (product quantisation), and re-ranks the best hundred by their
full vectors, which stay where they are: in the cache, or in a mapped file. A neighbour is sometimes
missed: the recall is measured when the index is built, and stored with it.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from theodolite.engine.progress import Progress
from theodolite.engine.search.index import Index, check_queries, faiss, others, unit_rows

EXACT_BELOW = 200_000
RECALL_AT = 10
WANTED_RECALL = 0.993
"""Measured on a few hundred queries: a little above 0.99, so that other queries reach 0.99 too."""
REFINED = 100
"""Candidates re-ranked by their vectors; ten times the requested results, if that is more."""
_ROUNDS = 10
_SAMPLE_A_LIST = 48
"""Vectors per centroid in its fit; FAISS warns below 39."""
_CODED_ON = 50_000
"""Vectors that the codes are fitted on: sixteen values for every two dimensions need no more."""
_ASKED = 400
"""Queries for measuring recall."""
_BLOCK = 50_000

Rows = Callable[[np.ndarray], np.ndarray]
"""From positions, int64 (m,), to the vectors there at length 1, float32 (m, dim)."""


class Vectors(Protocol):
    """An array of vectors, or an object that gives blocks of one without holding all of it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, dim)."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> np.ndarray:
        """Rows of a slice or of positions."""
        ...


@dataclass(frozen=True)
class Built:
    """The parameters and the quality of an index.

    Attributes:
        n, dim: of the vectors.
        lists: number of inverted lists.
        probed: number of lists that a query probes.
        recall: share of the exact 10 nearest that it finds, over `asked` vectors of the collection,
            each without itself.
        asked: number of queries for `recall`.
        exact_ms, indexed_ms: median milliseconds per query, by exact search and with the index.
    """

    n: int
    dim: int
    lists: int
    probed: int
    recall: float
    asked: int
    exact_ms: float
    indexed_ms: float


class MappedIndex:
    """An index on disk to search by cosine; the same interface as `index.Index`.

    Args:
        lists: the file that `build` wrote. It must come from a folder that only we write to.
        rows: reads the full vectors.
        probed: number of lists that a query probes, as chosen by `build`.

    Attributes:
        index: FAISS's, which probes `nprobe` lists.
        size: n.
        dim: length of a vector.
    """

    def __init__(self, lists: Path, rows: Rows, probed: int) -> None:
        self.index = faiss().read_index(str(lists))
        self.index.nprobe = probed
        self._rows = rows
        self.size, self.dim = self.index.ntotal, self.index.d

    def search(
        self, queries: np.ndarray, k: int, among: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return approximately the k nearest rows of each query, as `index.Index.search` does.

        With `among` the result is exact: the vectors at these positions are read and compared.
        Where fewer than k are found, the row ends with cosine -inf and position -1.
        """
        queries = check_queries(queries, k, self.dim)
        k = min(k, self.size if among is None else len(among))
        if k == 0 or len(queries) == 0:
            return np.zeros((len(queries), k), np.float32), np.zeros((len(queries), k), np.int64)
        if among is not None:
            return self._among(queries, k, np.unique(among))
        _, candidates = self.index.search(queries, min(self.size, max(REFINED, 10 * k)))
        scores = np.full((len(queries), k), -np.inf, np.float32)
        ids = np.full((len(queries), k), -1, np.int64)
        together = max(1, _BLOCK // candidates.shape[1])
        for start in range(0, len(queries), together):
            positions = np.unique(candidates[start : start + together])
            positions = positions[positions >= 0]  # -1 stands for none
            vectors = self._rows(positions)
            for row in range(start, min(start + together, len(queries))):
                rows = np.sort(candidates[row][candidates[row] >= 0])
                cosines = vectors[np.searchsorted(positions, rows)] @ queries[row]
                best = np.lexsort((rows, -cosines))[:k]
                scores[row, : len(best)], ids[row, : len(best)] = cosines[best], rows[best]
        return np.minimum(scores, 1.0), ids

    def _among(
        self, queries: np.ndarray, k: int, positions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        scores = np.empty((len(queries), 0), np.float32)
        ids = np.empty((len(queries), 0), np.int64)
        for start in range(0, len(positions), _BLOCK):
            here = positions[start : start + _BLOCK]
            cosines = queries @ self._rows(here).T
            scores, ids = _best(scores, ids, cosines, here, k)
        return np.clip(scores, -1.0, 1.0), ids


def _best(
    scores: np.ndarray, ids: np.ndarray, cosines: np.ndarray, positions: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k best of those so far and new ones at `positions`: nearest first, then by position."""
    scores = np.concatenate([scores, cosines], axis=1)
    ids = np.concatenate([ids, np.broadcast_to(positions, cosines.shape)], axis=1)
    order = np.lexsort((ids, -scores))[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(ids, order, axis=1)


def build(
    vectors: Vectors, lists: Path, rows: Rows | None = None, progress: Progress | None = None
) -> Built:
    """Build the index, write it to a file, and choose the number of lists that a query probes.

    A query probes the fewest lists with a recall of 0.993, or all; the number is returned, not
    written to the file.

    Args:
        vectors: (n, dim), finite, n >= 100, dim >= 2.
        lists: file of the centroids, lists and codes, overwritten.
        rows: reads the full vectors as for later queries, so that the time per query is realistic;
            None for `vectors` themselves.
        progress: called with (steps done, steps); may raise to stop the work.

    Raises:
        ValueError: too few vectors, or values that are not finite.
    """
    library = faiss()
    n, dim = vectors.shape
    if n < 100 or dim < 2:
        raise ValueError(f"an index with lists needs 100 vectors, got {n} of {dim} dimensions")
    blocks = range(0, n, _BLOCK)
    if not all(np.isfinite(vectors[start : start + _BLOCK]).all() for start in blocks):
        raise ValueError("a vector holds NaN or infinity")
    done, steps = count(1), _ROUNDS + 2 * len(blocks) + 2

    def step() -> None:
        if progress is not None:
            progress(next(done), steps)

    many = min(round(4 * float(np.sqrt(n))), n // 2)  # FAISS's guide for up to a million vectors
    quantiser = library.IndexFlatIP(dim)
    quantiser.add(_centroids(vectors, many, step))
    codes = dim // 2 if dim % 2 == 0 else dim
    index = library.IndexIVFPQFastScan(quantiser, dim, many, codes, 4, library.METRIC_INNER_PRODUCT)
    index.train(_sample(vectors, _CODED_ON))
    step()
    for start in blocks:
        index.add(unit_rows(vectors[start : start + _BLOCK]))
        step()
    library.write_index(index, str(lists))
    read = rows or (lambda positions: unit_rows(vectors[positions]))
    return _probe(MappedIndex(lists, read, 1), vectors, many, step)


def index_of(vectors: np.ndarray) -> Index | MappedIndex:
    """An index for one use: exact, or with lists where exact search of all would take hours."""
    if len(vectors) <= EXACT_BELOW:
        return Index(vectors)
    with tempfile.TemporaryDirectory() as folder:
        # The mapping keeps the rows accessible after their file is unlinked.
        rows = mapped_rows(vectors, Path(folder) / "rows.npy").__getitem__
        lists = Path(folder) / "lists.faiss"
        return MappedIndex(lists, rows, build(vectors, lists, rows).probed)


def mapped_rows(vectors: np.ndarray, file: Path) -> np.ndarray:
    """Write unit rows to a file and map it, for vectors that are too large for memory.

    Args:
        vectors: (n, dim).
        file: overwritten, as `.npy`.
    """
    rows = np.lib.format.open_memmap(file, "w+", np.float32, vectors.shape)
    for start in range(0, len(vectors), _BLOCK):
        rows[start : start + _BLOCK] = unit_rows(vectors[start : start + _BLOCK])
    rows.flush()
    return rows


def _sample(vectors: Vectors, size: int) -> np.ndarray:
    """A fixed sample of the vectors, at length 1."""
    sample = np.random.default_rng(0).choice(len(vectors), min(len(vectors), size), replace=False)
    return unit_rows(vectors[np.sort(sample)])


def _centroids(vectors: Vectors, lists: int, step: Callable[[], None]) -> np.ndarray:
    """Spherical k-means on a sample, one round at a time, to report progress and be stopped."""
    sample = _sample(vectors, lists * _SAMPLE_A_LIST)
    centroids = None
    for _ in range(_ROUNDS):
        rounds = faiss().Kmeans(
            sample.shape[1],
            lists,
            niter=1,
            spherical=True,
            seed=1,
            min_points_per_centroid=1,
            max_points_per_centroid=_SAMPLE_A_LIST + 1,
        )
        rounds.train(sample, init_centroids=centroids)
        centroids = rounds.centroids
        step()
    return np.ascontiguousarray(centroids)


def _probe(mapped: MappedIndex, vectors: Vectors, lists: int, step: Callable[[], None]) -> Built:
    """Choose the number of lists to probe, and measure recall and time with it."""
    n, dim = vectors.shape
    rng = np.random.default_rng(1)
    sampled = np.sort(rng.choice(n, min(_ASKED, n), replace=False))
    exact, exact_ms = _exact(vectors, sampled, step)

    def share_of(probed: int) -> float:
        mapped.index.nprobe = probed
        return recall(_nearest(mapped.search(vectors[sampled], RECALL_AT + 1)[1], sampled), exact)

    probed, share = _fewest(share_of, lists)
    mapped.index.nprobe = probed
    step()
    times = []
    for row in sampled[:50]:
        began = time.perf_counter()
        mapped.search(vectors[row : row + 1], RECALL_AT)
        times.append(time.perf_counter() - began)
    return Built(
        n, dim, lists, probed, share, len(sampled), exact_ms, 1000 * float(np.median(times))
    )


def _fewest(share_of: Callable[[int], float], lists: int) -> tuple[int, float]:
    """The fewest lists, within a sixteenth, with the wanted recall, and their recall; else all."""
    short, probed = 0, 1
    while (share := share_of(probed)) < WANTED_RECALL and probed < lists:
        short, probed = probed, min(lists, 2 * probed)
    while probed - short > max(1, probed // 16):
        middle = (short + probed) // 2
        share_of_middle = share_of(middle)
        if share_of_middle < WANTED_RECALL:
            short = middle
        else:
            probed, share = middle, share_of_middle
    return probed, share


def _exact(
    vectors: Vectors, sampled: np.ndarray, step: Callable[[], None]
) -> tuple[np.ndarray, float]:
    """The 10 nearest others of some rows by exact search, and its milliseconds per query."""
    from faiss.contrib.exhaustive_search import knn_ground_truth

    queries, times = unit_rows(vectors[sampled]), []

    def blocks() -> Iterator[np.ndarray]:
        for start in range(0, len(vectors), _BLOCK):
            rows = unit_rows(vectors[start : start + _BLOCK])
            began = time.perf_counter()
            rows @ queries[0]
            times.append(time.perf_counter() - began)
            yield rows
            step()

    inner = faiss().METRIC_INNER_PRODUCT
    _, ids = knn_ground_truth(queries, blocks(), RECALL_AT + 1, inner, ngpu=0)
    return _nearest(ids, sampled), 1000 * sum(times)


def _nearest(positions: np.ndarray, sampled: np.ndarray) -> np.ndarray:
    """The 10 nearest without the row itself."""
    return positions[others(positions, sampled)].reshape(len(sampled), -1)


def recall(approximate: np.ndarray, exact: np.ndarray) -> float:
    """Mean share of each row of `exact` that is in the same row of `found`; both int (q, k)."""
    shares = [len(np.intersect1d(a, b)) / len(b) for a, b in zip(approximate, exact, strict=True)]
    return float(np.mean(shares))
