"""The data for a decision: brought, its columns, whether and how it is scored.

The columns of a file are found by their values, and asked for in doubt.
"""

from collections import Counter
from pathlib import Path

import numpy as np

from theodolite.app import formats
from theodolite.app.pages.data import service as uploads
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import tables
from theodolite.engine.datasets.chunks import base
from theodolite.engine.datasets.types import (
    Dataset,
    LabelledPairs,
    LabelledSentences,
    Parallel,
    Retrieval,
    ScoredPairs,
)
from theodolite.engine.errors import UserError
from theodolite.engine.tasks import get
from theodolite.engine.tasks.classification import REPEATED, frequent, has_own_splits
from theodolite.store.errors import StoreError

MIN_EXAMPLES = 20
"""Fewest examples that are scored."""
MAX_COMPARED = 2_000
"""Most sentences whose neighbours are compared if there are no labels."""
EXAMPLES = {
    "pairs": ("pair", "pairs"),
    "labelled-pairs": ("pair", "pairs"),
    "parallel": ("translation", "translations"),
    "retrieval": ("query", "queries"),
}
"""Kind of data -> singular and plural of its examples; *example* for all other kinds."""
_OTHERS = (
    "Name the column of the labels in Columns (--columns): text=…,label=… or, to go on without "
    "labels, text=… alone."
)
_MAX_NAMES = 99


def bring(workspace: Workspace, file: Path, columns: str = "") -> str:
    """Add a file, or a folder of them, to the data sets; return its name in the catalog.

    The roles of its columns are found by their names and values unless given: `text=…,label=…`. If
    other content has its name, a number is added to it.
    """
    workspace.refuse_visitors()
    before = {row["name"] for row in workspace.store.uploads.list()}
    with uploads.bring([file]) as folder:
        whole = folder.path
        preview = None if columns else tables.preview(whole, whole.name)
        if preview:
            doubts, choice = uploads.doubts(whole, preview)
            if doubts:
                raise UserError(
                    f"Which columns of {whole.name} count? {'; '.join(doubts)}.",
                    f"Name them in Columns (--columns): {choice}",
                    code="ambiguous",
                )
        mapping, stem = (
            uploads.mapping_of(whole, None, columns or None, seen=preview),
            uploads.name_for(whole.name),
        )
        for number in range(1, _MAX_NAMES + 1):
            name = stem if number == 1 else f"{stem[:76]} {number}"
            try:
                uploads.keep(workspace, whole, whole.name, name, mapping, folder.notes)
                break
            except StoreError as error:
                if "already" not in error.message or number == _MAX_NAMES:
                    raise
    try:
        check(workspace.catalog.load(f"upload:{name}"))
    except UserError:
        if name not in before:
            uploads.remove(workspace, f"upload:{name}")
        raise
    return f"upload:{name}"


def check(data: Dataset) -> None:
    """Refuse data without information."""
    if not any(text.strip() for text in data.sentences):
        raise UserError(
            f"All texts of {data.name} are empty.",
            "Name their column in Columns (--columns): text=…",
            code="missing",
        )
    counts = labels_of(data)
    label = next(iter(counts), "")[:40]
    if len(counts) == 1:
        raise UserError(
            f"All {counts.total():,} rows of {data.name} have the label {label!r}: there is "
            "nothing to tell apart.",
            _OTHERS,
            code="too-few",
        )
    if len(counts) == counts.total() >= MIN_EXAMPLES:
        raise UserError(
            f"Each of the {len(counts):,} rows of {data.name} has a label of its own, such as "
            f"{label!r}: these are not classes.",
            _OTHERS,
            code="wrong-kind",
        )


def labels_of(data: Dataset) -> Counter[str]:
    """Frequency of each label; empty without labels."""
    return Counter(data.labels if isinstance(data, LabelledSentences | LabelledPairs) else ())


def count_examples(data: Dataset) -> int:
    """Number of rows with a gold label, score or judgement."""
    match data:
        case ScoredPairs():
            return sum(len(part.gold) for part in data.parts.values())
        case Retrieval():
            return max((len(judged) for judged in data.judgements.values()), default=0)
        case Parallel():
            return max((len(part.gold) for part in data.parts.values()), default=0)
    return labels_of(data).total()


def in_words(n: int, kind: str) -> str:
    """`300 examples`, or `300 pairs`, `300 queries`, by the kind of data."""
    return formats.plural(n, *EXAMPLES.get(kind, ("example", "examples")))


def columns_of(workspace: Workspace, name: str) -> tuple[dict[str, str], int]:
    """Role -> column of a file of your own, and its rows left out for lack of a label."""
    name = base(name)
    row = workspace.store.uploads.get(name.removeprefix("upload:"))
    if row is None or not name.startswith("upload:"):
        return {}, 0
    columns = row["info"].get("columns") or row["mapping"]["columns"]
    return dict(columns), row["info"].get("unlabelled", 0)


def task_of(workspace: Workspace, name: str) -> str | None:
    """The task that scores a data set; None if too few rows have gold labels.

    Labelled sentences: folds of a linear classifier if most rows have frequent labels, else
    the labels of the nearest neighbours: what a classifier learns from two or three examples per
    label depends more on the length of vectors than on their content.
    """
    data = workspace.catalog.load(name)
    if count_examples(data) < MIN_EXAMPLES:
        return None
    if isinstance(data, LabelledSentences):
        labels, counts = frequent(data, "train" if has_own_splits(data) else None)
        many = sum(counts[label] for label in labels) >= 0.9 * counts.total()
        return f"{name}/{'classify' if many and len(labels) > 1 else 'search'}"
    if "|" in name:  # by the canonical name, under which results are stored
        return get(name, workspace.catalog).name
    tasks = {info.name: info.tasks for info in workspace.catalog.list()}
    return next(iter(tasks.get(name, ())), name)


def protocol_of(task: str) -> str | None:
    """The protocol of a sheet: folds are drawn ten times; None for the task's own."""
    return REPEATED if task.endswith("/classify") else None


def highest(data: Dataset, metric: str) -> float | None:
    """The highest possible score if labels are too rare for 100; None otherwise."""
    counts = labels_of(data)
    if metric != "precision_at_10" or min(counts.values(), default=11) > 10:
        return None
    total = sum(n * min(1.0, (n - 1) / 10) for n in counts.values())
    return 100.0 * (total / counts.total())


def sample(workspace: Workspace, name: str) -> list[str]:
    """Distinct sentences whose neighbours are compared if there are no labels."""
    distinct, _ = workspace.catalog.sentences(name)
    order = np.random.default_rng(0).permutation(len(distinct))[:MAX_COMPARED]
    return [distinct[i] for i in np.sort(order)]
