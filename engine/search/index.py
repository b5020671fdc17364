"""Nearest neighbours by cosine, by FAISS.

Knows vectors and positions, not sentences.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from theodolite.engine.threads import libraries, usable_threads

_QUERIES = 2048
"""Rows searched between two reports of progress."""
CODED_DIMS, _CANDIDATES = 192, 6
"""Principal components that choose candidates, and how many of these for each row wanted."""
_CODED_ON, _CODING_ROUNDS = 2048, 4
"""Rows on which the codes of candidates are fitted, and rounds of their k-means."""
_CHECKED, _CHECKED_NEAREST, _LEAST_FOUND = 200, 15, 0.9
"""Rows whose approximate neighbours are compared with the exact ones, how many of these, and the
share of them that codes must find to be used."""


class Index:
    """A collection of vectors to search by cosine.

    Args:
        vectors: (n, dim). A zero row has cosine 0 with everything; a row with NaN is never found.

    Attributes:
        size: n.
        dim: length of a vector.
    """

    def __init__(self, vectors: np.ndarray) -> None:
        self.size, self.dim = 0, unit_rows(vectors[:0]).shape[1]
        self._positions: np.ndarray | None = None  # of the searchable rows; None for 0, 1, 2 ...
        self._searchable = 0
        self._flat: Any = faiss().IndexFlatIP(self.dim)
        self.add(vectors)

    def add(self, vectors: np.ndarray, positions: np.ndarray | None = None) -> None:
        """Add rows.

        Args:
            vectors: (n, dim).
            positions: int64 (n,), their positions in results; None to continue after the last.
        """
        rows = unit_rows(vectors)
        follow = np.arange(self.size, self.size + len(rows))
        places = follow if positions is None else np.asarray(positions, np.int64)
        sound = np.isfinite(rows).all(axis=1)
        if not sound.all():
            rows = rows[sound]
        if self._positions is None and not (sound.all() and np.array_equal(places, follow)):
            self._positions = np.arange(self._searchable)
        if self._positions is not None:
            self._positions = np.concatenate([self._positions, places[sound]])
        self._flat.add(rows)
        self.size += len(vectors)
        self._searchable += len(rows)

    def search(
        self, queries: np.ndarray, k: int, among: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest rows of each query, nearest first, ties by position.

        Args:
            queries: (q, dim), finite.
            k: number of rows; all if there are fewer.
            among: positions to choose from, distinct; None for all.

        Returns:
            scores: float32 (q, min(k, n)), cosines.
            ids: int64 (q, min(k, n)), positions in the collection.

        Raises:
            ValueError: k below 1, another dimension, or a query that is not finite.
        """
        queries = check_queries(queries, k, self.dim)
        rows = None if among is None else self._rows_at(among)
        k = min(k, self._searchable if rows is None else len(rows))
        if k == 0 or len(queries) == 0:
            return np.zeros((len(queries), k), np.float32), np.zeros((len(queries), k), np.int64)
        selector = None if rows is None else faiss().IDSelectorBatch(rows)
        scores, ids = self._flat.search(queries, k, params=faiss().SearchParameters(sel=selector))
        ids = ids if self._positions is None else self._positions[ids]
        order = np.lexsort((ids, -scores))  # along each row: by score, then by position
        scores = np.clip(np.take_along_axis(scores, order, axis=1), -1.0, 1.0)
        return scores, np.take_along_axis(ids, order, axis=1)

    def _rows_at(self, positions: np.ndarray) -> np.ndarray:
        """Rows at these positions; those with NaN are left out."""
        if self._positions is None:
            return np.asarray(positions, np.int64)
        return np.flatnonzero(np.isin(self._positions, positions))


