"""Geometric embedding: a weight for every word, derived from the directions of its neighbours.

Yang, Zhu and Chen 2019, "Parameter-free Sentence Embedding via Orthogonal Basis". A word is
weighted by what it adds to its window (novelty, significance) and by how little that lies in the
principal directions of the corpus (uniqueness); those directions are then removed. Choices that the
paper leaves open follow the authors' code (ziyi-yang/GEM): windows are cut at the ends of the
sentence and significance is divided by their length.
"""

from collections.abc import Iterable

import numpy as np

WINDOW = 7
"""Words on either side (the paper's m)."""
KEPT = 45
"""Principal directions of the corpus (K)."""
REMOVED = 17
"""Number of these that are removed from a sentence (h)."""
POWER = 3
"""Exponent of the singular values in a sentence's coarse vector (t)."""
_NOTHING = 1e-9
"""Share of a vector below which a residual is rounding error."""


def coarse(x: np.ndarray) -> np.ndarray:
    """Sum of a sentence's singular directions, each times the cube of its value: (d,).

    A singular vector has no sign of its own, and the paper names none: each is turned towards the
    sum of the words' vectors.

    Args:
        x: float64 (n, d), the words' vectors.
    """
    _, values, directions = np.linalg.svd(x, full_matrices=False)
    sides = np.where(directions @ x.sum(axis=0) < 0, -1.0, 1.0)
    return np.asarray((sides * values**POWER) @ directions)


def principal(sentences: Iterable[np.ndarray], dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Principal directions of a corpus: left singular vectors of its coarse vectors, not centred.

    Args:
        sentences: matrices (n, dim) of words' vectors.
        dim: length of a vector.

    Returns:
        Directions (dim, k) and singular values (k,), in descending order, k at most `KEPT`.
    """
    gram = np.zeros((dim, dim))  # dim x dim instead of dim x sentences: any corpus fits
    for x in sentences:
        vector = coarse(x)
        gram += np.outer(vector, vector)
    squares, directions = np.linalg.eigh(gram)
    strengths = np.sqrt(np.maximum(squares[::-1], 0))[:KEPT]
    return directions[:, ::-1][:, :KEPT], strengths


def embed(
    x: np.ndarray, directions: np.ndarray, strengths: np.ndarray, window: int = WINDOW
) -> np.ndarray:
    """Embed a sentence.

    Args:
        x: float64 (n, d), the words' vectors.
        directions: (d, k) of `principal`.
        strengths: (k,).
        window: words on either side.

    Returns:
        float64 (d,).
    """
    relevance = strengths * np.linalg.norm(x @ directions, axis=0)  # to this sentence
    strongest = np.argsort(-relevance, kind="stable")[:REMOVED]
    removed = directions[:, strongest]
    vector = weights(x, removed, strengths[strongest], window) @ x
    return np.asarray(vector - removed @ (removed.T @ vector))


def weights(
    x: np.ndarray, removed: np.ndarray, strengths: np.ndarray, window: int = WINDOW
) -> np.ndarray:
    """Novelty + significance + uniqueness of every word: float64 (n,)."""
    # Within the sentence's own span all lengths and angles are the same, in fewer dimensions.
    span, coordinates = np.linalg.qr(x.T)
    x, removed = coordinates.T, span.T @ removed
    out = np.empty(len(x))
    for i, vector in enumerate(x):
        start, stop = max(i - window, 0), min(i + window + 1, len(x))
        residual = _residual(vector, np.delete(x[start:stop], i - start, axis=0))
        length, norm = float(np.linalg.norm(residual)), float(np.linalg.norm(vector))
        novelty, significance, overlap = 0.0, 0.0, 0.0
        if length > _NOTHING * norm:
            novelty = length / norm
            # The paper's |q' U S|: q is orthogonal to all columns but this word's, so that the
            # product with the window is this word's residual alone.
            significance = length / (stop - start)
            common = strengths * (residual / length @ removed)
            overlap = float(np.linalg.norm(common)) / removed.shape[1]
        out[i] = np.exp(novelty) + significance + np.exp(-overlap)
    return out


def _residual(vector: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The part of a vector orthogonal to others (m, d): the last step of Gram-Schmidt."""
    if not len(others):
        return vector
    _, values, basis = np.linalg.svd(others, full_matrices=False)
    basis = basis[values > _NOTHING * max(values[0], np.finfo(float).tiny)]
    for _ in range(2):  # twice is enough: the first pass leaves rounding errors
        vector = vector - basis.T @ (basis @ vector)
    return vector
