"""From a spec to a ranker; an encoder is one by its vectors. Other kinds are imported when used."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from theodolite.engine.encoders.base import Encoder, VectorCache
from theodolite.engine.encoders.sides import query_side, similarity_of
from theodolite.engine.encoders.steps import DatasetSource
from theodolite.engine.progress import Progress, ProgressCallback, nobody
from theodolite.engine.rankers.base import Among, Index, Ranked, Ranker, best, check_scores
from theodolite.engine.rankers.spec import DEPTH, RankerSpec, parse


def load(
    spec: str,
    *,
    cache: VectorCache | None = None,
    datasets: DatasetSource | None = None,
    device: str | None = None,
    send_texts: Collection[str] = (),
) -> Encoder | Ranker:
    """Make the encoder or the ranker that a spec describes; see `engine.encoders.load`."""
    from theodolite.engine import encoders

    parsed = parse(spec)
    if not isinstance(parsed, RankerSpec):
        return encoders.load(
            spec, cache=cache, datasets=datasets, device=device, send_texts=send_texts
        )
    cache = cache if cache is not None else encoders.MemoryCache()
    parts = [
        of(load(str(p), cache=cache, datasets=datasets, device=device, send_texts=send_texts))
        for p in parsed.parts
    ]
    return _build(parsed, parts, cache, device)


def of(model: Encoder | Ranker) -> Ranker:
    """A ranker as it is; an encoder as the ranker by its vectors."""
    return model if isinstance(model, Ranker) else ByVectors(model)


def rank(
    ranker: Encoder | Ranker,
    queries: Sequence[str],
    documents: Sequence[str],
    depth: int = 1000,
    among: Among = None,
    progress: Progress | None = None,
) -> list[Ranked]:
    """Return for each query its first documents, by a ranker or an encoder."""
    return of(ranker).index(documents, progress).search(queries, depth, among)


def _build(spec: RankerSpec, parts: list[Ranker], cache: VectorCache, device: str | None) -> Ranker:
    name = str(spec)
    if spec.how == "bm25":
        from theodolite.engine.rankers.words import Bm25

        return Bm25(name, spec.option("stemmer"), spec.option("stopwords") or "english")
    if spec.how == "fuse":
        from theodolite.engine.rankers.fusion import Fused

        return Fused(name, parts, spec.option("weight"))
    from theodolite.engine.rankers import models

    assert spec.model is not None  # noqa: S101 - all other kinds have one
    if spec.how == "rerank":
        scorer = models.Scorer(spec.model, device, cache)
        return models.Reranked(name, parts[0], scorer, int(spec.option("depth") or DEPTH))
    return models.Embedded(spec.how, name, spec.model, device, cache)


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
