"""The page *Compare*: encoders side by side, and which of their differences are real."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import address, comparison, figures, parts, progress
from app.components.chart import chart, drawing
from app.pages import choices, compare_table, published

if TYPE_CHECKING:
    from app.comparison import Comparison
    from app.workspace import Workspace

TITLE = "Compare"
PATH = "compare"
FIRST = ("minilm", "wordllama", "random:256")
QUIET_SECONDS = 0.5
LEAD = (
    "Every task with the difference to a baseline and its 95 % interval. A difference whose "
    "interval holds zero is a tie, however large it looks."
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, LEAD)
    with gr.Row():
        encoders = choices.encoder_box(scale=3)
        baseline = gr.Dropdown([], label="Baseline", elem_id="baseline", min_width=220)
    with gr.Accordion("Tasks and published rows", open=False, elem_id="more"):
        tasks = gr.CheckboxGroup([], label="Tasks", elem_id="tasks",
                                 info="None ticked: every task that was measured.")  # fmt: skip
        rows = gr.Dropdown(
            [], label="Published rows beside them", multiselect=True, elem_id="published",
            info="Printed in SimCSE's paper, not measured here: never part of a test.",
        )  # fmt: skip
    notice = parts.notice()
    busy = parts.static("", elem_id="busy")
    headline = parts.static("", elem_id="headline")
    table = parts.static("", elem_id="comparison")
    cautions = parts.static("", elem_id="cautions")
    picture = chart(elem_id="forest")
    views = [busy, headline, table, cautions, picture]
    controls = [encoders, baseline, tasks, rows]

    def load(request: gr.Request) -> tuple[Any, ...]:
        chosen = choices.asked(workspace, request, FIRST)
        base = address.choice(request, "baseline", chosen, chosen[0] if chosen else "")
        known = _measured_tasks(workspace)
        wanted = [task for task in address.every(request, "task") if task in known]
        offered = published.references()
        printed = [key for key in address.every(request, "published") if key in offered]
        return (
            choices.filled(workspace, chosen),
            gr.update(choices=chosen, value=base),
            gr.update(choices=known, value=wanted),
            gr.update(choices=[(ref.label, key) for key, ref in offered.items()], value=printed),
        )

    def rebase(chosen: list[str], base: str) -> Any:
        return gr.update(choices=chosen, value=base if base in chosen else next(iter(chosen), None))

    def show(*values: Any) -> Iterator[tuple[Any, ...]]:
        yield from _show(workspace, *values)

    quiet = {"show_progress": "hidden"}
    drawn = parts.telling(show, 5)
    opened = parts.on_load(parts.telling(load, 4), None, [*controls, notice])

    def first(*values: Any) -> Iterator[tuple[Any, ...]]:
        for views in show(*values):  # what the address got wrong stays in the notice
            yield (*views, gr.skip())

    opened.then(parts.telling(first, 5), controls, [*views, notice], **quiet)
    chosen_anew = encoders.input(rebase, [encoders, baseline], baseline, **quiet)
    chosen_anew.then(drawn, controls, [*views, notice], trigger_mode="always_last", **quiet)
    gr.on([baseline.input, tasks.input, rows.input], drawn, controls, [*views, notice],
          trigger_mode="always_last", **quiet)  # fmt: skip
    address.keep({"encoder": encoders, "baseline": baseline, "task": tasks, "published": rows})


def _measured_tasks(workspace: Workspace) -> list[str]:
    """Tasks with a score, built-in ones first and in the registry's order."""
    from engine.tasks import TASKS

    found = {row["task"] for row in workspace.store.results.table() if row["error"] is None}
    return [*(task for task in TASKS if task in found), *sorted(found - set(TASKS))]


def _show(
    workspace: Workspace, chosen: list[str], base: str, tasks: list[str], rows: list[str]
) -> Iterator[tuple[Any, ...]]:
    """Everything below the controls; says how long when the bootstrap is not remembered yet."""
    if len(chosen) < 2:
        hint = "Tick two above. Those without results yet are measured on the page Evaluate."
        nothing = parts.empty("Choose two encoders", hint, ("Evaluate", address.link("evaluate")))
        yield nothing, "", "", "", None
        return
    names = [base, *(name for name in choices.need(chosen, 2) if name != base)]
    for said in _warm(workspace, names, tasks):
        yield said, *(gr.skip() for _ in range(4))
    report = comparison.compare(workspace, names, tasks or None)
    printed = [published.references()[key] for key in rows]
    intervals = _intervals(report)
    yield (
        "",
        _headline(report, intervals),
        compare_table.table(report, printed),
        parts.warn([*report.warnings, *published.cautions(report, printed)]),
        _picture(report, intervals),
    )


def _warm(workspace: Workspace, names: Sequence[str], tasks: Sequence[str]) -> Iterator[str]:
    """Resample task by task, so that the wait can be shown; what was resampled is remembered."""
    wanted = list(tasks) or _measured_tasks(workspace)
    start = time.monotonic()
    for done, task in enumerate(wanted):
        spent = time.monotonic() - start
        if done and spent > QUIET_SECONDS:
            left = progress.time_left(spent / done * (len(wanted) - done))
            words = f"Resampling {task}, {done} of {len(wanted)} tasks done, {left}"
            yield (
                f'<div class="t-run" role="status"><p>{escape(words)}</p>'
                f"{parts.bar(done / len(wanted), words)}</div>"
            )
        try:
            comparison.compare(workspace, names, [task])
        except ValueError:  # said once, for all tasks together
            continue


def _intervals(report: Comparison) -> list[figures.Interval]:
    base = report.encoders[0]
    return [
        figures.Interval(
            task, name, d.delta, d.low, d.high, d.verdict != "tie", d.words(name, base)
        )
        for task in report.tasks
        for name in report.encoders[1:]
        if (d := report.differences.get((name, task))) is not None
    ]


def _headline(report: Comparison, intervals: Sequence[figures.Interval]) -> str:
    if not intervals:
        return parts.say("No task was measured alike for two of them: see the notes below.")
    text = figures.forest_headline(intervals, report.encoders[0])
    return f'<div class="t-section"><h2>{escape(text)}</h2></div>'


def _picture(report: Comparison, intervals: Sequence[figures.Interval]) -> Any:
    if not intervals:
        return None
    rows = report.rows()
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return drawing(
        figures.forest(intervals, report.encoders[0]),
        "Differences to the baseline with their 95 % intervals. "
        + figures.forest_headline(intervals, report.encoders[0]),
        name="theodolite-comparison",
        columns=columns,
        rows=[[row.get(column) for column in columns] for row in rows],
    )
