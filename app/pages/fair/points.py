"""The parts of a point of advice: a verdict, a text, the evidence, missing runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from theodolite.app import formats
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.app.pages.evaluate.service import command

if TYPE_CHECKING:
    from theodolite.engine.stats.agreement import Agreement, LeaveOneOut

Verdict = Literal["fine", "look", "missing"]
Projection = Literal["pca", "random"]
PROJECTIONS: dict[Projection, str] = {"pca": "PCA", "random": "random projection"}
"""How encoders are brought to one size."""
LOGISTIC, MLP = "pitfalls", "pitfalls-mlp"
CLASSIFIERS = {LOGISTIC: "logistic regression", MLP: "MLP"}
"""Protocol -> the classifier that it trains."""
FEW = 3
NARROW = 40
"""Longer names of encoders are shortened in sentences; the evidence has them in full."""


@dataclass(frozen=True)
class MissingRuns:
    """Results that are missing, as one run.

    Attributes:
        encoders, tasks: every encoder on every task; stored results are not computed again.
        protocol: for all tasks, or None for each task's own.
        results: number of missing results.
        seeds: number of seeds.
        listed: whether the encoders are added to the list. Size variants are not.
    """

    encoders: tuple[str, ...]
    tasks: tuple[str, ...]
    protocol: str | None
    results: int
    seeds: int = 1
    listed: bool = True

    @property
    def command(self) -> str:
        """The equivalent command."""
        job = EvaluateJob(self.encoders, self.tasks, self.protocol, seeds=self.seeds)
        return command(job, listed=self.listed)


@dataclass(frozen=True, eq=False)
class Dots:
    """Rows of named marks on one axis, joined by a line.

    Attributes:
        series: (name, row -> value); a row may lack a value.
        axis: title of the axis.
        ranges: row -> (lowest, highest), drawn as a bar; None for none.
        limits: possible range of the values; None for no limit.
    """

    series: tuple[tuple[str, Mapping[str, float]], ...]
    axis: str
    ranges: Mapping[str, tuple[float, float]] | None = None
    limits: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class DimensionCurves:
    """Score over number of dimensions, one line per encoder: (dimensions, score), rising."""

    lines: Mapping[str, Sequence[tuple[int, float]]]
    axis: str


@dataclass(frozen=True, eq=False)
class Grid:
    """Correlations of probing tasks (rows) with transfer tasks (columns)."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], LeaveOneOut]
    """By (column, row)."""


@dataclass(frozen=True, eq=False)
class Exhibit:
    """One chart and its numbers.

    Attributes:
        name: of its files, without ending.
        label: what it shows, in a sentence.
        picture: the chart's data.
        columns, rows: the numbers as a table.
    """

    name: str
    label: str
    picture: Dots | DimensionCurves | Grid
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, eq=False)
class Point:
    """One point of advice.

    Attributes:
        key: one word, such as `size`.
        title: the same for people.
        verdict: `fine`, `look`, or `missing` for lack of results.
        words: one to three sentences made from the numbers.
        missing_runs: runs that would compute missing results.
        add: encoders that ought to be among those compared.
        exhibits: the evidence; empty when there is none.
        see: a sentence that links to the page Compare.
    """

    key: str
    title: str
    verdict: Verdict
    words: tuple[str, ...]
    missing_runs: tuple[MissingRuns, ...] = ()
    add: tuple[str, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    see: str = ""

    @property
    def missing(self) -> int:
        """Number of missing results."""
        return sum(run.results for run in self.missing_runs)

    def row(self) -> dict[str, Any]:
        """One flat object, as `theodolite fair --json` prints it."""
        return {
            "point": self.key,
            "verdict": self.verdict,
            "advice": " ".join(filter(None, (*self.words, self.see))),
            "add": list(self.add),
            "missing": self.missing,
            "commands": [run.command for run in self.missing_runs],
            "evidence": {
                exhibit.name: [dict(zip(exhibit.columns, row, strict=True)) for row in exhibit.rows]
                for exhibit in self.exhibits
            },
        }


def missing_runs(
    encoders: Sequence[str],
    tasks: Sequence[str],
    have: Mapping[str, Mapping[str, Any]],
    protocol: str | None,
    *,
    listed: bool = True,
) -> tuple[MissingRuns, ...]:
    """The run that evaluates missing pairs of encoder and task; empty if none is missing."""
    gaps = [(name, task) for name in encoders for task in tasks if task not in have.get(name, ())]
    if not gaps:
        return ()
    names = tuple(dict.fromkeys(name for name, _ in gaps))
    lacking = tuple(task for task in tasks if any(task == gap for _, gap in gaps))
    return (MissingRuns(names, lacking, protocol, len(gaps), listed=listed),)


def few(items: Iterable[str], most: int = FEW) -> str:
    """`a, b and c`, or `a, b, c and 4 more`."""
    return formats.listed(items, most)


def swaps(found: Agreement, most: int = 2) -> str:
    """How many pairs swap ranks, and which."""
    pairs = [
        f"{formats.shorten(b, NARROW)} overtakes {formats.shorten(a, NARROW)}"
        for a, b in found.swapped
    ]
    of = formats.plural(found.n * (found.n - 1) // 2, "pair")
    return (
        f"{len(pairs)} of {of} {'swaps' if len(pairs) == 1 else 'swap'} ranks: {few(pairs, most)}"
    )


def ranks(found: Agreement) -> str:
    """Both rank correlations, or why there are none."""
    if math.isnan(found.spearman):
        return "no rank correlation: too few encoders, or all tied"
    values = (formats.score(value) for value in (found.spearman, found.kendall))
    return "Spearman {}, Kendall {}".format(*values)


def over(tasks: Sequence[str]) -> str:
    """`on MR`, `on average over 7 tasks`."""
    return f"on {tasks[0]}" if len(tasks) == 1 else f"on average over {len(tasks)} tasks"


def mean_of(tasks: Sequence[str]) -> str:
    """The axis title of a chart of means."""
    return f"score on {tasks[0]}" if len(tasks) == 1 else f"mean score over {len(tasks)} tasks"
