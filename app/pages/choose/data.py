"""The data for a decision: whether and how it is scored, and its defects."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from theodolite.engine.datasets.types import (
    LabelledPairs,
    LabelledSentences,
    Parallel,
    Retrieval,
    ScoredPairs,
    Sentences,
)
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.workspace import Workspace
    from theodolite.engine.datasets.types import Dataset

OTHER_COLUMNS = (
    "Name the column of the labels in Columns (--columns): text=…,label=… or, to go on without "
    "labels, text=… alone."
)
MIN_EXAMPLES = 20
"""Fewest examples that are scored."""
FEW = 100
"""Examples below which an interval is as wide as most differences between encoders."""
MAX_COMPARED = 2_000
"""Most sentences whose neighbours are compared if there are no labels."""


def examples(data: Dataset) -> int | None:
    """Number of rows with a gold label, score or judgement; None for bare sentences."""
    match data:
        case LabelledSentences() | LabelledPairs():
            return len(data.labels)
        case ScoredPairs():
            return sum(len(part.gold) for part in data.parts.values())
        case Retrieval():
            return max((len(judged) for judged in data.judgements.values()), default=0)
        case Parallel():
            return max((len(part.gold) for part in data.parts.values()), default=0)
        case Sentences():
            return None
    return None


def unlabelled(workspace: Workspace, name: str) -> int:
    """Number of rows of its file left out for lack of a label."""
    row = workspace.store.uploads.get(name.removeprefix("upload:"))
    return int(row["info"].get("unlabelled", 0)) if row else 0


def columns_of(workspace: Workspace, name: str) -> dict[str, str]:
    """Role -> column of the file that was brought; empty for other data sets."""
    row = workspace.store.uploads.get(name.removeprefix("upload:"))
    if row is None or not name.startswith("upload:"):
        return {}
    return dict(row["info"].get("columns") or row["mapping"]["columns"])


def labels_of(data: Dataset) -> Counter[str]:
    """Frequency of each label; empty without labels."""
    return Counter(data.labels if isinstance(data, LabelledSentences | LabelledPairs) else ())


def check(data: Dataset) -> None:
    """Refuse data without information."""
    if not any(text.strip() for text in data.sentences):
        raise UserError(
            f"All texts of {data.name} are empty.",
            "Name their column in Columns (--columns): text=…",
            code="missing",
        )
    counts = labels_of(data)
    if len(counts) == 1:
        label = next(iter(counts))
        raise UserError(
            f"All {counts[label]:,} rows of {data.name} have the label {label[:40]!r}: there is "
            "nothing to tell apart.",
            OTHER_COLUMNS,
            code="too-few",
        )
    if len(counts) == counts.total() >= MIN_EXAMPLES:
        label = next(iter(counts))
        raise UserError(
            f"Each of the {len(counts):,} rows of {data.name} has a label of its own, such as "
            f"{label[:40]!r}: these are no classes.",
            OTHER_COLUMNS,
            code="wrong-kind",
        )


def task_of(workspace: Workspace, name: str) -> str | None:
    """The task that scores a data set; None if too few rows have gold labels.

    Labelled sentences: folds of a linear classifier if most rows have frequent labels, else
    the labels of the nearest neighbours: what a classifier learns from two or three examples per
    label depends more on the length of vectors than on their content.
    """
    data = workspace.catalog.load(name)
    if (examples(data) or 0) < MIN_EXAMPLES:
        return None
    if isinstance(data, LabelledSentences):
        return f"{name}/{'classify' if _many_of_each(data) else 'search'}"
    infos = {info.name: info for info in workspace.catalog.list()}
    found = infos[name].tasks if name in infos else ()
    return next(iter(found), name)


def protocol_of(task: str) -> str | None:
    """The protocol of a sheet: folds are drawn ten times; None for the task's own."""
    from theodolite.engine.tasks.classification import REPEATED

    return REPEATED if task.endswith("/classify") else None


def highest(data: Dataset, metric: str) -> float | None:
    """The highest possible score if labels are too rare for 100; None otherwise."""
    if metric != "precision_at_10":
        return None
    counts = labels_of(data)
    found = sum(n * min(1.0, (n - 1) / 10) for n in counts.values()) / counts.total()
    return 100.0 * found if found < 1.0 else None


def _many_of_each(data: LabelledSentences) -> bool:
    from theodolite.engine.tasks.classification import frequent, has_own_splits

    kept, counts = frequent(data, "train" if has_own_splits(data) else None)
    return len(kept) > 1 and sum(counts[label] for label in kept) >= 0.9 * counts.total()


def vectors(
    workspace: Workspace, encoder: str, name: str, progress: Progress | None = None
) -> np.ndarray:
    """Vectors of a sample of distinct sentences: float32 (at most MAX_COMPARED, dim)."""
    from theodolite.app.finite import finite

    some = _compared(workspace, name)
    return finite(workspace.bound(encoder, name).encode(some, progress), some)


def lacking(workspace: Workspace, encoder: str, name: str) -> int:
    """Number of sentences of the sample of `vectors` that are not encoded yet."""
    from theodolite.app.vectors import sources, uncached

    some, models = _compared(workspace, name), sources(workspace.bound(encoder, name))
    return max((len(uncached(model, some)) for model in models), default=0)


def _compared(workspace: Workspace, name: str) -> list[str]:
    import numpy as np

    distinct, _ = workspace.catalog.sentences(name)
    drawn = np.random.default_rng(0).permutation(len(distinct))[:MAX_COMPARED]
    return [distinct[i] for i in np.sort(drawn)]
