"""The texts of MTEB's own tasks' examples, in the order of `engine.mteb.examples`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from theodolite.engine.errors import UserError
from theodolite.engine.mteb import own_tasks, suites
from theodolite.engine.mteb.examples import embedded, parts_of, rows_of
from theodolite.engine.tasks import clusters
from theodolite.engine.tasks.task import ExampleTexts, Measurement

_Read = Callable[[Any, Any], ExampleTexts]


def of_task(name: str, seed: int) -> ExampleTexts:
    """Return the texts of each example of a task and the expected answer, without downloads.

    Args:
        name: the name of one of MTEB's own tasks.
        seed: the measurement's seed, which selects the sentences of a clustering.
    """
    task = own_tasks.make(name, seed)
    if task.is_aggregate or not suites.is_here(name):
        raise UserError(
            f"The texts of {name} are not on this machine.", "Evaluate it again.", code="no-file"
        )
    own_tasks.read(task)
    return of_rows(task)


def of_rows(task: Any) -> ExampleTexts:
    """Return the example texts, as `of_task`, of a task whose data are loaded."""
    read = _READERS.get(task.metadata.type)
    if read is None:
        raise UserError(f"{task.metadata.type} is a type without examples.", "", code="unsupported")
    if hasattr(task, "corpus"):  # mteb's v1 data layout
        task.convert_v1_dataset_format_to_v2(num_proc=None)
    return [one for part in parts_of(task) for one in read(task, rows_of(task, part))]


def with_clusters(measured: Measurement, task: Any) -> Measurement:
    """Add which examples are not independent to a measurement of a task whose data are loaded."""
    read = _READERS.get(task.metadata.type)
    if read is None:
        return measured
    return clusters.of_examples(measured, of_rows(task), documents=read is _retrieval)


def _scored(task: Any, rows: Any) -> ExampleTexts:
    left, right = task.column_names
    return [
        ((a, b), f"{score:g}")
        for a, b, score in zip(rows[left], rows[right], rows["score"], strict=True)
    ]


def _pairs(task: Any, rows: Any) -> ExampleTexts:
    labels = _names(rows, task.label_column_name)
    left, right = rows[task.input1_column_name], rows[task.input2_column_name]
    return [((a, b), label) for a, b, label in zip(left, right, labels, strict=True)]


def _labelled(task: Any, rows: Any) -> ExampleTexts:
    labels = _names(rows, task.label_column_name)
    return [((a,), label) for a, label in zip(rows[task.input_column_name], labels, strict=True)]


def _clustered(task: Any, rows: Any) -> ExampleTexts:
    every = _labelled(task, rows)
    return [every[i] for i in embedded(task, len(every))]


def _names(rows: Any, column: str) -> list[str]:
    """Return labels as strings, by name where the table names its class numbers."""
    features = getattr(rows, "features", None) or {}
    feature = features.get(column)
    names = getattr(feature, "names", None) or getattr(
        getattr(feature, "feature", None), "names", None
    )

    def named(label: Any) -> str:
        if isinstance(label, Sequence) and not isinstance(label, str):
            return ", ".join(map(named, label))
        return names[label] if names and isinstance(label, int) and label >= 0 else str(label)

    return [named(label) for label in rows[column]]


def _translations(task: Any, rows: Any) -> ExampleTexts:
    left, right = list(rows["sentence1"]), list(rows["sentence2"])
    gold_rows = rows["gold"] if isinstance(rows, Mapping) and "gold" in rows else None
    gold = [pair[1] for pair in gold_rows] if gold_rows is not None else range(len(left))
    return [((text,), right[at]) for text, at in zip(left, gold, strict=True)]


def _summaries(task: Any, rows: Any) -> ExampleTexts:
    texts, machine = rows[task.text_column_name], rows[task.machine_summaries_column_name]
    rated = rows[task.relevancy_column_name]
    return [
        ((text,), some[int(np.argmax(by))])
        for text, some, by in zip(texts, machine, rated, strict=True)
    ]


def _retrieval(task: Any, rows: Any) -> ExampleTexts:
    """Return each judged query and its first document of the highest grade."""
    judged, corpus = rows["relevant_docs"], rows["corpus"]
    best = {key: max(grades, key=grades.get) for key, grades in judged.items() if grades}
    wanted = set(best.values())
    documents = {name: i for i, name in enumerate(corpus["id"]) if name in wanted}
    queries = rows["queries"]
    return [
        ((_query(one),), corpus[documents[best[key]]]["text"] if best[key] in documents else "")
        for key, one in zip(queries["id"], queries, strict=True)
        if key in best
    ]


def _query(row: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (str(row["text"]), row.get("instruction"))))


_READERS: dict[str, _Read] = {
    "STS": _scored,
    "PairClassification": _pairs,
    "Classification": _labelled,
    "MultilabelClassification": _labelled,
    "Clustering": _clustered,
    "BitextMining": _translations,
    "Summarization": _summaries,
    **dict.fromkeys(
        ("Retrieval", "Reranking", "InstructionRetrieval", "InstructionReranking"), _retrieval
    ),
    "Regression": _labelled,
}
