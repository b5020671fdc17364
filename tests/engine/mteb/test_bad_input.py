"""Bad input of MTEB's types: by our code and by mteb's, the same answer or one clear sentence."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
from mteb.abstasks import AbsTaskRetrieval, AbsTaskSTS
from mteb.get_tasks import _TASKS_REGISTRY as REGISTRY

from tests.engine.datasets.test_retrieval import folder
from tests.fakes.mteb_tasks import ENGLISH, split, task_class
from theodolite.engine import evaluate, load
from theodolite.engine.datasets import Catalog, Dataset, LabelledSentences, Retrieval
from theodolite.engine.results import Result

TEXTS = {f"d{i}": text for i, text in enumerate(("tea is brewed", "coffee is ground", "", "tea"))}
REFUSED = httpx.Response(403, request=httpx.Request("GET", "https://huggingface.co"))
QUERIES = {"q1": "tea", "q2": "coffee", "q3": "nobody judged this", "q4": ""}


def both(data: Dataset, root: Path | None, task: str = "drinks") -> tuple[Result, Result]:
    """By our code and by mteb's, whatever data set is asked for."""
    if root is not None:
        folder(root)
    catalog = Catalog(root)
    catalog.load = lambda name: data  # type: ignore[method-assign]
    ours, theirs = (
        next(evaluate(load("wordllama"), [task], protocol=protocol, data=catalog))
        for protocol in ("mteb-v2", "mteb")
    )
    return ours, theirs


def same(one: Result, other: Result) -> float:
    """The one score of both."""
    assert one.error is None and other.error is None, (one.error, other.error)
    assert one.main.score == pytest.approx(other.main.score, abs=1e-4)
    return one.main.score


@pytest.mark.parametrize(
    ("documents", "judged", "candidates"),
    [
        # Queries without any are left out, unknown documents never found; empty texts are texts.
        (
            TEXTS,
            {"q1": {"d0": 1, "d3": 2}, "q2": {"d1": 1, "nowhere": 1}, "q4": {"d2": 1}, "q3": {}},
            None,
        ),
        # All alike: ties are broken in one way.
        (dict.fromkeys(TEXTS, "tea"), {"q1": {"d2": 1}, "q2": {"d3": 1}}, None),
        # A document that is listed twice.
        (
            TEXTS,
            {"q1": {"d0": 1}, "q2": {"d1": 1}},
            {"q1": ("d0", "d1", "d1"), "q2": ("d1", "d2", "d3")},
        ),
    ],
)
def test_both_give_the_same_score(
    documents: dict[str, str], judged: Any, candidates: Any, tmp_path: Path
) -> None:
    data = Retrieval("given", QUERIES, documents, {"test": judged}, candidates)
    ours, theirs = both(data, tmp_path)
    score = same(ours, theirs)
    assert score > 0
    if len(judged) > 2:
        assert score < 100
        assert len(ours.examples["ndcg"]) == len(theirs.examples["ndcg"]) == 3


def test_nothing_is_judged(tmp_path: Path) -> None:
    """One sentence from both."""
    ours, theirs = both(Retrieval("given", QUERIES, TEXTS, {"test": {}}), tmp_path)
    assert ours.error and "judgements" in ours.error and ours.hint
    assert (ours.error, ours.hint) == (theirs.error, theirs.hint)


@pytest.mark.slow
def test_a_single_label() -> None:
    """One cluster: every encoder has 100, and the notes say so."""
    data = LabelledSentences("given", [f"tea {i}" for i in range(40)], ["x"] * 40, ["test"] * 40)
    ours, theirs = both(data, None, "starter-topics/cluster")
    assert same(ours, theirs) == pytest.approx(100.0)
    assert "single cluster" in " ".join(ours.details["notes"])


def pairs(n: int) -> Any:
    """Scored pairs, as mteb holds them."""
    left, right = [f"tea {i}" for i in range(n)], [f"tea {i % 2}" for i in range(n)]
    return split({"sentence1": left, "sentence2": right, "score": [i % 3 for i in range(n)]})


def few(monkeypatch: pytest.MonkeyPatch, kind: Any) -> Result:
    """The result of a task of mteb's own."""
    monkeypatch.setitem(REGISTRY, "FewOfThem", kind)
    (result,) = evaluate(load("random:8"), ["mteb:FewOfThem"], protocol="mteb")
    assert result.error is not None and result.hint
    return result


SIMILARITY = (AbsTaskSTS, "STS", "cosine_spearman")


@pytest.mark.parametrize(
    ("kind", "data", "languages", "named"),
    [
        (
            SIMILARITY,
            lambda: {"en": pairs(9)},
            {"en": ["eng-Latn"], "de": ["deu-Latn"]},
            "no data of de",
        ),
        (SIMILARITY, lambda: pairs(0), ENGLISH, "no data"),
        (
            (AbsTaskRetrieval, "Retrieval", "ndcg_at_10"),
            lambda: {"default": {}},
            ENGLISH,
            "no data of test",
        ),
    ],
    ids=["no such language", "no rows", "no such split"],
)
def test_a_task_without_data(
    kind: Any, data: Any, languages: Any, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of mteb's own: which language or split is empty is said."""
    assert named in str(few(monkeypatch, task_class(*kind, data, languages)).error)


@pytest.mark.parametrize(
    ("failure", "named", "hint"),
    [
        (GatedRepoError("403", response=REFUSED), "open to everybody", "hf auth login"),
        (OSError("the dataset is gated"), "open to everybody", "huggingface.co/datasets/none/here"),
        (RepositoryNotFoundError("404", response=REFUSED), "no data set none/here", "withdrawn"),
        (RuntimeError("Dataset scripts are no longer supported"), "program", "remote code"),
        (ConnectionError("Couldn't reach 'none/here' on the Hub"), "reached", "Connect"),
        (ValueError("column 'sentence1' is not there"), "FewOfThem", "another task"),
    ],
    ids=["gated", "terms", "withdrawn", "a program", "no network", "other columns"],
)
def test_data_that_cannot_be_had(
    failure: Exception, named: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why, and what to do: a licence, a login, no network, data that are gone or changed."""
    result = few(monkeypatch, task_class(*SIMILARITY, Mock(side_effect=failure)))
    assert named in str(result.error) and hint in result.hint
