"""Conversion of a table's columns to a data set of a given kind."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from theodolite.engine.datasets.parallel import parallel
from theodolite.engine.datasets.retrieval import Judged, of_texts, reranking
from theodolite.engine.datasets.types import (
    Clustered,
    Dataset,
    Kind,
    LabelledPairs,
    LabelledSentences,
    PairPart,
    ParallelPart,
    ScoredPairs,
    Sentences,
    TaskType,
    Triplets,
)

_WHOLE = re.compile(r"[+-]?\d+(\.0+)?")
Columns = Mapping[str, list[Any]]
"""Role -> the values of its column."""


def build(
    kind: Kind,
    columns: Columns,
    name: str,
    title: str,
    *,
    type: TaskType | None = None,
    languages: tuple[str, str] = ("", ""),
) -> Dataset:
    """Build a data set from columns.

    Args:
        kind: the kind of data set.
        columns: the kind's required roles, optionally `split` and `cluster`; for `retrieval` also
            `place`.
        name: the data set's name.
        title: the file's name for messages.
        type: the task type, if the kind has several.
        languages: languages of parallel sentences.
    """
    data = _build(kind, columns, name, title, type, languages)
    if "cluster" not in columns or not isinstance(data, Clustered):
        return data
    texts = zip(*(columns[role] for role in _EXAMPLES[kind]), strict=True)
    return replace(data, clusters=dict(zip(texts, columns["cluster"], strict=True)))


_EXAMPLES: dict[Kind, tuple[str, ...]] = {
    "pairs": ("left", "right"),
    "labelled-pairs": ("left", "right"),
    "labels": ("text",),
    "parallel": ("left",),
    "retrieval": ("query",),
}
"""Roles of the texts of an example, as tasks have them."""


def _build(
    kind: Kind,
    columns: Columns,
    name: str,
    title: str,
    type: TaskType | None,
    languages: tuple[str, str],
) -> Dataset:
    splits = columns.get("split", [])
    match kind:
        case "pairs":
            gold = columns["score"]
            parts = {
                split: PairPart(left, right, np.array([gold[i] for i in rows], dtype=np.float64))
                for split, rows, left, right in _sides(columns, len(gold))
            }
            return ScoredPairs(name, parts, "splits", usual_scale(gold))
        case "labelled-pairs":
            left, right, labels = columns["left"], columns["right"], classes(columns["label"])
            return LabelledPairs.of(name, left, right, labels, splits or ["all"] * len(labels))
        case "labels":
            return LabelledSentences(name, columns["text"], classes(columns["label"]), splits)
        case "triplets":
            return Triplets(name, columns["anchor"], columns["positive"], columns["negative"])
        case "parallel":
            pairs = {
                split: ParallelPart.aligned(left, right)
                for split, _, left, right in _sides(columns, len(columns["left"]), "test")
            }
            return parallel(name, pairs, languages)
        case "retrieval":
            rows = _judgements(columns)
            of = reranking if type == "Reranking" else of_texts
            return of(name, title, rows)
        case _:
            return Sentences(name, columns["text"])


def _sides(
    columns: Columns, count: int, split: str = "all"
) -> Iterator[tuple[str, list[int], tuple[str, ...], tuple[str, ...]]]:
    """Yield each split, its rows, and its left and right sentences."""
    left, right = columns["left"], columns["right"]
    for name, rows in _by_split(columns, count, split).items():
        yield name, rows, tuple(left[i] for i in rows), tuple(right[i] for i in rows)


def _by_split(columns: Columns, count: int, split: str) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(columns.get("split") or [split] * count):
        rows.setdefault(name, []).append(row)
    return rows


def _judgements(columns: Columns) -> dict[str, list[Judged]]:
    """Return judgements by split, of texts, not ids; without grades, all rows are relevant."""
    queries, documents, places = columns["query"], columns["document"], columns["place"]
    grades = columns.get("grade") or ["1"] * len(queries)
    return {
        split: [Judged(places[i], queries[i], documents[i], grades[i]) for i in rows]
        for split, rows in _by_split(columns, len(queries), "test").items()
    }


def classes(labels: list[str]) -> list[str]:
    """Write whole numbers alike: pandas turns 1 into 1.0 in a column that lacks a value."""
    if any("." in label for label in labels) and all(map(_WHOLE.fullmatch, labels)):
        return [label.partition(".")[0] for label in labels]
    return labels


def usual_scale(gold: Sequence[float]) -> tuple[float, float]:
    """Return the first usual scale that covers all scores, since files do not state theirs."""
    low, high = min(gold), max(gold)
    usual = ((0.0, 1.0), (-1.0, 1.0), (0.0, 5.0), (0.0, 10.0), (0.0, 100.0))
    return next(((a, b) for a, b in usual if a <= low and high <= b), (low, high))