class CodedIndex:
    """An index for the approximate neighbours of each of many unit rows, fast to build and search.

    Codes of four bits for every two of the first 192 principal components select six times as many
    candidates as requested, which are re-ranked by all dimensions. Of the 14 nearest of 20,000
    sentences it finds 98 % with minilm and 97 % with wordllama, where NN-descent, as umap-learn
    uses it, finds 94 % and 88 % (`benchmarks.projection`).

    Args:
        rows: (n, dim), of length 1; n at least 1,000, dim at least `CODED_DIMS`.

    Source: André, Kermarrec, Le Scouarnec 2015 (the scan of codes), in FAISS's implementation.
    """

    def __init__(self, rows: np.ndarray) -> None:
        library = faiss()
        # The components rotated at random, so that all codes have the same share of the variance.
        how = f"PCAR{CODED_DIMS},PQ{CODED_DIMS // 2}x4fs,RFlat"
        self._index = library.index_factory(rows.shape[1], how, library.METRIC_L2)
        codes = library.downcast_index(library.downcast_index(self._index.base_index).index)
        codes.pq.cp.niter, codes.pq.cp.max_points_per_centroid = _CODING_ROUNDS, _CODED_ON
        self._index.train(rows[:: -(-len(rows) // _CODED_ON)])
        self._index.add(rows)
        self._index.k_factor = _CANDIDATES

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return cosines float32 and ids int64, both (q, k), of unit queries, nearest first."""
        squared, ids = self._index.search(queries, k)
        return 1 - squared / 2, ids


def approximate_index(rows: np.ndarray) -> CodedIndex | Index:
    """Return an index for the approximate neighbours of each of many unit rows.

    It is a `CodedIndex`, or an exact one where there are few dimensions, or rows that codes cannot
    tell apart: of a sample's nearest rows fewer than nine tenths are found.
    """
    if rows.shape[1] < CODED_DIMS:
        return Index(rows)
    coded, exact = CodedIndex(rows), Index(rows)
    sample = rows[:: -(-len(rows) // _CHECKED)]
    _, some = coded.search(sample, _CHECKED_NEAREST)
    _, nearest = exact.search(sample, _CHECKED_NEAREST)
    recall = np.mean([np.isin(*pair).mean() for pair in zip(some, nearest, strict=True)])
    return coded if recall >= _LEAST_FOUND else exact


def neighbours_of_each(
    vectors: np.ndarray,
    k: int,
    index: Any = None,
    progress: Callable[[int, int], None] | None = None,
    rows: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k nearest other rows of every row, or of some: itself is left out by position.

    Another row with the same vector counts as a neighbour.

    Args:
        vectors: (n, dim), finite, n > k.
        k: number of neighbours.
        index: an index of the same rows; by default an exact one is built.
        progress: called with (rows done, rows); may raise to stop the work.
        rows: int64 (n,), positions of those whose neighbours are wanted; None for all.

    Returns:
        scores: float32 (n, k), ids: int64 (n, k).
    """
    if len(vectors) <= k:
        raise ValueError(f"{k} neighbours of each need more than {k} vectors, got {len(vectors)}")
    index = Index(vectors) if index is None else index
    rows = np.arange(len(vectors)) if rows is None else rows
    n = len(rows)
    scores, ids = np.empty((n, k), np.float32), np.empty((n, k), np.int64)
    blocks = [slice(start, min(n, start + _QUERIES)) for start in range(0, n, _QUERIES)]
    # Blocks in parallel, one thread each: with the threads of BLAS two cores took as long as one.
    alone = partial(libraries().limit, limits=1, user_api="openmp")  # in that thread only
    with ThreadPoolExecutor(usable_threads(), initializer=alone) as pool:
        nearest = pool.map(lambda block: index.search(vectors[rows[block]], k + 1), blocks)
        for block, (some, positions) in zip(blocks, nearest, strict=True):
            mask = others(positions, rows[block])
            shape = len(some), k  # also for none
            scores[block], ids[block] = some[mask].reshape(shape), positions[mask].reshape(shape)
            if progress is not None:
                progress(block.stop, n)
    return scores, ids


def others(neighbours: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Mark all but the row itself among the nearest of each row.

    Args:
        neighbours: int64 (n, k + 1), positions, nearest first.
        rows: int64 (n,), positions of the rows.

    Returns:
        bool (n, k + 1), k of each row.
    """
    mask = neighbours != rows[:, None]
    mask[mask.all(axis=1), -1] = False  # duplicates pushed the row itself out: drop the last
    return mask


def check_queries(queries: np.ndarray, k: int, dim: int) -> np.ndarray:
    """Validate queries and return them as unit rows, float32.

    Raises:
        ValueError: k below 1, another dimension, or a query that is not finite.
    """
    rows = unit_rows(queries)
    if k < 1 or rows.shape[1] != dim:
        raise ValueError(
            f"expected k >= 1 and queries of {dim} dimensions, got k = {k} and {rows.shape[1]}"
        )
    if not np.isfinite(rows).all():
        raise ValueError("a query vector holds NaN or infinity")
    return rows


def unit_rows(vectors: np.ndarray, dtype: type[np.floating[Any]] = np.float32) -> np.ndarray:
    """Normalise rows to length 1, contiguous; a zero row stays zero."""
    rows = np.asarray(vectors, dtype)
    if rows.ndim != 2:
        raise ValueError(f"expected vectors of shape (n, dim), got {rows.shape}")
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(norms == 0.0, 1.0, norms), dtype)


def faiss() -> Any:
    """FAISS, which is slow to import, and whose types lack what is used of it here."""
    import faiss

    return faiss
