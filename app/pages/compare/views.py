"""What the page Compare shows of a comparison, by the name of the part that it fills."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

from app import formats
from app.components.chart import drawing
from app.examples import results
from app.pages.compare import board as compare_board
from app.pages.compare import published, ranking_view, service
from app.pages.compare import table as compare_table
from app.pages.encoders import choices
from app.web import address, figures, parts
from engine.stats import spread

if TYPE_CHECKING:
    from app.pages.compare.service import Comparison, ComparisonSpec
    from app.web.controls import Values
    from app.workspace import Workspace

QUIET_SECONDS = 0.5
"""Before the first word about progress, and between two: each costs the browser time."""
MOST_COMPARED = 100
MOST_DRAWN = 8
"""Encoders beside the baseline whose every difference is drawn; of more, that of their means."""
_KEPT = 16
EXAMPLE = "These results came with Theodolite; yours take their place as they are measured."
NOTHING_ALIKE = "No task was measured alike for two of them: see the notes below."
NONE_SHARED = "No task is shared by all of them, so no mean is drawn: see the table."
RANKS = ("ranks", "rank-intervals")
STABLE = ("stability", "bump", "agreement")
CHARTS = ("forest", "rank-intervals", "bump")
EMPTY = (*CHARTS, "board")
FINDING = ("busy", "headline")
DIFFERENCES = ("forest", "comparison", "board", "cautions")
PARTS = (*FINDING, *DIFFERENCES, *RANKS, *STABLE)
"""Everything below the controls."""

Shown = dict[str, Any]
"""Part -> what fills it."""


def below(workspace: Workspace, asked: Values) -> Iterator[Shown]:
    """Fill every part; say how long it takes while the bootstrap is not remembered yet."""
    if len(asked.encoder) < 2:
        hint = "Add them above. Those without results yet are measured on the page Evaluate."
        link = ("Evaluate", address.link("evaluate"))
        yield _nothing(parts.empty("Choose two encoders", hint, link))
        return
    question = _question(workspace, asked)
    if not question.rows and service.measuring(workspace):
        yield _nothing(parts.awaited())
        return
    for said in _waiting(service.resampling(question)):
        yield {"busy": said}
    shipped = question.workspace is not workspace
    yield {"busy": "", **_compared(question, tuple(asked.published), shipped)}  # what is seen first
    yield {**_ranks(question, asked), **_stable(question, asked)}


def _nothing(said: str) -> Shown:
    """All parts empty, and why."""
    return {part: None if part in EMPTY else "" for part in PARTS} | {"busy": said}


def numbers(workspace: Workspace, asked: Values) -> str:
    """Everything that was worked out, as JSON: names of the columns, then the rows."""
    columns, rows = _table(service.answer(_question(workspace, asked)))
    return formats.json_text([columns, *rows])


def ranks(workspace: Workspace, asked: Values) -> Shown:
    """How sure the ranks are."""
    return _ranks(_question(workspace, asked), asked)


def _ranks(question: ComparisonSpec, asked: Values) -> Shown:
    shown = ranking_view.ranks(service.answer(question), asked.drawn)
    return dict(zip(RANKS, shown, strict=True))


def stable(workspace: Workspace, asked: Values) -> Shown:
    """How the ranking moves with a choice that says nothing about the encoders."""
    return _stable(_question(workspace, asked), asked)


def _stable(question: ComparisonSpec, asked: Values) -> Shown:
    shown = ranking_view.stable(
        question.workspace, service.answer(question), asked.stability, asked.protocol or None
    )
    return dict(zip(STABLE, shown, strict=True))


def _question(workspace: Workspace, asked: Values) -> ComparisonSpec:
    """What is asked of the store; of what ships, until each of its encoders is measured here."""
    chosen = choices.need(asked.encoder, 2, MOST_COMPARED)
    names = [asked.baseline, *(name for name in chosen if name != asked.baseline)]
    rest = (names, asked.tasks or None, asked.protocol or None)
    question = service.ask(workspace, *rest)
    known = {row["encoder"] for row in question.rows}
    if known.issuperset(names) or (known and not service.measuring(workspace)):
        return question
    if not {name for name, _ in results.scores(workspace, names)}.issuperset(names):
        return question
    example = service.ask(results.standing_in(workspace), *rest)
    return example if example.rows else question


def _waiting(steps: Iterator[tuple[str, int, int]]) -> Iterator[str]:
    """What to say while tasks are resampled, once it takes long enough to be asked."""
    start = said = time.monotonic()
    for task, done, of in steps:
        now = time.monotonic()
        spent = now - start
        if done and now - said > QUIET_SECONDS:
            said = now
            left = formats.time_left(spent / done * (of - done))
            words = f"Resampling {task}, {done} of {of} tasks done, {left}"
            yield (
                f'<div class="t-run" role="status"><p>{escape(words)}</p>'
                f"{parts.progress_bar(done / of, words)}</div>"
            )


@lru_cache(maxsize=_KEPT)
def _compared(question: ComparisonSpec, rows: tuple[str, ...], shipped: bool) -> Shown:
    """Headline, table, cautions and picture; remembered, as the results behind them are final."""
    report = service.answer(question)
    printed = [published.references()[key] for key in rows]
    spreads = {key: spread.words(found) for key, found in spread.spreads(question.rows).items()}
    cautions = ranking_view.panel([*report.cautions, *published.cautions(report, printed)])
    if len(report.encoders) - 1 > MOST_DRAWN:
        table, board = "", compare_board.table(report, printed, spreads)
        intervals, said = _of_means(report)
    else:
        table = compare_table.table(report, printed, spreads) + compare_table.reading(report)
        board = None
        intervals, said = _of_tasks(report)
    base = report.encoders[0]
    if intervals:
        told = {"lead": EXAMPLE, "beside": f" {parts.SHIPPED}"} if shipped else {}
        headline = parts.heading(said, **told)
    elif not any((base, task) in report.cells for task in report.tasks):
        headline = parts.heading(
            f"{base}, the baseline, is not measured yet",
            "The scores of the others stand below. Choose another baseline, or ",
            f'<a href="{escape(address.link("evaluate", encoder=base))}">measure it</a>.',
        )
    else:
        headline = parts.say(said or NOTHING_ALIKE)
    return {
        "headline": headline,
        "comparison": table,
        "board": board,
        "cautions": cautions,
        "forest": _picture(report, intervals, said) if intervals else None,
    }


def _of_tasks(report: Comparison) -> tuple[list[figures.Interval], str]:
    """Every difference to the baseline, and what they come to."""
    base = report.encoders[0]
    intervals = [
        figures.Interval(
            task, name, d.delta, d.low, d.high, v.verdict != "tie", v.words(name, base)
        )
        for task in report.tasks
        for name in report.encoders[1:]
        if (d := report.differences.get((name, task))) and (v := report.verdicts[name, task])
    ]
    said = figures.forest_headline(intervals, base)
    if any(verdict.tasks > 1 for verdict in report.verdicts.values()):
        said += ", after Holm's correction"
    return intervals, said


def _of_means(report: Comparison) -> tuple[list[figures.Interval], str]:
    """The difference of each mean to the baseline's, the best first: a line an encoder."""
    if not report.common:
        return [], NONE_SHARED
    base, common = report.encoders[0], report.common
    several = len(common) > 1
    over = f"mean of {len(common)} tasks" if several else common[0]
    # Of one shared task the difference there is the difference of the means.
    found = report.average_differences or {
        name: report.differences[name, common[0]] for name in report.encoders[1:]
    }
    best_first = [(name, found[name]) for name in compare_board.best_first(report) if name != base]
    intervals = [
        figures.Interval(
            name, over, d.delta, d.low, d.high, d.verdict != "tie", d.words(name, base)
        )
        for name, d in best_first
    ]
    told = Counter(d.verdict for _, d in best_first)
    said = (
        f"{f'By their mean over {len(common)} tasks' if several else f'On {over}'} "
        f"{told['a']} of {len(intervals)} encoders are better than {base}, "
        f"{told['b']} worse, and {told['tie']} tie with it"
    )
    return intervals, said


def _picture(report: Comparison, intervals: Sequence[figures.Interval], said: str) -> Any:
    """The intervals; of many encoders its table has the means alone, the rest is fetched."""
    many = len(report.encoders) - 1 > MOST_DRAWN
    columns, rows = _table(report, means=many)
    return drawing(
        figures.forest(intervals, report.encoders[0]),
        "Differences to the baseline with their 95 % intervals. A filled mark is a real "
        f"difference, a hollow one a tie. {said}",
        name="theodolite-comparison",
        columns=columns,
        rows=rows,
    )


def _table(report: Comparison, means: bool = False) -> tuple[list[str], list[list[Any]]]:
    """The names of the columns, and all rows or those of the means."""
    rows = (means and report.mean_rows()) or report.rows()
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return columns, [[row.get(column) for column in columns] for row in rows]
