"""Pools the documents that several encoders retrieve for each query, to be judged.

Each encoder is scored by its discounted cumulative gain at k, as a share of the highest possible
(Järvelin and Kekäläinen 2002, with marks of 0 and 1), or by its precision at k. Both are sums over
documents, so the difference of two encoders is a sum too, and a document that both have at the same
rank need not be judged.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np

from theodolite.engine.judging.sampling import Units

Measure = Literal["dcg", "precision"]
Rankings = Mapping[str, Sequence[Sequence[int]]]
"""Encoder -> for each query, positions of documents, best first."""
_RANKS = (1, 2, 4, 8)
"""Bins of a document's best rank, by which its mark is predicted."""


def gains(k: int, measure: Measure) -> np.ndarray:
    """Return the gain of a relevant document at each rank, with sum 1: float64 (k,)."""
    at = np.ones(k) if measure == "precision" else 1.0 / np.log2(np.arange(k) + 2.0)
    return np.asarray(at / at.sum())


def pairs_of(rankings: Rankings) -> list[tuple[str, str]]:
    """Return the pairs of encoders in the order of the units' columns."""
    return list(combinations(rankings, 2))


def documents(rankings: Rankings, k: int, measure: Measure) -> tuple[list[tuple[int, int]], Units]:
    """Return the documents on which the scores of encoders may differ.

    Args:
        rankings: of at least two encoders, for the same queries.
        k: number of top documents scored.
        measure: metric that gives the weight of each rank.

    Returns:
        (query, document) of each unit, by query, and the units.
    """
    at, share = gains(k, measure), {name: i for i, name in enumerate(rankings)}
    queries = len(next(iter(rankings.values())))
    keys: list[tuple[int, int]] = []
    gained: list[np.ndarray] = []
    ranks: list[tuple[int, int]] = []
    for query in range(queries):
        by_document: dict[int, np.ndarray] = {}
        best: dict[int, int] = {}
        for name, lists in rankings.items():
            for rank, document in enumerate(lists[query][:k]):
                by_document.setdefault(document, np.zeros(len(share)))[share[name]] = at[rank]
                best[document] = min(rank, best.get(document, rank))
        for document, values in by_document.items():
            if np.ptp(values) > 0.0:
                keys.append((query, document))
                gained.append(values)
                ranks.append((best[document], int((values > 0.0).sum())))
    table = np.array(gained).reshape(-1, len(share)) / max(queries, 1)
    weights = [table[:, a] - table[:, b] for a, b in combinations(range(len(share)), 2)]
    firsts, shared = np.array(ranks, np.int64).reshape(-1, 2).T
    cells = 2 * np.searchsorted(_RANKS, firsts + 1) + (shared > 1)
    return keys, Units(np.stack(weights, axis=1), cells)


def preferences(rankings: Rankings, k: int) -> tuple[list[tuple[int, int]], Units]:
    """Return the queries for which two encoders' rankings differ; marks are 1 (first) or -1.

    Returns:
        (query, pair) of each unit, by query, and the units.
    """
    pairs = pairs_of(rankings)
    queries = len(next(iter(rankings.values())))
    keys = [
        (query, at)
        for query in range(queries)
        for at, (a, b) in enumerate(pairs)
        if list(rankings[a][query][:k]) != list(rankings[b][query][:k])
    ]
    cells = np.array([at for _, at in keys], np.int64)
    return keys, Units(np.eye(len(pairs))[cells] / max(queries, 1), cells, low=-1.0)
