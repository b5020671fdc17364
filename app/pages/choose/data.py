"""The data for a decision: its columns, whether and how it is scored, and its defects.

The columns of a file are found by their values, and asked for in doubt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from theodolite.app import formats
from theodolite.app.finite import finite
from theodolite.app.vectors import sources, uncached
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import tables
from theodolite.engine.datasets.columns import is_number
from theodolite.engine.datasets.formats import open_table
from theodolite.engine.datasets.tables import Mapping
from theodolite.engine.datasets.types import (
    Dataset,
    LabelledPairs,
    LabelledSentences,
    Parallel,
    Retrieval,
    ScoredPairs,
    Sentences,
)
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress
from theodolite.engine.tasks.classification import REPEATED, frequent, has_own_splits

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
SAMPLE = 200
"""Rows that are looked at."""
MAX_CLASSES, SHORT = 20, 60
"""Most whole numbers that are taken for classes, and most characters of a usual label."""
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?")


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
    return REPEATED if task.endswith("/classify") else None


def highest(data: Dataset, metric: str) -> float | None:
    """The highest possible score if labels are too rare for 100; None otherwise."""
    if metric != "precision_at_10":
        return None
    counts = labels_of(data)
    found = sum(n * min(1.0, (n - 1) / 10) for n in counts.values()) / counts.total()
    return 100.0 * found if found < 1.0 else None


def _many_of_each(data: LabelledSentences) -> bool:
    kept, counts = frequent(data, "train" if has_own_splits(data) else None)
    return len(kept) > 1 and sum(counts[label] for label in kept) >= 0.9 * counts.total()


def vectors(
    workspace: Workspace, encoder: str, name: str, progress: Progress | None = None
) -> np.ndarray:
    """Vectors of a sample of distinct sentences: float32 (at most MAX_COMPARED, dim)."""
    some = _compared(workspace, name)
    return finite(workspace.bound(encoder, name).encode(some, progress), some)


def lacking(workspace: Workspace, encoder: str, name: str) -> int:
    """Number of sentences of the sample of `vectors` that are not encoded yet."""
    some, models = _compared(workspace, name), sources(workspace.bound(encoder, name))
    return max((len(uncached(model, some)) for model in models), default=0)


def _compared(workspace: Workspace, name: str) -> list[str]:
    distinct, _ = workspace.catalog.sentences(name)
    drawn = np.random.default_rng(0).permutation(len(distinct))[:MAX_COMPARED]
    return [distinct[i] for i in np.sort(drawn)]


def mapping(file: Path) -> Mapping | None:
    """The columns of a table of sentences, with labels or without; None for other files.

    A column called `text` or `label` is what it says; otherwise every column counts that could be
    one by its values.
    """
    preview = tables.preview(file, file.name)
    if preview.type or preview.kind not in ("labels", "sentences"):
        return None
    table = open_table(file, file.name)
    rows = [cells for _, cells in islice(table.rows, SAMPLE) if len(cells) == len(table.columns)]
    values = {name: [str(row[i]) for row in rows] for i, name in enumerate(table.columns)}
    named = {name.casefold(): name for name in table.columns}
    texts, labels = _candidates({n: v for n, v in values.items() if n != named.get("split")})
    texts = [named["text"]] if "text" in named else texts
    labels = [name for name in labels if name not in texts]
    labels = [named["label"]] if "label" in named else labels
    if not texts:
        return None
    if len(texts) > 1 or len(labels) > 1:
        raise _ambiguous(file.name, texts, labels)
    found = {"text": texts[0]} | ({"label": labels[0]} if labels else {})
    if labels and "split" in named:
        found["split"] = named["split"]
    return tables.Mapping("labels" if labels else "sentences", found, preview.header)


def _candidates(values: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """Columns that could be the text, the longest first, and those that could be the label.

    Args:
        values: column -> its cells.
    """
    length = {name: sum(map(len, cells)) for name, cells in values.items()}
    texts = sorted((n for n, cells in values.items() if _is_text(cells)), key=lambda n: -length[n])
    return texts, [name for name, cells in values.items() if _is_label(cells)]


def _is_text(cells: Sequence[str]) -> bool:
    """Whether most cells differ and are words, not one number, date or code."""
    words = [cell for cell in cells if not _is_atom(cell)]
    return 2 * len(words) > len(cells) and 2 * len(set(words)) > len(words)


def _is_atom(cell: str) -> bool:
    atom = cell.isascii() and not re.search(r"\s", cell.strip())
    return not cell.strip() or atom or bool(_DATE.fullmatch(cell.strip()))


def _is_label(cells: Sequence[str]) -> bool:
    """Whether cells repeat as classes do; not dates, and not numbers that measure something."""
    known = [cell.strip() for cell in cells if cell.strip()]
    distinct = set(known)
    if not 2 <= len(distinct) <= len(known) / 2 or any(map(_DATE.fullmatch, distinct)):
        return False
    numbers = [float(cell) for cell in distinct if is_number(cell)]
    if len(numbers) == len(distinct):
        return len(numbers) <= MAX_CLASSES and all(map(float.is_integer, numbers))
    return sum(map(len, known)) <= SHORT * len(known)


def _ambiguous(filename: str, texts: Sequence[str], labels: Sequence[str]) -> UserError:
    several = [
        f"{formats.listed(names)} could each be the {role}"
        for role, names in (("text", texts), ("label", labels))
        if len(names) > 1
    ]
    typed = ",".join([f"text={texts[0]}", *(f"label={name}" for name in labels[:1])])
    return UserError(
        f"Which columns of {filename} count? {'; '.join(several)}.",
        f"Name them under Limits and columns, or on the command line: --columns {typed}",
        code="ambiguous",
    )
