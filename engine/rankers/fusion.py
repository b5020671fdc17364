"""Several rankers together: by the ranks they give, or by their scores.

Knows lists of positions and scores. As in mteb's hybrid search (`rrf`, `rsf`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress, ProgressCallback, nobody
from theodolite.engine.rankers.base import Among, Index, Ranked, Ranker, best
from theodolite.engine.rankers.spec import AUTO

RRF_K = 60
"""Cormack, Clarke and Büttcher 2009."""
WEIGHTS = tuple(i / 10 for i in range(11))
"""Weights of the first of two rankers among which `auto` chooses."""


class Fused(Ranker):
    """Several rankers together.

    Args:
        name: canonical spec.
        parts: the rankers.
        weight: of the first of two, `auto`, or None for reciprocal rank fusion.
    """

    def __init__(self, name: str, parts: Sequence[Ranker], weight: str | None = None) -> None:
        self.name, self.parts, self.weight = name, tuple(parts), weight
        self.fingerprint = fingerprint("fuse", weight, *(part.fingerprint for part in parts))

    def with_parts(self, parts: Sequence[Ranker]) -> Fused:
        """See `Ranker.with_parts`."""
        return Fused(self.name, parts, self.weight)

    def index(self, documents: Sequence[str], progress: Progress | None = None) -> FusedIndex:
        """See `Ranker.index`."""
        return FusedIndex(self, [part.index(documents, progress) for part in self.parts])


class FusedIndex(Index):
    """The indexes of the parts."""

    def __init__(self, ranker: Fused, parts: Sequence[Index]) -> None:
        self._ranker, self._parts = ranker, parts
        self.bytes = sum(part.bytes for part in parts)
        self.notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
        self.is_tuned = ranker.weight == AUTO

    def search(
        self,
        queries: Sequence[str],
        depth: int,
        among: Among = None,
        tick: ProgressCallback = nobody,
    ) -> list[Ranked]:
        """See `Index.search`; the parts are searched to 100 documents at least."""
        weight = self._ranker.weight
        if self.is_tuned:
            raise UserError(
                f"The weight of {self._ranker.name} is chosen on judged queries, which are not "
                "here.",
                "Evaluate it on a task, and write the weight that the result names.",
                code="missing",
            )
        lists = self.by_part(queries, max(depth, 100), among, tick)
        return fuse(lists, depth, None if weight is None else float(weight))

    def by_part(
        self, queries: Sequence[str], depth: int, among: Among, tick: ProgressCallback
    ) -> list[list[Ranked]]:
        """The rankings of each part."""
        rankings = []
        for i, part in enumerate(self._parts):
            rankings.append(part.search(queries, depth, among))
            tick((i + 1) / len(self._parts))
        return rankings


def fuse(
    lists: Sequence[Sequence[Ranked]], depth: int, weight: float | None = None
) -> list[Ranked]:
    """Fuse the rankings of each query.

    Args:
        lists: for each ranker the rankings of all queries.
        depth: most documents of a fused ranking.
        weight: of the first of two, whose scores are scaled to 0 … 1 within each query; None for
            the sum of 1 / (60 + rank).
    """
    weights = [weight, 1 - weight] if weight is not None else [1.0] * len(lists)
    value: Callable[[np.ndarray], np.ndarray] = _reciprocal if weight is None else _scale
    return [
        _sum(
            [(at, w * value(scores)) for (at, scores), w in zip(of_query, weights, strict=True)],
            depth,
        )
        for of_query in zip(*lists, strict=True)
    ]


def _reciprocal(scores: np.ndarray) -> np.ndarray:
    return 1.0 / (RRF_K + 1 + np.arange(len(scores)))


def _scale(scores: np.ndarray) -> np.ndarray:
    """Scores from 0, the last, to 1, the first; all 0.5 where they are equal."""
    if not len(scores) or scores[0] == scores[-1]:
        return np.full(len(scores), 0.5)
    scores = scores.astype(np.float64)
    return np.asarray((scores - scores[-1]) / (scores[0] - scores[-1]))


def _sum(parts: Sequence[Ranked], depth: int) -> Ranked:
    """Add the values that documents have in several lists."""
    positions = np.concatenate([at for at, _ in parts])
    distinct, place = np.unique(positions, return_inverse=True)
    return best(
        distinct, np.bincount(place, np.concatenate([v for _, v in parts]), len(distinct)), depth
    )
