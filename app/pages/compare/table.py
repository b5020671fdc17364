"""The table of the page Compare: one row per task, with scores, differences and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from theodolite.app import formats
from theodolite.app.metrics import METRICS
from theodolite.app.pages.compare.cautions import evaluated_as
from theodolite.app.pages.compare.published import Reference
from theodolite.app.pages.compare.service import Comparison
from theodolite.app.pages.compare.tested import tie_note
from theodolite.app.pages.compare.verdicts import Verdict
from theodolite.app.web import parts
from theodolite.engine.protocols import PROTOCOLS
from theodolite.engine.stats.significance import Difference

_WORDS = {"a": "better", "b": "worse", "tie": "tie"}
_CSS = {"a": "t-good", "b": "t-bad", "tie": ""}
Spreads = Mapping[tuple[str, str, str], str]
"""(encoder, task, protocol) -> the spread of its score over seeds, in words."""


def table(report: Comparison, printed: Sequence[Reference], spreads: Spreads) -> str:
    """The whole table as HTML; wide ones scroll inside their frame, the task stays in view."""
    base, *others = report.encoders
    heads = [parts.column_head("Task"), _head(base, "baseline")]
    heads += [_head(name, f"against {base}{_over(report, name)}") for name in others]
    heads += [_head(ref.row.model, "published") for ref in printed]
    body = "".join(_row(report, task, printed, spreads) for task in report.tasks)
    return (
        '<div class="t-scroll" role="region" tabindex="0" aria-label="Scores and differences">'
        f'<table class="t-table t-compare"><thead><tr>{"".join(heads)}</tr></thead>'
        f"<tbody>{body}</tbody><tfoot>{_averages(report, printed)}</tfoot></table></div>"
    )


def reading(report: Comparison) -> str:
    """How to read the table, in a few sentences on what it contains."""
    sentences = ["Each interval holds 95 % of the resamples of that task alone."]
    several = any(verdict.tasks > 1 for verdict in report.verdicts.values())
    if several:
        sentences.append(
            "Each verdict holds for all tasks of its column together: after Holm's correction, so "
            "that many tasks do not make a difference by chance."
        )
    if any(v.test == "McNemar" for v in report.verdicts.values()):
        sentences.append(
            "Its p-value is of McNemar's test where answers are right or wrong, else of the paired "
            "bootstrap: point at the verdict, or see the numbers under the picture."
        )
    if several and _disagreeing(report):
        sentences.append(
            "Where an interval leaves out zero and the verdict is a tie nevertheless, the cell "
            "says so: the difference would count alone, and does not among so many."
        )
    if report.groups or report.average_groups:
        sentences.append(
            "Encoders with the letter a tie with the best of their row; those with b are behind "
            "it and tie with the best among themselves. The letters answer another question than "
            "the verdicts: all pairs of one row are tested, with Holm's correction over the pairs "
            "and not over the tasks. So one may say better and the other tie; where they do, the "
            "cell says what the letter was tested on."
        )
    return f'<p class="t-small t-muted t-reading">{escape(" ".join(sentences))}</p>'


def _disagreeing(report: Comparison) -> bool:
    return any(report.differences[pair].verdict != v.verdict for pair, v in report.verdicts.items())


def _over(report: Comparison, name: str) -> str:
    tasks = max((v.tasks for (n, _), v in report.verdicts.items() if n == name), default=0)
    return f"; Holm over {tasks} tasks" if tasks > 1 else ""


def _head(name: str, below: str = "") -> str:
    small = f"<small>{escape(below)}</small>" if below else ""
    return parts.column_head(f'<span class="t-spec">{escape(name)}</span>', below=small)


def _row(report: Comparison, task: str, printed: Sequence[Reference], spreads: Spreads) -> str:
    cells = [_cell(report, name, task, spreads) for name in report.encoders]
    cells += [_printed(ref.score(report, task)) for ref in printed]
    return f'<tr><th scope="row">{escape(task)}<small>{about(report, task)}</small></th>' + (
        "".join(cells) + "</tr>"
    )


def about(report: Comparison, task: str) -> str:
    """Details of a measurement: examples, protocol, and the seed if not the protocol's own.

    A trained regressor is named first: a cosine on the same task is another measurement.
    """
    rows = [row for name in report.encoders if (row := report.cells.get((name, task)))]
    counts = {row["n"] for row in rows if row["n"]}
    protocols = {row["protocol"] for row in rows}
    learned = {
        row["metric"] for row in rows if row["metric"] and evaluated_as(row) == "relatedness"
    }
    details = [f"learned, {METRICS.get(metric, metric)}" for metric in sorted(learned)]
    details += [formats.plural(counts.pop(), "example")] if len(counts) == 1 else []
    own = {PROTOCOLS[name].seed for name in protocols if name in PROTOCOLS}
    seeds = [f"seed {seed}" for seed in sorted({row["seed"] for row in rows} - own)]
    return escape(", ".join([*details, *sorted(protocols), *seeds]))


def _cell(report: Comparison, name: str, task: str, spreads: Spreads) -> str:
    row = report.cells.get((name, task))
    if row is None:
        return '<td><span class="t-muted">not evaluated</span></td>'
    if row["error"] is not None:
        return f'<td><span class="t-run-error">{escape(row["error"])}</span></td>'
    letter = report.groups.get(task, {}).get(name, "")
    score = _score(row["score"], letter)
    spread = spreads.get((name, task, row["protocol"]), "")
    moved = _small(spread)
    difference = report.differences.get((name, task))
    if difference is None:
        return f"<td>{score}{_small(untested(report, name, task))}{moved}</td>"
    verdict = report.verdicts[name, task]
    against = _difference(difference, verdict.verdict, _p_values(verdict), verdict)
    return f"<td>{score}{against}{_small(tie_note(report, name, task))}{moved}</td>"


def untested(report: Comparison, name: str, task: str) -> str:
    """Why an encoder's score has no verdict."""
    if (name, task) in report.unreadable:
        return "unreadable: see the notes"
    return "" if name == report.encoders[0] else "not comparable: see the notes"


