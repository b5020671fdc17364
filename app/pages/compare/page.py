"""The page *Compare*: encoders side by side, which differences are real, what a rank is worth."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import formats
from app.components.chart import chart, drawing
from app.pages.compare import board as compare_board
from app.pages.compare import published, ranking_view, service
from app.pages.compare import table as compare_table
from app.pages.compare.stability import KINDS
from app.pages.encoders import choices
from app.pages.overview import spread
from app.web import address, figures, parts
from app.web.parts import ALWAYS_LAST
from engine.tasks import in_order

if TYPE_CHECKING:
    from app.pages.compare.service import Comparison, Question
    from app.workspace import Workspace

TITLE = "Compare"
PATH = "compare"
QUIET_SECONDS = 0.5
MOST_COMPARED = 100
MOST_DRAWN = 8
"""Encoders beside the baseline whose every difference is drawn; of more, that of their means."""
_KEPT = 16
OWN = ""
NOTHING_ALIKE = "No task was measured alike for two of them: see the notes below."
NONE_SHARED = "No task is shared by all of them, so no mean is drawn: see the table."
DESCRIPTION = (
    "Every task with the difference to a baseline and its 95 % interval, and every place in the "
    "ranking with its own. A difference that does not survive all the tests is a tie, however "
    "large it looks."
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    with gr.Row():
        encoders = choices.encoder_box(scale=3, show_select_all=True)
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
        return _loaded(workspace, request)

    def rebase(chosen: list[str], base: str) -> Any:
        return gr.update(choices=chosen, value=base if base in chosen else next(iter(chosen), None))

    def show(*values: Any) -> Iterator[tuple[Any, ...]]:
        yield from below(workspace, *values)

    def redraw(*values: Any) -> tuple[Any, ...]:
        report = _report(workspace, *values[:4])
        return ranking_view.ranks(report, values[5])

    def restage(*values: Any) -> tuple[Any, ...]:
        report = _report(workspace, *values[:4])
        return ranking_view.stable(workspace, report, values[6], values[2] or None)

    shown = parts.telling(show, len(views))
    opened = parts.on_load(parts.telling(load, len(controls)), None, [*controls, notice])
    opened.then(shown, controls, [*views, notice], **ALWAYS_LAST)
    chosen_anew = encoders.input(rebase, [encoders, baseline], baseline, **ALWAYS_LAST)
    chosen_anew.then(shown, controls, [*views, notice], **ALWAYS_LAST)
    gr.on([box.input for box in (baseline, protocol, tasks, rows)], shown, controls,
          [*views, notice], **ALWAYS_LAST)  # fmt: skip
    drawn.input(parts.telling(redraw, 2), controls, [*ranks, notice], **ALWAYS_LAST)
    kind.input(parts.telling(restage, 3), controls, [*stable, notice], **ALWAYS_LAST)
    address.keep(
        {"encoder": encoders, "baseline": baseline, "protocol": protocol, "task": tasks,
         "published": rows, "drawn": drawn, "stability": kind},
        {"drawn": "within", "stability": "classifier"},
    )  # fmt: skip


def _loaded(workspace: Workspace, request: gr.Request) -> tuple[Any, ...]:
    """The controls as the address has them."""
    chosen = choices.asked(workspace, request, most=MOST_COMPARED)
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
    return [base, *(name for name in choices.need(chosen, 2, MOST_COMPARED) if name != base)]


def _report(
    workspace: Workspace, chosen: list[str], base: str, protocol: str, tasks: list[str]
) -> Comparison:
    return service.compare(workspace, _names(chosen, base), tasks or None, protocol or None)


def below(
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
    names = _names(chosen, base)
    question = service.ask(workspace, names, tasks or None, protocol or None)
    for said in _waiting(service.resampling(question)):
        yield said, *(gr.skip() for _ in range(9))
    report = service.answer(question)
    yield (
        "",
        *_compared(question, tuple(rows)),
        *ranking_view.ranks(report, drawn),
        *ranking_view.stable(workspace, report, kind, protocol or None),
    )


def _waiting(steps: Iterator[tuple[str, int, int]]) -> Iterator[str]:
    """What to say while tasks are resampled, once it takes long enough to be asked."""
    start = time.monotonic()
    for task, done, of in steps:
        spent = time.monotonic() - start
        if done and spent > QUIET_SECONDS:
            left = formats.time_left(spent / done * (of - done))
            words = f"Resampling {task}, {done} of {of} tasks done, {left}"
            yield (
                f'<div class="t-run" role="status"><p>{escape(words)}</p>'
                f"{parts.bar(done / of, words)}</div>"
            )


@lru_cache(maxsize=_KEPT)
def _compared(question: Question, rows: tuple[str, ...]) -> tuple[str, str, str, Any]:
    """Headline, table, cautions and picture; remembered, as the results behind them are final."""
    report = service.answer(question)
    printed = [published.references()[key] for key in rows]
    spreads = {key: spread.words(found) for key, found in spread.spreads(question.rows).items()}
    cautions = ranking_view.panel([*report.cautions, *published.cautions(report, printed)])
    if len(report.encoders) - 1 > MOST_DRAWN:
        table = compare_board.table(report, printed, spreads)
        intervals, said = _of_means(report)
    else:
        table = compare_table.table(report, printed, spreads) + compare_table.reading(report)
        intervals, said = _of_tasks(report)
    if not intervals:
        return parts.say(said or NOTHING_ALIKE), table, cautions, None
    headline = f'<div class="t-section"><h2>{escape(said)}</h2></div>'
    return headline, table, cautions, _picture(report, intervals, said)


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
    rows = report.rows()
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return drawing(
        figures.forest(intervals, report.encoders[0]),
        "Differences to the baseline with their 95 % intervals. A filled mark is a real "
        f"difference, a hollow one a tie. {said}",
        name="theodolite-comparison",
        columns=columns,
        rows=[[row.get(column) for column in columns] for row in rows],
    )
