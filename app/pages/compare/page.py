"""The page *Compare*: encoders side by side, significant differences, uncertainty of ranks."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from theodolite.app import formats
from theodolite.app.blocks import Block, Finding, Link, Nothing
from theodolite.app.examples import shipped
from theodolite.app.pages.compare.answer import (
    COMPARE,
    MAX_ENCODERS,
    CompareSpec,
    Comparison,
    check_verdicts,
    compare,
    compared,
    results,
)
from theodolite.app.pages.compare.caveats import references
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.encoders.service import STARTERS
from theodolite.app.pages.layout import AWAITED
from theodolite.app.published import Published, Static
from theodolite.app.report.button import report_button
from theodolite.app.report.file import of_answer
from theodolite.app.results import has_score
from theodolite.app.significance import is_measuring
from theodolite.app.surfaces import web
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_open, poll
from theodolite.app.workspace import Workspace
from theodolite.engine import protocols
from theodolite.engine.errors import UserError
from theodolite.engine.given import names_in
from theodolite.engine.rankers import parse
from theodolite.engine.tasks import in_order

TITLE, PATH = "Compare", "compare"
DESCRIPTION = (
    "For every task the difference to a baseline with its 95 % interval, and for every rank "
    "an interval. A difference that is not significant after correction is a tie, however "
    "large it looks."
)
POLL_SECONDS = 2.0
NULL_SECONDS = 10.0
"""Most seconds that the null check spends on a task."""
NULL = (
    "Tests pairs of copies of the baseline, each with 1 % noise, on the tasks above. The copies do "
    "not differ, so at most 5 % of the verdicts should say that they do."
)
SHIPPED = "These results ship with Theodolite; yours will replace them."
SAVE = """(numbers) => {
  const { csv, download } = window.theodolite;
  if (numbers) download("theodolite-comparison.csv", csv(JSON.parse(numbers)));
  return "";
}"""
TOO_FEW = Nothing(
    "Choose two encoders",
    "Add them above. To get results for new ones, use the page Evaluate.",
    Link("Evaluate", "evaluate"),
)
TASKS_HINT = "None selected: every evaluated task."
ROWS_HINT = "From papers, not evaluated here: never part of a test."
CONTROLS = (
    choices.ENCODERS,
    Control("baseline", "Baseline", gr.Dropdown, choices=()),
    Control(
        "protocol",
        "Protocol",
        gr.Dropdown,
        "",
        options={"choices": [], "min_width": 200, "value": None},
    ),
    Control("tasks", "Tasks", gr.CheckboxGroup, (), TASKS_HINT, (), key="task"),
    Control("published", "Published rows", gr.Dropdown, (), ROWS_HINT, (), {"multiselect": True}),
)


def _views(published: Published) -> Iterator[tuple[str, CompareSpec]]:
    """All published encoders, the first as the baseline."""
    names = tuple(published.encoders.values())[:MAX_ENCODERS]
    if len(names) > 1:
        yield "Comparison", CompareSpec(names)


PUBLISHED = Static(COMPARE, _views)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("encoder", "baseline")
        with parts.more():
            controls.render("protocol", "tasks", "published")
    notice = parts.notice()
    answer = web.answer(charts=True, elem_id="comparison", elem_classes=["t-answer"])
    seen, newer = gr.State(None), gr.State(None)  # edition of the results shown, and a newer one
    chips, chips_changed = choices.watch(controls["encoder"])
    numbers = _numbers(workspace, controls, notice)
    report_button(controls, notice, lambda values: of_answer(COMPARE, *_ask(workspace, values)))
    rates = _null_check(workspace, controls, notice)

    def show(values: Values) -> Iterator[Answer]:
        yield {seen: workspace.store.results.edition()}
        for blocks, is_large in _blocks(workspace, values):
            yield {answer: web.value(blocks), numbers: gr.update(visible=is_large), rates: ""}

    def load(request: gr.Request) -> Answer:
        loaded = _load(workspace, request)
        return {chips: choices.joined(loaded["encoder"])} | {
            controls[n]: v for n, v in loaded.items()
        }

    def choose(values: Values) -> Iterator[Answer]:
        """Take what was chosen or typed, or say why it cannot be read."""
        values.encoder, problem = _read(values.encoder)
        if values.baseline not in values.encoder:
            values.baseline = next(iter(values.encoder), None)
        yield {
            controls["encoder"]: choices.fill(workspace, values.encoder, rankers=True),
            controls["baseline"]: gr.update(choices=values.encoder, value=values.baseline),
            chips: ",".join(values.encoder),
            **({notice: problem} if problem else {}),
        }
        yield from show(values)

    def refresh(known: Any) -> Answer:
        edition = workspace.store.results.edition()
        return None if tuple(known or ()) == edition else {newer: edition}

    every = [answer, seen, chips, numbers, rates]
    opened = on_open(load, lambda values, _: show(values), controls, every, notice)
    if not workspace.read_only:
        poll(POLL_SECONDS, opened, refresh, [seen], [newer])
    changed = [controls["encoder"], controls["baseline"], *every]
    on(chips_changed, choose, controls, changed, notice, **parts.ALWAYS_LAST)
    others = [box.input for name, box in controls.items() if name != "encoder"]
    on([*others, newer.change], show, controls, every, notice, **parts.ALWAYS_LAST)
    controls.keep()


def _numbers(workspace: Workspace, controls: Controls, notice: Any) -> Any:
    """A button for all numbers of a large table, which are fetched when it is pressed."""
    button = gr.Button("Download all numbers as CSV", size="md", visible=False, elem_id="numbers")
    fetched = gr.Textbox(visible="hidden", label="Numbers")

    def fetch(values: Values) -> Answer:
        _, report = _ask(workspace, values)
        columns, table = report.all_numbers()
        return {fetched: formats.json_text([columns, *table])}

    done = on(button.click, fetch, controls, [fetched], notice, **parts.HIDE_PROGRESS)
    done.then(None, fetched, fetched, js=SAVE)
    return button


def _null_check(workspace: Workspace, controls: Controls, notice: Any) -> Any:
    """The null check of the comparison, for all but visitors."""
    with gr.Column(visible=not workspace.read_only, elem_id="null-check"):
        parts.section("Null check", NULL)
        button = gr.Button("Check the verdicts", size="md", elem_id="check-verdicts")
        rates = web.answer()

    def check(values: Values) -> Iterator[Answer]:
        workspace.refuse_visitors()
        spec, report = _ask(workspace, values)
        for verdict in check_verdicts(_place(workspace, spec), report, NULL_SECONDS):
            yield {rates: web.value(verdict.blocks())}

    on(button.click, check, controls, [rates], notice, **parts.HIDE_PROGRESS)
    return rates


def _read(written: Sequence[str]) -> tuple[list[str], str]:
    """Encoders in their canonical form, without those that cannot be read, and why."""
    names, problem = [], ""
    for text in written:
        try:
            names.append(str(parse(text)))
        except UserError as error:
            problem = parts.problem(error)
    return list(dict.fromkeys(names)), problem


def _spec(values: Values) -> CompareSpec:
    return CompareSpec(
        choices.need(values.encoder, 2, MAX_ENCODERS),
        values.tasks or (),
        values.protocol or None,
        values.published or (),
        baseline=values.baseline or None,
    )


def _ask(workspace: Workspace, values: Values) -> tuple[CompareSpec, Comparison]:
    spec = _spec(values)
    return spec, compare(_place(workspace, spec), spec)


def _place(workspace: Workspace, spec: CompareSpec) -> Workspace:
    """Where the results are: what ships stands in until the encoders are evaluated here."""
    known = {row["encoder"] for row in results(workspace, spec)[0]}
    evaluated = known.issuperset(spec.encoders) or (known and not is_measuring(workspace))
    known_there = {name for name, _ in shipped.scores(workspace, spec.encoders)}
    if evaluated or not known_there.issuperset(spec.encoders):
        return workspace
    return workspace.shipped if results(workspace.shipped, spec)[0] else workspace


def _blocks(workspace: Workspace, values: Values) -> Iterator[tuple[Sequence[Block], bool]]:
    """What is shown, while it is computed and then; and whether it has more numbers."""
    if len(values.encoder) < 2:
        for name in values.encoder:
            parse(name)  # the one that there is may be misspelt
        yield [TOO_FEW], False
        return
    spec = _spec(values)
    place = _place(workspace, spec)
    if not results(place, spec)[0] and is_measuring(workspace):
        yield [AWAITED], False
        return
    for one in compared(place, spec):
        first, *others = one.blocks()
        if place is not workspace and isinstance(first, Finding):
            first = replace(first, detail=SHIPPED, shipped=True)
        yield [first, *others], isinstance(one, Comparison) and one.is_large


def _load(workspace: Workspace, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address.

    Without encoders in it, those that ship come first, as far as there are scores.
    """
    values = Controls(*CONTROLS).from_address(request)
    rows = [row for row in workspace.store.results.table() if has_score(row)]
    every = dict.fromkeys([*STARTERS, *choices.names(workspace)])
    scored = {row["encoder"] for row in rows}
    usual = [name for name in every if name in scored][: len(STARTERS)] or list(STARTERS)
    names = choices.from_address(workspace, request, usual, MAX_ENCODERS)
    base = address.choice(request, "baseline", names, next(iter(names), ""))
    under = protocols.in_order({row["protocol"] for row in rows})
    known, offered = in_order(sorted({row["task"] for row in rows})), references()
    return {
        "encoder": choices.fill(workspace, names, rankers=True),
        "baseline": gr.update(choices=names, value=base),
        "protocol": gr.update(
            choices=[("Each task's own", ""), *((name, name) for name in under)],
            value=address.choice(request, "protocol", under, ""),
        ),
        "tasks": gr.update(choices=[*dict.fromkeys([*known, *values.tasks])], value=values.tasks),
        "published": gr.update(
            choices=[
                (f"{row.model} ({row.training}, {row.table})", key) for key, row in offered.items()
            ],
            value=[key for key in names_in(*values.published) if key in offered],
        ),
    }
