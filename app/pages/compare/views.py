"""Views of a comparison on the page Compare, by the name of the component they fill."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html import escape
from typing import Any

from theodolite.app import formats
from theodolite.app.examples import results
from theodolite.app.pages.compare import board as compare_board
from theodolite.app.pages.compare import (
    differences,
    null_check,
    published,
    ranking_view,
    service,
)
from theodolite.app.pages.compare import table as compare_table
from theodolite.app.pages.compare.service import ComparisonSpec
from theodolite.app.pages.encoders import choices
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Values
from theodolite.app.workspace import Workspace
from theodolite.engine.stats import spread

QUIET_SECONDS = 0.5
"""Before the first progress message, and between two: each costs the browser time."""
NULL_SECONDS = 10.0
"""Most seconds that the null check spends on a task."""
NULL_LEAD = (
    "Tests pairs of copies of the baseline, each with 1 % noise, on the tasks above. The copies do "
    "not differ, so at most 5 % of the verdicts should say that they do."
)
_NULL_HEADS = ("Task", "Test", "Pairs", "Told apart", "Rate", "Chance allows")
_TESTS = {"McNemar": "McNemar's test", "bootstrap": "paired bootstrap"}
MAX_COMPARED = 100
_KEPT = 16
EXAMPLE = "These results ship with Theodolite; yours will replace them."
NOTHING_ALIKE = "No task was evaluated alike for two of them: see the notes below."
RANKS = ("ranks", "rank-intervals")
STABLE = ("stability", "bump", "agreement")
CHARTS = ("forest", "rank-intervals", "bump")
EMPTY = (*CHARTS, "board")
FINDING = ("busy", "headline")
DIFFERENCES = ("forest", "comparison", "board", "cautions")
NULL = "null-check"
PARTS = (*FINDING, *DIFFERENCES, NULL, *RANKS, *STABLE)
"""Names of all parts below the controls."""

Shown = dict[str, Any]
"""Part -> its value."""


def below(workspace: Workspace, values: Values) -> Iterator[Shown]:
    """Fill every part; yield progress while the bootstrap is not cached yet."""
    if len(values.encoder) < 2:
        hint = "Add them above. To get results for new ones, use the page Evaluate."
        link = ("Evaluate", address.link("evaluate"))
        yield _nothing(parts.empty("Choose two encoders", hint, link))
        return
    question = spec(workspace, values)
    if not question.rows and service.measuring(workspace):
        yield _nothing(parts.awaited())
        return
    for message in _waiting(service.resampling(question)):
        yield {"busy": message}
    shipped = question.workspace is not workspace
    yield {"busy": "", **_compared(question, tuple(values.published), shipped)}
    yield {**_ranks(question, values), **_stable(question, values)}


def _nothing(message: str) -> Shown:
    """All parts empty, with a message."""
    return {part: None if part in EMPTY else "" for part in PARTS} | {"busy": message}


def numbers(workspace: Workspace, values: Values) -> str:
    """All numbers of a comparison as JSON: column names, then rows."""
    columns, rows = differences.table(service.answer(spec(workspace, values)))
    return formats.json_text([columns, *rows])


def ranks(workspace: Workspace, values: Values) -> Shown:
    """The ranks with their uncertainty."""
    return _ranks(spec(workspace, values), values)


def _ranks(question: ComparisonSpec, values: Values) -> Shown:
    shown = ranking_view.ranks(service.answer(question), values.drawn)
    return dict(zip(RANKS, shown, strict=True))


def stable(workspace: Workspace, values: Values) -> Shown:
    """How the ranking changes with a setting unrelated to the encoders."""
    return _stable(spec(workspace, values), values)


def _stable(question: ComparisonSpec, values: Values) -> Shown:
    shown = ranking_view.stable(
        question.workspace, service.answer(question), values.stability, values.protocol or None
    )
    return dict(zip(STABLE, shown, strict=True))


def spec(workspace: Workspace, values: Values) -> ComparisonSpec:
    """The spec of the comparison; of the shipped results until the encoders are evaluated here."""
    chosen = choices.need(values.encoder, 2, MAX_COMPARED)
    names = [values.baseline, *(name for name in chosen if name != values.baseline)]
    rest = (names, values.tasks or None, values.protocol or None)
    question = service.ask(workspace, *rest)
    known = {row["encoder"] for row in question.rows}
    if known.issuperset(names) or (known and not service.measuring(workspace)):
        return question
    if not {name for name, _ in results.scores(workspace, names)}.issuperset(names):
        return question
    example = service.ask(results.standing_in(workspace), *rest)
    return example if example.rows else question


def _waiting(steps: Iterator[tuple[str, int, int]]) -> Iterator[str]:
    """Yield progress messages while tasks are resampled, if that takes long enough."""
    start = shown_at = time.monotonic()
    for task, done, of in steps:
        now = time.monotonic()
        spent = now - start
        if done and now - shown_at > QUIET_SECONDS:
            shown_at = now
            left = formats.time_left(spent / done * (of - done))
            words = f"Resampling {task}, {done} of {of} tasks done, {left}"
            yield _progress(words, done / of)


@lru_cache(maxsize=_KEPT)
def _compared(question: ComparisonSpec, rows: tuple[str, ...], shipped: bool) -> Shown:
    """Headline, table, cautions and chart; cached, as the results behind them never change."""
    report = service.answer(question)
    printed = [published.references()[key] for key in rows]
    spreads = {key: spread.words(found) for key, found in spread.spreads(question.rows).items()}
    cautions = ranking_view.panel([*report.cautions, *published.cautions(report, printed)])
    if len(report.encoders) - 1 > differences.MAX_DRAWN:
        table, board = "", compare_board.table(report, printed, spreads)
        intervals, title = differences.of_means(report)
    else:
        table = compare_table.table(report, printed, spreads) + compare_table.reading(report)
        board = None
        intervals, title = differences.of_tasks(report)
    base = report.encoders[0]
    if intervals:
        heading = {"lead": EXAMPLE, "beside": f" {parts.SHIPPED}"} if shipped else {}
        headline = parts.heading(title, **heading)
    elif not any((base, task) in report.cells for task in report.tasks):
        headline = parts.heading(
            f"{base}, the baseline, is not evaluated yet",
            "The scores of the others stand below. Choose another baseline, or ",
            f'<a href="{escape(address.link("evaluate", encoder=base))}">evaluate it</a>.',
        )
    else:
        headline = parts.say(title or NOTHING_ALIKE)
    return {
        "headline": headline,
        "comparison": table,
        "board": board,
        "cautions": cautions,
        "forest": differences.picture(report, intervals, title) if intervals else None,
        NULL: "",
    }


def null_checked(workspace: Workspace, values: Values) -> Iterator[Shown]:
    """Check the verdicts on copies of the baseline; yield progress, then the rates."""
    workspace.refuse_visitors()
    report = service.answer(spec(workspace, values))
    measured, rates = null_check.of_comparison(report), dict[str, null_check.NullRate]()
    base, shown_at = report.encoders[0], time.monotonic()
    for rate in null_check.null_check(workspace, base, measured, seconds=NULL_SECONDS):
        rates[rate.task] = rate
        if time.monotonic() - shown_at > QUIET_SECONDS:
            shown_at = time.monotonic()
            words = f"Checking {rate.task}, {rate.pairs} of {rate.of} pairs done"
            done = (len(rates) - 1 + rate.pairs / rate.of) / len(measured)
            yield {NULL: _progress(words, done)}
    yield {NULL: null_table(base, list(rates.values()))}


def null_table(base: str, rates: Sequence[null_check.NullRate]) -> str:
    """The finding of a null check in a sentence, and a row for each task."""
    checked = [rate for rate in rates if rate.pairs]
    off = [rate.task for rate in checked if not rate.holds]
    text = "No verdict could be checked."
    if off:
        tasks = formats.listed(off, 4)
        text = f"Do not trust the verdicts on {tasks}: equal encoders are told apart."
    elif checked:
        text = (
            f"On {formats.plural(len(checked), 'task')}, copies of {base} are told apart no more "
            "often than chance allows at 5 %."
        )
    rows = [
        [
            escape(rate.task),
            _TESTS.get(rate.test, escape(rate.error)),
            str(rate.pairs or ""),
            str(rate.wrong) if rate.pairs else "",
            f"{100 * rate.wrong / rate.pairs:.0f} %" if rate.pairs else "",
            f"up to {rate.most}" if rate.pairs else "",
        ]
        for rate in rates
    ]
    said = parts.warn([text]) if off else f'<p class="t-said">{escape(text)}</p>'
    return said + parts.table(_NULL_HEADS, rows, "Null check", numbers=(2, 3, 4, 5), stacked=True)


def _progress(words: str, done: float) -> str:
    bar = parts.progress_bar(done, words)
    return f'<div class="t-run" role="status"><p>{escape(words)}</p>{bar}</div>'
