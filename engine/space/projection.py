"""Projections of an embedding space to two dimensions.

PCA, UMAP, umap-learn's UMAP, t-SNE and PaCMAP. Pure functions from arrays to arrays; knows neither
encoders nor sentences. All work on unit rows, so that distances agree with cosines.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from theodolite.engine.progress import ProgressCallback, nobody
from theodolite.engine.search.index import (
    Index,
    approximate_index,
    neighbours_of_each,
    unit_rows,
)

_PCA_SAMPLE = 20_000
_MANY, _EPOCHS, _EPOCHS_OF_MANY = 10_000, 300, 150
"""More epochs made no map of sentences more faithful; umap-learn takes 500 and 200."""
_FINDING = 0.4
"""Approximate share of UMAP's time that goes into finding neighbours."""
_WATCHED_EVERY = 0.15
"""Seconds between two calls of `watch`."""
_ROUNDING = 1e-5
"""Coordinates of unit vectors that differ by less are equal."""
TSNE_POINTS = 20_000
"""More would take t-SNE many minutes."""


@dataclass(frozen=True, eq=False)
class Plane:
    """Points projected to the plane.

    Attributes:
        points: float32 (n, 2), centred on 0.
        explained: share of the variance that the plane keeps; None where not defined.
    """

    points: np.ndarray
    explained: float | None = None


