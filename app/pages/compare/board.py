"""The table of the page Compare where many are compared: a row an encoder, the best mean first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from app import formats
from app.pages.compare import letters
from app.pages.compare.table import Spreads, about, means, untested

if TYPE_CHECKING:
    from app.pages.compare.published import Reference
    from app.pages.compare.service import Comparison
    from engine.stats.significance import Difference

_CSS = {"a": "t-good t-up", "b": "t-bad t-down", "tie": ""}
READING = (
    "A mark after a score says that it is really better (▲) or worse (▼) than that of the "
    "baseline, after Holm’s correction over the tasks of its row; no mark is a tie. Bold scores "
    "tie with the best of their column when all its pairs are tested, with Holm’s correction over "
    "the pairs: another question than that of the marks. Point at a score for its interval, and "
    "for what bold was tested on where it and the mark disagree; the numbers under the picture "
    "hold them all."
)


def table(report: Comparison, printed: Sequence[Reference], spreads: Spreads) -> str:
    """The whole table as HTML; scrolls inside its frame, encoders and tasks stay in view."""
    heads = [
        '<th scope="col">Encoder</th>',
        f'<th scope="col">Mean<small>{means(report)}</small></th>',
    ]
    heads += [
        f'<th scope="col">{escape(task)}<small>{about(report, task)}</small></th>'
        for task in report.tasks
    ]
    rows = [_row(report, name, spreads) for name in best_first(report)]
    rows += [_published(report, reference) for reference in printed]
    return (
        '<div class="t-scroll t-board" role="region" tabindex="0" aria-label="Scores">'
        f'<table class="t-table t-compare"><thead><tr>{"".join(heads)}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        f'<p class="t-small t-muted t-reading">{escape(READING)}</p>'
    )


def best_first(report: Comparison) -> list[str]:
    """The encoders by their mean; as given where no task is shared."""
    if not report.common:
        return list(report.encoders)
    return sorted(report.encoders, key=lambda name: -(report.averages[name].score or 0.0))


def _row(report: Comparison, name: str, spreads: Spreads) -> str:
    found = report.average_differences.get(name)
    mean = "<td></td>"
    if report.common:
        told = "" if found is None else _told(report, name, None, found, found.p)
        group = report.average_groups.get(name, "")
        verdict = "tie" if found is None else found.verdict
        mean = _scored(report.averages[name].score, group, verdict, told)
    small = "<small>baseline</small>" if name == report.encoders[0] else ""
    cells = "".join(_cell(report, name, task, spreads) for task in report.tasks)
    head = f'<th scope="row"><span class="t-spec">{escape(name)}</span>{small}</th>'
    return f"<tr>{head}{mean}{cells}</tr>"


def _cell(report: Comparison, name: str, task: str, spreads: Spreads) -> str:
    row: Mapping[str, Any] | None = report.cells.get((name, task))
    if row is None:
        return f'<td class="t-muted" title="not measured">{formats.MISSING}</td>'
    if row["error"] is not None:
        return f'<td class="t-bad" title="{escape(row["error"])}">error</td>'
    told, marked = "", "tie"
    difference = report.differences.get((name, task))
    if difference is not None:
        verdict = report.verdicts[name, task]
        told, marked = _told(report, name, task, difference, verdict.adjusted), verdict.verdict
    else:
        told = untested(report, name, task)
    spread = spreads.get((name, task, row["protocol"]), "")
    told = "; ".join(part for part in (told, spread) if part)
    return _scored(row["score"], report.groups.get(task, {}).get(name, ""), marked, told)


def _scored(score: float | None, group: str, verdict: str, told: str) -> str:
    shown = formats.score(score)
    inner = f"<b>{shown}</b>" if group == "a" else shown
    css = f' class="{_CSS[verdict]}"' if _CSS[verdict] else ""
    title = f' title="{escape(told)}"' if told else ""
    return f"<td{css}{title}>{inner}</td>"


def _told(report: Comparison, name: str, task: str | None, difference: Difference, p: float) -> str:
    """A difference with its interval and p-value, for whoever points at the score."""
    low, high = formats.signed(difference.low), formats.signed(difference.high)
    told = f"{formats.signed(difference.delta)}, {low} to {high}; p {formats.p_value(p)}"
    return "; ".join(filter(None, (told, letters.note(report, name, task, "column"))))


def _published(report: Comparison, reference: Reference) -> str:
    scores = [reference.mean(report), *(reference.score(report, task) for task in report.tasks)]
    cells = "".join(f'<td class="t-printed">{formats.score(score)}</td>' for score in scores)
    head = f'<th scope="row">{escape(reference.row.model)}<small>published</small></th>'
    return f"<tr>{head}{cells}</tr>"
