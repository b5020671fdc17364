"""An encoder as a ranker: the documents whose vectors are the most similar to the query's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theodolite.engine.encoders.base import Encoder
from theodolite.engine.encoders.sides import query_side, similarity_of
from theodolite.engine.progress import Progress, ProgressCallback, nobody
from theodolite.engine.rankers.base import Among, Index, Ranked, Ranker, best, check_scores


class ByVectors(Ranker):
    """Exact search over the vectors of an encoder."""

    def __init__(self, encoder: Encoder) -> None:
        self.name, self.fingerprint = encoder.name, encoder.fingerprint
        self.encoder, self.parts = encoder, (encoder,)

    def with_parts(self, parts: Sequence[Encoder]) -> ByVectors:
        """See `Ranker.with_parts`."""
        return ByVectors(*parts)

    def index(self, documents: Sequence[str], progress: Progress | None = None) -> VectorIndex:
        """See `Ranker.index`: encode the documents."""
        return VectorIndex(self.encoder, self.encoder.encode(documents, progress))


class VectorIndex(Index):
    """Documents by their vectors, float32 (n, dim)."""

    def __init__(self, encoder: Encoder, vectors: np.ndarray) -> None:
        self._encoder, self._vectors = encoder, vectors
        self.bytes = vectors.nbytes

    def search(
        self,
        queries: Sequence[str],
        depth: int,
        among: Among = None,
        tick: ProgressCallback = nobody,
    ) -> list[Ranked]:
        """See `Index.search`."""
        from theodolite.engine.search.ranked import most_similar

        targets = query_side(self._encoder).encode(queries)
        by = similarity_of(self._encoder)
        nearest = most_similar(targets, self._vectors, depth, among, tick, by)
        return [best(at, check_scores(scores, self._encoder.name), depth) for at, scores in nearest]
