"""BM25 and fusion against mteb's own, in a file alone: importing mteb takes seconds."""

import numpy as np
import pytest
from mteb.abstasks import AbsTaskRetrieval
from mteb.models.hybrid_wrappers import fuse_relative_score_fusion, fuse_rrf
from mteb.models.model_implementations.bm25 import BM25Search, bm25_s

from tests.fakes import mteb_tasks
from theodolite.engine import evaluate, rankers
from theodolite.engine.datasets import Catalog
from theodolite.engine.rankers.fusion import fuse


@pytest.mark.parametrize("weight", [None, 0.3])
def test_fusion_is_mtebs(weight: float | None, rng: np.random.Generator) -> None:
    """Reciprocal ranks, and scores scaled to 0 … 1, of lists that overlap in part."""
    weights = [1.0, 1.0] if weight is None else [weight, 1 - weight]
    each: list[list[rankers.Ranked]] = [
        [
            (rng.permutation(60)[:n], np.sort(rng.normal(size=n).astype(np.float32))[::-1])
            for n in (0, 1, 40)
        ]
        for _ in range(2)
    ]
    for (at, scores), *both in zip(fuse(each, 100, weight), *each, strict=True):
        named: list[dict[str, float]] = [
            {str(i): float(s) for i, s in zip(*one, strict=True)} for one in both
        ]
        theirs = (fuse_rrf if weight is None else fuse_relative_score_fusion)(named, weights)
        assert {str(i): s for i, s in zip(at, scores, strict=True)} == pytest.approx(theirs)
        assert (np.diff(scores) <= 0).all()


@pytest.mark.long
@pytest.mark.parametrize("name", ["cranfield", "npl", "xquad/en", "trecqa"])
def test_bm25_scores_as_mtebs_baseline(name: str) -> None:
    """With the stemmer and the stop words that mteb takes for English."""
    data = Catalog.of(None).load(name)
    reranking, search = ("Reranking", "map_at_1000"), ("Retrieval", "ndcg_at_10")
    kind, main = reranking if data.candidates else search
    model = BM25Search()
    model.mteb_model_meta = bm25_s
    theirs = mteb_tasks.scores(AbsTaskRetrieval, kind, main, mteb_tasks.retrieval_of(data), model)
    (ours,) = evaluate(rankers.load("bm25?stemmer=english&stopwords=english"), name)
    assert (ours.error, ours.main.metric) == (None, main)
    # Deeper, mteb ranks documents that share no word with the query as well.
    for score in ours.scores:
        if not score.metric.endswith("_1000") or data.candidates:
            assert score.score / 100 == pytest.approx(theirs[score.metric], abs=1e-6), score.metric
