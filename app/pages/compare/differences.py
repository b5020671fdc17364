"""The headline and chart of a comparison: differences to the baseline with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from theodolite.app.components.chart import drawing
from theodolite.app.pages.compare.board import best_first
from theodolite.app.pages.compare.service import Comparison
from theodolite.app.web import figures

MAX_DRAWN = 8
"""Most encoders whose differences are drawn by task; with more, only those of their means."""
NONE_SHARED = "No task is shared by all of them, so no mean is drawn: see the table."


def of_tasks(report: Comparison) -> tuple[list[figures.Interval], str]:
    """Every difference to the baseline, and their headline."""
    base = report.encoders[0]
    intervals = [
        figures.Interval(
            task, name, d.delta, d.low, d.high, v.verdict != "tie", v.words(name, base)
        )
        for task in report.tasks
        for name in report.encoders[1:]
        if (d := report.differences.get((name, task))) and (v := report.verdicts[name, task])
    ]
    title = figures.forest_headline(intervals, base)
    if any(verdict.tasks > 1 for verdict in report.verdicts.values()):
        title += ", after Holm's correction"
    return intervals, title


def of_means(report: Comparison) -> tuple[list[figures.Interval], str]:
    """The difference of each mean to the baseline's, best first, one line per encoder."""
    if not report.common:
        return [], NONE_SHARED
    base, common = report.encoders[0], report.common
    several = len(common) > 1
    over = f"mean of {len(common)} tasks" if several else common[0]
    # With one shared task, the difference on it is the difference of the means.
    found = report.average_differences or {
        name: report.differences[name, common[0]] for name in report.encoders[1:]
    }
    ordered = [(name, found[name]) for name in best_first(report) if name != base]
    intervals = [
        figures.Interval(
            name, over, d.delta, d.low, d.high, d.verdict != "tie", d.words(name, base)
        )
        for name, d in ordered
    ]
    verdicts = Counter(d.verdict for _, d in ordered)
    title = (
        f"{f'By their mean over {len(common)} tasks' if several else f'On {over}'} "
        f"{verdicts['a']} of {len(intervals)} encoders are better than {base}, "
        f"{verdicts['b']} worse, and {verdicts['tie']} tie with it"
    )
    return intervals, title


def picture(report: Comparison, intervals: Sequence[figures.Interval], title: str) -> Any:
    """A chart of the intervals; for many encoders its table has the means alone."""
    many = len(report.encoders) - 1 > MAX_DRAWN
    columns, rows = table(report, means=many)
    return drawing(
        figures.forest(intervals, report.encoders[0]),
        "Differences to the baseline with their 95 % intervals. A filled mark is a real "
        f"difference, a hollow one a tie. {title}",
        name="theodolite-comparison",
        columns=columns,
        rows=rows,
    )


def table(report: Comparison, means: bool = False) -> tuple[list[str], list[list[Any]]]:
    """The column names, and all rows or only those of the means."""
    rows = (means and report.mean_rows()) or report.rows()
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return columns, [[row.get(column) for column in columns] for row in rows]
