"""Values per example of mteb's newer types, on a few rows in memory, and texts of all types."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset, DatasetDict, Features, Value
from datasets.features import ClassLabel
from mteb._evaluators.retrieval_metrics import evaluate_p_mrr_change
from mteb.abstasks import AbsTaskMultilabelClassification, AbsTaskRegression, AbsTaskRetrieval
from mteb.get_tasks import _TASKS_REGISTRY as REGISTRY

from tests.engine.mteb.test_run import ONE_OF_EACH, measured
from tests.errors import refused
from tests.fakes.mteb_tasks import Plain, by_mteb, loaded, retrieval_data, task_class
from theodolite.engine import load, protocols
from theodolite.engine.datasets import Catalog
from theodolite.engine.mteb import conversion, examples
from theodolite.engine.stats.bootstrap import main_sample
from theodolite.engine.tasks import get, type_of

TOPICS = ("trains", "cards", "dogs", "rates")


def rows(n: int, start: int) -> list[tuple[str, list[int]]]:
    """Sentences about one or two topics."""
    numbers = range(start, start + n)
    labels = [sorted({i % 4, (i * i) % 4}) for i in numbers]
    topics = [" and the ".join(TOPICS[label] for label in each) for each in labels]
    texts = [f"{i} of the {named}" for i, named in zip(numbers, topics, strict=True)]
    return list(zip(texts, labels, strict=True))


def table(column: str, value: Any) -> Any:
    """The splits train and test, with a column made of a row's number and its labels."""
    return DatasetDict(
        {
            name: Dataset.from_dict(
                {
                    "text": [text for text, _ in some],
                    column: [value(i, labels) for i, (_, labels) in enumerate(some)],
                }
            )
            for name, some in (("train", rows(40, 0)), ("test", rows(20, 100)))
        }
    )


def labelled(main: str) -> Any:
    """Several labels a sentence."""
    base, data = AbsTaskMultilabelClassification, table("label", lambda i, labels: labels)
    return task_class(base, "MultilabelClassification", main, lambda: data, samples_per_label=4)


def numbers(main: str) -> Any:
    """A number a sentence."""
    data = table("value", lambda i, labels: float(sum(labels) + i % 3))
    return task_class(AbsTaskRegression, "Regression", main, lambda: data)


def instructed(type_: str, main: str) -> Any:
    """Queries with instructions; of a reranking, the same query under two of them."""
    documents = {f"d{i}": text for i, (text, _) in enumerate(rows(12, 50))}
    queries = {f"{k}-{way}": topic for k, topic in enumerate(TOPICS) for way in ("og", "changed")}
    judged = {key: {f"d{int(key[0])}": 1, f"d{int(key[0]) + 4}": 1} for key in queries}
    ways = ["the older ones" if "og" in key else "not the older ones" for key in queries]
    top = {key: list(documents)[:8] for key in queries} if type_.endswith("Reranking") else None

    def of_two_rankings(self: Any, scores: Any, qrels: Any, results: Any, **_: Any) -> Any:
        changed = {f"{k}": [f"d{k}"] for k in range(4)}
        return evaluate_p_mrr_change(qrels, results, changed, self.k_values)

    more = {"task_specific_scores": of_two_rankings} if main == "p-MRR" else {}
    return task_class(
        AbsTaskRetrieval,
        type_,
        main,
        lambda: retrieval_data(documents, queries, judged, top, instruction=ways),
        **more,
    )


