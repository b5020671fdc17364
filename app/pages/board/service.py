"""Encoders by tasks of a suite, in one order: means, the Borda count, and what a rank is worth.

Reads the store's results alone. A task without a score is missing and never counts as zero. Used by
the page Board and by `theodolite board`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.errors import UserError
from engine.protocols import is_package
from engine.stats.borda import borda, by_group, means, placed
from engine.tasks import in_order

if TYPE_CHECKING:
    from app.pages.compare.service import Ranking
    from app.workspace import Workspace

Row = Mapping[str, Any]
ALL, OWN = "all", ""
"""Every task that was measured; each task's own protocol."""
MOST_RANKED = 50
"""Encoders whose ranks are resampled: the best of them."""
TYPES = {"sts": "STS", "few-shot": "Classification", "document-retrieval": "Retrieval"}
"""What types are called, where that is not their name with a capital."""


@dataclass(frozen=True)
class BoardSpec:
    """What is asked.

    Attributes:
        suite: its name; ALL for every task with a score.
        protocol: for all tasks; OWN for each task's own.
        types, languages: only such tasks; empty for all.
        most_parameters: of an encoder, in millions; with the next ones, an encoder of which that is
            not known is left out.
        most_dimensions: of its vectors.
        least_tokens: that it reads of a text.
        licences: of its weights.
    """

    suite: str = ALL
    protocol: str = OWN
    types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    most_parameters: float | None = None
    most_dimensions: int | None = None
    least_tokens: int | None = None
    licences: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskColumn:
    """A task on the board; of one whose data is gone neither languages nor data set are known."""

    task: str
    type: str
    protocol: str
    languages: tuple[str, ...] = ()
    dataset: str = ""


