"""Several encoders on the same tasks: significant differences, and uncertainty of ranks.

Reads the store's results and tests them by `engine.stats`; used by the page Compare and by
`theodolite compare`. Cautions are in `app.pages.compare.cautions`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from theodolite.app.pages.compare import tested
from theodolite.app.pages.compare.cautions import Caution, cautions, unreadable_values, untested
from theodolite.app.pages.compare.verdicts import Verdict, verdicts
from theodolite.app.workspace import Workspace
from theodolite.engine import encoders as engine_encoders
from theodolite.engine import protocols
from theodolite.engine.errors import UserError
from theodolite.engine.protocols import PROTOCOLS
from theodolite.engine.stats.bootstrap import Average, average
from theodolite.engine.stats.ranks import RankInterval, rank_intervals
from theodolite.engine.stats.significance import Difference
from theodolite.engine.tasks import defaults, expand, in_order
from theodolite.store.run_rows import LIVE

Row = Mapping[str, Any]
_KEPT = 16
_ANSWERED: dict[ComparisonSpec, Comparison] = {}
"""The latest comparisons, oldest first."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of several encoders side by side.

    Attributes:
        encoders: names; the first is what the others are compared with.
        tasks: tasks that at least one of them has a score on.
        cells: (encoder, task) -> the store's result row; absent without a measurement.
        unreadable: cells whose values per example are lost: they have a score and no tests.
        differences: (encoder, task) -> encoder minus the first one, where both have a score under
            one protocol, with one seed, on the same data. Its interval is of this task alone.
        verdicts: the same keys -> the verdict when all tasks of the encoder are tested at once.
        groups: task -> encoder -> letter, `a` for the best and all that tie with it when all pairs
            of encoders are tested on the task.
        averages: encoder -> mean over `common`, the tasks all of them share.
        average_differences: encoder -> its mean minus the first one's; empty below two such tasks.
        average_groups: as `groups`, for the means.
        common: tasks on which every encoder can be compared with the first.
        ranks: by the means, best first, examples resampled; empty when no task is shared.
        ranks_over_tasks: the same with the tasks drawn too; empty below two tasks.
        cautions: reasons why the comparison is less than fair.
    """

    encoders: tuple[str, ...]
    tasks: tuple[str, ...]
    cells: Mapping[tuple[str, str], Row]
    unreadable: frozenset[tuple[str, str]]
    differences: Mapping[tuple[str, str], Difference]
    verdicts: Mapping[tuple[str, str], Verdict]
    groups: Mapping[str, Mapping[str, str]]
    averages: Mapping[str, Average]
    average_differences: Mapping[str, Difference]
    average_groups: Mapping[str, str]
    common: tuple[str, ...]
    ranks: tuple[RankInterval, ...]
    ranks_over_tasks: tuple[RankInterval, ...]
    cautions: tuple[Caution, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The cautions as plain sentences."""
        return tuple(caution.text for caution in self.cautions)

    def rows(self) -> list[dict[str, Any]]:
        """One flat object per (task, encoder), as `theodolite compare --json` prints them.

        The last rows are the means with rank intervals, if at least two tasks are shared.
        """
        rows = [self._row(task, name) for task in self.tasks for name in self.encoders]
        return [*rows, *self.mean_rows()]

    def mean_rows(self) -> list[dict[str, Any]]:
        """The rows of the means alone."""
        return [self._mean_row(name) for name in self.encoders if self.average_differences]

    def _row(self, task: str, name: str) -> dict[str, Any]:
        cell = self.cells.get((name, task), {})
        facts = ("score", "metric", "n", "protocol", "seed")
        row = {"task": task, "encoder": name, **{fact: cell.get(fact) for fact in facts}}
        row["tie_group"] = self.groups.get(task, {}).get(name)
        row["unreadable"] = (name, task) in self.unreadable
        difference = self.differences.get((name, task))
        if difference is None:
            return row | {"against": None, "verdict": None}
        verdict, base = self.verdicts[name, task], self.encoders[0]
        return (
            row
            | asdict(difference)
            | {
                "against": base,
                "tie_group_over": tested.pairs_tested(self.groups.get(task, {})),
                "tie_group_note": tested.tie_note(self, name, task),
                "p_mcnemar": verdict.p if verdict.test == "McNemar" else None,
                "p_holm": verdict.adjusted,
                "holm_over": verdict.tasks,
                "interval_alone": difference.words(name, base),
                "verdict": verdict.words(name, base),
            }
        )

    def _mean_row(self, name: str) -> dict[str, Any]:
        row: dict[str, Any] = {
            "task": f"mean of {len(self.common)} tasks",
            "encoder": name,
            "score": self.averages[name].score,
            "tie_group": self.average_groups.get(name),
        }
        for prefix, ranks in (("", self.ranks), ("tasks_drawn_", self.ranks_over_tasks)):
            for found in (found for found in ranks if found.name == name):
                row |= {
                    "rank": found.rank,
                    f"{prefix}rank_low": found.low,
                    f"{prefix}rank_high": found.high,
                    f"{prefix}first": found.first,
                }
        difference = self.average_differences.get(name)
        if difference is None:
            return row | {"against": None, "verdict": None}
        words = difference.words(name, self.encoders[0])
        return (
            row
            | asdict(difference)
            | {
                "against": self.encoders[0],
                "tie_group_over": tested.pairs_tested(self.average_groups),
                "tie_group_note": tested.tie_note(self, name, None),
                "verdict": words,
            }
        )


