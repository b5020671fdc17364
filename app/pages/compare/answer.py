"""Several encoders on the same tasks: which differences are real, and how sure their ranks are."""

import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean
from typing import Annotated, Any, ClassVar

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
from theodolite.app.pages.compare import figures
from theodolite.app.pages.compare.caveats import (
    caveats,
    published_caveats,
    published_cell,
    reference,
    selected_by,
)
from theodolite.app.pages.compare.null_check import NullCheck, null_check
from theodolite.app.question import Answer, Do, Question, Working
from theodolite.app.recent import Recent
from theodolite.app.results import Cells, Row, of_most_encoders
from theodolite.app.significance import (
    Ranking,
    TaskTests,
    Verdict,
    on_task,
    ranking,
    verdicts,
)
from theodolite.app.spec import Field, Spec, Tasks
from theodolite.app.web.figures import Interval, forest, forest_headline
from theodolite.app.workspace import Workspace
from theodolite.engine import protocols
from theodolite.engine.errors import UserError
from theodolite.engine.given import names_in
from theodolite.engine.protocols import PROTOCOLS
from theodolite.engine.protocols.published import Published
from theodolite.engine.rankers import canonical, parse
from theodolite.engine.stats.ranks import RankInterval
from theodolite.engine.stats.spread import spreads, words
from theodolite.engine.tasks import expand, in_order

MAX_ENCODERS = 100
MAX_DRAWN = 8
"""Most encoders whose differences are shown task by task; of more, those of their means."""
MAX_NAMED = 12
MIN_TASKS = 5
"""Fewer tasks are few to resample."""
QUIET_SECONDS = 0.5
"""Before the first progress message, and between two: each costs the browser time."""
MEAN = ""
"""Stands for the mean over the shared tasks where there is a task otherwise."""
RANKS = (
    "Each encoder's rank by its mean over the tasks that all share, and the ranks that hold 95 % "
    "of 2,000 resamples. Resample the examples alone if these tasks are what you care about, the "
    "tasks too if they are a sample of what you care about."
)
READING = (
    "Each interval holds 95 % of the resamples of that task alone. Each verdict holds for all "
    "tasks of its column together, after Holm's correction; where the interval alone says "
    "otherwise, the cell says so. Its p-value is of McNemar's test where answers are right or "
    "wrong, else of the paired bootstrap: point at the verdict, or see the numbers under the "
    "picture. Letters group encoders that tie within a task, those with a tie with the best: all "
    "pairs of a row are tested, with Holm's correction over the pairs. Verdicts test against the "
    "baseline; where the two differ, the cell says what the letter was tested on."
)
GRID_READING = (
    "A mark after a score says that it is really better (▲) or worse (▼) than that of the "
    "baseline, after Holm’s correction over the tasks of its row; no mark is a tie. Bold scores "
    "tie with the best of their column when all its pairs are tested, with Holm’s correction over "
    "the pairs, which is a different question from that of the marks. Point at a score for its "
    "interval, and for what bold was tested on where it and the mark disagree; the file of all "
    "numbers holds them all."
)
_WORDS = {"a": "better", "b": "worse", "tie": "tie"}
_KINDS = {"a": "good", "b": "bad", "tie": ""}


