"""Stored results of some encoders and of their smaller variants, read once for all checks.

Only results of one protocol, one seed and one version of the data are combined. Missing results are
absent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theodolite.app.results import Row, has_score, of_one_question
from theodolite.app.workspace import Workspace
from theodolite.engine import tasks as registry
from theodolite.engine.errors import UserError
from theodolite.engine.tasks import PROBING, SEVEN, STARTER, TASKS, TRANSFER, Task, in_order

LOGISTIC, MLP = "pitfalls", "pitfalls-mlp"
CLASSIFIERS = {LOGISTIC: "logistic regression", MLP: "MLP"}
"""Protocol -> the classifier that it trains."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Results of some encoders and of their variants.

    Attributes:
        encoders: the requested names, canonical.
        dims: encoder -> dimensions, where known.
        tasks: name -> task: the usual suites, and all that were evaluated or asked for, in order.
        chosen: the requested tasks; empty for no choice.
        here: tasks of the usual suites whose data is installed.
        rows: (protocol, task, encoder) -> the result.
        full: result id -> its details and all its numbers, of the protocols of Pitfalls.
        seeds: results of every seed, on the data that `rows` have.
        caveats: sentences on results left out.
    """

    encoders: tuple[str, ...]
    dims: Mapping[str, int]
    tasks: Mapping[str, Task]
    chosen: tuple[str, ...]
    here: frozenset[str]
    rows: Mapping[tuple[str, str, str], Row]
    full: Mapping[int, Mapping[str, Any]]
    seeds: tuple[Row, ...]
    caveats: tuple[str, ...]

    def of_type(self, kind: str, suite: Sequence[str]) -> list[str]:
        """Tasks of one type for a check.

        The chosen ones; without a choice, those of the suite whose data is here, and those on which
        one of the encoders was evaluated under a protocol of Pitfalls.
        """
        if self.chosen:
            return [name for name in self.chosen if self.tasks[name].type == kind]
        evaluated = {t for p, t, name in self.rows if p in CLASSIFIERS and name in self.encoders}
        return [
            name
            for name, task in self.tasks.items()
            if task.type == kind and (name in evaluated or (name in suite and name in self.here))
        ]

    @property
    def trained(self) -> list[str]:
        """Tasks that train a classifier: transfer tasks, or probing tasks if there are none."""
        return self.of_type("transfer", TRANSFER) or self.of_type("probing", PROBING)

    @property
    def similar(self) -> list[str]:
        """Scored pairs: the available ones of SimCSE's seven, else the starter set's."""
        return self.of_type("sts", SEVEN) or self.of_type("sts", STARTER)

    @property
    def own(self) -> list[str]:
        """Tasks on which encoders are compared under each task's own protocol.

        The chosen ones; else, except probing, those on which two of the encoders were evaluated;
        else one available similarity task.
        """
        if self.chosen:
            return list(self.chosen)
        names = [name for name, task in self.tasks.items() if task.type != "probing"]
        scores = self.scores(names)
        evaluated = [t for t in names if sum(t in of for of in scores.values()) > 1]
        return evaluated or [name for name in (STARTER[0], *SEVEN) if name in self.here][-1:]

    def lacking(self, what: str) -> str:
        """Why there is no task of a type: none was chosen, or its data is not installed."""
        if self.chosen:
            return f"None of the chosen tasks is a {what} task."
        return (
            f"No {what} task has its data here: SentEval's files belong in the data folder, "
            "and labelled sentences with splits can be added on the page Data."
        )

    def scores(
        self,
        tasks: Sequence[str],
        protocol: str | None = None,
        names: Sequence[str] | None = None,
        pick: Callable[[Row], float | None] = lambda row: row["score"],
    ) -> dict[str, dict[str, float]]:
        """Encoder -> task -> points; results without the number are absent.

        Args:
            tasks: names.
            protocol: None for each task's own.
            names: encoders, if they are others.
            pick: a number of a result, if it is not the main score.
        """
        found: dict[str, dict[str, float]] = {name: {} for name in names or self.encoders}
        for name in found:
            for task in tasks:
                row = self.rows.get((protocol or self.tasks[task].protocol, task, name))
                value = None if row is None else pick(row)
                if value is not None and math.isfinite(value):
                    found[name][task] = value
        return found

    def part(self, row: Row, metric: str, aggregation: str | None = None) -> float | None:
        """A number of a result under Pitfalls, on the split of its main score."""
        wanted = metric, row["split"], aggregation
        for score in self.full.get(row["id"], {}).get("scores", ()):
            if (score["metric"], score["split"], score["aggregation"]) == wanted:
                return float(score["score"])
        return None


def gather(
    workspace: Workspace, names: Sequence[str], chosen: Sequence[str] = (), also: str = ""
) -> Evidence:
    """Read everything the checks need, in a handful of queries whatever the number of encoders.

    Args:
        workspace: its store is read.
        names: canonical names of the encoders.
        chosen: tasks to restrict the checks to.
        also: a further task to include, if it exists.
    """
    table = workspace.store.results.table()
    usual = [task for task in (*STARTER, *SEVEN, *TRANSFER, *PROBING) if task in TASKS]
    present = workspace.catalog.has(TASKS[task].dataset for task in usual)
    here = frozenset(task for task in usual if TASKS[task].dataset in present)
    known = _known(workspace, [*here, *chosen, also, *(row["task"] for row in table)])
    table = [row for row in table if row["task"] in known and has_score(row)]
    rows = of_one_question(table, set(names))
    hashes = {(row["protocol"], row["task"]): row["data_hash"] for row in rows.values()}
    mine = [row for row in table if row["encoder"] in names]
    seeds, others = [], dict[tuple[str, str], set[str]]()
    for row in mine:
        key = row["protocol"], row["task"]
        if row["data_hash"] == hashes[key]:
            seeds.append(row)
        else:
            others.setdefault(key, set()).add(row["encoder"])
    dims = {row["name"]: row["info"].get("dim") for row in workspace.store.encoders.list()}
    dims |= {name: row["dim"] for (_, _, name), row in rows.items() if row["dim"]}
    wanted = [row["id"] for row in rows.values() if row["protocol"] in CLASSIFIERS]
    return Evidence(
        encoders=tuple(names),
        dims={name: int(dim) for name in names if (dim := dims.get(name))},
        tasks=known,
        chosen=tuple(chosen),
        here=here,
        rows=rows,
        full=workspace.store.results.in_full(wanted),
        seeds=tuple(seeds),
        caveats=tuple(
            f"{task} ({protocol}): left out {', '.join(sorted(left))}, evaluated on another "
            "version of the data."
            for (protocol, task), left in others.items()
        ),
    )


def _known(workspace: Workspace, names: Sequence[str]) -> dict[str, Task]:
    """Tasks by name in the registry's order, without those whose data set was removed."""
    found: dict[str, Task] = {}
    for name in filter(None, dict.fromkeys(names)):
        try:
            found[name] = registry.get(name, workspace.catalog)
        except UserError:
            continue
    return {name: found[name] for name in in_order(found)}