@dataclass(frozen=True, eq=False)
class Ranking:
    """The ranking of several encoders by their mean, with its uncertainty.

    Attributes:
        tasks: tasks of the mean: those on which all encoders can be resampled together.
        groups: encoder -> letter, `a` for the best and all that tie with it by their means.
        task_groups: task -> the same on it alone.
        ranks: best first, examples resampled.
    """

    tasks: tuple[str, ...]
    groups: Mapping[str, str]
    task_groups: Mapping[str, Mapping[str, str]]
    ranks: tuple[RankInterval, ...]


@dataclass(frozen=True)
class ComparisonSpec:
    """Specification of a comparison.

    Two are equal if they have the same results: results never change, so the comparison of one
    holds for the other.

    Attributes:
        workspace: its store holds the results.
        encoders: names; the first is what the others are compared with.
        tasks: names, or None for every task that one of them has a score on.
        protocol: for all tasks, or None.
        results: ids of all results of these encoders on these tasks.
        remarks: (encoder, warning from when it was added).
        rows: the results as the store's rows.
    """

    workspace: Workspace
    encoders: tuple[str, ...]
    tasks: tuple[str, ...] | None
    protocol: str | None
    results: tuple[int, ...]
    remarks: tuple[tuple[str, str], ...]
    rows: Sequence[Row] = field(compare=False, repr=False)


def compare(
    workspace: Workspace,
    encoders: Sequence[str],
    tasks: str | Sequence[str] | None = None,
    protocol: str | None = None,
) -> Comparison:
    """Compare two or more evaluated encoders with the first of them: `answer` after `ask`."""
    return answer(ask(workspace, encoders, tasks, protocol))


def evaluated(workspace: Workspace) -> tuple[list[str], list[str]]:
    """Tasks and protocols with a score, both in their registry's order, other tasks last."""
    rows = [row for row in workspace.store.results.table() if row["error"] is None]
    under = {row["protocol"] for row in rows}
    tasks = in_order(sorted({row["task"] for row in rows}))
    return tasks, protocols.in_order(under)


def ask(
    workspace: Workspace,
    encoders: Sequence[str],
    tasks: str | Sequence[str] | None = None,
    protocol: str | None = None,
) -> ComparisonSpec:
    """Find the results of a comparison.

    Args:
        workspace: its store holds the results.
        encoders: spec strings.
        tasks: names or suites; None for every task that one of them has a score on.
        protocol: for all tasks; None for each task's own, or the one that most encoders have.
    """
    names = tuple(dict.fromkeys(str(engine_encoders.parse(spec)) for spec in encoders))
    if len(names) < 2:
        raise UserError(
            f"A comparison needs at least two encoders, not {len(names)}.",
            "Name more of them.",
            code="too-few",
        )
    rows = workspace.store.results.table(encoders=names)
    evaluated = {row["task"] for row in rows}
    wanted = None if tasks is None else expand(tasks, workspace.catalog, protocol, evaluated)
    only = None if protocol is None else protocols.get(protocol).name
    rows = [row for row in rows if wanted is None or row["task"] in wanted]
    ids = tuple(row["id"] for row in rows)
    task_names = None if wanted is None else tuple(wanted)
    return ComparisonSpec(workspace, names, task_names, only, ids, _remarks(workspace, names), rows)


def measuring(workspace: Workspace) -> bool:
    """Whether an evaluation is queued or running."""
    return any(run["kind"] == "evaluate" for run in workspace.store.runs.list(LIVE))