@dataclass(frozen=True)
class CompareSpec(Spec):
    """Say which differences between evaluated encoders are real.

    Each task gets the difference to the baseline, its 95 % paired-bootstrap interval, and a
    verdict after Holm's correction over the tasks (McNemar's test where examples are right or
    wrong). Tie groups are another question: all pairs of encoders on one task, with Holm's
    correction over the pairs; those with the letter a tie with the best. With --json: every
    p-value, and the ranks that hold 95 % of the resamples. What was not evaluated yet is evaluated
    by `theodolite evaluate`.

    --null-check tests the tests: 100 pairs of copies of the baseline, each with 1 % noise,
    on every task that is compared. They do not differ, so at most 5 % of the verdicts should say
    that they do; a rate that chance does not explain ends with exit status 1.
    """

    encoders: Annotated[
        Sequence[str],
        Field(
            "Encoders",
            "Spec strings, e.g. minilm, random:256, hf:ID?pooling=cls_token.",
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
        Field(
            "Published rows",
            "From papers, not evaluated here: never part of a test. As SimCSE-BERT-base / "
            "unsupervised / all.",
        ),
    ] = ()
    null_check: Annotated[
        bool,
        Field("Null check", "Check the verdicts on copies of the baseline.", for_agents=False),
    ] = False
    baseline: Annotated[
        str | None,
        Field("Baseline", "What the others are compared with; default: the first.", "encoder"),
    ] = None

    def check(self) -> None:
        """At least two encoders, each once and in their canonical form, and one of them first."""
        names = canonical(self.encoders)
        base = str(parse(self.baseline)) if self.baseline else None
        vars(self).update(encoders=names, baseline=base)
        if not 2 <= len(names) <= MAX_ENCODERS:
            raise UserError(
                f"A comparison takes 2 to {MAX_ENCODERS} encoders; {len(names)} were given.",
                f"Name from 2 to {MAX_ENCODERS}.",
                code="too-few" if len(names) < 2 else "too-large",
            )
        if base not in (None, *names):
            raise UserError(
                f"The baseline {base} is not among the encoders.",
                f"Choose one of {formats.listed(names, 4)}.",
                code="unknown",
            )
        vars(self).update(published=names_in(*self.published))
        for key in self.published:
            reference(key)

    @property
    def ordered(self) -> list[str]:
        """The encoders, the baseline first."""
        return sorted(self.encoders, key=lambda name: name != (self.baseline or self.encoders[0]))


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Answer):
    """Several encoders side by side, and which differences are real.

    Where there is a task, `MEAN` stands for the mean over the shared tasks: without a score if
    there are none, and without a difference if there is one.

    Attributes:
        spec: what was asked.
        encoders: their names, the baseline first.
        rows_of: the results behind it.
        cells: (encoder, task) -> its result; absent without one.
        tests: task -> its tests, for tasks that at least one of them has a result on, as they were
            asked for or in the registry's order.
        scores: (encoder, task) -> its score in points.
        groups: task -> encoder -> the letter of its tie group.
        verdicts: (encoder, task) -> encoder minus baseline, where both have a score under one
            protocol, with one seed, on the same data, and the verdict when all tasks of the encoder
            are tested at once. The interval is of this task alone.
        ranking: by the means over the tasks on which every encoder can be compared.
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
    in_terminal: ClassVar = (
        "task",
        "encoder",
        "score",
        "tie_group",
        "against",
        "delta",
        "low",
        "high",
        "p",
        "verdict",
    )

    spec: CompareSpec
    encoders: Sequence[str]
    rows_of: Sequence[Row]
    cells: Cells
    tests: Mapping[str, TaskTests]
    scores: Mapping[tuple[str, str], float]
    groups: Mapping[str, Mapping[str, str]]
    verdicts: Mapping[tuple[str, str], Verdict]
    ranking: Ranking
    caveats: Sequence[Caveat]

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
        return f"On {formats.listed(self.tests, MAX_NAMED)}; against {self.encoders[0]}."

    def rows(self) -> list[dict[str, Any]]:
        """One flat object per (task, encoder).

        The last rows are the means with rank intervals, if at least two tasks are shared.
        """
        means = [MEAN] if len(self.common) > 1 else []
        return [self._row(task, n) for task in (*self.tests, *means) for n in self.encoders]

    @property
    def common(self) -> tuple[str, ...]:
        """Tasks on which every encoder can be compared with the baseline."""
        return self.ranking.tasks

    def _row(self, task: str, name: str) -> dict[str, Any]:
        groups = self.groups[task]
        row = {
            "task": task or f"mean of {len(self.common)} tasks",
            "encoder": name,
            "score": self.scores.get((name, task)),
            "tie_group": groups.get(name),
        }
        if task:
            cell = self.cells.get((name, task), {})
            row |= {fact: cell.get(fact) for fact in ("metric", "n", "protocol", "seed")}
            row["unreadable"] = name in self.tests[task].unreadable
        else:
            drawn = {"": self.ranking.ranks, "tasks_drawn_": self.ranking.ranks_over_tasks}
            for prefix, ranks in drawn.items():
                one = next(rank for rank in ranks if rank.name == name)
                row["rank"] = one.rank
                row |= {f"{prefix}rank_low": one.low, f"{prefix}rank_high": one.high}
                row[f"{prefix}first"] = one.first
        verdict = self.verdicts.get((name, task))
        if verdict is None:
            return row | {"against": None, "verdict": None}
        row |= vars(verdict.difference) | {
            "against": self.encoders[0],
            "tie_group_over": comb(len(groups), 2),
            "tie_group_note": self.tie_note(name, task),
            "verdict": self._words(name, verdict.verdict),
        }
        if task:
            row |= {
                "p_mcnemar": verdict.p if verdict.test == "McNemar" else None,
                "p_holm": verdict.adjusted,
                "holm_over": verdict.tasks,
                "interval_alone": self._words(name, verdict.difference.verdict),
            }
        return row

    def _words(self, name: str, verdict: str) -> str:
        better = {"a": name, "b": self.encoders[0]}.get(verdict)
        return f"{better} is better" if better else "no real difference"

    def all_numbers(self, *, means: bool = False) -> tuple[list[str], list[list[Any]]]:
        """The names of all numbers, and `rows` in their order; those of the means if asked for."""
        alone = means and len(self.common) > 1
        rows = [self._row(MEAN, name) for name in self.encoders] if alone else self.rows()
        columns = list(dict.fromkeys(key for row in rows for key in row))
        return columns, [[row.get(column) for column in columns] for row in rows]

    def table_rows(self) -> list[dict[str, Any]]:
        """With the p-value that decides, and what a letter was tested on beside the verdict."""
        rows = []
        for row in self.rows():
            p, note = row.get("p_holm", row.get("p")), row.get("tie_group_note")
            verdict = f"{row['verdict']} ({note})" if note else row["verdict"]
            rows.append(row | {"p": p if p is None else formats.p_value(p), "verdict": verdict})
        return rows

    def notes(self) -> list[str]:
        """The table says it all."""
        return []

    def tie_note(self, name: str, task: str) -> str:
        """What the letters were tested on, where they differ from the verdict; else empty."""
        groups, verdict = self.groups[task], self.verdicts[name, task].verdict
        mine, base = groups.get(name), groups.get(self.encoders[0])
        if mine is None or base is None or (mine == base) == (verdict == "tie"):
            return ""
        pairs = comb(len(groups), 2)
        return f"tie letter: by a test of {'this pair' if pairs == 1 else f'all {pairs:,} pairs'}"

    def blocks(self) -> list[Block]:
        """The conclusion with its chart, the table, the caveats, and the ranks."""
        printed = [reference(key) for key in self.spec.published]
        under: dict[str, set[str]] = {task: set() for task in self.tests}
        for (_, task), row in self.cells.items():
            under[task].add(row["protocol"])
        every = [*self.caveats, *published_caveats(printed, under)]
        return [
            *self._conclusion(),
            self._table(printed, under),
            *([Caveats(every, "Caveats")] if every else []),
            *self._ranks(),
        ]

    def _conclusion(self) -> list[Block]:
        base, common, title = self.encoders[0], self.common, ""
        intervals: list[Interval] = []
        if not any((base, task) in self.cells for task in self.tests):
            hint = "The scores of the others are below. Choose another baseline, or evaluate it."
            return [Finding(f"{base}, the baseline, is not evaluated yet.", hint)]
        if self.is_large and common:
            at = MEAN if len(common) > 1 else common[0]
            names = [name for name in self.best_first() if name != base]
            series = at or f"mean of {len(common)} tasks"
            intervals = [self._interval(name, at, name, series) for name in names]
            count = Counter(self.verdicts[name, at].verdict for name in names)
            by = f"On {at}" if at else f"By their mean over {len(common)} tasks"
            title = (
                f"{by} {count['a']} of {len(names)} encoders are better than {base}, {count['b']} "
                f"worse, and {count['tie']} tie with it"
            )
        elif not self.is_large:
            intervals = [
                self._interval(name, task, task, name)
                for task in self.tests
                for name in self.encoders[1:]
                if (name, task) in self.verdicts
            ]
            title = forest_headline(intervals, base)
            if any(verdict.tasks > 1 for verdict in self.verdicts.values()):
                title += ", after Holm's correction"
        if not intervals:
            return [
                Finding("No task was evaluated in the same way for all of them: see the table.")
            ]
        columns, rows = self.all_numbers(means=self.is_large)
        picture = Chart(
            forest(intervals, base),
            "Differences to the baseline with their 95 % intervals. A filled mark is a real "
            f"difference, a hollow one a tie. {title}",
            name="theodolite-comparison",
            columns=columns,
            rows=rows,
        )
        return [Finding(f"{title}."), picture]

    def _interval(self, name: str, task: str, row: str, series: str) -> Interval:
        verdict, one = self.verdicts[name, task], self.verdicts[name, task].difference
        words, clear = self._words(name, verdict.verdict), verdict.verdict != "tie"
        return Interval(row, series, one.delta, one.low, one.high, clear, words)

    def best_first(self) -> list[str]:
        """The encoders by descending mean; in the given order if no task is shared."""
        return sorted(self.encoders, key=lambda name: -self.scores.get((name, MEAN), 0.0))

    def _table(self, printed: Sequence[Published], under: Mapping[str, set[str]]) -> Block:
        """The scores with their differences, and how to read them.

        A row is a task; with many encoders, a row is an encoder, the best first.
        """
        lines = [*self.tests, *([MEAN] if self.common else [])]
        spread = {key: words(one) for key, one in spreads(self.rows_of).items()}
        names = self.best_first() if self.is_large else self.encoders
        columns = [
            [self._head(name), *(self._cell(name, task, spread) for task in lines)]
            for name in names
        ]
        columns += [
            [
                Cell(row.model, notes=["published"]),
                *(published_cell(row, [task] if task else self.common, under) for task in lines),
            ]
            for row in printed
        ]
        tasks = [Cell(task or "Mean", notes=[self._about(task)]) for task in lines]
        if not self.is_large:
            first, *rows = map(list, zip([Cell("Task"), *tasks], *columns, strict=True))
            return Table(
                "comparison", first, rows, note=READING, totals=len(lines[len(self.tests) :])
            )
        best = len(self.tests)  # the means come first
        heads = [GridHead(one.value, "".join(one.notes)) for one in (*tasks[best:], *tasks[:best])]
        grid = [
            (head.value, *head.notes, [*map(_brief, (*cells[best:], *cells[:best]))])
            for head, *cells in columns
        ]
        heads.insert(0, GridHead("Encoder", ascending=True))
        return Grid("Scores", "comparison", heads, grid, GRID_READING)

    def _head(self, name: str) -> Cell:
        base, tasks = self.encoders[0], sum((name, task) in self.verdicts for task in self.tests)
        against = f"against {base}" + (f"; Holm over {tasks} tasks" if tasks > 1 else "")
        note = "baseline" if name == base else "" if self.is_large else against
        return Cell(name, notes=[note])

    def _about(self, task: str) -> str:
        """Details of a measurement: examples, protocol, and the seed if not the protocol's own.

        A trained regressor is named first: a cosine on the same task is another measurement.
        """
        if not task:
            metrics = {self.cells[self.encoders[0], one]["metric"] for one in self.common}
            mixed = f"; {len(metrics)} metrics in one mean" if len(metrics) > 1 else ""
            tasks = formats.plural(len(self.tests), "task")
            return f"{len(self.common)} of {tasks}: those that all share{mixed}"
        rows = [row for name in self.encoders if (row := self.cells.get((name, task)))]
        under = {row["protocol"] for row in rows}
        counts = {row["n"] for row in rows if row["n"]}
        own = {PROTOCOLS[name].seed for name in under if name in PROTOCOLS}
        details = sorted({selected_by(row) for row in rows} - {""})
        details += [formats.plural(counts.pop(), "example")] if len(counts) == 1 else []
        seeds = [f"seed {seed}" for seed in sorted({row["seed"] for row in rows} - own)]
        return ", ".join([*details, *sorted(under), *seeds])

    def _cell(self, name: str, task: str, spread: Mapping[Any, str]) -> Cell:
        """A score with the letter of its tie group, and its difference to the baseline's."""
        row = self.cells.get((name, task), {})
        if task and not row:
            return Cell(None, "not evaluated", kind="muted", why="not evaluated")
        if row and row["error"] is not None:
            return Cell(row["error"], row["error"], kind="bad", why=row["error"])
        score, group = self.scores[name, task], self.groups[task].get(name, "")
        notes = [spread.get((name, task, row["protocol"]), "")] if task else []
        beside = tag = kind = why = ""
        if verdict := self.verdicts.get((name, task)):
            one = verdict.difference
            beside, tag = formats.signed(one.delta), _WORDS[verdict.verdict]
            kind = _KINDS[verdict.verdict]
            why = f"{'McNemar' if verdict.test == 'McNemar' else 'Paired bootstrap'} p "
            why += formats.p_value(verdict.p)
            if verdict.tasks > 1:
                why += (
                    f"; after Holm over {verdict.tasks} tasks {formats.p_value(verdict.adjusted)}"
                )
            alone = f"{_WORDS[one.verdict]} by the interval alone"
            notes = [
                f"{formats.signed(one.low)} to {formats.signed(one.high)}",
                alone if one.verdict != verdict.verdict else "",
                self.tie_note(name, task),
                *notes,
            ]
        elif task and name != self.encoders[0]:
            lost = name in self.tests[task].unreadable
            notes.insert(0, f"{'unreadable' if lost else 'not comparable'}: see the caveats")
        return Cell(
            score,
            formats.score(score),
            mark=group,
            meaning="ties with the best" if group == "a" else "behind the best",
            beside=beside,
            tag=tag,
            kind=kind,
            why=why,
            notes=[note for note in notes if note],
            strong=group == "a",
        )

    def _ranks(self) -> list[Block]:
        if not self.common:
            return []
        number = len(self.common)
        over = f": {', '.join(self.common)}" if number <= MAX_NAMED else ""
        few = f"{number} tasks are few to resample: these intervals are a rough guide."
        by = f"By the mean over {formats.plural(number, 'task')}{over}."
        blocks = [
            Text("Confidence intervals of the ranks", RANKS),
            *_ranking(self.ranking.ranks, by),
        ]
        if number > 1:
            over_tasks = _ranking(self.ranking.ranks_over_tasks, few if number < MIN_TASKS else "")
            blocks.append(Fold("With the tasks resampled too", over_tasks))
        return blocks


