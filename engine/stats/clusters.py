"""Clusters of examples that are not independent. Knows texts; neither tasks nor data sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MIN_CLUSTERS = 30
"""Clusters, counted as if they were of equal size, below which chains of shared texts are cut."""


def are_clusters(codes: np.ndarray, n: int) -> bool:
    """Whether an array, perhaps from elsewhere, numbers the clusters of n examples."""
    right = n > 0 and codes.shape in ((n,), (n, 2)) and codes.dtype.kind in "iu"
    return bool(right and 0 <= codes.min() and codes.max() < codes.size)


def effective(clusters: np.ndarray) -> float:
    """How many clusters of equal size are as good: n squared over the sum of squared sizes.

    Args:
        clusters: int (n,), or (n, 2) as of `sharing`, whose smaller number counts.
    """
    sides = clusters.reshape(len(clusters), -1).T
    sizes = (np.bincount(side).astype(np.float64) for side in sides)
    return min(float(len(clusters) ** 2 / (size**2).sum()) for size in sizes)


def sharing(rows: Sequence[tuple[str, ...]]) -> np.ndarray:
    """Group examples that share a text, directly or through others.

    Such chains can join nearly all pairs of texts. If they leave few clusters where the texts would
    be many, the two texts of each pair are returned instead.

    Args:
        rows: the texts of each example; an empty one is shared with none.

    Returns:
        int (n,), the cluster of each example, from 0; or (n, 2), the number of each of its texts.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, places = len(rows), dict[str, int]()
    edges = [
        (row, places.setdefault(text, len(places) + n))
        for row, texts in enumerate(rows)
        for text in texts
        if text
    ]
    ends = np.array(edges, np.int64).reshape(-1, 2).T
    size = n + len(places)
    graph = coo_array((np.ones(ends.shape[1], bool), (ends[0], ends[1])), (size, size))
    _, found = connected_components(graph, directed=False)
    whole = np.unique(found[:n], return_inverse=True)[1]
    if effective(whole) < MIN_CLUSTERS and all(len(texts) == 2 for texts in rows):
        texts = codes_of([text for side in zip(*rows, strict=True) for text in side])
        pairs = texts.reshape(2, n).T
        if effective(whole) < effective(pairs) / 2.0:
            return pairs
    return whole


def codes_of(names: Sequence[str]) -> np.ndarray:
    """The cluster of each example from its name, from 0; without one it is a cluster of its own."""
    places: dict[str | int, int] = {}
    own = (name or place for place, name in enumerate(names))
    return np.array([places.setdefault(name, len(places)) for name in own], np.int64)