def distinct(vectors: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the rows to project where many are equal: among these, nearest neighbours are arbitrary.

    Args:
        vectors: (n, dim), finite.
        most: rows of one direction that may all be projected, such as the number of neighbours.

    Returns:
        int64 (m,), positions of the rows to project; int64 (n,), which of these each row equals.
        All rows where no direction has more than `most`, one where all agree up to rounding.
    """
    rows = unit_rows(vectors)
    n = len(rows)
    every = np.arange(n)
    if np.ptp(rows, axis=0).max() < _ROUNDING:
        return every[:1], np.zeros(n, np.int64)
    if most >= n:
        return every, every
    rows += np.float32(0)  # -0 is 0
    numbers: dict[int, int] = {}
    which = np.fromiter((numbers.setdefault(hash(r.tobytes()), len(numbers)) for r in rows), int, n)
    if np.bincount(which).max() <= most:
        return every, every
    return np.unique(which, return_index=True)[1], which


def pca(vectors: np.ndarray) -> Plane:
    """The first two principal components of unit rows, fitted on up to 20,000 of them.

    The sign of each axis makes its largest coefficient positive, so that two fits agree.

    Args:
        vectors: (n, dim), finite; n of at least 2.

    Raises:
        ValueError: fewer than two rows.
    """
    rows = unit_rows(vectors)
    if len(rows) < 2:
        raise ValueError(f"a plane needs two points, got {len(rows)}")
    fitted = rows[:: -(-len(rows) // _PCA_SAMPLE)]
    mean = fitted.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred = fitted - mean
    variances, axes = np.linalg.eigh((centred.T @ centred).astype(np.float64) / len(fitted))
    axes = axes[:, ::-1][:, :2]
    axes *= np.where(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])] < 0, -1.0, 1.0)
    points = np.zeros((len(rows), 2), np.float32)
    points[:, : axes.shape[1]] = rows @ axes.astype(np.float32) - mean @ axes
    whole = variances.sum()
    explained = float(variances[::-1][:2].sum() / whole) if whole > 0 else 1.0
    return Plane(points, explained)


def _rows(vectors: np.ndarray, method: str) -> np.ndarray:
    """Unit rows of at least four vectors."""
    if len(vectors) < 4:
        raise ValueError(f"{method} needs four points, got {len(vectors)}")
    return unit_rows(vectors)


def _centred(points: np.ndarray) -> Plane:
    return Plane((points - points.mean(axis=0)).astype(np.float32))


def umap(
    vectors: np.ndarray,
    *,
    neighbours: int = 15,
    min_dist: float = 0.1,
    seed: int | None = 0,
    initial: np.ndarray | None = None,
    tick: ProgressCallback = nobody,
    watch: Callable[[np.ndarray], None] | None = None,
) -> Plane:
    """UMAP of unit rows, its neighbours found by FAISS.

    Up to 10,000 points the neighbours are exact; with more, a few per cent of them are missed
    (`approximate_index`), fewer than by umap-learn.

    Args:
        vectors: (n, dim), finite.
        neighbours: of each point, itself included; fewer when there are not as many points.
        min_dist: how close points may lie in the plane.
        seed: the same seed gives the same plane on one machine; None is not reproducible.
        initial: (n, 2) to start from, such as another encoder's plane; None is the first two
            principal components.
        tick: called with the share done.
        watch: called with the points, float32 (n, 2), a few times a second while they move.

    Raises:
        ValueError: fewer than four rows.

    Source: McInnes, Healy, Melville 2018.
    """
    from theodolite.engine.space.umap import fuzzy_graph, layout

    rows, n = _rows(vectors, "UMAP"), len(vectors)
    start = pca(rows).points if initial is None else np.asarray(initial, np.float32)
    noise = np.random.default_rng(seed).normal(0, 1e-4, start.shape)
    start = 10 * start / (np.abs(start).max() or 1.0) + noise
    index = approximate_index(rows) if n > _MANY else None
    cosines, ids = neighbours_of_each(
        rows,
        min(neighbours, n - 1) - 1,
        index,
        lambda done, of: tick(_FINDING * done / of),
    )
    graph = fuzzy_graph(ids, np.clip(1 - cosines, 0, 2))
    epochs = _EPOCHS_OF_MANY if n > _MANY else _EPOCHS
    points, last = start, time.monotonic()
    for epoch, points in enumerate(
        layout(graph, start, epochs=epochs, min_dist=min_dist, seed=seed), 1
    ):
        tick(_FINDING + (1 - _FINDING) * epoch / epochs)
        if watch is not None and time.monotonic() - last >= _WATCHED_EVERY:
            watch(points - points.mean(axis=0))
            last = time.monotonic()
    return _centred(points)


def umap_learn(
    vectors: np.ndarray,
    *,
    neighbours: int = 15,
    min_dist: float = 0.1,
    seed: int | None = 0,
    tick: ProgressCallback = nobody,
) -> Plane:
    """UMAP of unit rows by umap-learn, the reference implementation.

    It compiles for some seconds when it is first used, and reports no progress. Its neighbours are
    found as for `umap`.

    Args:
        vectors: (n, dim), finite.
        neighbours: of each point, itself included; fewer when there are not as many points.
        min_dist: how close points may lie in the plane.
        seed: the same seed gives the same plane on one machine, on one core; None uses all cores.
        tick: called with the share done.

    Raises:
        ValueError: fewer than four rows.

    Source: McInnes, Healy, Melville 2018.
    """
    from umap import UMAP

    rows, n = _rows(vectors, "UMAP"), len(vectors)
    k = min(neighbours, n - 1)
    knn = _knn(rows, k, approximate_index(rows) if n > _MANY else None)
    tick(0.2)
    with _numba():
        model = UMAP(
            n_neighbors=k,
            min_dist=min_dist,
            metric="cosine",
            init="pca",
            random_state=seed,
            n_jobs=1 if seed is not None else -1,
            precomputed_knn=knn,
        )
        return _centred(np.asarray(model.fit_transform(rows), np.float32))


@contextmanager
def _numba() -> Iterator[None]:
    """Quiet, and with the number of OpenMP threads restored, which numba sets for the process.

    Torch's order of summation depends on it, so that a training after a projection would not end
    with the same weights as one before it.
    """
    # No limit is set, and the numbers that it found are restored.
    with threadpool_limits(None), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a seed means one core; `transform` is unavailable
        yield


def pacmap(
    vectors: np.ndarray,
    *,
    neighbours: int = 10,
    seed: int | None = 0,
    tick: ProgressCallback = nobody,
) -> Plane:
    """PaCMAP of unit rows: like UMAP for neighbourhoods, better at the global structure.

    Args:
        vectors: (n, dim), finite.
        neighbours: of each point; fewer when there are not as many points.
        seed: None is not reproducible.
        tick: called with the share done.

    Raises:
        ImportError: the package pacmap is not installed.
        ValueError: fewer than four rows.

    Source: Wang, Huang, Rudin, Shaposhnik 2021.
    """
    from pacmap import PaCMAP

    rows = _rows(vectors, "PaCMAP")
    tick(0.05)
    with _numba():
        model = PaCMAP(2, n_neighbors=min(neighbours, len(rows) - 2), random_state=seed)
        return _centred(np.asarray(model.fit_transform(rows, init="pca"), np.float32))


def tsne(
    vectors: np.ndarray,
    *,
    neighbours: int = 15,
    seed: int | None = 0,
    tick: ProgressCallback = nobody,
) -> Plane:
    """Barnes-Hut t-SNE of unit rows, its neighbours found exactly by FAISS.

    Scikit-learn's: it reports no progress, and its time grows with the number of points (see
    `TSNE_POINTS`). openTSNE would be faster above that, at the price of one more package.

    Args:
        vectors: (n, dim), finite.
        neighbours: the perplexity, their effective number; lower when there are not three times as
            many points.
        seed: the same seed gives the same plane on one machine, on one core; None uses all cores.
        tick: called with the share done.

    Raises:
        ValueError: fewer than four rows.

    Source: van der Maaten 2014; initialised with principal components as Kobak, Berens 2019 advise.
    """
    from scipy.sparse import csr_matrix
    from sklearn.manifold import TSNE

    rows, n = _rows(vectors, "t-SNE"), len(vectors)
    perplexity = max(1, min(neighbours, (n - 2) // 3))
    ids, cosines, _ = _knn(rows, min(n, 3 * perplexity + 2))
    distances = np.sqrt(2 * cosines)  # of unit rows
    starts = np.arange(0, ids.size + 1, ids.shape[1])
    graph = csr_matrix((distances.ravel(), ids.ravel(), starts), shape=(n, n))
    tick(0.05)
    start = pca(rows).points
    noise = np.random.default_rng(seed).normal(0, 1e-6, start.shape)
    model = TSNE(
        metric="precomputed",
        perplexity=perplexity,
        init=(1e-4 * start / (start[:, 0].std() or 1.0) + noise).astype(np.float32),
        random_state=seed,
    )
    with threadpool_limits(1 if seed is not None else None):
        return _centred(np.asarray(model.fit_transform(graph), np.float32))


def _knn(rows: np.ndarray, k: int, index: Any = None) -> tuple[np.ndarray, np.ndarray, Any]:
    """Neighbours in umap-learn's form: itself first, cosine distances; and no search index."""
    cosines, ids = neighbours_of_each(rows, k - 1, index)
    own = np.arange(len(rows))[:, None]
    distances = np.clip(1 - cosines, 0, 2)
    zeros = np.zeros((len(rows), 1), np.float32)
    return np.hstack([own, ids]), np.hstack([zeros, distances]).astype(np.float32), None