def _ranking(ranks: Sequence[RankInterval], note: str) -> list[Block]:
    title = figures.ranks_headline(ranks)
    return [Text("", f"{title}. {note}"), figures.ranks(ranks, title)]


def _brief(cell: Cell) -> GridCell:
    """A cell that shows its score alone; the rest is for those who point at it."""
    tone = {"better": "up", "worse": "down"}.get(cell.tag, "" if cell.tag else cell.kind)
    text = {"muted": formats.MISSING, "bad": "error"}.get(tone, cell.text)
    return GridCell(
        text, tone, "; ".join(filter(None, (cell.beside, *cell.notes, cell.why))), cell.strong
    )


def answer(workspace: Workspace, spec: CompareSpec, do: Do) -> Iterator[Any]:
    """Test every difference of the stored results; yield the progress, then the comparison."""
    if not spec.null_check:
        yield from compared(workspace, spec)
    else:
        yield from check_verdicts(workspace, compare(workspace, spec))


def check_verdicts(
    workspace: Workspace, report: Comparison, seconds: float | None = None
) -> Iterator[NullCheck]:
    """Check the verdicts of a comparison on copies of its baseline, for some seconds a task."""
    rows = {task: report.cells[name, task] for name, task in report.verdicts if task}
    measured = [(t, rows[t]["protocol"], rows[t]["seed"]) for t in report.tests if t in rows]
    yield from null_check(workspace, report.encoders[0], measured, seconds=seconds)


