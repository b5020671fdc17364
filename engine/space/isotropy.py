"""How evenly an embedding space is used: singular values, effective rank, IsoScore, hubness.

Pure functions from arrays to numbers and small arrays. Knows no encoders, data sets or charts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_ROWS = 8192
"""Rows of float64 processed at once."""


def singular_values(vectors: np.ndarray) -> np.ndarray:
    """Singular values of the matrix of vectors as they are, neither centred nor normalised.

    By a QR decomposition of one block after another: exact, and memory does not grow with n.

    Args:
        vectors: (n, dim), finite, n >= 1.

    Returns:
        float64 (min(n, dim),), the largest first. SimCSE's figure E.1 divides by the largest.
    """
    rows = np.asarray(vectors)
    triangle: np.ndarray = np.empty((0, rows.shape[1]))
    for start in range(0, len(rows), _ROWS):
        block = rows[start : start + _ROWS].astype(np.float64)
        triangle = np.asarray(np.linalg.qr(np.concatenate([triangle, block]), mode="r"))
    return np.linalg.svd(triangle, compute_uv=False)


def effective_rank(singular: np.ndarray) -> float:
    """Effective number of dimensions: exp of the entropy of the singular values' shares.

    Roy, Vetterli 2007, definition 1. Between 1 (one direction) and their number (all equal).

    Args:
        singular: (m,), not negative.

    Returns:
        The rank; 0 when every value is 0.
    """
    total = float(np.sum(singular))
    if total == 0.0:
        return 0.0
    shares = np.asarray(singular, dtype=np.float64) / total
    shares = shares[shares > 0.0]
    return float(np.exp(-np.sum(shares * np.log(shares))))


def isoscore(vectors: np.ndarray) -> float:
    """Share of dimensions that the variance uses evenly (Rudman et al. 2022, algorithm 1).

    1 when the covariance is a multiple of the identity, 0 when all variance lies in one direction,
    about (k - 1) / (dim - 1) when k directions share it evenly. Centring does not change it.

    Args:
        vectors: (n, dim), finite, n >= 2, dim >= 2.

    Raises:
        ValueError: too few vectors or dimensions, or vectors that are all the same.
    """
    rows = np.asarray(vectors)
    n, dim = rows.shape
    if n < 2 or dim < 2:
        raise ValueError(f"IsoScore needs 2 vectors of 2 dimensions, got {n} of {dim}")
    mean = rows.mean(axis=0, dtype=np.float64)
    covariance = np.zeros((dim, dim))
    for start in range(0, n, _ROWS):
        centred = rows[start : start + _ROWS] - mean
        covariance += centred.T @ centred
    # The diagonal of the covariance after rotation to principal components: its eigenvalues.
    variances = np.clip(np.linalg.eigvalsh(covariance / (n - 1)), 0.0, None)
    length = float(np.linalg.norm(variances))
    if length == 0.0:
        raise ValueError("IsoScore is not defined: all vectors are the same")
    root = np.sqrt(dim)
    defect = np.linalg.norm(root * variances / length - 1.0) / np.sqrt(2.0 * (dim - root))
    used = (dim - defect**2 * (dim - root)) ** 2 / dim**2
    return float(np.clip((dim * used - 1.0) / (dim - 1.0), 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Hubness:
    """How often each vector is among the nearest of others (Radovanović et al. 2010).

    Attributes:
        counts: int64 (n,), the number of others whose k nearest include the vector.
        k: number of neighbours.
        skew: third standardised moment of the counts; 0 when all are neighbours equally often,
            above 1 when there are hubs.
        never: share of vectors that are nobody's neighbour.
    """

    counts: np.ndarray
    k: int
    skew: float
    never: float


def hubness(neighbours: np.ndarray) -> Hubness:
    """Count how often each vector is a neighbour.

    Args:
        neighbours: int (n, k), the nearest others of each, from `neighbours_of_each`.
    """
    n, k = neighbours.shape
    counts = np.bincount(neighbours.ravel(), minlength=n)
    gaps = counts - counts.mean()
    spread = float(np.sqrt(np.mean(gaps**2)))
    skew = float(np.mean(gaps**3) / spread**3) if spread > 0.0 else 0.0
    return Hubness(counts, k, skew, float(np.mean(counts == 0)))
