"""Labelled sentences, against scikit-learn and by hand; examples that are not independent."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.errors import refused
from tests.fakes.encoders import HashEncoder
from theodolite.engine.datasets import Catalog, Dataset, DatasetInfo, LabelledSentences, tables
from theodolite.engine.evaluate import evaluate
from theodolite.engine.progress import nobody
from theodolite.engine.results import Result
from theodolite.engine.stats.bootstrap import main_sample
from theodolite.engine.tasks import Measurement, classification

TASK = classification.TYPE.on("clouds", "clouds/classify")


def topics(each: int, labels: int, spread: float) -> tuple[LabelledSentences, np.ndarray]:
    """Clouds of vectors around one centre a label."""
    rng = np.random.default_rng(5)
    names = [f"topic {i}" for i in range(labels) for _ in range(each)]
    centres = np.repeat(rng.normal(size=(labels, 10)), each, axis=0)
    vectors = centres + spread * rng.normal(size=centres.shape)
    sentences = [f"sentence {i}" for i in range(len(names))]
    return LabelledSentences("clouds", sentences, names), vectors.astype(np.float32)


def scikit_learn() -> Pipeline:
    """The classifier in scikit-learn's own terms."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500))


def test_accuracy_is_that_of_cross_val_predict() -> None:
    """The same folds and classifier."""
    data, vectors = topics(30, 4, 2.0)
    measured = classification.measure(data, vectors, seed=1111)
    folds = StratifiedKFold(5, shuffle=True, random_state=1111)
    expected = cross_val_predict(scikit_learn(), vectors.astype(float), data.labels, cv=folds)
    correct = expected == np.array(data.labels)
    np.testing.assert_array_equal(measured.examples["correct"], correct)
    main, share = measured.scores[0], pytest.approx(100 * correct.mean())
    assert (main.metric, main.main, main.n, main.score) == ("accuracy", True, 120, share)
    assert 40 < main.score < 100, "or it says nothing"


def test_the_own_split_is_fitted_on_train_and_scored_on_test() -> None:
    """Under starter-2, against scikit-learn; what is dev counts for nothing."""
    data, vectors = topics(60, 3, 2.0)
    splits = np.array(["train", "dev", "test"])[np.random.default_rng(2).integers(0, 3, 180)]
    data = LabelledSentences("split", data.sentences, data.labels, list(splits))
    measured = classification.measure(data, vectors, seed=1111, own_splits=True)
    labels, train, test = np.array(data.labels), splits == "train", splits == "test"
    model = scikit_learn().fit(vectors[train].astype(float), labels[train])
    correct = model.predict(vectors[test].astype(float)) == labels[test]
    np.testing.assert_array_equal(measured.examples["correct"], correct)
    main, expected = measured.scores[0], pytest.approx(100 * correct.mean())
    assert (main.split, main.n, main.score) == ("test", test.sum(), expected)
    again = [  # own splits are not drawn again
        classification.TYPE.measure(TASK, data, vectors, name, 1111, nobody).scores
        for name in ("starter-3", "starter-2")
    ]
    assert again == [measured.scores] * 2
    folds = classification.measure(data, vectors, seed=1111)
    assert (folds.scores[0].split, folds.scores[0].n) == ("all", 180)


@pytest.mark.parametrize("labels", [2, 4])
def test_folds_drawn_ten_times_are_those_of_scikit_learn(labels: int) -> None:
    """Under starter-3: the share of the draws that predict a sentence right, on shared columns."""
    data, vectors = topics(20, labels, 3.0)
    found = classification.TYPE.measure(TASK, data, vectors, "starter-3", 1111, nobody)
    columns = StandardScaler().fit_transform(vectors.astype(np.float64))
    right, names = np.zeros(len(data.labels)), np.array(data.labels)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=10, random_state=1111)
    for train, test in folds.split(columns, names):
        model = LogisticRegression(C=0.01, tol=1e-8, max_iter=500).fit(columns[train], names[train])
        right[test] += model.predict(columns[test]) == names[test]
    differ = np.abs(found.examples["correct"] - right / 10).sum()
    assert differ < 0.25, "more than two of 800 predictions: near ties may go either way"
    assert found.scores[0].score == pytest.approx(100 * found.examples["correct"].mean())
    assert 0 < len(np.unique(right)) - 2, "no example is right in some draws only"


