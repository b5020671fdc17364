"""The page *Compare*: encoders side by side, which differences are real, what a rank is worth."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import address, figures, parts, progress
from app.components.chart import chart, drawing
from app.evaluation.order import in_order
from app.pages import choices, compare_table, published, ranking_view
from app.ranking import comparison
from app.ranking.stability import KINDS

if TYPE_CHECKING:
    from app.ranking.comparison import Comparison
    from app.workspace import Workspace

TITLE = "Compare"
PATH = "compare"
FIRST = ("minilm", "wordllama", "random:256")
QUIET_SECONDS = 0.5
OWN = ""
LEAD = (
    "Every task with the difference to a baseline and its 95 % interval, and every place in the "
    "ranking with its own. A difference that does not survive all the tests is a tie, however "
    "large it looks."
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, LEAD)
    with gr.Row():
        encoders = choices.encoder_box(scale=3)
        baseline = gr.Dropdown([], label="Baseline", elem_id="baseline", min_width=200)
        protocol = gr.Dropdown([], label="Protocol", elem_id="protocol", min_width=200)
    with gr.Accordion("Tasks and published rows", open=False, elem_id="more"):
        tasks = gr.CheckboxGroup([], label="Tasks", elem_id="tasks",
                                 info="None ticked: every task that was measured.")  # fmt: skip
        rows = gr.Dropdown(
            [], label="Published rows beside them", multiselect=True, elem_id="published",
            info="Printed in papers, not measured here: never part of a test.",
        )  # fmt: skip
    notice = parts.notice()
    busy = parts.static("", elem_id="busy")
    headline = parts.static("", elem_id="headline")
    table = parts.static("", elem_id="comparison")
    cautions = parts.static("", elem_id="cautions")
    picture = chart(elem_id="forest")
    with gr.Column(elem_id="below"):  # hidden by css while there is nothing to say
        parts.section("How sure are the places?", ranking_view.RANKS_LEAD)
        drawn = gr.Radio(list(ranking_view.DRAWS.items()), value="within", show_label=False,
                         label="What is drawn anew", elem_id="drawn", container=False)  # fmt: skip
        ranks = [parts.static("", elem_id="ranks"), chart(elem_id="rank-intervals")]
        parts.section("Does the order hold?", ranking_view.STABILITY_LEAD)
        kind = gr.Radio([(label, kind) for kind, label in KINDS.items()], value="classifier",
                        label="What is changed", show_label=False, elem_id="stability-by",
                        container=False)  # fmt: skip
        stable = [parts.static("", elem_id="stability"), chart(elem_id="bump"),
                  parts.static("", elem_id="agreement")]  # fmt: skip
    views = [busy, headline, table, cautions, picture, *ranks, *stable]
    controls = [encoders, baseline, protocol, tasks, rows, drawn, kind]

    def load(request: gr.Request) -> tuple[Any, ...]:
        chosen = choices.asked(workspace, request, FIRST)
        base = address.choice(request, "baseline", chosen, chosen[0] if chosen else "")
        known = _measured_tasks(workspace)
        wanted = [task for task in address.every(request, "task") if task in known]
        offered = published.references()
        printed = [key for key in address.every(request, "published") if key in offered]
        under = _protocols(workspace)
        values = [value for _, value in under]
        return (
            choices.filled(workspace, chosen),
            gr.update(choices=chosen, value=base),
            gr.update(choices=under, value=address.choice(request, "protocol", values, OWN)),
            gr.update(choices=known, value=wanted),
            gr.update(choices=[(ref.label, key) for key, ref in offered.items()], value=printed),
            address.choice(request, "drawn", list(ranking_view.DRAWS.values()), "within"),
            address.choice(request, "stability", list(KINDS), "classifier"),
        )

    def rebase(chosen: list[str], base: str) -> Any:
        return gr.update(choices=chosen, value=base if base in chosen else next(iter(chosen), None))

    def show(*values: Any) -> Iterator[tuple[Any, ...]]:
        yield from _show(workspace, *values)

    def redraw(*values: Any) -> tuple[Any, ...]:
        report = _report(workspace, *values[:4])
        return ranking_view.ranks(report, values[5])

    def restage(*values: Any) -> tuple[Any, ...]:
        report = _report(workspace, *values[:4])
        return ranking_view.stable(workspace, report, values[6], values[2] or None)

    quiet = {"show_progress": "hidden"}
    shown = parts.telling(show, len(views))
    opened = parts.on_load(parts.telling(load, len(controls)), None, [*controls, notice])

    def first(*values: Any) -> Iterator[tuple[Any, ...]]:
        for made in show(*values):  # what the address got wrong stays in the notice
            yield (*made, gr.skip())

    opened.then(parts.telling(first, len(views)), controls, [*views, notice], **quiet)
    chosen_anew = encoders.input(rebase, [encoders, baseline], baseline, **quiet)
    chosen_anew.then(shown, controls, [*views, notice], trigger_mode="always_last", **quiet)
    gr.on([box.input for box in (baseline, protocol, tasks, rows)], shown, controls,
          [*views, notice], trigger_mode="always_last", **quiet)  # fmt: skip
    drawn.input(parts.telling(redraw, 2), controls, [*ranks, notice], **quiet)
    kind.input(parts.telling(restage, 3), controls, [*stable, notice], **quiet)
    address.keep(
        {"encoder": encoders, "baseline": baseline, "protocol": protocol, "task": tasks,
         "published": rows, "drawn": drawn, "stability": kind},
        {"drawn": "within", "stability": "classifier"},
    )  # fmt: skip


def _measured_tasks(workspace: Workspace) -> list[str]:
    """Tasks with a score, built-in ones first and in the registry's order."""
    rows = workspace.store.results.table()
    return in_order(sorted({row["task"] for row in rows if row["error"] is None}))


