"""The first documents of each query, by each similarity that a model may name."""

from __future__ import annotations

import numpy as np
import pytest
from sentence_transformers.util import SimilarityFunction

from theodolite.engine.datasets.types import Retrieval
from theodolite.engine.progress import nobody
from theodolite.engine.search.ranked import first_of_each
from theodolite.engine.tasks import retrieval

SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_documents_are_ranked_by_the_similarity_of_the_model(similarity):
    """As sentence-transformers computes it, for vectors of any length."""
    rng = np.random.default_rng(0)
    queries, documents = (rng.normal(size=(n, 6)).astype(np.float32) for n in (5, 40))
    documents *= rng.uniform(0.1, 5, (40, 1)).astype(np.float32)
    expected = SimilarityFunction.to_similarity_fn(similarity)(queries, documents).numpy()
    scores, at = first_of_each(queries, documents, 7, similarity=similarity)
    order = np.argsort(-scores, axis=1)
    np.testing.assert_array_equal(
        np.take_along_axis(at, order, 1), np.argsort(-expected, axis=1)[:, :7]
    )
    np.testing.assert_allclose(scores, np.take_along_axis(expected, at, 1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [retrieval.TYPE, retrieval.RERANKING])
def test_a_long_document_wins_by_the_dot_product_alone(kind):
    """By hand: d2 is longer, d1 has the direction of the query, d3 is the nearest point."""
    documents = {"d1": "a", "d2": "b", "d3": "c"}
    vectors = np.array([[1, 0], [3, 0], [9, 9], [1, 0.5]], np.float32)
    first = {"cosine": "d1", "dot": "d2", "euclidean": "d3", "manhattan": "d3"}
    candidates = {"q": list(documents)} if kind is retrieval.RERANKING else None
    for given, best in first.items():
        for judged in documents:
            data = Retrieval(
                "mine",
                queries={"q": "query"},
                documents=documents,
                judgements={"test": {"q": {judged: 1}}},
                candidates=candidates,
            )
            measured = kind.measure(None, data, vectors, "mteb-v2", 0, nobody, similarity=given)
            (main,) = (score.score for score in measured.scores if score.main)
            assert (main == 100) == (judged == best)
