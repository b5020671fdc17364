"""UMAP in NumPy: nothing to compile, so the first map is as fast as any other.

The graph is that of McInnes, Healy, Melville 2018 and agrees with umap-learn's to rounding. The
layout follows the same gradient, but moves all points at once, with Adam, as uwot does in its batch
mode. Arithmetic on whole arrays takes a fraction of the time of umap-learn's compiled loop, and one
seed gives one plane for any number of cores.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from theodolite.engine.threads import usable_threads

BISECTION_STEPS = 40
MIN_BANDWIDTH = 1e-3
"""Least bandwidth, as a share of a point's mean distance: duplicates would leave it at 0."""
NEGATIVE_SAMPLES = 5
"""Negative samples for each edge."""
SHARED_SAMPLES = 32
"""Negative samples of an epoch, the same for all points: this saves gathering them, and moves
neighbours together instead of shaking them apart."""
ADAM_BETAS = (0.5, 0.9)
"""Adam's beta 1 and beta 2, as in uwot."""
_REPELLED = 1024
"""Points repelled at once: the table of distances stays in the processor's cache."""
_BLOCK = 4 * _REPELLED
"""Points moved by one thread at a time. The plane does not depend on the number of threads."""
GRADIENT_CLIP = np.float32(4)


def fuzzy_graph(ids: np.ndarray, distances: np.ndarray) -> Any:
    """Symmetric graph of membership strengths, from 0 to 1: SciPy CSR float32 (n, n).

    Each point's own bandwidth makes the memberships of its neighbours sum to log2(k + 1); the two
    directions of an edge are combined by the probabilistic sum.

    Args:
        ids: int (n, k), neighbours of each point, itself left out.
        distances: (n, k), their distances, at least 0.
    """
    from scipy import sparse

    n, k = ids.shape
    nearest = np.where(distances > 0, distances, np.inf).min(axis=1)
    nearest[np.isinf(nearest)] = 0
    beyond = np.maximum(distances - nearest[:, None], 0).astype(np.float32)
    low, high = np.zeros(n, np.float32), np.full(n, 16 * beyond.max() + 1e-3, np.float32)
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        wide = np.exp(-beyond / middle[:, None]).sum(axis=1) > np.log2(k + 1)
        high, low = np.where(wide, middle, high), np.where(wide, low, middle)
    means = np.where(nearest > 0, distances.mean(axis=1), distances.mean()) * k / (k + 1)
    scale = np.maximum(high, MIN_BANDWIDTH * means + np.finfo(np.float32).tiny)
    members = np.exp(-beyond / scale[:, None]).astype(np.float32)
    one_way = sparse.csr_matrix(
        (members.ravel(), ids.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n)
    )
    other_way = one_way.T.tocsr()
    return (one_way + other_way - one_way.multiply(other_way)).tocsr()


def curve(min_dist: float) -> tuple[np.float32, np.float32]:
    """Fit a and b so that 1 / (1 + a d^2b) is near 1 up to `min_dist` and decays beyond."""
    from scipy.optimize import curve_fit

    away = np.linspace(0, 3, 300)
    target = np.where(away < min_dist, 1.0, np.exp(min_dist - away))
    (a, b), _ = curve_fit(lambda d, a, b: 1 / (1 + a * d ** (2 * b)), away, target)
    return np.float32(a), np.float32(b)


def layout(
    graph: Any, start: np.ndarray, *, epochs: int, min_dist: float, seed: int | None
) -> Iterator[np.ndarray]:
    """Optimise the layout of a graph: yields float32 (n, 2) after each epoch.

    An edge is sampled in a share of the epochs proportional to its weight, the heaviest in each.

    Args:
        graph: from `fuzzy_graph`.
        start: (n, 2).
        epochs: number of them.
        min_dist: see `curve`.
        seed: of the negative samples; None is another one each time.
    """
    a, b = curve(min_dist)
    points = np.ascontiguousarray(start.T, np.float32)  # all x, then all y
    mean, square = np.zeros_like(points), np.zeros_like(points)
    random = np.random.default_rng(seed)
    blocks = _blocks(graph, epochs)
    with ThreadPoolExecutor(usable_threads()) as pool:
        every = pool.map if len(blocks) > 1 else map  # a single one need not wait for a thread
        for epoch in range(1, epochs + 1):
            samples = points[:, random.integers(0, len(start), SHARED_SAMPLES)]
            pull = partial(_gradient, points=points, samples=samples, epoch=epoch, a=a, b=b)
            gradient = np.concatenate(list(every(pull, blocks)), axis=1)
            mean += (1 - ADAM_BETAS[0]) * (gradient - mean)
            square += (1 - ADAM_BETAS[1]) * (gradient**2 - square)
            mean_bias, square_bias = (1 - share**epoch for share in ADAM_BETAS)
            rate = 1 - (epoch - 1) / epochs
            points += rate * (mean / mean_bias) / (np.sqrt(square / square_bias) + np.float32(1e-7))
            yield points.T


