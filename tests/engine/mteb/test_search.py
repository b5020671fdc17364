"""Our search as mteb's search protocol: the scores of mteb's own search, query by query."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("mteb")

from mteb.abstasks import AbsTaskRetrieval
from mteb.models import SearchProtocol

from tests.fakes.mteb_tasks import Plain, by_mteb, loaded, retrieval_data, task_class
from theodolite.engine.mteb.model import Model

DOCUMENTS, QUERIES = 1500, 25
DIM = 16


class Known:
    """An encoder whose vectors are drawn, those of some documents the same."""

    name, dim, fingerprint = "known", DIM, "f"

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        texts = [f"document {i}" for i in range(DOCUMENTS)] + [f"query {i}" for i in range(QUERIES)]
        self._of = {text: rng.normal(size=DIM).astype(np.float32) for text in texts}
        for i in range(0, 200, 2):  # ties: two documents of one vector
            self._of[f"document {i + 1}"] = self._of[f"document {i}"]

    def encode(self, sentences: list[str], progress: Any = None) -> np.ndarray:
        return np.array([self._of[text] for text in sentences])


class Searched(Model):
    """Ours, which counts how often it is asked to search."""

    searches = 0

    def _of_side(self, task: Any, side: str | None) -> Any:
        return self.encoder

    def search(self, queries: Any, **options: Any) -> Any:
        self.searches += 1
        return super().search(queries, **options)


def task(type_: str) -> Any:
    """A collection of which some documents are judged, in grades; of a reranking, candidates."""
    rng = np.random.default_rng(4)
    documents = {f"d{i}": f"document {n}" for n, i in enumerate(rng.permutation(DOCUMENTS))}
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
    ours, own = Searched(Known()), Plain(Known())  # type: ignore[arg-type]
    assert isinstance(ours, SearchProtocol) and not isinstance(own, SearchProtocol)
    found = [by_mteb(model, task(type_)) for model in (ours, own)]
    assert ours.searches == 1, "mteb asked our search"
    (mine,), (theirs,) = (one.scores["test"] for one in found)
    numbers = {name for name, value in theirs.items() if isinstance(value, float)}
    assert len(numbers) > 50 and numbers == {n for n, v in mine.items() if isinstance(v, float)}
    assert {n: mine[n] for n in numbers} == pytest.approx(
        {n: theirs[n] for n in numbers}, abs=1e-6, nan_ok=True
    )
    assert 0 < mine["ndcg_at_10"] < 1
