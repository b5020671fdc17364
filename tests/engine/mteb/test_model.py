"""An encoder of ours is a model that mteb takes: by its protocol, its own checks and its scores."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import mteb
import numpy as np
import pytest
from mteb.abstasks import AbsTaskRetrieval
from mteb.models import SearchProtocol

import theodolite as th
from tests.errors import refused
from tests.fakes.encoders import HashEncoder
from tests.fakes.mteb_tasks import (
    PAIRS,
    Plain,
    by_mteb,
    loaded,
    retrieval_data,
    similarity_task,
    task_class,
)
from theodolite.engine.encoders import load
from theodolite.engine.mteb import package
from theodolite.engine.mteb.model import Model


def test_mteb_takes_our_encoder_as_a_model() -> None:
    """`mteb.evaluate` accepts it, and gives what the cosines of its vectors give."""
    from scipy.stats import spearmanr

    left, right, gold = zip(*PAIRS, strict=True)
    a, b = (load("wordllama").encode(list(side)).astype(float) for side in (left, right))
    cosines = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    score = by_mteb(th.mteb("wordllama"), similarity_task()).get_score()
    assert score == pytest.approx(spearmanr(gold, cosines).statistic, abs=1e-6)


def test_its_own_cache_of_results_answers_only_the_same_encoder(tmp_path: Path) -> None:
    """Run twice, mteb measures once; another encoder is measured anew."""
    cache = mteb.ResultCache(tmp_path)
    for spec, encoded in (("random:16", True), ("random:16", False), ("random:32", True)):
        seen: list[int] = []
        by_mteb(Model(load(spec), seen.append), similarity_task(), cache)
        assert bool(seen) == encoded


def test_progress_adds_up_over_calls_and_may_stop_it() -> None:
    """Each call of mteb's goes on counting, and what the listener raises comes out."""
    seen: list[int] = []
    by_mteb(Model(load("random:16"), seen.append), similarity_task())
    assert seen == sorted(seen) and seen[-1] == 2 * len(PAIRS)
    with pytest.raises(KeyboardInterrupt):
        by_mteb(Model(load("random:16"), Mock(side_effect=KeyboardInterrupt)), similarity_task())


def test_single_vectors_have_a_similarity_too() -> None:
    """Summarization asks for one of two vectors of one dimension."""
    one, other = np.arange(8.0), np.ones(8)
    expected = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert float(th.mteb("random:8").similarity(one, other)) == pytest.approx(expected, abs=1e-6)


def test_without_mteb_a_person_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """So they are where another line of versions is installed, or one that lacks what is asked."""
    for version, named in ((None, "theodolite[mteb]"), ("9.0.1", "mteb 9.0.1")):
        monkeypatch.setattr(package, "version", lambda version=version: version)
        with refused("unsupported", named, "pip install"):
            th.mteb("random:8")
    monkeypatch.setattr(package, "version", lambda: "2.99.0")
    with refused("unsupported", "2.99.0", "abstasks.AbsTaskTelepathy"):
        package.lazy_import("abstasks.AbsTaskTelepathy")
    assert "2.99.0" in package.caution()[0]


# --- search ---

DOCUMENTS, QUERIES = 1500, 25


def collection(type_: str) -> Any:
    """A collection of which some documents are judged, in grades; of a reranking, candidates."""
    rng = np.random.default_rng(4)
    # Ties: two documents of one text, and so of one vector.
    texts = [f"document {n // 2 if n < 200 else n}" for n in range(DOCUMENTS)]
    documents = {f"d{i}": text for text, i in zip(texts, rng.permutation(DOCUMENTS), strict=True)}
    names, queries = list(documents), {f"q{i}": f"query {i}" for i in range(QUERIES)}
    judged = {
        key: {names[j]: int(rng.integers(0, 3)) for j in rng.integers(0, 400, 30)}
        for key in queries
    }
    top = {key: names[:120] for key in judged} if type_ == "Reranking" else None
    data = retrieval_data(documents, queries, judged, top)
    return loaded(task_class(AbsTaskRetrieval, type_, "ndcg_at_10", lambda: data))


@pytest.mark.parametrize("type_", ["Retrieval", "Reranking"])
def test_our_search_gives_the_scores_of_mtebs_own(type_: str) -> None:
    """Every metric at every depth to 1e-6: documents with equal vectors, more than are ranked."""
    ours, own = Model(HashEncoder()), Plain(HashEncoder())
    ours.search = Mock(wraps=ours.search)  # type: ignore[method-assign]
    assert isinstance(ours, SearchProtocol) and not isinstance(own, SearchProtocol)
    found = [by_mteb(model, collection(type_)) for model in (ours, own)]
    ours.search.assert_called_once()
    mine, theirs = (
        {name: value for name, value in one.scores["test"][0].items() if isinstance(value, float)}
        for one in found
    )
    assert len(mine) > 50 and mine == pytest.approx(theirs, abs=1e-6, nan_ok=True)
    assert 0 < mine["ndcg_at_10"] < 1
