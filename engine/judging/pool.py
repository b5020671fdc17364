"""What several encoders return for each query, as documents to judge.

Each encoder is measured by its discounted cumulative gain at k, as a share of the highest possible
(Järvelin and Kekäläinen 2002, with marks of 0 and 1), or by its precision at k. Both are sums over
documents, so the difference of two encoders is one, and a document that both have at the same rank
need not be judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np

from engine.judging.sampling import Units

Measure = Literal["dcg", "precision"]
Rankings = Mapping[str, Sequence[Sequence[int]]]
"""Encoder -> for each query, positions of documents, best first."""
_RANKS = (1, 2, 4, 8)
"""The best rank of a document, up to which of these, says what is expected of its mark."""


def gains(k: int, measure: Measure) -> np.ndarray:
    """What a relevant document adds at each rank, 1 in all: float64 (k,)."""
    at = np.ones(k) if measure == "precision" else 1.0 / np.log2(np.arange(k) + 2.0)
    return np.asarray(at / at.sum())


def pairs_of(rankings: Rankings) -> list[tuple[str, str]]:
    """Pairs of encoders in the order of the units' columns."""
    return list(combinations(rankings, 2))


def documents(rankings: Rankings, k: int, measure: Measure) -> tuple[list[tuple[int, int]], Units]:
    """Documents that tell encoders apart.

    Args:
        rankings: of at least two encoders, of the same queries.
        k: how many of each count.
        measure: how much each rank counts.

    Returns:
        (query, document) of each unit, by query, and the units.
    """
    at, share = gains(k, measure), {name: i for i, name in enumerate(rankings)}
    queries = len(next(iter(rankings.values())))
    keys: list[tuple[int, int]] = []
    gained: list[np.ndarray] = []
    ranks: list[tuple[int, int]] = []
    for query in range(queries):
        found: dict[int, np.ndarray] = {}
        best: dict[int, int] = {}
        for name, lists in rankings.items():
            for rank, document in enumerate(lists[query][:k]):
                found.setdefault(document, np.zeros(len(share)))[share[name]] = at[rank]
                best[document] = min(rank, best.get(document, rank))
        for document, values in found.items():
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
    """Queries for which two encoders' lists differ; a mark is 1 for the first, -1 for the second.

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
