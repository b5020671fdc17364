"""Several encoders on the same tasks: which differences are real, and what makes them unfair.

Reads the store's results and asks `engine.statistics`; used by the compare page and by
`theodolite compare`.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace
    from engine.significance import Difference
    from engine.statistics import Average, Resampled

Row = Mapping[str, Any]
RESAMPLES = 2000
REMEMBERED = 4096
"""Results kept resampled in memory: 64 encoders on 64 tasks take 64 MB."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of several encoders side by side.

    Attributes:
        encoders: names; the first is what the others are compared with.
        tasks: tasks that at least one of them has a score on.
        cells: (encoder, task) -> the store's result row; absent where nothing was measured.
        differences: (encoder, task) -> encoder minus the first one, where both have a score under
            one protocol, with one seed, on the same data.
        averages: encoder -> mean over `common`, the tasks all of them share.
        average_differences: encoder -> its mean minus the first one's; empty below two such tasks.
        common: tasks on which every encoder can be compared with the first.
        warnings: sentences on what makes the comparison less than fair.
    """

    encoders: tuple[str, ...]
    tasks: tuple[str, ...]
    cells: Mapping[tuple[str, str], Row]
    differences: Mapping[tuple[str, str], Difference]
    averages: Mapping[str, Average]
    average_differences: Mapping[str, Difference]
    common: tuple[str, ...]
    warnings: tuple[str, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One flat object per (task, encoder), as `theodolite compare --json` prints them.

        The last ones are the means, where at least two tasks are shared.
        """
        rows = [
            self._row(
                task, name, self.cells.get((name, task), {}), self.differences.get((name, task))
            )
            for task in self.tasks
            for name in self.encoders
        ]
        if self.average_differences:
            task = f"mean of {len(self.common)} tasks"
            rows += [
                self._row(task, name, {"score": average.score}, self.average_differences.get(name))
                for name, average in self.averages.items()
            ]
        return rows

    def _row(
        self, task: str, name: str, cell: Row, difference: Difference | None
    ) -> dict[str, Any]:
        facts = ("score", "metric", "n", "protocol", "seed")
        row = {"task": task, "encoder": name, **{fact: cell.get(fact) for fact in facts}}
        if difference is None:
            return row | {"against": None, "verdict": None}
        return row | asdict(difference) | {
            "against": self.encoders[0],
            "verdict": difference.words(name, self.encoders[0]),
        }  # fmt: skip


def compare(
    workspace: Workspace, encoders: Sequence[str], tasks: str | Sequence[str] | None = None
) -> Comparison:
    """Compare two or more measured encoders with the first of them.

    Args:
        workspace: whose store holds the results.
        encoders: spec strings.
        tasks: names or suites; None for every task that one of them has a score on.

    Raises:
        UserError: fewer than two encoders, an unknown task, or nothing measured yet.
    """
    from engine import encoders as engine_encoders
    from engine.tasks import expand

    names = tuple(dict.fromkeys(str(engine_encoders.parse(spec)) for spec in encoders))
    if len(names) < 2:
        raise UserError(
            f"A comparison needs two encoders, got {len(names)}.", "Name at least two of them."
        )
    wanted = None if tasks is None else expand(tasks, workspace.catalog)
    cells = _cells(workspace.store.results.table(encoders=names, tasks=wanted))
    present = tuple(dict.fromkeys(task for _, task in cells))
    if not present:
        raise UserError(
            f"None of {', '.join(names)} has been measured on these tasks.",
            "Measure them first: `theodolite evaluate`, or the page Evaluate.",
        )
    ordered = tuple(task for task in wanted or _registry_order(present) if task in present)
    pairs = [(name, task) for task in ordered for name in names[1:]]
    differences = {
        pair: _difference(workspace, [cells[pair]], [cells[names[0], pair[1]]])
        for pair in pairs
        if _alike(cells.get(pair), cells.get((names[0], pair[1])))
    }
    common = tuple(
        task for task in ordered if all((name, task) in differences for name in names[1:])
    )
    return Comparison(
        encoders=names,
        tasks=ordered,
        cells=cells,
        differences=differences,
        averages=_averages(names, cells, common),
        average_differences=_average_differences(workspace, names, cells, common),
        common=common,
        warnings=tuple(_cautions(workspace, names, ordered, cells)),
    )