def test_what_does_not_change_the_folds_and_what_does() -> None:
    data, vectors = topics(40, 4, 3.0)

    def correct(scale: float = 1.0, seed: int = 1, splits: tuple[str, ...] = ()) -> list[bool]:
        whole = LabelledSentences("whole", data.sentences, data.labels, list(splits))
        found = classification.measure(whole, vectors * np.float32(scale), seed, own_splits=True)
        return found.examples["correct"].tolist()

    # Columns are standardised, and a data set without a split to test on has folds.
    assert correct() == correct(2**-10) == correct(2**10) == correct(splits=("train",) * 160)
    assert correct() != correct(seed=2)


def test_rare_labels_are_left_out_and_counted() -> None:
    """A label with fewer sentences than folds cannot be in every fold."""
    data, vectors = topics(10, 2, 0.5)
    data = LabelledSentences("rare", [*data.sentences, "x"], [*data.labels, "once"])
    measured = classification.measure(data, np.r_[vectors, np.ones((1, 10), np.float32)], seed=1)
    recall = 100 * measured.examples["correct"].reshape(2, 10).mean(axis=1)
    assert measured.scores[0].n == 20
    assert measured.details == measured.details | {
        "left_out": 1,
        "labels": {"topic 0": 10, "topic 1": 10},
        "recall": pytest.approx({"topic 0": recall[0], "topic 1": recall[1]}),
    }


@pytest.mark.parametrize(
    ("measure", "each", "labels", "named"),
    [
        (partial(classification.measure, seed=1), 20, 1, "one label"),
        (classification.measure_search, 20, 1, "all of the same label"),
        (classification.measure_search, 5, 2, "10 sentences"),  # ten others are needed
    ],
    ids=["classification", "search", "few sentences"],
)
def test_too_few_labels_and_sentences(
    measure: Callable[..., Measurement], each: int, labels: int, named: str
) -> None:
    with refused("too-few", "clouds", named):
        measure(*topics(each, labels, 1.0))


def test_precision_is_that_of_scikit_learn_neighbours() -> None:
    """The ten nearest by cosine, itself left out."""
    data, vectors = topics(25, 4, 1.5)
    measured = classification.measure_search(data, vectors)
    ids = NearestNeighbors(n_neighbors=10, metric="cosine").fit(vectors).kneighbors()[1]
    labels, main = np.array(data.labels), measured.scores[0]
    expected = (labels[ids] == labels[:, None]).mean(axis=1)
    np.testing.assert_allclose(measured.examples["precision"], expected)
    assert (main.score, main.main) == (pytest.approx(100 * expected.mean()), True)


def test_precision_is_shown_beside_chance() -> None:
    """Two labels of six on opposite sides: each has five of its label among the other eleven."""
    vectors = np.repeat(np.array([[1.0, 0.0], [-1.0, 0.0]], np.float32), 6, axis=0)
    data = LabelledSentences("sides", [str(i) for i in range(12)], ["l"] * 6 + ["r"] * 6)
    measured = classification.measure_search(data, vectors)
    assert measured.details == measured.details | {
        "chance": pytest.approx(100 * 5 / 11),
        "queries_with_fewer_than_10_of_their_label": 12,
    }


def test_the_interval_of_precision_counts_neighbours(rng: np.random.Generator) -> None:
    """Of small samples of many sentences, it covers the precision of the many in 95 % at least.

    By the queries alone it would in 85 % of these samples.
    """
    data, vectors = topics(300, 4, 3.0)
    found = []
    for _ in range(200):
        rows = rng.choice(len(data.labels), 150, replace=False)
        part = LabelledSentences(
            "part", [data.sentences[i] for i in rows], [data.labels[i] for i in rows]
        )
        sample = main_sample(classification.measure_search(part, vectors[rows]).examples, {})
        found.append((sample.statistic, sample.plain.std(), sample.values.std()))
    scores, by_neighbours, by_queries = np.array(found).T
    apart = np.abs(scores - scores.mean()) / 100 * np.sqrt(150)
    held = [(apart < 1.96 * error).mean() for error in (by_neighbours, by_queries)]
    assert held[0] >= 0.95 and held[1] < 0.9