def place_vectors(
    vectors: np.ndarray, known: np.ndarray, points: np.ndarray, k: int = 8
) -> np.ndarray:
    """Place new vectors on an existing plane, at the weighted mean of their neighbours by cosine.

    Args:
        vectors: (m, dim) to be placed.
        known: (n, dim), those on the plane.
        points: (n, 2), the positions of these.
        k: number of neighbours.

    Returns:
        float32 (m, 2).
    """
    cosines, ids = Index(known).search(vectors, min(k, len(known)))
    weights = np.exp((cosines - cosines[:, :1]) / 0.05)  # a cosine lower by 0.05 weighs a third
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("mk,mkd->md", weights, points[ids]).astype(np.float32)


def procrustes(points: np.ndarray, onto: np.ndarray) -> np.ndarray:
    """Rotate, reflect, scale and shift a plane onto another of the same points: float32 (n, 2).

    Orthogonal Procrustes (Schönemann 1966) with one scale; least squares over all points.
    """
    a = points - points.mean(axis=0)
    b = onto - onto.mean(axis=0)
    left, strengths, right = np.linalg.svd(a.T.astype(np.float64) @ b)
    spread = float((a.astype(np.float64) ** 2).sum())
    scale = strengths.sum() / spread if spread > 0 else 1.0
    return (scale * (a @ (left @ right)) + onto.mean(axis=0)).astype(np.float32)
