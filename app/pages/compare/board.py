"""The table of the page Compare with many encoders: one row per encoder, the best mean first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import unescape
from typing import Any

from theodolite.app import formats
from theodolite.app.components.board import Cell, Line, value
from theodolite.app.pages.compare.published import Reference
from theodolite.app.pages.compare.service import Comparison
from theodolite.app.pages.compare.table import Spreads, about, means, untested
from theodolite.app.pages.compare.tested import tie_note
from theodolite.engine.stats.significance import Difference

_CSS = {"a": "t-good t-up", "b": "t-bad t-down", "tie": ""}
READING = (
    "A mark after a score says that it is really better (▲) or worse (▼) than that of the "
    "baseline, after Holm’s correction over the tasks of its row; no mark is a tie. Bold scores "
    "tie with the best of their column when all its pairs are tested, with Holm’s correction over "
    "the pairs: another question than that of the marks. Point at a score for its interval, and "
    "for what bold was tested on where it and the mark disagree; the file of all numbers "
    "holds them all."
)


def table(report: Comparison, printed: Sequence[Reference], spreads: Spreads) -> str:
    """The whole table, whose rows are drawn as they scroll into view."""
    heads = [("Encoder", ""), ("Mean", unescape(means(report)))]
    heads += [(task, unescape(about(report, task))) for task in report.tasks]
    rows = [_row(report, name, spreads) for name in best_first(report)]
    rows += [_published(report, reference) for reference in printed]
    return value("Scores", heads, rows, READING)


def best_first(report: Comparison) -> list[str]:
    """The encoders by descending mean; in the given order if no task is shared."""
    if not report.common:
        return list(report.encoders)
    return sorted(report.encoders, key=lambda name: -(report.averages[name].score or 0.0))


def _row(report: Comparison, name: str, spreads: Spreads) -> Line:
    found = report.average_differences.get(name)
    mean: Cell = ("", "", "", False)
    if report.common:
        note = "" if found is None else _difference_note(report, name, None, found, found.p)
        group = report.average_groups.get(name, "")
        verdict = "tie" if found is None else found.verdict
        mean = _scored(report.averages[name].score, group, verdict, note)
    small = "baseline" if name == report.encoders[0] else ""
    return name, small, [mean, *(_cell(report, name, task, spreads) for task in report.tasks)]


def _cell(report: Comparison, name: str, task: str, spreads: Spreads) -> Cell:
    row: Mapping[str, Any] | None = report.cells.get((name, task))
    if row is None:
        return formats.MISSING, "t-muted", "not evaluated", False
    if row["error"] is not None:
        return "error", "t-bad", row["error"], False
    note, marked = "", "tie"
    difference = report.differences.get((name, task))
    if difference is not None:
        verdict = report.verdicts[name, task]
        note, marked = (
            _difference_note(report, name, task, difference, verdict.adjusted),
            verdict.verdict,
        )
    else:
        note = untested(report, name, task)
    spread = spreads.get((name, task, row["protocol"]), "")
    note = "; ".join(part for part in (note, spread) if part)
    return _scored(row["score"], report.groups.get(task, {}).get(name, ""), marked, note)


def _scored(score: float | None, group: str, verdict: str, note: str) -> Cell:
    return formats.score(score), _CSS[verdict], note, group == "a"


def _difference_note(
    report: Comparison, name: str, task: str | None, difference: Difference, p: float
) -> str:
    """A difference with its interval and p-value, for the tooltip of the score."""
    low, high = formats.signed(difference.low), formats.signed(difference.high)
    note = f"{formats.signed(difference.delta)}, {low} to {high}; p {formats.p_value(p)}"
    return "; ".join(filter(None, (note, tie_note(report, name, task, "column"))))


def _published(report: Comparison, reference: Reference) -> Line:
    scores = [reference.mean(report), *(reference.score(report, task) for task in report.tasks)]
    cells: list[Cell] = [(formats.score(score), "t-printed", "", False) for score in scores]
    return reference.row.model, "published", cells
