"""Encoders ranked on the tasks of a suite: means, the Borda count, and uncertainty of ranks.

Means, points and ranks are over scores that the ranked encoders share (`engine.stats.agreement`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from theodolite.app import suites
from theodolite.app.pages.board.spec import (
    EVERYTHING,
    OWN,
    PUBLISHED,
    TASKS,
    BoardSpec,
    TaskColumn,
)
from theodolite.app.pages.compare import service as comparison
from theodolite.app.pages.compare.service import Ranking
from theodolite.app.pages.evaluate.job import waiting
from theodolite.app.recent import Recent
from theodolite.app.results import (
    Cells,
    Row,
    has_score,
    protocols_of,
    task_by_name,
    under_one_protocol,
)
from theodolite.app.suites import ALL, UPLOADS
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.mteb.own_tasks import PREFIX, split_name
from theodolite.engine.protocols import PROTOCOLS, is_package
from theodolite.engine.protocols.package import version
from theodolite.engine.stats.agreement import means, shared
from theodolite.engine.stats.ranks import borda, by_group, rank
from theodolite.engine.tasks import SUITES, Task, available

Edition = tuple[int, int, int, int, bool]
UNKNOWN = "MTEB"
"""Label of an unknown task type."""
TYPES = {
    "sts": "STS",
    "STS": "STS",
    "few-shot": "Classification",
    "document-retrieval": "Retrieval",
    "bitext": "Bitext mining",
    UNKNOWN: UNKNOWN,
}
"""Labels of task types, where they differ from the capitalised name."""


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
    now = edition(workspace)
    spec = replace(spec, columns=TASKS, published=False)  # which change no number
    if spec.protocol == OWN and not scored(workspace, now) and now[3]:
        spec = replace(spec, protocol=PUBLISHED)  # else the board would be empty
    return _board(workspace, spec, now, _listed(workspace), waiting(workspace))


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
    unknown = any(column.type == UNKNOWN for column in standings.columns)
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
    now: Edition,
    _listed: int,
    waiting: frozenset[tuple[str, str]],
) -> Standings:
    columns, cells = _columns(workspace, spec.suite, spec.protocol, now)
    kept = {column.task for column in columns if spec.wants(column)}
    facts = workspace.store.encoders.infos()
    evaluated = dict.fromkeys(name for name, task in cells if task in kept)
    if not kept:
        raise _nothing(spec, bool(columns))
    names = [name for name in evaluated if spec.fits(facts.get(name, {}))]
    if evaluated and not names:
        raise UserError(
            f"None of {len(evaluated)} encoders is known to match the filters.",
            "Relax the filters for size, dimensions, tokens or licence.",
            code="no-result",
        )
    shown = [column for column in columns if column.task in kept]
    running = {
        name
        for name, task in waiting
        if spec.protocol == OWN
        and task in kept
        and (name, task) not in cells
        and spec.fits(facts.get(name, {}))
    }
    left_out = len(evaluated) - len(names)
    return _standings(spec, shown, names, sorted(running), cells, facts, left_out)


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


def edition(workspace: Workspace) -> Edition:
    """A version of the board's inputs, which changes with results, imports and look-ups."""
    known = suites.known(workspace) is not None
    return *workspace.store.results.edition(), *workspace.store.published.edition(), known


@lru_cache(maxsize=8)
def _columns(
    workspace: Workspace, suite: str, protocol: str, now: Edition
) -> tuple[list[TaskColumn], Cells]:
    """The columns of a suite under a protocol, and one result for each encoder and task."""
    rows = scored(workspace, now)
    others = _published(workspace, suite) if protocol == PUBLISHED else {}
    if protocol == PUBLISHED:
        rows = [row for row in rows if is_package(row["protocol"])]
    wanted = set(suites.in_suite(workspace, suite, {row["task"] for row in rows}))
    rows = [row for row in rows if row["task"] in wanted]
    one = "" if protocol == PUBLISHED else protocol
    under, cells = protocols_of(rows, one), under_one_protocol(rows, one)
    evaluated = {task for _, task in cells}
    by_mteb = _described_by_mteb(workspace, cells)
    there = {bare(task) for task in evaluated}
    named = {task for task in others if suites.is_suite(suite) or bare(task) not in there}
    languages = {info.name: info.languages for info in workspace.catalog.list()}
    here = {task.name: task for task in available(workspace.catalog)}
    columns = [
        _column(name, under[name], here.get(name), languages, by_mteb.get(name))
        if name in evaluated
        else _of_others(workspace, name, others[name])
        for name in suites.in_suite(workspace, suite, evaluated | named)
    ]
    return columns, cells


