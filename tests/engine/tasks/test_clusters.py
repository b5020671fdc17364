"""Which examples of a task are not independent: a column says so, or what they share."""

from typing import Any

import numpy as np
import pytest

from tests.fakes.encoders import HashEncoder
from theodolite.engine.datasets import Catalog, Dataset, DatasetInfo, tables
from theodolite.engine.datasets.tables import Mapping
from theodolite.engine.evaluate import evaluate
from theodolite.engine.results import Result
from theodolite.engine.stats.bootstrap import main_sample

GROUPED = {"text": "text", "label": "label", "cluster": "author"}


def read(header: str, rows: list[str], mapping: Mapping) -> Dataset:
    """A table as a data set."""
    return tables.read("\n".join([header, *rows]).encode(), "mine.csv", mapping, "upload:mine")


def result(data: Dataset, task: str) -> Result:
    """What an encoder of hashes gets on it, from a catalog of nothing else."""
    catalog = Catalog()
    catalog.load = lambda name: data  # type: ignore[method-assign]
    catalog.list = lambda: [DatasetInfo(data.name, data.kind, "upload", "")]  # type: ignore[method-assign]
    (found,) = evaluate(HashEncoder(), [task], data=catalog)
    assert found.error is None
    return found


def labelled(authors: list[str], mapping: dict[str, str] = GROUPED) -> Dataset:
    """Sentences of two labels by these authors."""
    rows = [f"sentence {i},{'ab'[i % 2]},{name}" for i, name in enumerate(authors)]
    return read("text,label,author", rows, Mapping("labels", mapping))


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
    kind: Any, columns: tuple[str, ...], row: Any, cluster: Any, facts: dict[str, Any]
) -> None:
    mapping = Mapping(kind, {name: name for name in columns})
    found = result(read(",".join(columns), [*map(row, range(120))], mapping), "upload:mine")
    assert found.examples["cluster"].tolist() == [cluster(i) for i in range(120)]
    assert found.details["dependent"] == facts


def test_a_column_of_that_name_is_found() -> None:
    """It is offered, and never needed."""
    row = '{"text": "%s", "label": "a", "cluster": %s}\n'
    for name, raw, expected in (
        ("mine.csv", b"text,label,cluster\none,a,1\ntwo,b,1\nthree,a,\n", ["1", "1", ""]),
        ("mine.jsonl", (row % ("one", 1) + row % ("two", "null")).encode(), ["1", ""]),
    ):
        mapping = tables.preview(raw, name).mapping
        assert mapping.columns == {"text": "text", "label": "label", "cluster": "cluster"}
        assert list(tables.read(raw, name, mapping).clusters.values()) == expected
    raw = b"review,stars,cluster\nA fine thing it is.,4,9\nA poor one.,2,9\n"
    columns = {"text": "review", "label": "stars", "cluster": "cluster"}
    assert tables.preview(raw, "x.csv").mapping.columns == columns