@dataclass(frozen=True, eq=False)
class _Block:
    """Some consecutive points with the edges that start at them.

    Attributes:
        points: their positions.
        heads: int (edges,), where each edge starts, counted from the first of these points.
        tails: int (edges,), where it ends, among all points.
        period: float32 (edges,), epochs from one sample of the edge to the next.
        due: float32 (edges,), epoch of its next sample; changes.
    """

    points: slice
    heads: np.ndarray
    tails: np.ndarray
    period: np.ndarray
    due: np.ndarray


def _blocks(graph: Any, epochs: int) -> list[_Block]:
    """Divide the points and their edges; edges too light for a single sample are left out."""
    edges, n = graph.tocoo(), graph.shape[0]
    with np.errstate(over="ignore"):  # an edge with almost no weight is never due
        period = (edges.data.max() / edges.data).astype(np.float32)
    used = period <= epochs
    heads, tails, period = edges.row[used], edges.col[used], period[used]
    blocks = []
    for first in range(0, n, _BLOCK):
        part = slice(*np.searchsorted(heads, (first, first + _BLOCK)))
        own = slice(first, min(first + _BLOCK, n))
        every = period[part]
        blocks.append(_Block(own, heads[part] - first, tails[part], every, every.copy()))
    return blocks


def _gradient(
    block: _Block,
    points: np.ndarray,
    samples: np.ndarray,
    epoch: int,
    a: np.float32,
    b: np.float32,
) -> np.ndarray:
    """The direction in which a block's points go in an epoch: float32 (2, its points)."""
    now = np.flatnonzero(block.due <= epoch)
    block.due[now] += block.period[now]
    heads, own = block.heads[now], points[:, block.points]
    gradient = _attraction(own, points, heads, block.tails[now], a, b)
    strength = np.bincount(heads, minlength=own.shape[1]) * (NEGATIVE_SAMPLES / SHARED_SAMPLES)
    gradient += strength * _repulsion(own, samples, a, b)
    return gradient


def _attraction(
    own: np.ndarray,
    points: np.ndarray,
    heads: np.ndarray,
    tails: np.ndarray,
    a: np.float32,
    b: np.float32,
) -> np.ndarray:
    """Attraction of the edges' heads: float32 (2, n). Doubled, as each edge exists both ways."""
    away = points[:, tails] - own[:, heads]
    squared = (away**2).sum(axis=0)
    power = squared**b
    pull = 4 * a * b * power / ((1 + a * power) * np.maximum(squared, np.float32(1e-12)))
    n = own.shape[1]
    sums = [np.bincount(heads, weights=pull * along, minlength=n) for along in away]
    return np.array(sums, np.float32)


def _repulsion(own: np.ndarray, samples: np.ndarray, a: np.float32, b: np.float32) -> np.ndarray:
    """Repulsion of a block's points by some: float32 (2, n)."""
    force = np.empty_like(own)
    for first in range(0, own.shape[1], _REPELLED):
        block = slice(first, first + _REPELLED)
        away = own[:, block, None] - samples[:, None, :]
        squared = (away**2).sum(axis=0)
        push = 2 * b / ((np.float32(1e-3) + squared) * (1 + a * squared**b))
        away *= push
        force[:, block] = np.clip(away, -GRADIENT_CLIP, GRADIENT_CLIP, out=away).sum(axis=2)
    return force
