"""Bad input of MTEB's types: by our code and by mteb's, the same answer or one clear sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.engine.datasets.test_retrieval import folder
from theodolite.engine import evaluate, load
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.types import Dataset, LabelledSentences, Retrieval
from theodolite.engine.results import Result

pytest.importorskip("mteb")

import datasets
import httpx
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
from mteb.abstasks import AbsTaskRetrieval, AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.get_tasks import _TASKS_REGISTRY as REGISTRY

TEXTS = {f"d{i}": text for i, text in enumerate(("tea is brewed", "coffee is ground", "", "tea"))}
REFUSED = httpx.Response(403, request=httpx.Request("GET", "https://huggingface.co"))
QUERIES = {"q1": "tea", "q2": "coffee", "q3": "nobody judged this", "q4": ""}


class Given(Catalog):
    """A catalog whose data sets are all the one given."""

    def __init__(self, root: Path | None, data: Dataset) -> None:
        super().__init__(root)
        self.data = data

    def load(self, name: str) -> Dataset:
        """It, whatever is asked for."""
        return self.data


def both(data: Dataset, root: Path | None, task: str = "drinks") -> tuple[Result, Result]:
    """By our code and by mteb's."""
    if root is not None:
        folder(root)
    encoder, catalog = load("wordllama"), Given(root, data)
    ours, theirs = (
        next(evaluate(encoder, [task], protocol=protocol, data=catalog))
        for protocol in ("mteb-v2", "mteb")
    )
    return ours, theirs


def same(one: Result, other: Result) -> float:
    """The one score of both."""
    assert one.error is None and other.error is None, (one.error, other.error)
    assert one.main.score == pytest.approx(other.main.score, abs=1e-4)
    return one.main.score


def test_judgements_of_a_retrieval(tmp_path: Path) -> None:
    """Queries without any are left out, unknown documents never found; empty texts are texts."""
    judged = {"q1": {"d0": 1, "d3": 2}, "q2": {"d1": 1, "nowhere": 1}, "q4": {"d2": 1}, "q3": {}}
    data = Retrieval("given", QUERIES, TEXTS, {"test": judged})
    ours, theirs = both(data, tmp_path)
    assert 0 < same(ours, theirs) < 100
    assert len(ours.examples["ndcg"]) == len(theirs.examples["ndcg"]) == 3


def test_documents_that_are_all_alike(tmp_path: Path) -> None:
    """Ties are broken in one way by both."""
    texts = {f"d{i}": "tea" for i in range(6)}
    data = Retrieval("given", QUERIES, texts, {"test": {"q1": {"d2": 1}, "q2": {"d5": 1}}})
    same(*both(data, tmp_path))


def test_candidates_given_twice(tmp_path: Path) -> None:
    """They are ranked once, by both."""
    judged = {"q1": {"d0": 1}, "q2": {"d1": 1}}
    some = {"q1": ("d0", "d1", "d1"), "q2": ("d1", "d2", "d3")}
    same(*both(Retrieval("given", QUERIES, TEXTS, {"test": judged}, some), tmp_path))


def test_nothing_is_judged(tmp_path: Path) -> None:
    """One sentence from both."""
    for result in both(Retrieval("given", QUERIES, TEXTS, {"test": {}}), tmp_path):
        assert result.error is not None
        assert "has no judgements" in result.error
        assert "Add a file of judgements" in result.hint


def one_task(kind: type, type_: str, main: str, languages: Any, data: Any) -> Any:
    """A task of mteb's whose data are these."""

    class Odd(kind):  # type: ignore[valid-type, misc]
        metadata = TaskMetadata(
            name="OddTask",
            description="Odd.",
            type=type_,
            main_score=main,
            eval_langs=languages,
            dataset={"path": "none/odd", "revision": "1"},
            modalities=["text"],
            license="mit",
        )

        def load_data(self, num_proc: int | None = None, **_: Any) -> None:
            """Nothing to fetch."""
            self.dataset, self.data_loaded = data, True

    return Odd


def pairs(n: int) -> Any:
    """Scored pairs, as mteb holds them."""
    rows = [
        {"sentence1": f"tea {i}", "sentence2": f"tea {i % 2}", "score": i % 3} for i in range(n)
    ]
    return (
        datasets.DatasetDict({"test": datasets.Dataset.from_list(rows)})
        if n
        else {"test": datasets.Dataset.from_dict({"sentence1": [], "sentence2": [], "score": []})}
    )


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (
            (
                AbsTaskSTS,
                "STS",
                "cosine_spearman",
                {"en": ["eng-Latn"], "de": ["deu-Latn"]},
                {"en": pairs(9)},
            ),
            "has no data of de",
        ),
        ((AbsTaskSTS, "STS", "cosine_spearman", ["eng-Latn"], pairs(0)), "has no data"),
        (
            (AbsTaskRetrieval, "Retrieval", "ndcg_at_10", ["eng-Latn"], {"default": {}}),
            "has no data of test",
        ),
    ],
    ids=["no such language", "no rows", "no such split"],
)
def test_a_task_without_data(made: Any, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of mteb's own: which language or split is empty is said."""
    monkeypatch.setitem(REGISTRY, "OddTask", one_task(*made))
    (result,) = evaluate(load("random:8"), ["mteb:OddTask"], protocol="mteb")
    assert result.error is not None
    assert told in result.error
    assert result.hint


def test_a_single_label() -> None:
    """One cluster: every encoder has 100, and the notes say so."""
    data = LabelledSentences("given", [f"tea {i}" for i in range(40)], ["x"] * 40, ["test"] * 40)
    ours, theirs = both(data, None, "starter-topics/cluster")
    assert same(ours, theirs) == pytest.approx(100.0)
    assert "single cluster" in " ".join(ours.details["notes"])


@pytest.mark.parametrize(
    ("failure", "told", "hint"),
    [
        (GatedRepoError("403", response=REFUSED), "are not open to everybody", "hf auth login"),
        (
            OSError("you must accept the terms: the dataset is gated"),
            "not open to everybody",
            "Accept their terms at https://huggingface.co/datasets/none/odd",
        ),
        (
            RepositoryNotFoundError("404", response=REFUSED),
            "The hub has no data set none/odd",
            "withdrawn",
        ),
        (
            RuntimeError("Dataset scripts are no longer supported, but found odd.py"),
            "read by a program of their own",
            "No remote code is run here",
        ),
        (
            ConnectionError("Couldn't reach 'none/odd' on the Hub"),
            "the hub cannot be reached",
            "Connect and try again",
        ),
        (
            ValueError("column 'sentence1' is not there"),
            "could not read the data of OddTask",
            "another task",
        ),
    ],
    ids=["gated", "terms", "withdrawn", "a program", "no network", "other columns"],
)
def test_data_that_cannot_be_had(
    failure: Exception, told: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why, and what to do: a licence, a login, no network, data that are gone or changed."""
    odd = one_task(AbsTaskSTS, "STS", "cosine_spearman", ["eng-Latn"], pairs(5))

    def refuse(self: Any, **_: Any) -> None:
        raise failure

    monkeypatch.setattr(odd, "load_data", refuse)
    monkeypatch.setitem(REGISTRY, "OddTask", odd)
    (result,) = evaluate(load("random:8"), ["mteb:OddTask"], protocol="mteb")
    assert result.error is not None
    assert told in result.error and hint in result.hint