def _remarks(workspace: Workspace, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    known = {
        row["name"]: row["info"].get("warnings", ()) for row in workspace.store.encoders.list()
    }
    return tuple((name, warning) for name in names for warning in known.get(name, ()))


def answer(question: ComparisonSpec) -> Comparison:
    """Test every difference, or return the cached comparison."""
    steps = resampling(question)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Comparison = end.value
            return found


def resampling(question: ComparisonSpec) -> Generator[tuple[str, int, int], None, Comparison]:
    """`answer` step by step; yields the task, the number done and the total.

    Yields before each task, and nothing if the comparison is cached.
    """
    if (found := _ANSWERED.get(question)) is not None:
        return found
    cells = _cells(_rows_of_protocol(question))
    tasks = _ordered(question, cells)
    if not tasks:
        under = f" under {question.protocol}" if question.protocol else ""
        raise UserError(
            f"None of {', '.join(question.encoders)} has been evaluated on these tasks{under}.",
            "Evaluate them first: `theodolite evaluate`, or the page Evaluate.",
            code="no-result",
        )
    tests = {}
    for done, task in enumerate(tasks):
        yield task, done, len(tasks)
        rows = {name: cells[name, task] for name in question.encoders if (name, task) in cells}
        tests[task] = tested.on_task(question.workspace, task, question.encoders[0], rows)
    found = _answer(question, cells, tests)
    while len(_ANSWERED) >= _KEPT:
        _ANSWERED.pop(next(iter(_ANSWERED)), None)
    if not found.unreadable:  # unreadable values may be measured again or restored
        _ANSWERED[question] = found
    return found


def ranking(
    workspace: Workspace,
    names: Sequence[str],
    tasks: Sequence[str],
    cells: Mapping[tuple[str, str], Row],
) -> Ranking:
    """Resample the ranks of encoders that all have a result on each task."""
    tests = {
        task: tested.on_task(workspace, task, names[0], {n: cells[n, task] for n in names})
        for task in tasks
    }
    groups = {task: found.groups for task, found in tests.items()}
    common = tuple(t for t, found in tests.items() if found.groups.keys() >= set(names))
    if not common:
        return Ranking((), {}, groups, ())
    drawn = {name: [tests[task].resampled[name] for task in common] for name in names}
    means = tested.of_means(drawn)[1] if len(common) > 1 else groups[common[0]]
    return Ranking(common, means, groups, tuple(rank_intervals(drawn, over_tasks=False)))


def _answer(
    question: ComparisonSpec,
    cells: Mapping[tuple[str, str], Row],
    tests: Mapping[str, tested.TaskTests],
) -> Comparison:
    names, ordered = question.encoders, tuple(tests)
    unreadable = frozenset((name, t) for t, found in tests.items() for name in found.unreadable)
    differences = {
        (name, t): found for t, done in tests.items() for name, found in done.differences.items()
    }
    common = tuple(t for t in ordered if all((name, t) in differences for name in names[1:]))
    suite = {name: [cells[name, task] for task in common] for name in names}
    drawn = {name: [tests[task].resampled[name] for task in common] for name in names}
    several = len(common) > 1
    mean_differences, mean_groups = tested.of_means(drawn) if several else ({}, {})
    return Comparison(
        encoders=names,
        tasks=ordered,
        cells=cells,
        unreadable=unreadable,
        differences={pair: found for pair, (found, _) in differences.items()},
        verdicts=verdicts(differences),
        groups={task: done.groups for task, done in tests.items()},
        averages=_averages(suite, common),
        average_differences=mean_differences,
        average_groups=mean_groups,
        common=common,
        ranks=tuple(rank_intervals(drawn, over_tasks=False)) if common else (),
        ranks_over_tasks=tuple(rank_intervals(drawn, over_tasks=True)) if several else (),
        cautions=(
            *(unreadable_values(*pair) for pair in sorted(unreadable)),
            *(untested(done.untested, task) for task, done in tests.items() if done.untested),
            *cautions(names, ordered, cells, question.rows, question.remarks),
        ),
    )


def _rows_of_protocol(question: ComparisonSpec) -> list[Row]:
    """The rows of the requested protocol."""
    only = question.protocol
    return [row for row in question.rows if only is None or row["protocol"] == only]


def _ordered(question: ComparisonSpec, cells: Mapping[tuple[str, str], Row]) -> tuple[str, ...]:
    """The tasks with a measurement, as requested or in the registry's order."""
    present = {task for _, task in cells}
    return tuple(t for t in question.tasks or in_order(sorted(present)) if t in present)


def _cells(rows: Sequence[Row]) -> dict[tuple[str, str], Row]:
    """One result for each encoder and task: of the `tested.question` that most encoders answered.

    Otherwise one more seed of one encoder would end the comparison. The task's own protocol comes
    before any other if two encoders answered under it; ties go to the protocol's own seed, as on
    the overview, then to the newest result; a score is preferred to an error.
    """
    answered = Counter(tested.question(row) for row in rows if row["error"] is None)
    seeds = {name: protocol.seed for name, protocol in PROTOCOLS.items()}

    def weight(row: Row) -> tuple[Any, ...]:
        answers, own = answered[tested.question(row)], row["protocol"] in defaults(row["task"])
        seed = row["seed"] == seeds.get(row["protocol"])
        return (row["error"] is None, own and answers > 1, answers, own, seed)

    return {(row["encoder"], row["task"]): row for row in sorted(rows, key=weight)}


def _averages(suite: Mapping[str, Sequence[Row]], common: Sequence[str]) -> dict[str, Average]:
    return {
        name: average({row["task"]: row["score"] for row in rows}, list(common))
        for name, rows in suite.items()
    }