def test_parts_of_tau_spread_as_tau_does() -> None:
    """Their mean is scipy's tau-b, and their spread that of tau over resamples."""
    from scipy.stats import kendalltau

    rng = np.random.default_rng(5)
    gold = rng.integers(0, 6, 150).astype(float)
    guessed = gold + 3.0 * rng.standard_normal(150)
    parts = examples._tau_parts(guessed, gold)
    assert parts.mean() == pytest.approx(kendalltau(guessed, gold).statistic, abs=1e-12)
    drawn = [rng.integers(0, 150, 150) for _ in range(400)]
    spread = np.std([kendalltau(guessed[at], gold[at]).statistic for at in drawn])
    assert parts.std() / np.sqrt(150) == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize(
    ("made", "of_each"),
    [
        (labelled("accuracy"), True),
        (labelled("lrap"), True),
        (labelled("f1"), False),
        (numbers("kendalltau"), True),
        (instructed("InstructionRetrieval", "ndcg_at_10"), True),
        (instructed("InstructionReranking", "ndcg_at_5"), True),
        (instructed("InstructionReranking", "p-MRR"), False),
    ],
    ids=lambda one: (
        f"{one.metadata.type}, {one.metadata.main_score}" if isinstance(one, type) else ""
    ),
)
def test_newer_types(made: Any, of_each: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The score of a plain script; values whose mean it is, or the reason why there are none."""
    monkeypatch.setitem(REGISTRY, "FewOfThem", made)
    result = measured("mteb:FewOfThem", "mteb")
    plain = by_mteb(Plain(load("wordllama")), made())
    assert result.main.metric == made.metadata.main_score
    assert result.main.score / 100 == pytest.approx(plain.get_score(), abs=1e-6)
    if of_each:
        sample = main_sample(result.examples, result.details)
        assert sample.statistic == pytest.approx(result.main.score, abs=1e-2)
        assert np.ptp(np.asarray(result.examples[result.details["mean_of"]])) > 0
    else:
        assert not result.examples and result.details["notes"]


@pytest.mark.data
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_texts_are_those_of_our_own_tasks_on_the_same_data(name: str, data_root: Path) -> None:
    """MTEB holds our data in its own tables; what is read from these is what we handed over."""
    catalog = Catalog(data_root)
    task = get(name, catalog)
    data = catalog.load(task.dataset)
    native = type_of(task, protocols.get("mteb-v2")).examples
    found, wanted = examples.texts_of(conversion.make(task, data, 42)), native(data, "mteb-v2", 42)
    assert [of for of, _ in found] == [of for of, _ in wanted]


def test_texts_of_newer_types() -> None:
    """A sentence with all its labels, or its number; a query with its instruction."""
    first, labels = rows(1, 100)[0]
    assert examples.texts_of(loaded(labelled("lrap")))[0] == ((first,), ", ".join(map(str, labels)))
    of_a_number = examples.texts_of(loaded(numbers("kendalltau")))[0]
    assert of_a_number == ((first,), str(float(sum(labels))))
    instruction = examples.texts_of(loaded(instructed("InstructionReranking", "p-MRR")))[1]
    assert instruction == ((f"{TOPICS[0]} not the older ones",), rows(12, 50)[0][0])


def test_labels_are_named_where_the_table_names_them() -> None:
    """As the hub's tables do."""
    task = loaded(labelled("lrap"))
    kinds = Features({"text": Value("string"), "label": ClassLabel(names=["bad", "good"])})
    table = Dataset.from_dict({"text": ["no", "yes"], "label": [0, 1]}, features=kinds)
    task.dataset = DatasetDict({"test": table})
    assert examples.texts_of(task) == [(("no",), "bad"), (("yes",), "good")]


def test_texts_stand_where_the_values_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there are values; without the data on this machine none, and nothing is asked."""
    monkeypatch.setitem(REGISTRY, "FewOfThem", instructed("InstructionRetrieval", "ndcg_at_10"))
    with refused("no-file", "mteb:FewOfThem"):
        examples.texts_of_task("mteb:FewOfThem", 42)
    monkeypatch.setattr("theodolite.engine.mteb.suites.is_here", lambda name: True)
    values = measured("mteb:FewOfThem", "mteb").examples["ndcg"]
    assert len(examples.texts_of_task("mteb:FewOfThem", 42)) == len(values)