# Which examples of a task are not independent: a column says so, or what they share.


GROUPED = {"text": "text", "label": "label", "cluster": "author"}


def read(header: str, rows: list[str], mapping: tables.Mapping) -> Dataset:
    """A table as a data set."""
    return tables.read("\n".join([header, *rows]).encode(), "mine.csv", mapping, "upload:mine")


def result(data: Dataset, task: str) -> Result:
    """What an encoder of hashes gets on it, from a catalog of nothing else."""
    catalog = Catalog()
    catalog.load = lambda name: data
    catalog.list = lambda: [DatasetInfo(data.name, data.kind, "upload", "")]
    (found,) = evaluate(HashEncoder(), [task], data=catalog)
    assert found.error is None
    return found


def labelled(authors: list[str], mapping: dict[str, str] = GROUPED) -> Dataset:
    """Sentences of two labels by these authors."""
    rows = [f"sentence {i},{'ab'[i % 2]},{name}" for i, name in enumerate(authors)]
    return read("text,label,author", rows, tables.Mapping("labels", mapping))


def test_a_column_names_the_clusters() -> None:
    """Sentences of one author belong together; those of none are on their own."""
    data = labelled([f"author {i // 4}" for i in range(36)] + [""] * 4)
    found = result(data, "upload:mine/classify")
    sample = main_sample(found.examples, found.details)
    assert sample.clusters.tolist() == [*np.repeat(range(9), 4), 9, 10, 11, 12]
    assert found.details["dependent"] == {"by": "column", "n": 13, "largest": 4, "ways": 1}
    # Other clusters are other data, and without any nothing changes.
    plain = labelled(["x"] * 40, {"text": "text", "label": "label"})
    assert len({labelled(["x"] * 40).hash, labelled(["y"] * 40).hash, plain.hash}) == 3
    assert "cluster" not in result(plain, "upload:mine/classify").examples


@pytest.mark.parametrize(
    ("kind", "columns", "row", "cluster", "facts"),
    [
        (  # three pairs for each first sentence
            "pairs",
            ("left", "right", "score"),
            lambda i: f"first {i // 3},second {i},{i % 5}",
            lambda i: i // 3,
            {"by": "text", "n": 40, "largest": 3, "ways": 1},
        ),
        (  # a hundred and twenty questions on eight paragraphs
            "retrieval",
            ("query", "document"),
            lambda i: f"question {i},paragraph {i % 8}",
            lambda i: i % 8,
            {"by": "document", "n": 8, "largest": 15, "ways": 1},
        ),
    ],
)
def test_examples_that_share_a_text_are_one_cluster(
    kind, columns: tuple[str, ...], row, cluster, facts: dict
) -> None:
    mapping = tables.Mapping(kind, {name: name for name in columns})
    found = result(read(",".join(columns), [*map(row, range(120))], mapping), "upload:mine")
    assert found.examples["cluster"].tolist() == [cluster(i) for i in range(120)]
    assert found.details["dependent"] == facts


def test_a_column_of_that_name_is_found() -> None:
    """It is offered, and never needed."""
    row = '{"text": "%s", "label": "a", "cluster": %s}\n'
    reviews = b"review,stars,cluster\nA fine thing it is.,4,9\nA poor one.,2,9\n"
    for name, raw, columns, expected in (
        ("x.csv", b"text,label,cluster\none,a,1\ntwo,b,1\nx,a,\n", "text label", ["1", "1", ""]),
        ("x.jsonl", (row % ("a", 1) + row % ("b", "null")).encode(), "text label", ["1", ""]),
        ("x.csv", reviews, "review stars", ["9", "9"]),
    ):
        mapping = tables.preview(raw, name).mapping
        assert [*mapping.columns.values()] == [*columns.split(), "cluster"]
        assert list(tables.read(raw, name, mapping).clusters.values()) == expected