def _small(text: str) -> str:
    return f"<small>{escape(text)}</small>" if text else ""


def _score(score: Any, letter: str) -> str:
    shown = formats.score(score)
    if not letter:
        return f'<span class="t-figure">{shown}</span>'
    what = "ties with the best of this row" if letter == "a" else "behind the best of this row"
    return (
        f'<span class="t-figure">{f"<b>{shown}</b>" if letter == "a" else shown}'
        f'<sup class="t-letter" title="{what}" aria-label="group {letter}, {what}">{letter}</sup>'
        "</span>"
    )


def _p_values(verdict: Verdict) -> str:
    """The p-values behind a verdict."""
    test = "McNemar" if verdict.test == "McNemar" else "Paired bootstrap"
    p_text = f"{test} p {formats.p_value(verdict.p)}"
    if verdict.tasks > 1:
        p_text += f"; after Holm over {verdict.tasks} tasks {formats.p_value(verdict.adjusted)}"
    return p_text


def _difference(
    difference: Difference, shown: str, note: str, verdict: Verdict | None = None
) -> str:
    interval = f"{formats.signed(difference.low)} to {formats.signed(difference.high)}"
    alone = ""
    if verdict is not None and difference.verdict != shown:
        alone = _small(f"{_WORDS[difference.verdict]} by the interval alone")
    return (
        f'<span class="t-figure">{formats.signed(difference.delta)}</span>'
        f'<span class="t-tag {_CSS[shown]}" title="{escape(note)}">{_WORDS[shown]}</span>'
        f"<small>{interval}</small>{alone}"
    )


def _printed(score: float | None) -> str:
    shown = formats.score(score)
    return f'<td class="t-printed"><span class="t-figure">{shown}</span></td>'


def means(report: Comparison) -> str:
    """The tasks that the means are over."""
    tasks = f"{len(report.common)} of {formats.plural(len(report.tasks), 'task')}"
    metrics = {report.cells[report.encoders[0], task]["metric"] for task in report.common}
    mixed = f"; {len(metrics)} metrics in one mean" if len(metrics) > 1 else ""
    return escape(f"{tasks}: those that all share{mixed}")


def _averages(report: Comparison, printed: Sequence[Reference]) -> str:
    """Means over the tasks that all share; published rows need scores on all of them."""
    if not report.common:
        return ""
    cells = []
    for name in report.encoders:
        found = report.average_differences.get(name)
        gap = ""
        if found is not None:
            note = f"Paired bootstrap of the mean, p {formats.p_value(found.p)}"
            gap = _difference(found, found.verdict, note) + _small(tie_note(report, name, None))
        score = _score(report.averages[name].score, report.average_groups.get(name, ""))
        cells.append(f"<td>{score}{gap}</td>")
    cells += [_printed(ref.mean(report)) for ref in printed]
    return f'<tr><th scope="row">Mean<small>{means(report)}</small></th>{"".join(cells)}</tr>'
