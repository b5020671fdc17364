"""Encoders ranked on the tasks of a suite: means, the Borda count, and uncertainty of ranks.

Reads only the store's results. A task without a score is missing and never counts as zero. Used by
the page Board and by `theodolite board`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from app import suites
from app.pages.board import columns, lengths
from app.pages.board.columns import Row, TaskColumn, in_suite, offered, type_name
from app.pages.board.spec import ALL, EVERYTHING, OWN, PUBLISHED, UPLOADS, BoardSpec
from engine.errors import UserError
from engine.protocols.package import version
from engine.stats.borda import borda, by_group, means, placed

if TYPE_CHECKING:
    from app.pages.compare.service import Ranking
    from app.workspace import Workspace

__all__ = ["ALL", "OWN", "PUBLISHED", "UPLOADS", "BoardSpec", "Row", "Standings", "TaskColumn",
           "board", "in_suite", "offered", "trained_on", "type_name"]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Standings:
    """The ranking of encoders on tasks.

    Attributes:
        spec: settings of the board.
        columns: the tasks.
        encoders: those with a score on every task, sorted by mean, then those that miss some, whose
            means are over fewer tasks and not comparable.
        scores: float64 (encoders, tasks), NaN where missing.
        mean, counts: mean score of each encoder, and its number of tasks.
        types, by_type, type_counts: the same within each task type.
        type_mean: mean of the means by type; NaN where a whole type is missing.
        points: Borda count.
        ranks: rank by Borda count; equal points share the better rank.
        cells: (encoder, task) -> the store's row.
        facts: encoder -> its facts.
        left_out: number of encoders that the filters exclude.
    """

    spec: BoardSpec
    columns: tuple[TaskColumn, ...]
    encoders: tuple[str, ...]
    scores: np.ndarray
    mean: np.ndarray
    counts: np.ndarray
    types: tuple[str, ...]
    by_type: np.ndarray
    type_counts: np.ndarray
    type_mean: np.ndarray
    points: np.ndarray
    ranks: np.ndarray
    cells: Mapping[tuple[str, str], Row]
    facts: Mapping[str, Mapping[str, Any]]
    left_out: int

    @property
    def complete(self) -> list[str]:
        """Encoders with a score on every task."""
        return [
            n for n, k in zip(self.encoders, self.counts, strict=True) if k == len(self.columns)
        ]

    def rows(
        self,
        ranking: Ranking | None = None,
        trained: Mapping[str, Mapping[str, str] | None] = MappingProxyType({}),
    ) -> list[dict[str, Any]]:
        """A flat dictionary per encoder, as `theodolite board --json` prints them.

        Args:
            ranking: uncertainty of the ranks, if known.
            trained: the result of `trained_on`.
        """
        intervals = {row.name: row for row in ranking.ranks} if ranking else {}
        groups = ranking.groups if ranking else {}
        tasks = [column.task for column in self.columns]
        rows = []
        for i, name in enumerate(self.encoders):
            found = intervals.get(name)
            types = zip(self.types, self.by_type[i], self.type_counts[i], strict=True)
            rows.append({
                "encoder": name,
                "rank": int(self.ranks[i]),
                "borda": float(self.points[i]),
                "mean": _number(self.mean[i]),
                "tasks": int(self.counts[i]),
                "of": len(tasks),
                "mean_by_type": _number(self.type_mean[i]),
                "rank_by_mean": found.rank if found else None,
                "rank_low": found.low if found else None,
                "rank_high": found.high if found else None,
                "tie_group": groups.get(name),
                "trained_on": seen if (seen := trained.get(name)) is None else list(seen),
                "types": {t: {"mean": _number(m), "tasks": int(k)} for t, m, k in types},
                "scores": {t: _number(s) for t, s in zip(tasks, self.scores[i], strict=True)},
            })  # fmt: skip
        return rows


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def board(workspace: Workspace, spec: BoardSpec = EVERYTHING) -> Standings:
    """Rank every evaluated encoder on the tasks of a suite.

    Without results of one's own, the columns are the tasks with published scores.

    Raises:
        UserError: the suite or protocol is unknown, or there are no results.
    """
    now = columns.edition(workspace)
    if spec.protocol == OWN and not columns.scored(workspace, now) and now[3]:
        spec = replace(spec, protocol=PUBLISHED)  # else the board would be empty
    return _board(workspace, spec, now, _listed(workspace))


def trained_on(workspace: Workspace, standings: Standings) -> dict[str, dict[str, str] | None]:
    """Encoder -> {task on whose data it was trained: source}; None if no source says anything."""
    from app.pages.board import trained

    found = trained.known(workspace, standings.facts, standings.encoders)
    return {
        name: None if names is None else trained.tasks_of(standings, names)
        for name, names in found.items()
    }


def look_up(workspace: Workspace, standings: Standings) -> bool:
    """Read unknown task types from MTEB; return whether that was done.

    This imports mteb, once per version; without it the types stay unknown.
    """
    unknown = any(column.type == columns.UNKNOWN for column in standings.columns)
    if not unknown or suites.known(workspace) is not None or version() is None:
        return False
    suites.look_up(workspace)
    return True


def _listed(workspace: Workspace) -> int:
    """A hash of the encoder list, which changes with its entries and their facts."""
    return hash(tuple((row["name"], str(row["info"])) for row in workspace.store.encoders.list()))


@lru_cache(maxsize=64)
def _board(workspace: Workspace, spec: BoardSpec, now: columns.Edition, _listed: int) -> Standings:
    chosen = columns.chosen(workspace, spec.suite, spec.protocol, now)
    kept = {
        column.task for column in chosen.columns
        if spec.wants(column) and lengths.fits(workspace, column.dataset, spec)
    }  # fmt: skip
    facts = workspace.store.encoders.infos()
    evaluated = dict.fromkeys(name for name, task in chosen.cells if task in kept)
    if not kept:
        raise _nothing(spec, bool(chosen.columns))
    names = [name for name in evaluated if spec.fits(facts.get(name, {}))]
    if evaluated and not names:
        raise UserError(
            f"None of {len(evaluated)} encoders is known to match the filters.",
            "Relax the filters for size, dimensions, tokens or licence.",
        )
    shown = [column for column in chosen.columns if column.task in kept]
    return _standings(spec, shown, names, chosen.cells, facts, len(evaluated) - len(names))


def _standings(
    spec: BoardSpec,
    shown: Sequence[TaskColumn],
    names: Sequence[str],
    kept: Mapping[tuple[str, str], Row],
    facts: Mapping[str, Mapping[str, Any]],
    left_out: int,
) -> Standings:
    at = {name: i for i, name in enumerate(names)}
    place = {column.task: i for i, column in enumerate(shown)}
    scores = np.full((len(names), len(shown)), np.nan)
    for (name, task), row in kept.items():
        if name in at and task in place:
            scores[at[name], place[task]] = row["score"]
    mean, counts = means(scores)
    order = np.lexsort((-np.nan_to_num(mean, nan=-np.inf), -counts))
    scores, mean, counts = scores[order], mean[order], counts[order]
    types, by_type, type_counts = by_group(scores, [column.type for column in shown])
    points = borda(scores)
    return Standings(
        spec,
        tuple(shown),
        tuple(names[i] for i in order),
        scores,
        mean,
        counts,
        tuple(types),
        by_type,
        type_counts,
        by_type.mean(axis=1),  # NaN where a type is missing
        points,
        placed(points),
        kept,
        facts,
        left_out,
    )


def _nothing(spec: BoardSpec, evaluated: bool) -> UserError:
    under = f" under {spec.protocol}" if spec.protocol else ""
    if evaluated:
        return UserError(
            f"No evaluated task is of that type, language and length{under}.", "Widen them."
        )
    return UserError(
        f"No task of the suite {spec.suite} has been evaluated{under} yet.",
        "Evaluate encoders first: `theodolite evaluate`, or the page Evaluate.",
    )