@dataclass(frozen=True, eq=False)
class Standings:
    """Encoders by tasks.

    Attributes:
        spec: what was asked.
        columns: the tasks.
        encoders: those with a score on every task by their mean, then those that miss some, whose
            means are over other tasks and not to be compared with it.
        scores: float64 (encoders, tasks), nan where one is missing.
        mean, counts: of each encoder, over how many tasks.
        types, by_type, type_counts: the same within each type of task.
        type_mean: of the means by type; nan where a whole type is missing.
        points: Borda count.
        ranks: by it; equal points share the better rank.
        cells: (encoder, task) -> the store's row.
        facts: encoder -> what is known of it.
        left_out: encoders that a filter leaves out.
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

    def rows(self, ranking: Ranking | None = None) -> list[dict[str, Any]]:
        """One flat object an encoder, as `theodolite board --json` prints them."""
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
                "types": {t: {"mean": _number(m), "tasks": int(k)} for t, m, k in types},
                "scores": {t: _number(s) for t, s in zip(tasks, self.scores[i], strict=True)},
            })  # fmt: skip
        return rows


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def board(workspace: Workspace, spec: BoardSpec = BoardSpec()) -> Standings:
    """Put every measured encoder in order on the tasks of a suite.

    Raises:
        UserError: an unknown suite or protocol, or nothing was measured.
    """
    return _board(workspace, spec, workspace.store.results.edition(), _listed(workspace))


def ranking(workspace: Workspace, standings: Standings) -> Ranking | None:
    """What the ranks by the mean are worth; None where fewer than two have every task."""
    from app.pages.compare import service as comparison

    names = standings.complete[:MOST_RANKED]
    tasks = [column.task for column in standings.columns]
    return comparison.ranking(workspace, names, tasks, standings.cells) if len(names) > 1 else None


def offered(workspace: Workspace) -> tuple[list[str], list[str]]:
    """Suites with a measured task, and protocols with a score."""
    from engine.tasks import SUITES

    rows = _scored(workspace, workspace.store.results.edition())
    tasks = {row["task"] for row in rows}
    suites = [name for name, members in SUITES.items() if tasks & set(members)]
    return [ALL, *suites], sorted({row["protocol"] for row in rows})


def type_name(kind: str) -> str:
    """A type of task as people call it."""
    words = kind.replace("-", " ")
    return TYPES.get(kind, words[:1].upper() + words[1:])


def _listed(workspace: Workspace) -> int:
    """Changes when an encoder is listed, or more is known of one."""
    return hash(tuple((row["name"], str(row["info"])) for row in workspace.store.encoders.list()))


@lru_cache(maxsize=2)
def _scored(workspace: Workspace, _edition: tuple[int, int]) -> list[Row]:
    """Rows with a score, the oldest first."""
    rows = workspace.store.results.table()
    return [row for row in rows if row["error"] is None and row["score"] == row["score"]]


@lru_cache(maxsize=64)
def _board(
    workspace: Workspace, spec: BoardSpec, edition: tuple[int, int], _listed: int
) -> Standings:
    chosen = _chosen(workspace, spec.suite, spec.protocol, edition)
    kept = {column.task for column in chosen.columns if _wanted(column, spec)}
    facts = {row["name"]: row["info"] for row in workspace.store.encoders.list()}
    measured = dict.fromkeys(name for name, task in chosen.cells if task in kept)
    if not measured:
        raise _nothing(spec, bool(chosen.columns))
    names = [name for name in measured if _fits(facts.get(name, {}), spec)]
    if not names:
        raise UserError(
            f"None of {len(measured)} encoders fits the filters, as far as is known of them.",
            "Widen the size, dimensions, tokens or licence.",
        )
    columns = [column for column in chosen.columns if column.task in kept]
    return _standings(spec, columns, names, chosen.cells, facts, len(measured) - len(names))


@dataclass(frozen=True, eq=False)
class _Chosen:
    """What a suite has under a protocol, before any filter."""

    columns: tuple[TaskColumn, ...]
    cells: Mapping[tuple[str, str], Row]


@lru_cache(maxsize=8)
def _chosen(workspace: Workspace, suite: str, protocol: str, edition: tuple[int, int]) -> _Chosen:
    rows = _of_suite(_scored(workspace, edition), suite)
    under = _protocols(rows, protocol)
    cells = _cells(rows, under)
    languages = {info.name: info.languages for info in workspace.catalog.list()}
    names = _ordered(suite, {task for _, task in cells})
    return _Chosen(tuple(_column(name, under[name], languages) for name in names), cells)


def _standings(
    spec: BoardSpec,
    columns: Sequence[TaskColumn],
    names: Sequence[str],
    kept: Mapping[tuple[str, str], Row],
    facts: Mapping[str, Mapping[str, Any]],
    left_out: int,
) -> Standings:
    at = {name: i for i, name in enumerate(names)}
    place = {column.task: i for i, column in enumerate(columns)}
    scores = np.full((len(names), len(columns)), np.nan)
    for (name, task), row in kept.items():
        if name in at and task in place:
            scores[at[name], place[task]] = row["score"]
    mean, counts = means(scores)
    order = np.lexsort((-np.nan_to_num(mean, nan=-np.inf), -counts))
    scores, mean, counts = scores[order], mean[order], counts[order]
    types, by_type, type_counts = by_group(scores, [column.type for column in columns])
    points = borda(scores)
    return Standings(
        spec,
        tuple(columns),
        tuple(names[i] for i in order),
        scores,
        mean,
        counts,
        tuple(types),
        by_type,
        type_counts,
        by_type.mean(axis=1),  # nan where a type is missing
        points,
        placed(points),
        kept,
        facts,
        left_out,
    )


def _of_suite(rows: Sequence[Row], suite: str) -> Sequence[Row]:
    from engine.tasks import SUITES

    if suite == ALL:
        return rows
    if suite not in SUITES:
        raise UserError(f"There is no suite {suite!r}.", f"Known are all, {', '.join(SUITES)}.")
    wanted = set(SUITES[suite])
    return [row for row in rows if row["task"] in wanted]


def _ordered(suite: str, tasks: set[str]) -> list[str]:
    from engine.tasks import SUITES

    return in_order(sorted(tasks)) if suite == ALL else [t for t in SUITES[suite] if t in tasks]


def _protocols(rows: Sequence[Row], asked: str) -> dict[str, str]:
    """Task -> the protocol of its column: the one asked for, else the task's own.

    What mteb's own code measured is never mixed with what Theodolite did: without being asked for
    it stands there only where there is nothing else.
    """
    found: dict[str, dict[str, int]] = {}
    for (task, name), number in Counter((row["task"], row["protocol"]) for row in rows).items():
        found.setdefault(task, {})[name] = number
    if asked:
        return {task: asked for task, under in found.items() if asked in under}
    ours = {
        task: {name: n for name, n in under.items() if not is_package(name)}
        for task, under in found.items()
    }
    if any(ours.values()):
        return {task: _own(task, under) for task, under in ours.items() if under}
    versions = Counter(name for under in found.values() for name in under)
    newest = max(versions, key=lambda name: (versions[name], name), default="")
    return {task: newest for task, under in found.items() if newest in under}


def _own(task: str, under: Mapping[str, int]) -> str:
    """The task's own protocol if it was measured so, else what most results are under."""
    own = _task(task).protocol if _task(task) else ""
    return own if own in under else max(under, key=lambda name: (under[name], name))


