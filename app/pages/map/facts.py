"""The attributes of the points of a map: labels, length, density, trust, clusters, topics.

Turns a data set and arrays into columns, with the engine. Knows nothing of the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from theodolite.app.components.map import Facts, Region
from theodolite.engine.datasets.types import Dataset, LabelledSentences, ScoredPairs, Triplets
from theodolite.engine.progress import ProgressCallback

if TYPE_CHECKING:
    from theodolite.engine.space.trust import Trust

TRUSTED_WHOLE = 5000
"""Up to this size, trust is measured at every point; above it, at a fixed sample of 2,000."""
NEIGHBOURS = 15
_CELLS = 256


def quick_facts(dataset: Dataset, sentences: Sequence[str], points: np.ndarray) -> Facts:
    """The facts that are fast to compute: labels of the data set, length, density."""
    facts = Facts()
    for key, name, values in labels(dataset):
        of: dict[str, str] = {}
        for sentence, value in zip(dataset.sentences, values, strict=True):
            of.setdefault(sentence, value)
        first: dict[str, int] = {}
        numbers = np.array([first.setdefault(of[s], len(first)) for s in sentences])
        if len(first) > 1 or key == "label":
            facts.label(key, name, list(first), numbers)
    facts.number("length", "Length in characters", np.array([len(s) for s in sentences], float))
    facts.number("density", "Density on the map", density(points))
    return facts


def labels(dataset: Dataset) -> list[tuple[str, str, list[str]]]:
    """(key, name, label of each of its sentences) for each kind of label in a data set.

    The point of a sentence that occurs twice has its first label.
    """
    if isinstance(dataset, LabelledSentences):
        columns = [("label", "Label", dataset.labels)]
        if dataset.splits:
            columns.append(("split", "Split", dataset.splits))
        return [(key, name, list(map(str, values))) for key, name, values in columns]
    if isinstance(dataset, ScoredPairs):
        names = [name for name, part in dataset.parts.items() for _ in range(2 * len(part.left))]
        return [("part", "Part", names)]
    if isinstance(dataset, Triplets):
        n = len(dataset.anchors)
        roles = ["anchor"] * n + ["positive"] * n + ["negative"] * (len(dataset.sentences) - 2 * n)
        return [("role", "Role", roles)]
    return []


def density(points: np.ndarray) -> np.ndarray:
    """Density at each point: log10 of the smoothed count per cell, on a 256 x 256 grid.

    Args:
        points: (n, 2).

    Returns:
        float32 (n,).
    """
    from scipy.ndimage import gaussian_filter

    low = points.min(axis=0)
    side = float((points.max(axis=0) - low).max()) or 1.0
    cells = np.minimum(((points - low) / side * _CELLS).astype(int), _CELLS - 1)
    table = np.zeros((_CELLS, _CELLS))
    np.add.at(table, (cells[:, 0], cells[:, 1]), 1)
    smooth = gaussian_filter(table, 2.5, mode="constant")
    return np.log10(np.maximum(smooth[cells[:, 0], cells[:, 1]], 1e-6)).astype(np.float32)


def measure(
    facts: Facts,
    vectors: np.ndarray,
    sentences: Sequence[str],
    points: np.ndarray,
    distinct: tuple[np.ndarray, np.ndarray],
    tick: ProgressCallback,
) -> dict[str, float | int]:
    """Add clusters of the full space, named topics of the plane, and trust.

    Trust is measured on the vectors that were projected, see `engine.space.projection.distinct`:
    among equal ones, which are the nearest is arbitrary.

    Returns:
        The means of the trust measures, `k` and `looked_at` (points measured); empty for too few
        points.
    """
    with ThreadPoolExecutor(1) as pool:  # words are counted by one core, distances by all
        named = pool.submit(_add_groups, facts, vectors, sentences, points)
        kept, which = distinct
        some = len(kept) < len(vectors)
        found = _trust(vectors[kept] if some else vectors, points[kept], tick)
        named.result()
    return _add_trust(facts, found, which)


def _add_groups(
    facts: Facts, vectors: np.ndarray, sentences: Sequence[str], points: np.ndarray
) -> None:
    """Add clusters of the full space and named topics of the plane."""
    from theodolite.engine.space.topics import RegionWords, distinct, groups, regions

    n = len(points)
    if not np.ptp(points, axis=0).any():
        return
    words = RegionWords(sentences)
    k = int(np.clip(round(np.sqrt(n / 2)), 2, 30))
    if n > 2 * k:
        clusters = groups(vectors, k)
        count = int(clusters.max()) + 1
        names = distinct(words.names(clusters, count, words.everywhere(clusters, count)))
        facts.label("cluster", "Cluster, k-means of the vectors", names, clusters)
    if n < 10:
        return
    for depth, level in enumerate(regions(points, words)):
        facts.regions += [
            Region(float(x), float(y), name, depth, int(size))
            for (x, y), name, size in zip(level.centres, level.names, level.sizes, strict=True)
        ]
        if len(level.names) > 1:
            name = f"Topic, {len(level.names)} regions of the map"
            facts.label(f"topic{depth}", name, level.names, level.of)


def _trust(vectors: np.ndarray, points: np.ndarray, tick: ProgressCallback) -> Trust | None:
    """Trust at every point, or at a sample of many; None for too few points."""
    from theodolite.engine.space.trust import trust

    n = len(points)
    k = min(NEIGHBOURS, (n - 1) // 2)
    if k < 1:
        return None
    return trust(vectors, points, k, sample=n if n <= TRUSTED_WHOLE else 2000, tick=tick)


def _add_trust(facts: Facts, found: Trust | None, which: np.ndarray) -> dict[str, float | int]:
    """Add trustworthiness, continuity and neighbour recall; see `measured`."""
    if found is None:
        return {}
    means: dict[str, float | int] = {"k": found.k, "looked_at": len(found.looked_at)}
    for key, name, values in (
        ("trustworthiness", "Trustworthiness", found.trustworthiness),
        ("continuity", "Continuity", found.continuity),
        ("recall", f"Share of its {found.k} nearest kept", found.recall),
    ):
        column = np.full(int(which.max()) + 1, np.nan)
        column[found.looked_at] = values
        facts.number(key, name, column[which])
        means[key] = float(values.mean())
    return means
