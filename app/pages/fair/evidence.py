"""Stored results of some encoders, read once for all points of advice.

Only results of one protocol, one seed and one hash of the data are combined. Missing results are
absent.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theodolite.app.pages.fair.points import LOGISTIC, MLP
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.protocols import PROTOCOLS
from theodolite.engine.tasks import Task, in_order

Row = Mapping[str, Any]
Scores = dict[str, dict[str, float]]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Results of some encoders and of their size variants.

    Attributes:
        encoders: the requested names, canonical.
        dims: encoder -> dimensions, where known.
        tasks: name -> task, all that are available or were evaluated, in the registry's order.
        chosen: the requested tasks; empty for no choice.
        here: tasks whose data is installed.
        rows: (protocol, task, encoder) -> the result.
        full: result id -> its details and all its numbers, of the protocols of Pitfalls.
        seeds: results of every seed, on the data that `rows` have.
        failed: (protocol, task, encoder) -> the error.
        cautions: sentences on results left out.
    """

    encoders: tuple[str, ...]
    dims: Mapping[str, int]
    tasks: Mapping[str, Task]
    chosen: tuple[str, ...]
    here: frozenset[str]
    rows: Mapping[tuple[str, str, str], Row]
    full: Mapping[int, Mapping[str, Any]]
    seeds: tuple[Row, ...]
    failed: Mapping[tuple[str, str, str], str]
    cautions: tuple[str, ...]

    def of_type(self, kind: str, suite: Sequence[str], protocols: Sequence[str]) -> list[str]:
        """Tasks of one type for a point.

        The chosen ones; without a choice, those of the suite that are available, and those on
        which one of the encoders was evaluated under one of these protocols.
        """
        if self.chosen:
            return [name for name in self.chosen if self.tasks[name].type == kind]
        evaluated = {t for p, t, name in self.rows if p in protocols and name in self.encoders}
        return [
            name
            for name, task in self.tasks.items()
            if task.type == kind and (name in evaluated or (name in suite and name in self.here))
        ]

    def lacking(self, what: str) -> str:
        """Why there is no task of a type: none was chosen, or its data is not installed."""
        if self.chosen:
            return f"None of the chosen tasks is a {what} task."
        return (
            f"No {what} task has its data here: SentEval's files belong in the data folder, "
            "and labelled sentences with splits can be added on the page Data."
        )

    def scores(
        self, tasks: Sequence[str], protocol: str | None = None, names: Sequence[str] | None = None
    ) -> Scores:
        """Main scores: encoder -> task -> points. Without a protocol, under each task's own."""
        return self.numbers(tasks, protocol, lambda row: row["score"], names)

    def numbers(
        self,
        tasks: Sequence[str],
        protocol: str | None,
        pick: Callable[[Row], float | None],
        names: Sequence[str] | None = None,
    ) -> Scores:
        """A number picked from each result; results without it are absent."""
        found: Scores = {name: {} for name in names or self.encoders}
        for name in found:
            for task in tasks:
                row = self.rows.get((protocol or self.tasks[task].protocol, task, name))
                value = pick(row) if row is not None else None
                if value is not None and math.isfinite(value):
                    found[name][task] = value
        return found

    def part(self, row: Row, metric: str, aggregation: str | None = None) -> float | None:
        """A number of a result under Pitfalls, on the split of its main score."""
        for score in self.full.get(row["id"], {}).get("scores", ()):
            if score["metric"] == metric and score["split"] == row["split"]:
                if score["aggregation"] == aggregation:
                    return float(score["score"])
        return None


def gather(
    workspace: Workspace, names: Sequence[str], chosen: Sequence[str] = (), also: Sequence[str] = ()
) -> Evidence:
    """Read everything the points need, in a handful of queries whatever the number of encoders.

    Args:
        workspace: its store is read.
        names: canonical names of the encoders.
        chosen: tasks to restrict the points to.
        also: further tasks to include, if they exist.
    """
    from theodolite.engine import tasks

    table = workspace.store.results.table()
    available = {task.name: task for task in tasks.available(workspace.catalog)}
    known = _known_tasks(
        workspace, available, [*chosen, *filter(None, also), *(row["task"] for row in table)]
    )
    table = [row for row in table if row["task"] in known]
    rows, cautions = _one_question(table, set(names))
    wanted = [row["id"] for row in rows.values() if row["protocol"] in (LOGISTIC, MLP)]
    hashes = {(row["protocol"], row["task"]): row["data_hash"] for row in rows.values()}
    return Evidence(
        encoders=tuple(names),
        dims=_dims(workspace, names, rows),
        tasks=known,
        chosen=tuple(chosen),
        here=frozenset(available),
        rows=rows,
        full=workspace.store.results.in_full(wanted),
        seeds=tuple(
            row
            for row in table
            if row["encoder"] in names
            and _scored(row)
            and row["data_hash"] == hashes.get((row["protocol"], row["task"]))
        ),
        failed={
            key: row["error"]
            for row in table
            if row["error"] is not None
            and (key := (row["protocol"], row["task"], row["encoder"])) not in rows
        },
        cautions=tuple(cautions),
    )


def _known_tasks(
    workspace: Workspace, available: Mapping[str, Task], names: Sequence[str]
) -> dict[str, Task]:
    """Tasks by name in the registry's order, without those whose data set was removed."""
    from theodolite.engine import tasks

    found = dict(available)
    for name in dict.fromkeys(names):
        if name not in found:
            try:
                found[name] = tasks.get(name, workspace.catalog)
            except UserError:
                continue
    return {name: found[name] for name in in_order(found)}


def _scored(row: Row) -> bool:
    return row["error"] is None and row["score"] is not None and math.isfinite(row["score"])


def _one_question(
    table: Sequence[Row], names: set[str]
) -> tuple[dict[tuple[str, str, str], Row], list[str]]:
    """The results with the seed and data that most encoders have, for each protocol and task.

    Ties go to the protocol's own seed, then to the newest result.
    """
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in table:
        if _scored(row):
            groups[row["protocol"], row["task"]].append(row)
    rows: dict[tuple[str, str, str], Row] = {}
    cautions = []
    for (protocol, task), found in groups.items():
        mine = [row for row in found if row["encoder"] in names] or found
        answered = Counter((row["data_hash"], row["seed"]) for row in mine)
        newest = {(row["data_hash"], row["seed"]): row["id"] for row in mine}
        own = PROTOCOLS[protocol].seed if protocol in PROTOCOLS else None
        kept = max(answered, key=lambda q: (answered[q], q[1] == own, newest[q]))
        for row in found:
            if (row["data_hash"], row["seed"]) == kept:
                rows[protocol, task, row["encoder"]] = row
        others = {row["encoder"] for row in mine if row["data_hash"] != kept[0]}
        if others:
            cautions.append(
                f"{task} ({protocol}): left out {', '.join(sorted(others))}, evaluated on another "
                "version of the data."
            )
    return rows, cautions


def _dims(
    workspace: Workspace, names: Sequence[str], rows: Mapping[tuple[str, str, str], Row]
) -> dict[str, int]:
    """Dimensions as measured, else as the list of encoders has them."""
    measured = {name: int(row["dim"]) for (_, _, name), row in rows.items() if row["dim"]}
    listed = {row["name"]: row["info"].get("dim") for row in workspace.store.encoders.list()}
    found = {name: measured.get(name) or listed.get(name) for name in names}
    return {name: int(dim) for name, dim in found.items() if dim}