def _cells(rows: Sequence[Row]) -> dict[tuple[str, str], Row]:
    """One result for each encoder and task: of the question that most of the encoders answered.

    Else one more seed of one encoder would end the comparison. Among equals the protocol's own seed
    counts, as on the overview, then the newest; a score hides an error.
    """
    from engine.protocols import PROTOCOLS

    asked = Counter(_question(row) for row in rows if row["error"] is None)
    own = {name: protocol.seed for name, protocol in PROTOCOLS.items()}
    last_wins = sorted(
        rows,
        key=lambda row: (
            row["error"] is None,
            asked[_question(row)],
            row["seed"] == own.get(row["protocol"]),
        ),
    )
    return {(row["encoder"], row["task"]): row for row in last_wins}


def _question(row: Row) -> tuple[Any, ...]:
    return tuple(row[key] for key in ("task", "protocol", "seed", "data_hash"))


def _registry_order(tasks: Sequence[str]) -> list[str]:
    from engine.tasks import TASKS

    return sorted(tasks, key=lambda task: (list(TASKS).index(task) if task in TASKS else 999, task))


def _alike(a: Row | None, b: Row | None) -> bool:
    """Whether two results answer the same question, so that their examples pair up."""
    if a is None or b is None or a["error"] is not None or b["error"] is not None:
        return False
    return _question(a) == _question(b)


def _averages(
    names: Sequence[str], cells: Mapping[tuple[str, str], Row], common: Sequence[str]
) -> dict[str, Average]:
    from engine.statistics import average

    return {
        name: average({task: cells[name, task]["score"] for task in common}, list(common))
        for name in names
    }


def _average_differences(
    workspace: Workspace,
    names: Sequence[str],
    cells: Mapping[tuple[str, str], Row],
    common: Sequence[str],
) -> dict[str, Difference]:
    if len(common) < 2:
        return {}
    base, *others = ([cells[name, task] for task in common] for name in names)
    return {
        name: _difference(workspace, rows, base)
        for name, rows in zip(names[1:], others, strict=True)
    }


def _difference(workspace: Workspace, a: Sequence[Row], b: Sequence[Row]) -> Difference:
    """Difference of the means over tasks; of one task, of its scores."""
    from engine.significance import difference

    mine, theirs = (
        [_resampled(workspace, row["id"], row["task"]) for row in rows] for rows in (a, b)
    )
    return difference(mine, theirs)


@lru_cache(maxsize=REMEMBERED)
def _resampled(workspace: Workspace, result_id: int, task: str) -> Resampled:
    """A result never changes, so neither does this; every task is resampled by itself."""
    from engine.statistics import main_sample, resample

    results = workspace.store.results
    sample = main_sample(results.examples(result_id), results.by_id(result_id)["details"])
    return resample(sample, RESAMPLES, seed=zlib.crc32(task.encode()))


def _cautions(
    workspace: Workspace,
    names: Sequence[str],
    tasks: Sequence[str],
    cells: Mapping[tuple[str, str], Row],
) -> list[str]:
    cautions = []
    dims = {name: cells[name, task]["dim"] for name, task in cells if cells[name, task]["dim"]}
    if len(set(dims.values())) > 1:
        sizes = ", ".join(f"{name} {dims[name]}" for name in names if name in dims)
        cautions.append(
            f"The vectors differ in size ({sizes} dimensions): larger ones tend to score higher "
            "for their size alone. The step dims:k,pca,DATA brings them to one size."
        )
    if not any("random:" in name for name in names):
        cautions.append(
            "No random baseline is among them. Add random:256 to see how much word overlap "
            "alone gives."
        )
    cautions += _mismatches(names, tasks, cells)
    for name in names:
        known = workspace.store.encoders.get(name)
        warnings = known["info"].get("warnings", ()) if known else ()
        cautions += [f"{name}: {warning}" for warning in warnings]
    return cautions


def _mismatches(
    names: Sequence[str], tasks: Sequence[str], cells: Mapping[tuple[str, str], Row]
) -> list[str]:
    """What keeps single tasks out of the comparison."""
    words = {"protocol": "protocols", "seed": "seeds", "data_hash": "versions of the data"}
    cautions = []
    for task in tasks:
        rows = [cells[name, task] for name in names if (name, task) in cells]
        scored = [row for row in rows if row["error"] is None]
        for key, word in words.items():
            if len({row[key] for row in scored}) > 1:
                cautions.append(f"{task} was measured under different {word}: not compared.")
        if len(scored) < len(names):
            absent = [n for n in names if cells.get((n, task), {"error": ""})["error"] is not None]
            cautions.append(f"{task} has no score for {', '.join(absent)}.")
    return cautions
