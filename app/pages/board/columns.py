"""The columns of the board: their tasks and protocols, and the result in each cell."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from theodolite.app import suites
from theodolite.app.pages.board.spec import ALL, PUBLISHED, UPLOADS, TaskColumn
from theodolite.app.results import has_score, protocols_of, under_one_protocol
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.mteb.own_tasks import PREFIX, split_name
from theodolite.engine.protocols import PROTOCOLS, is_package
from theodolite.engine.tasks import SUITES, Task, available, in_order

Row = Mapping[str, Any]
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


@dataclass(frozen=True, eq=False)
class Chosen:
    """The columns and results of a suite under a protocol, before any filter."""

    columns: tuple[TaskColumn, ...]
    cells: Mapping[tuple[str, str], Row]


def edition(workspace: Workspace) -> Edition:
    """A version of the board's inputs, which changes with results, imports and look-ups."""
    known = suites.known(workspace) is not None
    return *workspace.store.results.edition(), *workspace.store.published.edition(), known


@lru_cache(maxsize=8)
def chosen(workspace: Workspace, suite: str, protocol: str, now: Edition) -> Chosen:
    """The columns of a suite under a protocol, and one result for each encoder and task."""
    rows = scored(workspace, now)
    others = _published(workspace, suite) if protocol == PUBLISHED else {}
    if protocol == PUBLISHED:
        rows = [row for row in rows if is_package(row["protocol"])]
    wanted = set(in_suite(workspace, suite, {row["task"] for row in rows}))
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
        for name in in_suite(workspace, suite, evaluated | named)
    ]
    return Chosen(tuple(columns), cells)


def _published(workspace: Workspace, suite: str) -> dict[str, tuple[str, ...]]:
    """Tasks with imported published scores, by their names in the suite -> their languages."""
    found: dict[str, set[str]] = {}
    for row in imported(workspace, workspace.store.published.edition()):
        codes = {code.partition("-")[0] for code in row["facts"].get("languages", ())}
        found.setdefault(row["task"], set()).update(codes)
    names = _members(workspace, suite) if suites.is_suite(suite) else list(found)
    return {name: tuple(sorted(found[bare(name)])) for name in names if bare(name) in found}


@lru_cache(maxsize=1)
def imported(workspace: Workspace, _edition: tuple[int, int]) -> list[Row]:
    """Imported results by version of mteb, the oldest first, so that the newest overwrites them."""
    rows = workspace.store.published.table()
    return sorted(rows, key=lambda row: [int(part) for part in re.findall(r"\d+", row["version"])])


def bare(task: str) -> str:
    """The name of MTEB's task without subsets and splits, as in published results."""
    return PREFIX + split_name(task)[0]


def in_suite(workspace: Workspace, suite: str, tasks: Collection[str]) -> list[str]:
    """Filter tasks by a suite, in the suite's order."""
    if suite == ALL:
        return in_order(sorted(tasks))
    if suite == UPLOADS:
        return sorted(task for task in tasks if task.startswith("upload:"))
    return [task for task in _members(workspace, suite) if task in tasks]


def _members(workspace: Workspace, suite: str) -> Sequence[str]:
    if suite in SUITES:
        return SUITES[suite]
    if suites.is_suite(suite):
        return suites.members(workspace, suite)
    known = ", ".join((ALL, *SUITES, UPLOADS))
    raise UserError(
        f"There is no suite {suite!r}.",
        f"Known are {known} and those that `theodolite data suite` lists.",
        code="unknown",
    )


def offered(workspace: Workspace) -> tuple[list[str], list[str]]:
    """Suites with evaluated tasks (of MTEB's, half or more must have scores), and protocols."""
    rows = scored(workspace, edition(workspace))
    tasks, published = {row["task"] for row in rows}, workspace.store.published.tasks()
    there = tasks | published
    names = [name for name in (*SUITES, UPLOADS) if in_suite(workspace, name, tasks)]
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


@lru_cache(maxsize=4096)
def _task(name: str) -> Any:
    from theodolite.engine.tasks import named

    try:
        return named(name)
    except ValueError:
        return None


def _column(
    name: str,
    protocol: str,
    here: Task | None,
    languages: Mapping[str, tuple[str, ...]],
    by_mteb: tuple[str, tuple[str, ...]] | None,
) -> TaskColumn:
    """The column of a task, from its data, or from its name if the data is missing."""
    task = here or _task(name)
    if by_mteb is not None:
        return TaskColumn(name, type_name(by_mteb[0] or UNKNOWN), protocol, by_mteb[1], name)
    if task is None:
        return TaskColumn(name, "Other", protocol)
    types = PROTOCOLS[protocol].types if protocol in PROTOCOLS else ()
    kind = task.type_under(types) or task.type
    spoken = languages.get(task.dataset, ())
    return TaskColumn(name, type_name(kind), protocol, spoken, task.dataset)