def compare(workspace: Workspace, spec: CompareSpec) -> Comparison:
    """The comparison."""
    *_, report = compared(workspace, spec)
    return report


_RECENT: Recent[Any, Comparison] = Recent(16)
"""Results never change: a comparison holds for the same results."""


def compared(workspace: Workspace, spec: CompareSpec) -> Iterator[Any]:
    """Yield the progress, then the comparison."""
    rows, names = results(workspace, spec)
    infos = workspace.store.encoders.infos()
    remarks = [(n, text) for n in spec.encoders for text in infos.get(n, {}).get("warnings", ())]
    key = (workspace, spec, tuple(row["id"] for row in rows), tuple(remarks))
    if key not in _RECENT:
        cells = of_most_encoders([row for row in rows if spec.protocol in (None, row["protocol"])])
        tests = yield from _test(workspace, spec, cells, names)
        report = _comparison(spec, rows, cells, tests, remarks)
        if any(test.unreadable for test in tests.values()):  # may be measured again or restored
            yield report
            return
        _RECENT.get(key, lambda: report)
    yield _RECENT.get(key, lambda: report)


def results(workspace: Workspace, spec: CompareSpec) -> tuple[Sequence[Row], list[str]]:
    """All results of these encoders on these tasks, the oldest first, and the tasks asked for."""
    rows: Sequence[Row] = workspace.store.results.table(encoders=spec.encoders)
    if spec.protocol is not None:
        protocols.get(spec.protocol)
    if not spec.tasks:
        return rows, []
    there = {row["task"] for row in rows}
    tasks = expand(",".join(spec.tasks), workspace.catalog, spec.protocol, there)
    return [row for row in rows if row["task"] in tasks], tasks


