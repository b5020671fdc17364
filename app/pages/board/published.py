"""Published results beside the columns of the board: references, not computed here.

Only scores of MTEB's own tasks, or of tasks under MTEB's protocols, have a matching column; under
PUBLISHED, where published results define the columns, all of them have one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from theodolite.app.pages.board.standings import (
    PUBLISHED,
    Entry,
    Standings,
    TaskColumn,
    bare,
    imported,
    means,
)
from theodolite.app.workspace import Workspace
from theodolite.engine.mteb.own_tasks import PREFIX, split_name
from theodolite.engine.protocols.published import beside
from theodolite.engine.stats.agreement import shared


def entries(workspace: Workspace, board: Standings) -> list[Entry]:
    """Published scores on the tasks of a board: of papers, and imported ones by their mean.

    Imported are those of models that match the board's filters.
    """
    found = _imported(workspace, board.columns, workspace.store.published.edition())
    found = [entry for entry in found if board.spec.fits(entry.facts)]
    columns = compared(board, found)
    placed = [replace(entry, **means(columns, entry.scores)) for entry in found]
    placed.sort(key=lambda entry: entry.mean or -1.0, reverse=True)
    return [*_papers(board, columns), *placed]


def compared(board: Standings, published: Sequence[Entry]) -> list[TaskColumn]:
    """The columns of the means: those of the ranking, else those that published entries share."""
    over = board.shared
    if not board.entries:
        over = tuple(shared({f"{i}": entry.scores for i, entry in enumerate(published)})[1])
    return [column for column in board.columns if column.task in over]


def _papers(board: Standings, columns: Sequence[TaskColumn]) -> Iterator[Entry]:
    """Scores that papers print of the tasks of a board, under its protocols."""
    for row, points in beside([(one.task, one.protocol) for one in board.columns]).items():
        scores = {c.task: s for c, s in zip(board.columns, points, strict=True) if s is not None}
        over = {} if row.aggregation == "wmean" else means(columns, scores)
        where, notes = f"published, {row.training}", dict.fromkeys(scores, row.table)
        yield Entry(row.model, scores, published=where, notes=notes, **over)


@lru_cache(maxsize=4)
def _imported(
    workspace: Workspace, listed: tuple[TaskColumn, ...], edition: tuple[int, int]
) -> list[Entry]:
    """Imported results of all models in those of the columns that can have any."""
    columns: dict[str, list[TaskColumn]] = {}
    for column in listed:
        if column.protocol == PUBLISHED or column.revision is not None:
            columns.setdefault(bare(column.task), []).append(column)
    found: dict[tuple[str, str], Entry] = {}
    for row in imported(workspace, edition) if columns else ():
        for column in columns.get(row["task"], ()):
            name, revision = row["model"], row["revision"]
            facts = {"revision": revision, **(row["facts"].get("model") or {})}
            entry = found.setdefault((name, revision), Entry(name, published="published"))
            entry.facts.update(facts)
            score, same = _score(row, column), column.revision in (None, row["data_revision"])
            kept = column.task in entry.scores and column.task not in entry.other
            if score is not None and (same or not kept):
                entry.scores[column.task] = score
                entry.notes[column.task] = _note(row, column)
                (entry.other.discard if same else entry.other.add)(column.task)
    return sorted(
        (entry for entry in found.values() if entry.scores),
        key=lambda one: (-len(one.scores), one.name, one.facts["revision"]),
    )


def _score(row: Mapping[str, Any], column: TaskColumn) -> float | None:
    """The published score on exactly the column's splits and subsets; None if there is none."""
    listed = {(split, subset): score for split, subset, score in row["facts"].get("parts", ())}
    wanted = column.parts
    if wanted is None:
        if not column.task.startswith(PREFIX) or column.task == row["task"]:
            return float(row["score"])
        _, subsets, splits = split_name(column.task)
        wanted = frozenset(
            (split, subset)
            for split, subset in listed
            if subset in (subsets or (subset,)) and split in (splits or (split,))
        )
        if not {*subsets} <= {subset for _, subset in wanted}:
            return None
    if not wanted or not wanted <= listed.keys():
        return None
    return sum(listed[part] for part in wanted) / len(wanted)


def _note(row: Mapping[str, Any], column: TaskColumn) -> str:
    """The version of mteb, and the revision of the data where it is not the one here."""
    version = f"mteb {row['version']}" if row["version"] else "published"
    if column.revision == row["data_revision"]:
        return f"{version}, the same data as here"
    here = f"; here it is {column.revision[:8]}" if column.revision else ""
    return f"{version}, revision {row['data_revision'][:8] or 'unknown'} of the data{here}"
