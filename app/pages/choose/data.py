"""The data for a decision: brought, its columns, whether and how it is scored.

The columns of a file are found by their values, and asked for in doubt.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np

from theodolite.app import formats
from theodolite.app.finite import finite
from theodolite.app.pages.data import service as uploads
from theodolite.app.vectors import sources, uncached
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import tables
from theodolite.engine.datasets.columns import candidates
from theodolite.engine.datasets.formats import open_table
from theodolite.engine.datasets.tables import Mapping
from theodolite.engine.datasets.types import (
    Dataset,
    LabelledPairs,
    LabelledSentences,
    Parallel,
    Retrieval,
    ScoredPairs,
)
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress
from theodolite.engine.tasks.classification import REPEATED, frequent, has_own_splits
from theodolite.store.errors import StoreError

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
EXAMPLES = {
    "pairs": ("pair", "pairs"),
    "labelled-pairs": ("pair", "pairs"),
    "parallel": ("translation", "translations"),
    "retrieval": ("query", "queries"),
}
"""Kind of data -> singular and plural of its examples; *example* for all other kinds."""
_MAX_NAMES = 99


def bring(workspace: Workspace, file: Path, columns: str = "") -> str:
    """Add a file, or a folder of them, to the data sets; return its name in the catalog.

    The roles of its columns are found by their names and values unless given: `text=…,label=…`.
    """
    workspace.refuse_visitors()
    before = {row["name"] for row in workspace.store.uploads.list()}
    with uploads.together([file]) as whole:
        if not columns:
            _refuse_ambiguous(whole)
        added = _keep(workspace, whole, uploads.mapping_of(whole, None, columns or None))
    try:
        check(workspace.catalog.load(added))
    except UserError:
        if added.removeprefix("upload:") not in before:
            uploads.remove(workspace, added)
        raise
    return added


def _keep(workspace: Workspace, file: Path, chosen: Mapping) -> str:
    """Store a file under its name, with a number added if other content has the name."""
    name = uploads.name_for(file.name)
    for number in range(1, _MAX_NAMES):
        unused = name if number == 1 else f"{name[:76]} {number}"
        try:
            kept = uploads.keep(workspace, file, file.name, unused, chosen)
            return f"upload:{kept['name']}"
        except StoreError as error:
            if "already" not in error.message:
                raise
    raise UserError(f"Too many uploads are called {name!r}.", "Rename the file.", code="conflict")


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
    return None


def in_words(n: int, kind: str) -> str:
    """`300 examples`, or `300 pairs`, `300 queries`, by the kind of data."""
    return formats.plural(n, *EXAMPLES.get(kind, ("example", "examples")))


def brought(workspace: Workspace, name: str) -> tuple[dict[str, str], int]:
    """Role -> column of a file of your own, and its rows left out for lack of a label."""
    row = workspace.store.uploads.get(name.removeprefix("upload:"))
    if row is None or not name.startswith("upload:"):
        return {}, 0
    info = row["info"]
    return dict(info.get("columns") or row["mapping"]["columns"]), info.get("unlabelled", 0)


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


def _refuse_ambiguous(file: Path) -> None:
    """Refuse a table in which several columns could be the text, or the label, by their values.

    A column called `text` or `label` is what it says.
    """
    preview = tables.preview(file, file.name)
    if preview.type or preview.kind not in ("labels", "sentences"):
        return
    table = open_table(file, file.name)
    rows = [cells for _, cells in islice(table.rows, SAMPLE) if len(cells) == len(table.columns)]
    values = {
        name: [str(row[i]) for row in rows]
        for i, name in enumerate(table.columns)
        if name.casefold() != "split"
    }
    named = {name.casefold(): [name] for name in table.columns}
    texts, labels = candidates(values)
    texts = named.get("text", texts)
    labels = named.get("label", [name for name in labels if name not in texts])
    several = [
        f"{formats.listed(names)} could each be the {role}"
        for role, names in (("text", texts), ("label", labels))
        if len(names) > 1
    ]
    if several:
        typed = ",".join([f"text={texts[0]}", *(f"label={name}" for name in labels[:1])])
        raise UserError(
            f"Which columns of {file.name} count? {'; '.join(several)}.",
            f"Name them in Columns (--columns): {typed}",
            code="ambiguous",
        )