def _protocols(workspace: Workspace) -> list[tuple[str, str]]:
    """Each task's own, and every protocol that has a score."""
    from engine.protocols import PROTOCOLS

    found = {row["protocol"] for row in workspace.store.results.table() if row["error"] is None}
    return [("Each task's own", OWN), *((name, name) for name in PROTOCOLS if name in found)]


def _names(chosen: list[str], base: str) -> list[str]:
    return [base, *(name for name in choices.need(chosen, 2) if name != base)]


def _report(
    workspace: Workspace, chosen: list[str], base: str, protocol: str, tasks: list[str]
) -> Comparison:
    return comparison.compare(workspace, _names(chosen, base), tasks or None, protocol or None)


def _show(
    workspace: Workspace,
    chosen: list[str],
    base: str,
    protocol: str,
    tasks: list[str],
    rows: list[str],
    drawn: str,
    kind: str,
) -> Iterator[tuple[Any, ...]]:
    """Everything below the controls; says how long when the bootstrap is not remembered yet."""
    if len(chosen) < 2:
        hint = "Tick two above. Those without results yet are measured on the page Evaluate."
        nothing = parts.empty("Choose two encoders", hint, ("Evaluate", address.link("evaluate")))
        yield nothing, "", "", "", None, "", None, "", None, ""
        return
    for said in _warm(workspace, _names(chosen, base), tasks, protocol or None):
        yield said, *(gr.skip() for _ in range(9))
    report = _report(workspace, chosen, base, protocol, tasks)
    printed = [published.references()[key] for key in rows]
    intervals = _intervals(report)
    yield (
        "",
        _headline(report, intervals),
        compare_table.table(report, printed, _spreads(workspace, report))
        + compare_table.reading(report),
        ranking_view.panel([*report.cautions, *published.cautions(report, printed)]),
        _picture(report, intervals),
        *ranking_view.ranks(report, drawn),
        *ranking_view.stable(workspace, report, kind, protocol or None),
    )


def _warm(
    workspace: Workspace, names: Sequence[str], tasks: Sequence[str], protocol: str | None
) -> Iterator[str]:
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
            comparison.compare(workspace, names, [task], protocol)
        except ValueError:  # said once, for all tasks together
            continue


def _spreads(workspace: Workspace, report: Comparison) -> dict[tuple[str, str, str], str]:
    from app.evaluation import spread

    rows = workspace.store.results.table(encoders=report.encoders, tasks=report.tasks)
    return {key: spread.words(found) for key, found in spread.spreads(rows).items()}


def _intervals(report: Comparison) -> list[figures.Interval]:
    base = report.encoders[0]
    return [
        figures.Interval(
            task, name, d.delta, d.low, d.high, v.verdict != "tie", v.words(name, base)
        )
        for task in report.tasks
        for name in report.encoders[1:]
        if (d := report.differences.get((name, task))) and (v := report.verdicts[name, task])
    ]


def _headline(report: Comparison, intervals: Sequence[figures.Interval]) -> str:
    if not intervals:
        return parts.say("No task was measured alike for two of them: see the notes below.")
    text = figures.forest_headline(intervals, report.encoders[0])
    if any(verdict.tasks > 1 for verdict in report.verdicts.values()):
        text += ", after Holm's correction"
    return f'<div class="t-section"><h2>{escape(text)}</h2></div>'


def _picture(report: Comparison, intervals: Sequence[figures.Interval]) -> Any:
    if not intervals:
        return None
    rows = report.rows()
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return drawing(
        figures.forest(intervals, report.encoders[0]),
        "Differences to the baseline with their 95 % intervals. A filled mark is a real "
        "difference, a hollow one a tie. " + figures.forest_headline(intervals, report.encoders[0]),
        name="theodolite-comparison",
        columns=columns,
        rows=[[row.get(column) for column in columns] for row in rows],
    )