@lru_cache(maxsize=4096)
def _task(name: str) -> Any:
    from engine.tasks import named

    try:
        return named(name)
    except ValueError:
        return None


def _cells(rows: Sequence[Row], under: Mapping[str, str]) -> dict[tuple[str, str], Row]:
    """One result for each encoder and task: of the protocol's own seed if there is one."""
    from engine.protocols import PROTOCOLS

    seeds = {name: protocol.seed for name, protocol in PROTOCOLS.items()}
    kept: dict[tuple[str, str], Row] = {}
    for row in rows:
        task, protocol = row["task"], row["protocol"]
        if under.get(task) != protocol:
            continue
        key = row["encoder"], task
        if key not in kept or row["seed"] == seeds.get(protocol):
            kept[key] = row
    return kept


def _column(name: str, protocol: str, languages: Mapping[str, tuple[str, ...]]) -> TaskColumn:
    from engine.protocols import PROTOCOLS

    task = _task(name)
    if task is None:
        return TaskColumn(name, "Other", protocol)
    types = PROTOCOLS[protocol].types if protocol in PROTOCOLS else ()
    kind = task.type_under(types) or task.type
    spoken = languages.get(task.dataset, ())
    return TaskColumn(name, type_name(kind), protocol, spoken, task.dataset)


def trained_on(board: Standings, encoder: str) -> list[str] | None:
    """Tasks whose data its card names as trained on; None where it names nothing.

    By names alone, without owner, case and punctuation: of `embedding-data/SNLI` that is `snli`.
    """
    named = {_bare(name) for name in board.facts.get(encoder, {}).get("trained_on") or ()}
    return [c.task for c in board.columns if _bare(c.dataset) in named] if named else None


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.rpartition("/")[2].lower())


def _wanted(column: TaskColumn, spec: BoardSpec) -> bool:
    return (not spec.types or column.type in spec.types) and (
        not spec.languages or bool(set(spec.languages) & set(column.languages))
    )


def _fits(facts: Mapping[str, Any], spec: BoardSpec) -> bool:
    """Whether an encoder is what was asked for, as far as is known."""
    size, dim, tokens = (facts.get(name) for name in ("parameters", "dim", "max_tokens"))
    return not (
        (spec.most_parameters is not None and (size is None or size > 1e6 * spec.most_parameters))
        or (spec.most_dimensions is not None and (dim is None or dim > spec.most_dimensions))
        or (spec.least_tokens is not None and (tokens is None or tokens < spec.least_tokens))
        or (spec.licences and facts.get("licence") not in spec.licences)
    )


def _nothing(spec: BoardSpec, measured: bool) -> UserError:
    under = f" under {spec.protocol}" if spec.protocol else ""
    if measured:
        return UserError(f"No measured task is of that type and language{under}.", "Widen them.")
    return UserError(
        f"Nothing of the suite {spec.suite} is measured{under} yet.",
        "Measure encoders first: `theodolite evaluate`, or the page Evaluate.",
    )
