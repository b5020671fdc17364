"""BM25 on the shared sets: the scores of mteb's own baseline, by mteb's own code, to 1e-6."""

from typing import Any

import pytest
from datasets import Dataset
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.models.model_implementations.bm25 import BM25Search, bm25_s

from tests.fakes.mteb_oracle import scores
from theodolite.engine import evaluate, rankers
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.types import Retrieval


@pytest.mark.long
@pytest.mark.parametrize("name", ["cranfield", "npl", "xquad/en", "trecqa"])
def test_bm25_scores_as_mtebs_baseline(name: str) -> None:
    """With the stemmer and the stop words that mteb takes for English."""
    data = Catalog.of(None).load(name)
    assert isinstance(data, Retrieval)
    kind = "Reranking" if data.candidates else "Retrieval"
    main = "map_at_1000" if data.candidates else "ndcg_at_10"
    split: dict[str, Any] = {
        "queries": Dataset.from_list([{"id": k, "text": v} for k, v in data.queries.items()]),
        "corpus": Dataset.from_list(
            [{"id": k, "text": v, "title": ""} for k, v in data.documents.items()]
        ),
        "relevant_docs": {key: dict(of) for key, of in data.judgements["test"].items()},
        "top_ranked": data.candidates and {key: list(of) for key, of in data.candidates.items()},
    }
    model: Any = BM25Search()
    model.mteb_model_meta = bm25_s
    theirs = scores(AbsTaskRetrieval, kind, main, {"default": {"test": split}}, model)
    (ours,) = evaluate(rankers.load("bm25?stemmer=english&stopwords=english"), name)
    assert ours.error is None
    assert ours.main.metric == main
    # Deeper, mteb ranks documents that share no word with the query as well.
    for score in ours.scores:
        if not score.metric.endswith("_1000") or data.candidates:
            assert score.score / 100 == pytest.approx(theirs[score.metric], abs=1e-6), score.metric
