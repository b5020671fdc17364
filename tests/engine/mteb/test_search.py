"""Our search as mteb's search protocol: the scores of mteb's own search, query by query."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("mteb")

import mteb
from datasets import Dataset
from mteb.abstasks import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models import SearchProtocol

from tests.engine.mteb.test_run import Plain
from theodolite.engine.mteb.model import Model

DOCUMENTS, QUERIES = 1500, 25
DIM = 16


class Known:
    """An encoder whose vectors are drawn, those of some documents the same."""

    name, dim, fingerprint = "known", DIM, "f"

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        self._of = {
            text: rng.normal(size=DIM).astype(np.float32)
            for text in [f"document {i}" for i in range(DOCUMENTS)]
            + [f"query {i}" for i in range(QUERIES)]
        }
        for i in range(0, 200, 2):  # ties: two documents of one vector
            self._of[f"document {i + 1}"] = self._of[f"document {i}"]

    def encode(self, sentences: list[str], progress: Any = None) -> np.ndarray:
        """The vectors."""
        return np.array([self._of[text] for text in sentences])


class Searched(Model):
    """Ours, which counts how often it is asked to search."""

    searches = 0

    def _of_side(self, task: Any, side: str | None) -> Any:
        return self.encoder

    def search(self, queries: Any, **options: Any) -> Any:
        """As ours."""
        self.searches += 1
        return super().search(queries, **options)


def task(type: str) -> Any:
    """A collection of which some documents are judged, in grades; of a reranking, candidates."""
    rng = np.random.default_rng(4)
    names = [f"d{i}" for i in rng.permutation(DOCUMENTS)]
    judged = {
        f"q{i}": {names[j]: int(rng.integers(0, 3)) for j in rng.integers(0, 400, 30)}
        for i in range(QUERIES)
    }

    class Drawn(AbsTaskRetrieval):
        metadata = TaskMetadata(
            name="Drawn",
            description="Drawn.",
            type=type,
            main_score="ndcg_at_10",
            eval_langs=["eng-Latn"],
            dataset={"path": "none/drawn", "revision": "1"},
            modalities=["text"],
            license="mit",
        )

        def load_data(self, num_proc: int | None = None, **_: Any) -> None:
            """Nothing to fetch."""
            self.dataset = {
                "default": {
                    "test": {
                        "corpus": Dataset.from_dict(
                            {
                                "id": names,
                                "text": [f"document {i}" for i in range(DOCUMENTS)],
                            }
                        ),
                        "queries": Dataset.from_dict(
                            {
                                "id": list(judged),
                                "text": [f"query {i}" for i in range(QUERIES)],
                            }
                        ),
                        "relevant_docs": judged,
                        "top_ranked": {key: names[:120] for key in judged}
                        if type == "Reranking"
                        else None,
                    }
                }
            }
            self.data_loaded = True

    return Drawn()


@pytest.mark.parametrize("type", ["Retrieval", "Reranking"])
def test_our_search_gives_the_scores_of_mtebs_own(type: str) -> None:
    """Every metric at every depth to 1e-6: documents with equal vectors, more than are ranked."""
    ours, own = Searched(Known()), Plain(Known())  # type: ignore[arg-type]
    assert isinstance(ours, SearchProtocol) and not isinstance(own, SearchProtocol)
    found = [
        mteb.evaluate(model, task(type), cache=None, show_progress_bar=False).task_results[0]
        for model in (ours, own)
    ]
    assert ours.searches == 1, "mteb asked our search"
    (mine,), (theirs,) = (one.scores["test"] for one in found)
    numbers = {name for name, value in theirs.items() if isinstance(value, float)}
    assert len(numbers) > 50 and numbers == {n for n, v in mine.items() if isinstance(v, float)}
    assert {n: mine[n] for n in numbers} == pytest.approx(
        {n: theirs[n] for n in numbers}, abs=1e-6, nan_ok=True
    )
    assert 0 < mine["ndcg_at_10"] < 1
