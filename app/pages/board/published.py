"""Published results beside the columns of the board: references, not computed here.

Only scores of MTEB's own tasks, or of tasks under MTEB's protocols, have a matching column; under
PUBLISHED, where published results define the columns, all of them have one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from theodolite.app.pages.board.service import Standings, bare, imported
from theodolite.app.pages.board.spec import PUBLISHED
from theodolite.app.workspace import Workspace
from theodolite.engine.mteb.own_tasks import PREFIX, split_name
from theodolite.engine.protocols import is_package
from theodolite.engine.protocols.published import beside
from theodolite.engine.stats.agreement import shared

_NATIVE = ("mteb-v1", "mteb-v2")


@dataclass(frozen=True, eq=False)
class Reference:
    """The published scores of a model: of one revision of it, or of a table of a paper.

    Attributes:
        model, revision: as published.
        scores: task -> points.
        notes: task -> a note on the score's version of mteb and of the data, or its table.
        other: tasks whose data had another revision than here.
        facts: facts on the model.
        training: what a paper trained it on.
        has_mean: whether its scores may be averaged.
    """

    model: str
    revision: str
    scores: dict[str, float] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    other: set[str] = field(default_factory=set)
    facts: dict[str, Any] = field(default_factory=dict)
    training: str = ""
    has_mean: bool = True

    def row(self, tasks: Sequence[str], over: Sequence[str]) -> dict[str, Any]:
        """A flat dictionary, as `theodolite board --json` prints it beside the own rows.

        Args:
            tasks: those of the board.
            over: those of the mean, see `compared`.
        """
        return {
            "encoder": self.model,
            "revision": self.revision,
            "published": True,
            "mean": self.mean(over),
            "mean_over": len(over),
            "tasks": len(self.scores),
            "of": len(tasks),
            "scores": {task: self.scores.get(task) for task in tasks},
        }

    def mean(self, tasks: Sequence[str]) -> float | None:
        """Mean over some tasks; None if a score is missing."""
        scores = [self.scores[task] for task in tasks if task in self.scores]
        whole = self.has_mean and scores and len(scores) == len(tasks)
        return sum(scores) / len(scores) if whole else None


@dataclass(frozen=True)
class _Column:
    """The data of a column: its revision, and its splits and subsets if known.

    Both are unknown without a result computed here.
    """

    task: str
    revision: str | None = None
    parts: frozenset[tuple[str, str]] | None = None


def references(workspace: Workspace, board: Standings) -> tuple[Reference, ...]:
    """Imported results on the tasks of a board, of models that match its filters.

    Models with a score on every task `compared` come first, by their mean.
    """
    columns = tuple(_columns(workspace, board))
    found = _references(workspace, columns, workspace.store.published.edition())
    shown = tuple(one for one in found if board.spec.fits(one.facts))
    tasks = compared(board, shown)
    return tuple(sorted(shown, key=lambda one: -(one.mean(tasks) or -1.0)))


def papers(board: Standings) -> Iterator[Reference]:
    """Scores that papers print of the tasks of a board, under its protocols."""
    columns = [(column.task, column.protocol) for column in board.columns]
    for row, points in beside(columns).items():
        scores = {
            task: score
            for (task, _), score in zip(columns, points, strict=True)
            if score is not None
        }
        notes, has_mean = dict.fromkeys(scores, row.table), row.aggregation != "wmean"
        yield Reference(row.model, "", scores, notes, training=row.training, has_mean=has_mean)


def compared(board: Standings, references: Sequence[Reference]) -> tuple[str, ...]:
    """The tasks of the references' means: those of the ranking, else those that they share."""
    if board.encoders:
        return board.shared
    return tuple(shared({f"{i}": one.scores for i, one in enumerate(references)})[1])


def elsewhere(workspace: Workspace, board: Standings) -> int:
    """The number of imported models if none of them has a score on a board, else 0."""
    filtered = not board.spec.fits({})
    shown = filtered or references(workspace, board)
    return 0 if shown else workspace.store.published.models()


@lru_cache(maxsize=4)
def _references(
    workspace: Workspace, listed: tuple[_Column, ...], edition: tuple[int, int]
) -> tuple[Reference, ...]:
    """Imported results of all models in some columns."""
    columns: dict[str, list[_Column]] = {}
    for column in listed:
        columns.setdefault(bare(column.task), []).append(column)
    found: dict[tuple[str, str], Reference] = {}
    for row in imported(workspace, edition) if columns else ():
        if row["task"] not in columns:
            continue
        of = found.setdefault((row["model"], row["revision"]), Reference(*_model(row)))
        of.facts.update(row["facts"].get("model") or {})
        for column in columns[row["task"]]:
            score = _score(row, column)
            same = column.revision in (None, row["data_revision"])
            kept = column.task in of.scores and column.task not in of.other
            if score is not None and (same or not kept):
                of.scores[column.task] = score
                of.notes[column.task] = _text(row, column)
                (of.other.discard if same else of.other.add)(column.task)
    shown = (one for one in found.values() if one.scores)
    return tuple(sorted(shown, key=lambda one: (-len(one.scores), one.model, one.revision)))


def _columns(workspace: Workspace, board: Standings) -> Iterable[_Column]:
    first: dict[str, Mapping[str, Any]] = {}
    for (_, task), row in board.cells.items():
        first.setdefault(task, row)
    yield from (_Column(column.task) for column in board.columns if column.protocol == PUBLISHED)
    wanted = {
        column.task: first[column.task]
        for column in board.columns
        if is_package(column.protocol) or column.protocol in _NATIVE
    }
    known = workspace.store.results.in_full([row["id"] for row in wanted.values()])
    for task, row in wanted.items():
        own = known[row["id"]]["details"].get("mteb")
        if own is None:
            yield _Column(task, row["data_hash"])
            continue
        parts = {(split, one["hf_subset"]) for split, of in own["scores"].items() for one in of}
        yield _Column(task, own["dataset_revision"], frozenset(parts))


def _model(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["model"], row["revision"]


def _score(row: Mapping[str, Any], column: _Column) -> float | None:
    """The published score on exactly the column's splits and subsets; None if there is none."""
    listed = {(split, subset): score for split, subset, score in row["facts"].get("parts", ())}
    if column.parts is not None:
        wanted = set(column.parts)
    elif not column.task.startswith(PREFIX) or column.task == row["task"]:
        return float(row["score"])
    else:  # the name gives subsets and splits
        _, subsets, splits = split_name(column.task)
        wanted = {
            (split, subset)
            for split, subset in listed
            if subset in (subsets or (subset,)) and split in (splits or (split,))
        }
        if not wanted or not set(subsets) <= {subset for _, subset in wanted}:
            return None
    if not wanted <= listed.keys():
        return None
    return sum(listed[part] for part in wanted) / len(wanted)


def _text(row: Mapping[str, Any], column: _Column) -> str:
    version = f"mteb {row['version']}" if row["version"] else "published"
    if column.revision is None:
        return f"{version}, revision {row['data_revision'][:8] or 'unknown'} of the data"
    if row["data_revision"] == column.revision:
        return f"{version}, the same data as here"
    return (
        f"{version}, on revision {row['data_revision'][:8] or 'unknown'} of the data; "
        f"here it is {column.revision[:8]}"
    )