def _test(
    workspace: Workspace,
    spec: CompareSpec,
    cells: Cells,
    wanted: Sequence[str],
) -> Generator[Working, None, dict[str, TaskTests]]:
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
    tests = dict[str, TaskTests]()
    began = last = time.monotonic()
    for done, task in enumerate(tasks):
        now = time.monotonic()
        if done and now - last > QUIET_SECONDS:
            last = now
            left = (now - began) / done * (len(tasks) - done)
            yield Working(f"Resampling {task}", done / len(tasks), left)
        rows = {name: cells[name, task] for name in spec.encoders if (name, task) in cells}
        tests[task] = on_task(workspace, task, spec.ordered[0], rows)
    return tests


def _comparison(
    spec: CompareSpec,
    rows: Sequence[Row],
    cells: Cells,
    tests: Mapping[str, TaskTests],
    remarks: Sequence[tuple[str, str]],
) -> Comparison:
    names = spec.ordered
    tested = {(name, t): one for t, of in tests.items() for name, one in of.differences.items()}
    ranks = ranking(names, tests)
    scores = {at: row["score"] for at, row in cells.items() if row["error"] is None}
    if ranks.tasks:
        scores |= {(n, MEAN): fmean(scores[n, task] for task in ranks.tasks) for n in names}
    return Comparison(
        spec=spec,
        encoders=names,
        rows_of=rows,
        cells=cells,
        tests=tests,
        scores=scores,
        groups={**ranks.task_groups, MEAN: ranks.groups if ranks.differences else {}},
        verdicts=verdicts(tested)
        | verdicts({(name, MEAN): (one, None) for name, one in ranks.differences.items()}),
        ranking=ranks,
        caveats=[*caveats(names, cells, rows, tests, remarks)],
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