def _published(workspace: Workspace, suite: str) -> dict[str, tuple[str, ...]]:
    """Tasks with imported published scores, by their names in the suite -> their languages."""
    found: dict[str, set[str]] = {}
    for row in imported(workspace, workspace.store.published.edition()):
        codes = {code.partition("-")[0] for code in row["facts"].get("languages", ())}
        found.setdefault(row["task"], set()).update(codes)
    names = suites.tasks_of(workspace, suite) if suites.is_suite(suite) else list(found)
    return {name: tuple(sorted(found[bare(name)])) for name in names if bare(name) in found}


@lru_cache(maxsize=1)
def imported(workspace: Workspace, _edition: tuple[int, int]) -> list[Row]:
    """Imported results by version of mteb, the oldest first, so that the newest overwrites them."""
    rows = workspace.store.published.table()
    return sorted(rows, key=lambda row: [int(part) for part in re.findall(r"\d+", row["version"])])


def bare(task: str) -> str:
    """The name of MTEB's task without subsets and splits, as in published results."""
    return PREFIX + split_name(task)[0]


def offered(workspace: Workspace) -> tuple[list[str], list[str]]:
    """Suites with evaluated tasks (of MTEB's, half or more must have scores), and protocols."""
    rows = scored(workspace, edition(workspace))
    tasks, published = {row["task"] for row in rows}, workspace.store.published.tasks()
    there = tasks | published
    names = [name for name in (*SUITES, UPLOADS) if suites.in_suite(workspace, name, tasks)]
    known = suites.known(workspace)
    for name, members in known.tasks.items() if known and there else ():
        if 2 * sum(task in tasks or bare(task) in published for task in members) >= len(members):
            names.append(name)
    under = sorted({row["protocol"] for row in rows})
    return [ALL, *names], [*under, PUBLISHED] if published else under


def type_name(kind: str) -> str:
    """The label of a task type, in our naming or MTEB's."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).replace("-", " ")
    return TYPES.get(kind, words[:1].upper() + words[1:].lower())


@lru_cache(maxsize=2)
def scored(workspace: Workspace, _now: Edition) -> list[Row]:
    """Rows with a score that is not NaN, the oldest first."""
    return list(filter(has_score, workspace.store.results.table()))


def _described_by_mteb(
    workspace: Workspace, cells: Mapping[tuple[str, str], Row]
) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Type and languages of each of MTEB's own tasks, from the details of one of its results."""
    first = {task: row["id"] for (_, task), row in cells.items() if task.startswith(PREFIX)}
    full = workspace.store.results.in_full(list(first.values()))
    found = {}
    for task, number in first.items():
        details = full[number]["details"]
        parts = [one for of in details.get("mteb", {}).get("scores", {}).values() for one in of]
        codes = {code.partition("-")[0] for one in parts for code in one.get("languages", ())}
        found[task] = str(details.get("type") or ""), tuple(sorted(codes))
    return found


def _of_others(workspace: Workspace, name: str, languages: tuple[str, ...]) -> TaskColumn:
    """The column of a task with published results only."""
    known = suites.known(workspace)
    kind = known.types.get(bare(name).removeprefix(PREFIX)) if known else None
    return TaskColumn(name, type_name(kind or UNKNOWN), PUBLISHED, languages, name)


def _column(
    name: str,
    protocol: str,
    here: Task | None,
    languages: Mapping[str, tuple[str, ...]],
    by_mteb: tuple[str, tuple[str, ...]] | None,
) -> TaskColumn:
    """The column of a task, from its data, or from its name if the data is missing."""
    task = here or task_by_name(name)
    if by_mteb is not None:
        return TaskColumn(name, type_name(by_mteb[0] or UNKNOWN), protocol, by_mteb[1], name)
    if task is None:
        return TaskColumn(name, "Other", protocol)
    types = PROTOCOLS[protocol].types if protocol in PROTOCOLS else ()
    kind = task.type_under(types) or task.type
    spoken = languages.get(task.dataset, ())
    return TaskColumn(name, type_name(kind), protocol, spoken, task.dataset)
