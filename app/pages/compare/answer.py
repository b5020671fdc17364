"""Several encoders on the same tasks: which differences are real, and how sure their ranks are."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import (
    Block,
    Caveat,
    Caveats,
    Cell,
    Chart,
    Finding,
    Fold,
    Grid,
    GridCell,
    GridHead,
    Table,
    Text,
)
from theodolite.app.pages.compare import caveats, figures, null_check, published, service
from theodolite.app.pages.compare.null_check import NullCheck
from theodolite.app.pages.compare.service import TaskTests, Verdict
from theodolite.app.question import Answer, Do, Question, Working
from theodolite.app.recent import Recent
from theodolite.app.results import Cells, Row, of_most_encoders
from theodolite.app.spec import Field, Spec, Tasks
from theodolite.engine import protocols
from theodolite.engine.encoders import parse
from theodolite.engine.errors import UserError
from theodolite.engine.protocols import PROTOCOLS
from theodolite.engine.stats import spread
from theodolite.engine.stats.ranks import RankInterval, rank_intervals
from theodolite.engine.stats.significance import Difference
from theodolite.engine.tasks import expand, in_order

if TYPE_CHECKING:
    from theodolite.app.pages.compare.published import Reference
    from theodolite.app.workspace import Workspace

MAX_ENCODERS = 100
MAX_DRAWN = 8
"""Most encoders whose differences are shown task by task; of more, those of their means."""
MAX_NAMED = 12
MIN_TASKS = 5
"""Fewer tasks are few to resample."""
QUIET_SECONDS = 0.5
"""Before the first progress message, and between two: each costs the browser time."""
RANKS = (
    "Each encoder's rank by its mean over the tasks that all share, and the ranks that hold 95 % "
    "of 2,000 resamples. Resample the examples alone if these tasks are what you care about, the "
    "tasks too if they are a sample of what you care about."
)
_WORDS = {"a": "better", "b": "worse", "tie": "tie"}
_KINDS = {"a": "good", "b": "bad", "tie": ""}


@dataclass(frozen=True)
class CompareSpec(Spec):
    """Say which differences between evaluated encoders are real.

    Each task gets the difference to the first encoder, its 95 % paired-bootstrap interval, and a
    verdict after Holm's correction over the tasks (McNemar's test where examples are right or
    wrong). Tie groups are another question: all pairs of encoders on one task, with Holm's
    correction over the pairs; those with the letter a tie with the best. With --json: every
    p-value, and the ranks that hold 95 % of the resamples. What was not evaluated yet is evaluated
    by `theodolite evaluate`.

    --null-check tests the tests: 100 pairs of copies of the first encoder, each with 1 % noise,
    on every task that is compared. They do not differ, so at most 5 % of the verdicts should say
    that they do; a rate that chance does not explain ends with exit status 1.
    """

    encoders: Annotated[
        Sequence[str],
        Field(
            "Encoders",
            "Spec strings, e.g. minilm, random:256, hf:ID?pooling=cls_token; the first is the "
            "baseline of the others.",
            names="encoder",
            key="encoder",
        ),
    ]
    tasks: Tasks = ()
    protocol: Annotated[
        str | None,
        Field("Protocol", "Results under this protocol only; default: each task's own."),
    ] = None
    published: Annotated[
        Sequence[str],
        Field("Published rows", "From papers, not evaluated here: never part of a test."),
    ] = ()
    null_check: Annotated[
        bool,
        Field("Null check", "Check the verdicts on copies of the first encoder.", for_agents=False),
    ] = False

    def check(self) -> None:
        """At least two encoders, each once, in their canonical form."""
        names = tuple(dict.fromkeys(str(parse(encoder)) for encoder in self.encoders))
        if not 2 <= len(names) <= MAX_ENCODERS:
            raise UserError(
                f"A comparison needs at least two encoders, not {len(names)}."
                if len(names) < 2
                else f"{len(names)} encoders are too many.",
                f"Name from 2 to {MAX_ENCODERS}.",
                code="too-few" if len(names) < 2 else "too-large",
            )
        object.__setattr__(self, "encoders", names)
        for key in self.published:
            published.reference(key)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Answer):
    """Several encoders side by side, and which differences are real.

    Attributes:
        spec: what was asked; the first encoder is what the others are compared with.
        rows_of: the results behind it.
        cells: (encoder, task) -> its result; absent without one.
        tests: task -> its tests, for tasks that at least one of them has a result on.
        differences: (encoder, task) -> encoder minus the first one, where both have a score under
            one protocol, with one seed, on the same data. Its interval is of this task alone.
        verdicts: the same keys -> the verdict when all tasks of the encoder are tested at once.
        common: tasks on which every encoder can be compared with the first.
        averages: encoder -> mean over these.
        average_differences: encoder -> its mean minus the first one's; empty below two such tasks.
        average_groups: as the groups of a task, for the means.
        ranks: by the means, best first, examples resampled; empty when no task is shared.
        ranks_over_tasks: the same with the tasks drawn too; empty below two tasks.
        caveats: reasons why the comparison is less than fair.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        **dict.fromkeys(("task", "encoder"), str),
        "score": float | None,
        "metric": str | None,
        "n": int | None,
        "protocol": str | None,
        "seed": int | None,
        "tie_group": str | None,
        "against": str | None,
        **dict.fromkeys(("delta", "low", "high", "p", "p_holm"), float | None),
        "verdict": str | None,
        "tie_group_note": str | None,
        **dict.fromkeys(("rank", "rank_low", "rank_high"), int | None),
        "first": float | None,
    }

    spec: CompareSpec
    rows_of: Sequence[Row]
    cells: Cells
    tests: Mapping[str, TaskTests]
    differences: Mapping[tuple[str, str], Difference]
    verdicts: Mapping[tuple[str, str], Verdict]
    common: tuple[str, ...]
    averages: Mapping[str, float]
    average_differences: Mapping[str, Difference]
    average_groups: Mapping[str, str]
    ranks: tuple[RankInterval, ...]
    ranks_over_tasks: tuple[RankInterval, ...]
    caveats: tuple[Caveat, ...]

    @property
    def encoders(self) -> Sequence[str]:
        """Their names, the baseline first."""
        return self.spec.encoders

    @property
    def tasks(self) -> tuple[str, ...]:
        """As they were asked for, or in the registry's order."""
        return tuple(self.tests)

    @property
    def is_large(self) -> bool:
        """Whether there are too many encoders to show all that is known of each task."""
        return len(self.encoders) - 1 > MAX_DRAWN

    @property
    def title(self) -> str:
        """Which encoders are compared."""
        return f"Comparison of {formats.listed(self.encoders, 3)}"

    @property
    def about(self) -> str:
        """What is compared with what."""
        return f"On {formats.listed(self.tasks, MAX_NAMED)}; against {self.encoders[0]}."

    def rows(self) -> list[dict[str, Any]]:
        """One flat object per (task, encoder).

        The last rows are the means with rank intervals, if at least two tasks are shared.
        """
        rows = [self._row(task, name) for task in self.tasks for name in self.encoders]
        return [*rows, *self.mean_rows()]

    def mean_rows(self) -> list[dict[str, Any]]:
        """The rows of the means alone."""
        return [self._mean_row(name) for name in self.encoders if self.average_differences]

    def table_rows(self) -> list[dict[str, Any]]:
        """With the p-value that decides, and what a letter was tested on beside the verdict."""
        rows = []
        for row in self.rows():
            p, note = row.get("p_holm", row.get("p")), row.get("tie_group_note")
            verdict = f"{row['verdict']} ({note})" if note else row["verdict"]
            p_text = None if p is None else formats.p_value(p)
            rows.append(row | {"p": p_text, "verdict": verdict})
        return rows

    def table_columns(self) -> list[str]:
        """Those that decide."""
        numbers = ("delta", "low", "high", "p")
        return ["task", "encoder", "score", "tie_group", "against", *numbers, "verdict"]

    def notes(self) -> list[str]:
        """The table says it all."""
        return []

    def _row(self, task: str, name: str) -> dict[str, Any]:
        cell, groups = self.cells.get((name, task), {}), self.tests[task].groups
        facts = ("score", "metric", "n", "protocol", "seed")
        row = {"task": task, "encoder": name, **{fact: cell.get(fact) for fact in facts}}
        row["tie_group"] = groups.get(name)
        row["unreadable"] = name in self.tests[task].unreadable
        difference = self.differences.get((name, task))
        if difference is None:
            return row | {"against": None, "verdict": None}
        verdict, base = self.verdicts[name, task], self.encoders[0]
        return (
            row
            | asdict(difference)
            | {
                "against": base,
                "tie_group_over": comb(len(groups), 2),
                "tie_group_note": self.tie_note(name, task),
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
            "score": self.averages[name],
            "tie_group": self.average_groups.get(name),
        }
        for prefix, ranks in (("", self.ranks), ("tasks_drawn_", self.ranks_over_tasks)):
            (one,) = (rank for rank in ranks if rank.name == name)
            row |= {
                "rank": one.rank,
                f"{prefix}rank_low": one.low,
                f"{prefix}rank_high": one.high,
                f"{prefix}first": one.first,
            }
        difference = self.average_differences.get(name)
        if difference is None:
            return row | {"against": None, "verdict": None}
        return (
            row
            | asdict(difference)
            | {
                "against": self.encoders[0],
                "tie_group_over": comb(len(self.average_groups), 2),
                "tie_group_note": self.tie_note(name, None),
                "verdict": difference.words(name, self.encoders[0]),
            }
        )

    def tie_note(self, name: str, task: str | None, among: str = "row") -> str:
        """What the letters were tested on, where they differ from the verdict; else empty.

        Args:
            name: an encoder with a verdict.
            task: its task; None for the mean.
            among: the part of the table that holds all encoders of a task: `row` or `column`.
        """
        groups = self.average_groups if task is None else self.tests[task].groups
        verdict = self.average_differences[name] if task is None else self.verdicts[name, task]
        mine, base = groups.get(name), groups.get(self.encoders[0])
        if mine is None or base is None or (mine == base) == (verdict.verdict == "tie"):
            return ""
        pairs = comb(len(groups), 2)
        what = f"this {among} alone" if pairs == 1 else f"all {pairs:,} pairs of this {among}"
        return f"tie letter: by a test of {what}"

    def blocks(self) -> list[Block]:
        """The conclusion with its chart, the table, the caveats, and the ranks."""
        return [*self._conclusion(), *_table(self), *self._caveats(), *self._ranks()]

    def _conclusion(self) -> list[Block]:
        base, many = self.encoders[0], self.is_large
        if not any((base, task) in self.cells for task in self.tasks):
            return [
                Finding(
                    f"{base}, the baseline, is not evaluated yet.",
                    "The scores of the others are below. Choose another baseline, or evaluate it.",
                )
            ]
        intervals, title = self._of_means() if many else self._of_tasks()
        if not intervals:
            return [Finding(title or "No task was evaluated alike for two of them: see below.")]
        rows = (many and self.mean_rows()) or self.rows()
        return [Finding(f"{title}."), Chart(figures.differences(intervals, base, title, rows))]

    def _of_tasks(self) -> tuple[list[figures.Interval], str]:
        """Every difference to the baseline, and their headline."""
        base = self.encoders[0]
        intervals = [
            figures.Interval(
                task, name, d.delta, d.low, d.high, v.verdict != "tie", v.words(name, base)
            )
            for task in self.tasks
            for name in self.encoders[1:]
            if (d := self.differences.get((name, task))) and (v := self.verdicts[name, task])
        ]
        title = figures.forest_headline(intervals, base)
        several = any(verdict.tasks > 1 for verdict in self.verdicts.values())
        return intervals, f"{title}, after Holm's correction" if several else title

    def _of_means(self) -> tuple[list[figures.Interval], str]:
        """The difference of each mean to the baseline's, best first, one line per encoder."""
        if not self.common:
            return [], "No task is shared by all of them, so no mean is drawn: see the table."
        base, common = self.encoders[0], self.common
        over = f"mean of {len(common)} tasks" if len(common) > 1 else common[0]
        # With one shared task, the difference on it is the difference of the means.
        found = self.average_differences or {
            name: self.differences[name, common[0]] for name in self.encoders[1:]
        }
        ordered = [(name, found[name]) for name in self.best_first() if name != base]
        intervals = [
            figures.Interval(
                name, over, d.delta, d.low, d.high, d.verdict != "tie", d.words(name, base)
            )
            for name, d in ordered
        ]
        better, worse, tied = (sum(d.verdict == v for _, d in ordered) for v in ("a", "b", "tie"))
        by = f"By their mean over {len(common)} tasks" if len(common) > 1 else f"On {over}"
        title = f"{by} {better} of {len(ordered)} encoders are better than {base}, "
        return intervals, f"{title}{worse} worse, and {tied} tie with it"

    def best_first(self) -> list[str]:
        """The encoders by descending mean; in the given order if no task is shared."""
        return sorted(self.encoders, key=lambda name: -self.averages.get(name, 0.0))

    def _caveats(self) -> list[Block]:
        rows = [published.reference(key) for key in self.spec.published]
        more = published.caveats(rows, self.protocols())
        every = [*self.caveats, *more]
        return [Caveats(every, "Caveats")] if every else []

    def protocols(self) -> dict[str, set[str]]:
        """Task -> the protocols of its results."""
        return {
            task: {row["protocol"] for (_, name), row in self.cells.items() if name == task}
            for task in self.tasks
        }

    def _ranks(self) -> list[Block]:
        if not self.ranks:
            return []
        number, title = len(self.common), figures.ranks_headline(self.ranks)
        over = f"By the mean over {formats.plural(number, 'task')}"
        over += "." if number > MAX_NAMED else f": {', '.join(self.common)}."
        blocks: list[Block] = [
            Text("Confidence intervals of the ranks", RANKS),
            Text("", f"{title}. {over}"),
            Chart(figures.ranks(self.ranks, title)),
        ]
        if self.ranks_over_tasks:
            title = figures.ranks_headline(self.ranks_over_tasks)
            few = f" {number} tasks are few to resample: these intervals are a rough guide."
            drawn: list[Block] = [
                Text("", f"{title}.{few if number < MIN_TASKS else ''}"),
                Chart(figures.ranks(self.ranks_over_tasks, title)),
            ]
            blocks.append(Fold("With the tasks resampled too", drawn))
        return blocks


def _table(report: Comparison) -> list[Block]:
    """The scores with their differences, and how to read them.

    A row is a task; with many encoders, a row is an encoder, the best first.
    """
    refs = [published.reference(key) for key in report.spec.published]
    brief = report.is_large
    spreads = {key: spread.words(one) for key, one in spread.spreads(report.rows_of).items()}
    about = [Cell(task, notes=[_about(report, task)]) for task in report.tasks]
    means = [Cell("Mean", notes=[_means(report)])] if report.common else []
    heads = {name: Cell(name, notes=_against(report, name, brief)) for name in report.encoders}
    cells = {
        name: [_cell(report, name, task, spreads, brief) for task in report.tasks]
        for name in (report.best_first() if brief else report.encoders)
    }
    mean = {name: [_mean(report, name, brief)] if means else [] for name in report.encoders}
    printed = [(Cell(ref.row.model, notes=["published"]), *_printed(ref, report)) for ref in refs]
    if brief:
        lines = [(name, "".join(heads[name].notes), [*mean[name], *cells[name]]) for name in cells]
        lines += [(str(head.value), "published", [*whole, *own]) for head, own, whole in printed]
        grid = [(name, note, list(map(_brief, own))) for name, note, own in lines]
        titles = [GridHead(one.value, "".join(one.notes)) for one in (*means, *about)]
        names = GridHead("Encoder", ascending=True)
        return [Grid("Scores", "comparison", [names, *titles], grid, READING)]
    columns = [[heads[name], *cells[name], *mean[name]] for name in cells]
    columns += [[head, *scores, *whole] for head, scores, whole in printed]
    first, *rows = map(list, zip([Cell("Task"), *about, *means], *columns, strict=True))
    note = " ".join(_reading(report))
    return [Table("comparison", first, rows, note=note, totals=len(means))]


READING = (
    "A mark after a score says that it is really better (▲) or worse (▼) than that of the "
    "baseline, after Holm’s correction over the tasks of its row; no mark is a tie. Bold scores "
    "tie with the best of their column when all its pairs are tested, with Holm’s correction over "
    "the pairs: another question than that of the marks. Point at a score for its interval, and "
    "for what bold was tested on where it and the mark disagree; the file of all numbers "
    "holds them all."
)


def _reading(report: Comparison) -> Iterator[str]:
    """How to read the table, in a few sentences on what it contains."""
    verdicts = report.verdicts
    yield "Each interval holds 95 % of the resamples of that task alone."
    several = any(verdict.tasks > 1 for verdict in verdicts.values())
    if several:
        yield (
            "Each verdict holds for all tasks of its column together: after Holm's correction, so "
            "that many tasks do not make a difference by chance."
        )
    if any(verdict.test == "McNemar" for verdict in verdicts.values()):
        yield (
            "Its p-value is of McNemar's test where answers are right or wrong, else of the paired "
            "bootstrap: point at the verdict, or see the numbers under the picture."
        )
    if several and any(report.differences[at].verdict != v.verdict for at, v in verdicts.items()):
        yield (
            "Where an interval leaves out zero and the verdict is a tie nevertheless, the cell "
            "says so: the difference would count alone, and does not among so many."
        )
    if report.average_groups or any(tests.groups for tests in report.tests.values()):
        yield (
            "Letters group encoders that tie within a task, those with a tie with the best: all "
            "pairs of a row are tested, with Holm's correction over the pairs. Verdicts test "
            "against the baseline. The two can differ; where they do, the cell says what the "
            "letter was tested on."
        )


def _against(report: Comparison, name: str, brief: bool) -> list[str]:
    if name == report.encoders[0]:
        return ["baseline"]
    tasks = max((v.tasks for (n, _), v in report.verdicts.items() if n == name), default=0)
    holm = f"; Holm over {tasks} tasks" if tasks > 1 else ""
    return [] if brief else [f"against {report.encoders[0]}{holm}"]


def _about(report: Comparison, task: str) -> str:
    """Details of a measurement: examples, protocol, and the seed if not the protocol's own.

    A trained regressor is named first: a cosine on the same task is another measurement.
    """
    rows = [row for name in report.encoders if (row := report.cells.get((name, task)))]
    counts = {row["n"] for row in rows if row["n"]}
    under = {row["protocol"] for row in rows}
    details = sorted({caveats.learned(row) for row in rows} - {""})
    details += [formats.plural(counts.pop(), "example")] if len(counts) == 1 else []
    own = {PROTOCOLS[name].seed for name in under if name in PROTOCOLS}
    seeds = [f"seed {seed}" for seed in sorted({row["seed"] for row in rows} - own)]
    return ", ".join([*details, *sorted(under), *seeds])


def _means(report: Comparison) -> str:
    """The tasks that the means are over."""
    tasks = f"{len(report.common)} of {formats.plural(len(report.tasks), 'task')}"
    metrics = {report.cells[report.encoders[0], task]["metric"] for task in report.common}
    mixed = f"; {len(metrics)} metrics in one mean" if len(metrics) > 1 else ""
    return f"{tasks}: those that all share{mixed}"


def _cell(
    report: Comparison, name: str, task: str, spreads: Mapping[Any, str], brief: bool
) -> Cell:
    row = report.cells.get((name, task))
    if row is None:
        text = formats.MISSING if brief else "not evaluated"
        return Cell(None, text, kind="muted", why="not evaluated")
    if row["error"] is not None:
        return Cell(row["error"], "error" if brief else row["error"], kind="bad", why=row["error"])
    spread_of = spreads.get((name, task, row["protocol"]), "")
    group = report.tests[task].groups.get(name, "")
    difference = report.differences.get((name, task))
    if difference is None:
        why = "not comparable: see the caveats" if name != report.encoders[0] else ""
        if name in report.tests[task].unreadable:
            why = "unreadable: see the caveats"
        return _scored(row["score"], group, notes=[why, spread_of])
    verdict = report.verdicts[name, task]
    why = f"{'McNemar' if verdict.test == 'McNemar' else 'Paired bootstrap'} p "
    why += formats.p_value(verdict.p)
    if verdict.tasks > 1:
        adjusted = formats.p_value(verdict.adjusted)
        why += f"; after Holm over {verdict.tasks} tasks {adjusted}"
    note = report.tie_note(name, task, "column" if brief else "row")
    alone = _WORDS[difference.verdict]
    notes = [f"{alone} by the interval alone"] if difference.verdict != verdict.verdict else []
    return _scored(row["score"], group, difference, verdict.verdict, why, [*notes, note, spread_of])


def _mean(report: Comparison, name: str, brief: bool) -> Cell:
    group, difference = report.average_groups.get(name, ""), report.average_differences.get(name)
    if difference is None:
        return _scored(report.averages[name], group)
    note = report.tie_note(name, None, "column" if brief else "row")
    why = f"Paired bootstrap of the mean, p {formats.p_value(difference.p)}"
    return _scored(report.averages[name], group, difference, difference.verdict, why, [note])


def _scored(
    score: float,
    group: str,
    difference: Difference | None = None,
    verdict: str = "tie",
    why: str = "",
    notes: Sequence[str] = (),
) -> Cell:
    """A score with the letter of its tie group, and its difference to the baseline's."""
    meaning = "ties with the best of this row" if group == "a" else "behind the best of this row"
    beside, interval = "", ""
    if difference is not None:
        beside = formats.signed(difference.delta)
        interval = f"{formats.signed(difference.low)} to {formats.signed(difference.high)}"
    return Cell(
        score,
        formats.score(score),
        mark=group,
        meaning=meaning,
        beside=beside,
        tag=_WORDS[verdict] if difference is not None else "",
        kind=_KINDS[verdict],
        why=why,
        notes=[note for note in (interval, *notes) if note],
        strong=group == "a",
    )


def _brief(cell: Cell) -> GridCell:
    """A cell that shows its score alone; the rest is for those who point at it."""
    tone = {"better": "up", "worse": "down"}.get(cell.tag, "" if cell.tag else cell.kind)
    detail = "; ".join(filter(None, (cell.beside, *cell.notes, cell.why)))
    return GridCell(cell.text, tone, detail, cell.strong)


def _printed(reference: Reference, report: Comparison) -> tuple[list[Cell], list[Cell]]:
    """The published scores, and their mean where all tasks of the means are published."""
    scores = {task: reference.score(task, under) for task, under in report.protocols().items()}
    shared = [scores[task] for task in report.common]
    printed = [score for score in shared if score is not None]
    whole = reference.row.aggregation != "wmean" and len(printed) == len(shared)
    mean = [sum(printed) / len(printed) if whole else None] if shared else []
    cells = [Cell(one, formats.score(one), kind="printed") for one in (*scores.values(), *mean)]
    return cells[: len(scores)], cells[len(scores) :]


def answer(workspace: Workspace, spec: CompareSpec, do: Do) -> Iterator[Any]:
    """Test every difference of the stored results; yield the progress, then the comparison."""
    if not spec.null_check:
        yield from compared(workspace, spec)
        return
    *_, report = compared(workspace, spec)
    yield from checked(workspace, report)


def checked(
    workspace: Workspace, report: Comparison, seconds: float | None = None
) -> Iterator[NullCheck]:
    """Check the verdicts of a comparison on copies of its baseline, for some seconds a task."""
    rows = {task: report.cells[name, task] for name, task in report.differences}
    measured = [(t, rows[t]["protocol"], rows[t]["seed"]) for t in report.tasks if t in rows]
    yield from null_check.null_check(workspace, report.encoders[0], measured, seconds=seconds)


def compare(workspace: Workspace, spec: CompareSpec) -> Comparison:
    """The comparison."""
    *_, report = compared(workspace, spec)
    return report


_RECENT: Recent[Any, Comparison] = Recent(16)
"""Results never change: a comparison holds for the same results."""


def compared(workspace: Workspace, spec: CompareSpec) -> Iterator[Any]:
    """Yield the progress, then the comparison."""
    rows, wanted = results(workspace, spec)
    known = {row["name"]: row["info"] for row in workspace.store.encoders.list()}
    remarks = tuple(
        (name, text) for name in spec.encoders for text in known.get(name, {}).get("warnings", ())
    )
    key = (workspace, spec, tuple(row["id"] for row in rows), remarks)
    if key not in _RECENT:
        cells = of_most_encoders([row for row in rows if spec.protocol in (None, row["protocol"])])
        tests: dict[str, TaskTests] = {}
        yield from _tested(workspace, spec, cells, wanted, tests)
        report = _comparison(spec, rows, cells, tests, remarks)
        _RECENT.get(key, lambda: report)
        if any(one.unreadable for one in tests.values()):  # may be measured again or restored
            _RECENT.forget(lambda other: other == key)
            yield report
            return
    yield _RECENT.get(key, lambda: report)


def results(workspace: Workspace, spec: CompareSpec) -> tuple[Sequence[Row], list[str]]:
    """All results of these encoders on these tasks, the oldest first, and the tasks asked for."""
    rows: Sequence[Row] = workspace.store.results.table(encoders=spec.encoders)
    if spec.protocol is not None:
        protocols.get(spec.protocol)
    if not spec.tasks:
        return rows, []
    there = {row["task"] for row in rows}
    wanted = expand(",".join(spec.tasks), workspace.catalog, spec.protocol, there)
    return [row for row in rows if row["task"] in wanted], wanted


def _tested(
    workspace: Workspace,
    spec: CompareSpec,
    cells: Cells,
    wanted: Sequence[str],
    tests: dict[str, TaskTests],
) -> Iterator[Working]:
    """Test one task after the other; yield the progress if that takes long enough."""
    present = {task for _, task in cells}
    tasks = [task for task in wanted or in_order(sorted(present)) if task in present]
    if not tasks:
        under = f" under {spec.protocol}" if spec.protocol else ""
        raise UserError(
            f"None of {', '.join(spec.encoders)} has been evaluated on these tasks{under}.",
            "Evaluate them first: `theodolite evaluate`, or the page Evaluate.",
            code="no-result",
        )
    began = said = time.monotonic()
    for done, task in enumerate(tasks):
        now = time.monotonic()
        if done and now - said > QUIET_SECONDS:
            said = now
            left = formats.time_left((now - began) / done * (len(tasks) - done))
            words = f"Resampling {task}, {done} of {len(tasks)} tasks done, {left}"
            yield Working(words, done / len(tasks))
        rows = {name: cells[name, task] for name in spec.encoders if (name, task) in cells}
        tests[task] = service.on_task(workspace, task, spec.encoders[0], rows)


def _comparison(
    spec: CompareSpec,
    rows: Sequence[Row],
    cells: Cells,
    tests: Mapping[str, TaskTests],
    remarks: Sequence[tuple[str, str]],
) -> Comparison:
    names, tasks = spec.encoders, tuple(tests)
    found = {(name, t): one for t, of in tests.items() for name, one in of.differences.items()}
    common = tuple(t for t in tasks if all((name, t) in found for name in names[1:]))
    drawn = {name: [tests[task].resampled[name] for task in common] for name in names}
    several = len(common) > 1
    mean_differences, mean_groups = service.of_means(drawn) if several else ({}, {})
    return Comparison(
        spec=spec,
        rows_of=rows,
        cells=cells,
        tests=tests,
        differences={pair: difference for pair, (difference, _) in found.items()},
        verdicts=service.verdicts(found),
        common=common,
        averages={n: fmean(cells[n, t]["score"] for t in common) for n in names if common},
        average_differences=mean_differences,
        average_groups=mean_groups,
        ranks=tuple(rank_intervals(drawn, over_tasks=False)) if common else (),
        ranks_over_tasks=tuple(rank_intervals(drawn, over_tasks=True)) if several else (),
        caveats=(
            *caveats.of_tests(tests),
            *caveats.caveats(names, tasks, cells, rows, remarks),
        ),
    )


COMPARE = Question(
    "compare",
    CompareSpec,
    answer,
    Comparison,
    (
        "compare minilm wordllama random:256",
        "compare minilm wordllama --tasks transfer --protocol senteval --json",
    ),
    report_name="comparison",
)
