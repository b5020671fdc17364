"""MTEB's types of task: the scores of mteb's own classes, given the same vectors, to 1e-6."""

from collections.abc import Callable

import mteb
import numpy as np
import pytest
from datasets import Dataset, DatasetDict
from mteb._evaluators.text.summarization_evaluator import DeprecatedSummarizationEvaluator
from mteb.abstasks import (
    AbsTaskBitextMining,
    AbsTaskClassification,
    AbsTaskClustering,
    AbsTaskClusteringLegacy,
    AbsTaskPairClassification,
    AbsTaskRetrieval,
    AbsTaskSTS,
    AbsTaskSummarization,
)

from tests.fakes.mteb_tasks import Given, retrieval_of, scores, split
from theodolite.engine import protocols
from theodolite.engine.datasets.types import (
    LabelledPairs,
    LabelledSentences,
    PairPart,
    Parallel,
    ParallelPart,
    Retrieval,
    ScoredPairs,
    Summaries,
)
from theodolite.engine.progress import nobody
from theodolite.engine.search import ranked
from theodolite.engine.stats.bootstrap import main_sample
from theodolite.engine.tasks import Measurement, Task, bitext, clustering, retrieval, type_of


def measured(kind: str, data, model: Given, protocol: str = "mteb-v2") -> Measurement:
    """What ours makes of the vectors; its values per example have the main score for a mean."""
    task = Task("mine", kind, "mine", data.kind, protocol, "", "")
    way = type_of(task, protocols.get(protocol))
    rows = np.arange(len(data.sentences)) if way.rows is None else way.rows(data, protocol, 42)
    vectors = np.stack([model.known[data.sentences[i]] for i in rows])
    found = way.measure(task, data, vectors, protocol, 42, nobody)
    (main,) = [score for score in found.scores if score.main]
    sample = main_sample(found.examples, found.details)
    assert sample.statistic == pytest.approx(main.score, abs=1e-3)
    examples = way.examples(data, protocol, 42)
    assert len(examples) == len(sample.values)
    assert {text for texts, _ in examples for text in texts} <= {*data.sentences}
    return found


OF_MTEB = {
    "few-shot": (AbsTaskClassification, "Classification", "accuracy"),
    "clustering": (AbsTaskClustering, "Clustering", "v_measure"),
    "clustering at once": (AbsTaskClusteringLegacy, "Clustering", "v_measure"),
    "pair-classification": (AbsTaskPairClassification, "PairClassification", "max_ap"),
    "pair-classification by cosine": (AbsTaskPairClassification, "PairClassification", "cosine_ap"),
    "sts": (AbsTaskSTS, "STS", "cosine_spearman"),
    "document-retrieval": (AbsTaskRetrieval, "Retrieval", "ndcg_at_10"),
    "reranking": (AbsTaskRetrieval, "Reranking", "map_at_1000"),
    "bitext": (AbsTaskBitextMining, "BitextMining", "f1"),
    "summarization": (AbsTaskSummarization, "Summarization", "cosine_spearman"),
}
"""Our types -> the class of mteb's, and its main score."""


def compared(
    kind: str,
    data,
    model: Given,
    theirs,
    most: int,
    protocol: str = "mteb-v2",
    way: str = "",
    **how,
) -> tuple[Measurement, dict]:
    """Ours and what mteb scores, after it was seen that every score of ours is one of theirs.

    Args:
        kind: our type.
        data: ours.
        model: gives the vectors.
        theirs: the same data as mteb holds them.
        most: how many scores there are.
        protocol: ours.
        way: of the type, where there are two.
        how: attributes of mteb's task.
    """
    of_mteb, type_, main = OF_MTEB[f"{kind} {way}".strip()]
    found = scores(of_mteb, type_, main, theirs, model, **how)
    ours = measured(kind, data, model, protocol)
    assert [score.metric for score in ours.scores if score.main] == [main]
    assert {s.metric: s.score / 100 for s in ours.scores} == pytest.approx(
        {s.metric: found[s.metric] for s in ours.scores}, abs=1e-6
    )
    assert len({s.metric for s in ours.scores}) == len(ours.scores) == most
    return ours, found


def clouds(each: int, labels: int) -> tuple[list[str], list[str], np.ndarray]:
    """Sentences in clouds that overlap, shuffled, with their labels."""
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(labels, 24))
    of = rng.permutation(np.repeat(np.arange(labels), each))
    vectors = centres[of] + 1.8 * rng.normal(size=(len(of), 24))
    return [f"s{i}" for i in range(len(of))], [f"t{i}" for i in of], vectors.astype(np.float32)


