"""Encoders ranked on the tasks of a suite: means, the Borda count, and uncertainty of ranks.

Means, points and ranks are over scores that the ranked encoders share (`engine.stats.agreement`).
Used by the page Board and by `theodolite board`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from theodolite.app import suites
from theodolite.app.pages.board import columns, trained
from theodolite.app.pages.board.columns import Row
from theodolite.app.pages.board.spec import (
    ALL,
    EVERYTHING,
    OWN,
    PUBLISHED,
    TASKS,
    UPLOADS,
    BoardSpec,
    TaskColumn,
)
from theodolite.app.pages.compare import service as comparison
from theodolite.app.pages.compare.service import Ranking
from theodolite.app.pages.evaluate.job import waiting as awaited
from theodolite.app.recent import Recent
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.protocols.package import version
from theodolite.engine.stats.agreement import means, shared
from theodolite.engine.stats.ranks import borda, by_group, rank
from theodolite.engine.tasks import SUITES

MAX_RANKED = 50
"""Number of encoders, the best ones, whose ranks are resampled."""


@dataclass(frozen=True, eq=False)
class Standings:
    """The ranking of encoders on tasks.

    Attributes:
        spec: settings of the board.
        columns: the tasks.
        encoders: the ranked ones, sorted by mean, then the others.
        ranked: those with a score on every shared task, whose evaluation is over.
        shared: the tasks that all means, points and ranks are over.
        running: encoders that are still being evaluated on some of the tasks, with or without rows.
        scores: float64 (encoders, tasks), NaN where missing.
        counts: number of tasks of each encoder.
        mean: mean score of each encoder; this and what follows is NaN for those not ranked.
        by_type: type of shared tasks -> the mean of each encoder within it.
        type_mean: mean of the means by type.
        points: Borda count.
        ranks: rank by Borda count; equal points share the better rank. NaN if one alone is ranked.
        cells: (encoder, task) -> the store's row.
        facts: encoder -> its facts.
        left_out: number of encoders that the filters exclude.
    """

    spec: BoardSpec
    columns: tuple[TaskColumn, ...]
    encoders: tuple[str, ...]
    ranked: tuple[str, ...]
    shared: tuple[str, ...]
    running: tuple[str, ...]
    scores: np.ndarray
    counts: np.ndarray
    mean: np.ndarray
    by_type: Mapping[str, np.ndarray]
    type_mean: np.ndarray
    points: np.ndarray
    ranks: np.ndarray
    cells: Mapping[tuple[str, str], Row]
    facts: Mapping[str, Mapping[str, Any]]
    left_out: int

    @property
    def types(self) -> tuple[str, ...]:
        """The types of all tasks."""
        return tuple(dict.fromkeys(column.type for column in self.columns))

    @property
    def quality(self) -> dict[str, float]:
        """The mean score of each ranked encoder."""
        return dict(zip(self.ranked, self.mean.tolist(), strict=False))


def board(workspace: Workspace, spec: BoardSpec = EVERYTHING) -> Standings:
    """Rank every evaluated encoder on the tasks of a suite.

    Without results of one's own, the columns are the tasks with published scores.
    """
    now = columns.edition(workspace)
    spec = replace(spec, columns=TASKS, published=False)  # which change no number
    if spec.protocol == OWN and not columns.scored(workspace, now) and now[3]:
        spec = replace(spec, protocol=PUBLISHED)  # else the board would be empty
    return _board(workspace, spec, now, _listed(workspace), waiting(workspace))


def suite_of(workspace: Workspace, tasks: Sequence[str]) -> str:
    """The first suite that has all of these tasks."""
    return next(
        suite
        for suite in (*SUITES, UPLOADS, ALL)
        if len(columns.in_suite(workspace, suite, tasks)) == len(tasks)
    )


def waiting(workspace: Workspace) -> frozenset[tuple[str, str]]:
    """(encoder, task) of the results that are still being computed."""
    return frozenset(awaited(workspace))


def trained_on(workspace: Workspace, standings: Standings) -> dict[str, dict[str, str] | None]:
    """Encoder -> {task on whose data it was trained: source}; None if no source says anything."""
    found = trained.known(workspace, standings.facts, standings.encoders)
    return {
        name: None if names is None else trained.tasks_of(standings.columns, names)
        for name, names in found.items()
    }


_RANKED: Recent[Standings, Ranking] = Recent(8)


def ranking(workspace: Workspace, standings: Standings) -> Ranking | None:
    """The uncertainty of ranks by mean; None if fewer than two are ranked."""
    names = standings.ranked[:MAX_RANKED]
    if len(names) < 2:
        return None
    return _RANKED.get(
        standings,
        lambda: comparison.ranking(workspace, names, standings.shared, standings.cells),
    )


def is_ranked(standings: Standings) -> bool:
    """Whether `ranking` answers without resampling."""
    return standings in _RANKED or len(standings.ranked) < 2


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
def _board(
    workspace: Workspace,
    spec: BoardSpec,
    now: columns.Edition,
    _listed: int,
    waiting: frozenset[tuple[str, str]],
) -> Standings:
    chosen = columns.chosen(workspace, spec.suite, spec.protocol, now)
    kept = {column.task for column in chosen.columns if spec.wants(column)}
    facts = workspace.store.encoders.infos()
    evaluated = dict.fromkeys(name for name, task in chosen.cells if task in kept)
    if not kept:
        raise _nothing(spec, bool(chosen.columns))
    names = [name for name in evaluated if spec.fits(facts.get(name, {}))]
    if evaluated and not names:
        raise UserError(
            f"None of {len(evaluated)} encoders is known to match the filters.",
            "Relax the filters for size, dimensions, tokens or licence.",
            code="no-result",
        )
    shown = [column for column in chosen.columns if column.task in kept]
    running = {
        name
        for name, task in waiting
        if spec.protocol == OWN
        and task in kept
        and (name, task) not in chosen.cells
        and spec.fits(facts.get(name, {}))
    }
    left_out = len(evaluated) - len(names)
    return _standings(spec, shown, names, sorted(running), chosen.cells, facts, left_out)


def _standings(
    spec: BoardSpec,
    shown: Sequence[TaskColumn],
    names: Sequence[str],
    running: Sequence[str],
    cells: Mapping[tuple[str, str], Row],
    facts: Mapping[str, Mapping[str, Any]],
    left_out: int,
) -> Standings:
    at = {name: i for i, name in enumerate(names)}
    place = {column.task: i for i, column in enumerate(shown)}
    scores = np.full((len(names), len(shown)), np.nan)
    for (name, task), row in cells.items():
        if name in at and task in place:
            scores[at[name], place[task]] = row["score"]
    ended = {
        name: {task: scores[i, j] for task, j in place.items() if not np.isnan(scores[i, j])}
        for name, i in at.items()
        if name not in running
    }
    ranked, over = shared(ended)
    mean = np.full(len(names), np.nan)
    for name, value in means(ended, ranked, over).items():
        mean[at[name]] = value
    counts = (~np.isnan(scores)).sum(axis=1)
    order = np.lexsort((-counts, -np.nan_to_num(mean, nan=-np.inf)))
    scores, mean, counts = scores[order], mean[order], counts[order]
    several = len(ranked) > 1
    points, ranks = np.full((2, len(names)), np.nan)
    both = scores[:, [place[task] for task in over]]
    both[len(ranked) :] = np.nan  # they come last, and may have some of the tasks
    by_type = by_group(both, [shown[place[task]].type for task in over])
    if several:
        points[: len(ranked)] = borda(both[: len(ranked)])
        ranks[: len(ranked)] = rank(points[: len(ranked)])
    return Standings(
        spec,
        tuple(shown),
        tuple(names[i] for i in order),
        tuple(names[i] for i in order[: len(ranked)]),
        tuple(over),
        tuple(running),
        scores,
        counts,
        mean,
        by_type,
        np.mean(list(by_type.values()), axis=0) if by_type else mean,
        points,
        ranks,
        cells,
        facts,
        left_out,
    )


def _nothing(spec: BoardSpec, evaluated: bool) -> UserError:
    under = f" under {spec.protocol}" if spec.protocol else ""
    if evaluated:
        return UserError(
            f"No evaluated task is of that type and language{under}.",
            "Widen them.",
            code="no-result",
        )
    return UserError(
        f"No task of the suite {spec.suite} has been evaluated{under} yet.",
        "Evaluate encoders first: `theodolite evaluate`, or the page Evaluate.",
        code="no-result",
    )
