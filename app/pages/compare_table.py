"""The table of the page Compare: a row a task, a score an encoder, a verdict a difference."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from app import formats

if TYPE_CHECKING:
    from app.comparison import Comparison
    from app.pages.published import Reference


def table(report: Comparison, printed: Sequence[Reference]) -> str:
    """The whole table as HTML; wide ones scroll inside their frame, the task stays in view."""
    base, *others = report.encoders
    heads = ['<th scope="col">Task</th>', _head(base, "baseline")]
    heads += [_head(name, f"difference to {base}") for name in others]
    heads += [_head(ref.row.model, "published") for ref in printed]
    body = "".join(_row(report, task, printed) for task in report.tasks)
    return (
        '<div class="t-scroll" role="region" tabindex="0" aria-label="Scores and differences">'
        f'<table class="t-table t-compare"><thead><tr>{"".join(heads)}</tr></thead>'
        f"<tbody>{body}</tbody><tfoot>{_averages(report, printed)}</tfoot></table></div>"
    )


def _head(name: str, below: str = "") -> str:
    small = f"<small>{escape(below)}</small>" if below else ""
    return f'<th scope="col"><span class="t-spec">{escape(name)}</span>{small}</th>'


def _row(report: Comparison, task: str, printed: Sequence[Reference]) -> str:
    best = _best(report, task)
    cells = [_cell(report, name, task, name in best) for name in report.encoders]
    cells += [_printed(ref.row.scores.get(task)) for ref in printed]
    return f'<tr><th scope="row">{escape(task)}<small>{_about(report, task)}</small></th>' + (
        "".join(cells) + "</tr>"
    )


def _about(report: Comparison, task: str) -> str:
    """How many examples, under which protocol and, unless it is the protocol's own, which seed."""
    from engine.protocols import PROTOCOLS

    rows = [row for name in report.encoders if (row := report.cells.get((name, task)))]
    counts = {row["n"] for row in rows if row["n"]}
    protocols = {row["protocol"] for row in rows}
    said = [formats.plural(counts.pop(), "example")] if len(counts) == 1 else []
    own = {PROTOCOLS[name].seed for name in protocols if name in PROTOCOLS}
    seeds = [f"seed {seed}" for seed in sorted({row["seed"] for row in rows} - own)]
    return escape(", ".join([*said, *sorted(protocols), *seeds]))


def _best(report: Comparison, task: str) -> set[str]:
    """The best encoder and those that the baseline's interval cannot tell from it.

    With a baseline only differences to it are known: when the best is not the baseline, it is
    marked alone or beside a baseline that ties with it.
    """
    scores = {
        name: row["score"]
        for name in report.encoders
        if (row := report.cells.get((name, task))) and row["error"] is None
    }
    if len(scores) < 2:
        return set()
    top = max(scores, key=lambda name: scores[name])
    base = report.encoders[0]
    if top == base:
        tied = {n for n in scores if _verdict(report, n, task) == "tie"}
        return {top, *tied}
    return {top, base} if _verdict(report, top, task) == "tie" else {top}


def _verdict(report: Comparison, name: str, task: str) -> str | None:
    difference = report.differences.get((name, task))
    return None if difference is None else difference.verdict


def _cell(report: Comparison, name: str, task: str, best: bool) -> str:
    row = report.cells.get((name, task))
    if row is None:
        return '<td><span class="t-muted">not measured</span></td>'
    if row["error"] is not None:
        return f'<td><span class="t-run-error">{escape(row["error"])}</span></td>'
    score = f"<b>{formats.score(row['score'])}</b>" if best else formats.score(row["score"])
    difference = report.differences.get((name, task))
    if difference is None:
        why = "" if name == report.encoders[0] else "<small>not comparable: see the notes</small>"
        return f'<td><span class="t-figure">{score}</span>{why}</td>'
    against = _difference(difference, report.encoders[0])
    return f'<td><span class="t-figure">{score}</span>{against}</td>'


def _difference(difference: Any, base: str) -> str:
    words = {"a": "better", "b": "worse", "tie": "tie"}[difference.verdict]
    css = {"a": "t-good", "b": "t-bad", "tie": ""}[difference.verdict]
    interval = f"{formats.signed(difference.low)} to {formats.signed(difference.high)}"
    return (
        f'<span class="t-figure">{formats.signed(difference.delta)}</span>'
        f'<span class="t-tag {css}" title="{escape(difference.words("this", base))}">{words}</span>'
        f"<small>{interval}</small>"
    )


def _printed(score: float | None) -> str:
    shown = formats.score(score)
    return f'<td class="t-printed"><span class="t-figure">{shown}</span></td>'


def _averages(report: Comparison, printed: Sequence[Reference]) -> str:
    """Means over the tasks that all share; a published row has one only over the same tasks."""
    if not report.common:
        return ""
    base = report.encoders[0]
    tasks = f"{len(report.common)} of {formats.plural(len(report.tasks), 'task')}"
    cells = []
    for name in report.encoders:
        difference = report.average_differences.get(name)
        gap = "" if difference is None else _difference(difference, base)
        score = formats.score(report.averages[name].score)
        cells.append(f'<td><span class="t-figure">{score}</span>{gap}</td>')
    for ref in printed:
        same = all(task in ref.row.scores for task in report.common)
        alike = same and ref.row.aggregation == "all"
        values = [ref.row.scores[task] for task in report.common] if alike else []
        cells.append(_printed(sum(values) / len(values) if values else None))
    return (
        f'<tr><th scope="row">Mean<small>{escape(tasks)}: those that all share</small></th>'
        f"{''.join(cells)}</tr>"
    )