def labelled(sentences: list[str], labels: list[str]) -> Dataset:
    """As mteb's classification has them: labels are numbers."""
    return Dataset.from_dict({"text": sentences, "label": [int(name[1:]) for name in labels]})


@pytest.mark.parametrize(("labels", "metrics"), [(5, 7), (2, 9)])
def test_few_shot_from_train(labels: int, metrics: int) -> None:
    """Ten draws, all metrics; average precision where there are two labels."""
    sentences, names, vectors = clouds(300 // labels, labels)
    data = LabelledSentences("x", sentences, names, ["train"] * 200 + ["test"] * 100)
    model = Given(sentences, vectors)
    parts = {"train": slice(0, 200), "test": slice(200, 300)}
    theirs = DatasetDict({k: labelled(sentences[at], names[at]) for k, at in parts.items()})
    ours, found = compared("few-shot", data, model, theirs, metrics)
    each = [100 * one["accuracy"] for one in found["scores_per_experiment"]]
    assert ours.details["accuracies"] == pytest.approx(each)
    assert len(set(each)) > 1, "draws differ, or the test says nothing"
    assert ours.examples["draws"].tolist() == ours.details["accuracies"]


def test_few_shot_without_train() -> None:
    """Folds of different sizes: each counts the same."""
    sentences, names, vectors = clouds(53, 4)
    model, theirs = Given(sentences, vectors), DatasetDict({"test": labelled(sentences, names)})
    how = {"is_cross_validation": True, "train_split": "test"}
    compared("few-shot", LabelledSentences("x", sentences, names), model, theirs, 7, **how)
    # MTEB's own task Emotion learns from 16 sentences a label, and says so.
    data = LabelledSentences("emotion", sentences, names, ["train"] * 120 + ["test"] * 92)
    ours = measured("few-shot", data, model)
    assert set(ours.details["learnt_from"]) == {64}
    assert any(note.startswith("16 sentences") for note in ours.details["notes"])


@pytest.mark.parametrize("labels", [6, 20])
def test_clustering(monkeypatch: pytest.MonkeyPatch, labels: int) -> None:
    """Draws of a part of the sentences; and all of them at once, as the first benchmark did.

    With many labels the first centres are found by our own code.
    """
    monkeypatch.setattr(clustering, "EMBEDDED", 150)
    monkeypatch.setattr(clustering, "DRAWN", 1000)
    sentences, names, vectors = clouds(240 // labels, labels)
    model, data = Given(sentences, vectors), LabelledSentences("x", sentences, names)
    ours, _ = compared(
        "clustering",
        data,
        model,
        split({"sentences": sentences, "labels": names}),
        2,
        max_document_to_embed=150,
        max_fraction_of_documents_to_embed=None,
        max_documents_per_cluster=1000,
    )
    assert len(ours.examples["v_measure"]) == 150
    assert ours.examples["draws"].mean() == pytest.approx(ours.scores[0].score)
    theirs = split({"sentences": [sentences], "labels": [names]})
    at_once, _ = compared("clustering", data, model, theirs, 1, "mteb-v1", "at once")
    # Further seeds say how much k-means varies, and leave the score alone.
    assert at_once.examples["seeds"][0] == pytest.approx(at_once.scores[0].score)
    assert len(set(at_once.examples["seeds"])) > 1


@pytest.mark.parametrize("labels", [1, 40])
def test_a_measure_that_cannot_fail_is_said(labels: int) -> None:
    """One cluster for all sentences, or one for each."""
    sentences, names, vectors = clouds(40 // labels, labels)
    data = LabelledSentences("x", sentences, names)
    ours = measured("clustering", data, Given(sentences, vectors))
    assert ours.scores[0].score == pytest.approx(100)
    assert "100 whatever the encoder" in ours.details["notes"][0]


def pairs(n: int) -> tuple[list[str], list[str], np.ndarray, Given]:
    """Pairs of which those labelled 1 are nearer; the first five are the same sentence twice."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, n)
    a = rng.normal(size=(n, 12))
    b = 0.5 * a * labels[:, None] + rng.normal(size=a.shape)
    b[:5] = a[:5]
    left, right = ([f"{side}{i}" for i in range(n)] for side in "lr")
    return left, right, labels, Given(left + right, np.concatenate([a, b]).astype(np.float32))


@pytest.mark.parametrize(("protocol", "way"), [("mteb-v2", ""), ("mteb-v1", "by cosine")])
def test_pair_classification(protocol: str, way: str) -> None:
    """Every similarity with every metric; the dev split counts for nothing."""
    left, right, labels, model = pairs(200)
    theirs = split(
        {"sentence1": left[20:], "sentence2": right[20:], "labels": labels[20:].tolist()}
    )
    words = [str(y) for y in labels]
    data = LabelledPairs.of("x", left, right, words, ["dev"] * 20 + ["test"] * 180)
    compared("pair-classification", data, model, theirs, 25, protocol, way)


def test_sts() -> None:
    """The test split alone."""
    left, right, labels, model = pairs(120)
    gold = labels * 3 + np.random.default_rng(1).random(120)
    parts = {
        name: PairPart(tuple(left[at]), tuple(right[at]), gold[at])
        for name, at in (("train", slice(0, 40)), ("test", slice(40, 120)))
    }
    theirs = split({"sentence1": left[40:], "sentence2": right[40:], "score": gold[40:].tolist()})
    compared("sts", ScoredPairs("x", parts, "splits"), model, theirs, 6)


def collection() -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, int]], Given]:
    """Documents of which forty are the same, one is zero; graded judgements, one query of zeros."""
    rng = np.random.default_rng(0)
    queries = {f"Q{i}": f"query {i}" for i in range(30)}
    documents = {f"d{i}": f"document {i}" for i in range(1500)}
    query_vectors, given = rng.normal(size=(30, 8)), rng.normal(size=(1500, 8))
    given[100:140] = given[100]
    given[7] = 0
    query_vectors[4] = given[100] + 0.1
    judged = {
        key: {f"d{j}": int(rng.integers(0, 4)) for j in rng.choice(1500, 5, replace=False)}
        for key in queries
    }
    judged["Q3"], judged["Q4"] = {"d5": 0}, {"d100": 1, "d120": 2, "d135": 0}
    del judged["Q8"]
    texts = [*queries.values(), *documents.values()]
    vectors = np.concatenate([query_vectors, given]).astype(np.float32)
    return queries, documents, judged, Given(texts, vectors)


def test_retrieval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ties, grades, a query that nothing answers; and the same where documents pass in pieces."""
    queries, documents, judged, model = collection()
    data = Retrieval("x", queries, documents, {"test": judged, "train": {"Q8": {"d1": 1}}})
    ours, _ = compared("document-retrieval", data, model, retrieval_of(data), 42)
    assert len(ours.examples["ndcg"]) == 29
    assert any(note.startswith("1 of 29 queries") for note in ours.details["notes"])
    monkeypatch.setattr(ranked, "_DOCUMENTS", 400)
    monkeypatch.setattr(ranked, "_CELLS", 4000)
    compared("document-retrieval", data, model, retrieval_of(data), 42)


def test_queries_that_are_documents(rng: np.random.Generator) -> None:
    """As in ArguAna: the document with a query's id is left out of its ranking, not of others'."""
    documents = {f"t{i}": f"argument {i}" for i in range(60)}
    queries = {f"t{i}": f"argument {i}" for i in range(20)}
    judged = {f"t{i}": {f"t{i + 20}": 1, f"t{i + 40}": 2} for i in range(20)}
    vectors = rng.normal(size=(60, 8))
    vectors[20:40] = vectors[:20] + 0.6 * rng.normal(size=(20, 8))
    model = Given(list(documents.values()), vectors.astype(np.float32))
    data = Retrieval("x", queries, documents, {"test": judged})
    how = {"ignore_identical_ids": True}
    ours, _ = compared("document-retrieval", data, model, retrieval_of(data), 42, **how)
    assert any("20 of 20" in note for note in ours.details["notes"])
    # Ids that are equal by chance, of those numbered from 1, or judged to answer, leave nothing
    # out; a task of MTEB's may, by name.
    documents = {"1": "one thing", "2": "another", "3": "a third"}
    queries = {"1": "a question", "2": "another", "3": "third"}
    judged = {"1": {"2": 1}, "2": {"2": 1}, "3": {"1": 1}}
    of_name = {
        name: retrieval.own_documents(Retrieval(name, queries, documents, {"test": judged}), judged)
        for name in ("x", "fiqa", "mteb/FiQA2018")
    }
    assert of_name == {"x": {"3"}, "fiqa": {*queries}, "mteb/FiQA2018": {*queries}}


@pytest.mark.parametrize(
    ("type_", "attribute", "ours", "plain_words"),
    [
        (
            "Classification",
            "samples_per_label",
            protocols.mteb_tasks.shots,
            "MultilingualSentiment.v2 SIDClassification.v2 ScalaClassification StyleClassification "
            "Waimai.v2",
        ),
        (
            "Retrieval",
            "ignore_identical_ids",
            protocols.mteb_tasks.leaves_out_own_ids,
            "EcomRetrieval MedicalRetrieval T2Retrieval VideoRetrieval MSMARCOv2",
        ),
    ],
)
def test_settings_of_mtebs_own_tasks(
    type_: str, attribute: str, ours: Callable[[str], int], plain_words: str
) -> None:
    """The installed mteb's, for every task whose name says enough."""
    for task in mteb.get_tasks(task_types=[type_], modalities=["text"]):
        name, theirs = task.metadata.name, getattr(task, attribute, None)
        if theirs is not None and name not in plain_words.split():
            assert ours(name) == theirs, name
    assert protocols.mteb_tasks.shots("amazon_counterfactual/en") == 32
    assert protocols.mteb_tasks.shots("tweeteval_emotion") == 8


def test_reranking(rng: np.random.Generator) -> None:
    """Candidates alone, of which one query has none."""
    queries, documents, judged, model = collection()
    candidates = {
        key: tuple(sorted({*of, *(f"d{j}" for j in rng.choice(1500, 20))}))
        for key, of in judged.items()
    } | {"Q9": ()}
    data = Retrieval("x", queries, documents, {"test": judged}, candidates)
    ours, _ = compared("reranking", data, model, retrieval_of(data), 42)
    assert any("candidates" in note for note in ours.details["notes"])


def test_bitext(rng: np.random.Generator) -> None:
    """Right sentences that are nearest to several, and ten that are the same."""
    a = rng.normal(size=(250, 8))
    b = a + 0.8 * rng.normal(size=a.shape)
    b[10:20] = b[10]
    left, right = ([f"{side}{i}" for i in range(250)] for side in "lr")
    model = Given(left + right, np.concatenate([a, b]).astype(np.float32))
    parts = {
        name: ParallelPart.aligned(left[:n], right[:n]) for name, n in (("dev", 9), ("test", 250))
    }
    data, theirs = Parallel("x", parts, ("a", "b")), split({"sentence1": left, "sentence2": right})
    compared("bitext", data, model, theirs, 4)


def test_the_first_of_equal_translations_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they lie in two blocks."""
    monkeypatch.setattr(bitext, "_DOCUMENTS", 1)
    found = bitext._nearest(np.eye(2, dtype=np.float32), np.eye(2)[[0, 0, 1, 1]], lambda _: None)
    assert found.tolist() == [0, 2]


def test_bitext_among_sentences_without_a_translation(rng: np.random.Generator) -> None:
    """As in BUCC: some of the left have one, and all of the right may be taken for it."""
    a, b = rng.normal(size=(50, 6)), rng.normal(size=(80, 6))
    gold = np.array([(i, 2 * i + 1) for i in range(5, 35)])
    b[gold[:, 1]] = a[gold[:, 0]] + 0.5 * rng.normal(size=(30, 6))
    left, right = [f"l{i}" for i in range(50)], [f"r{i}" for i in range(80)]
    model = Given(left + right, np.concatenate([a, b]).astype(np.float32))
    fields = {
        "sentence1": [left[i] for i in gold[:, 0]],
        "sentence2": right,
        "gold": gold.tolist(),
    }
    data = Parallel("x", {"dev": ParallelPart(tuple(left), tuple(right), gold)}, ("a", "b"))
    compared("bitext", data, model, {"default": {"test": fields}}, 4)


@pytest.mark.parametrize("protocol", ["mteb-v2", "mteb-v1"])
def test_summarization(protocol: str, rng: np.random.Generator) -> None:
    """A document whose summaries are all the same is left out; v1 keeps mteb's mistake."""
    human, machine = (
        [[f"{by}{i}.{j}" for j in range(n)] for i in range(10)] for by, n in (("h", 4), ("m", 6))
    )
    texts = [text for of in (*human, *machine) for text in of]
    vectors = rng.normal(size=(len(texts), 8)).astype(np.float32)
    vectors[40:46] = vectors[40]
    vectors[47] = vectors[48]
    ratings = tuple(rng.integers(1, 6, 6).astype(np.float64) for _ in range(10))
    documents = tuple(f"d{i}" for i in range(10))
    model = Given([*documents, *texts], np.concatenate([np.zeros((10, 8), np.float32), vectors]))
    how = {"min_score": 0, "max_score": 5}
    how |= {"evaluator": DeprecatedSummarizationEvaluator} if protocol == "mteb-v1" else {}
    table = {
        "text": list(documents),
        "human_summaries": human,
        "machine_summaries": machine,
        "relevance": [of.tolist() for of in ratings],
    }
    rated = {"fluency": ratings[::-1], "relevance": ratings}
    data = Summaries("x", documents, *(tuple(map(tuple, of)) for of in (human, machine)), rated)
    ours, _ = compared("summarization", data, model, split(table), 4, protocol, **how)
    assert ours.scores[0].n == 9
    assert "1 of 10" in ours.details["notes"][0]
