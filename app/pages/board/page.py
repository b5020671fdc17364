"""The page *Board*: all evaluated encoders ranked, with the uncertainty of each rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from theodolite.app.components.board import board as table
from theodolite.app.pages.board import (
    cost,
    cost_views,
    examples,
    importing,
    lengths,
    published,
    service,
    trained,
    views,
)
from theodolite.app.pages.board.columns import edition
from theodolite.app.pages.board.service import BoardSpec, Standings
from theodolite.app.pages.compare import service as comparison
from theodolite.app.suites import is_suite
from theodolite.app.web import address, background_call, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_open, poll
from theodolite.app.web.events import PageEvent
from theodolite.app.web.frozen import Frozen
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

TITLE = "Board"
PATH = "board"
DESCRIPTION = (
    "All evaluated encoders ranked on the tasks of a suite: means, the Borda count, and how "
    "certain each rank is. Missing scores are never counted as zero."
)
POLL_SECONDS = 2.0
FROZEN = Frozen(controls=("columns",), all_encoders=True)
_SEVERAL = {"multiselect": True}
_LISTED: dict[str, Any] = {"choices": [], "value": None, "min_width": 220}
CONTROLS = (
    Control(
        "suite",
        "Suite",
        gr.Dropdown,
        service.ALL,
        options={"min_width": 200, "choices": views.suites([service.ALL])},
    ),
    Control("columns", "Columns", gr.Radio, views.TASKS, choices=views.COLUMNS),
    Control(
        "protocol",
        "Protocol",
        gr.Dropdown,
        service.OWN,
        "Scores of mteb's own code are never averaged with others.",
        options={"choices": [("Each task's own", service.OWN)]},
    ),
    Control("types", "Types of tasks", gr.Dropdown, (), "None: all.", (), _SEVERAL, key="type"),
    Control(
        "languages",
        "Languages of tasks",
        gr.Dropdown,
        (),
        "None: all.",
        (),
        _SEVERAL,
        key="language",
    ),
    Control(
        "most_parameters",
        "Most parameters, in millions",
        gr.Number,
        None,
        "Encoders of unknown size are left out.",
        options={"minimum": 0},
    ),
    Control(
        "most_dimensions", "Most dimensions", gr.Number, options={"minimum": 1, "precision": 0}
    ),
    Control(
        "least_tokens",
        "Minimum max sequence length",
        gr.Number,
        options={"minimum": 1, "precision": 0},
    ),
    Control(
        "least_characters",
        "Fewest characters of a text",
        gr.Number,
        None,
        "Mean over a task; its data are read once for this.",
        options={"minimum": 0},
    ),
    Control("most_characters", "Most characters of a text", gr.Number, options={"minimum": 0}),
    Control(
        "least_words",
        "Fewest words of a text",
        gr.Number,
        None,
        "Words separated by white space; not for Chinese and similar scripts.",
        options={"minimum": 0},
    ),
    Control("most_words", "Most words of a text", gr.Number, options={"minimum": 0}),
    Control("licences", "Licences", gr.Dropdown, (), "None: any.", (), _SEVERAL, key="licence"),
    Control(
        "published",
        "Published rows",
        gr.Checkbox,
        True,
        "From papers and imports: never ranked, tested, or averaged with yours.",
    ),
    Control("task", "Task", gr.Dropdown, options=_LISTED),
    Control("better", "Does better", gr.Dropdown, options=_LISTED),
    Control("worse", "Does worse", gr.Dropdown, options=_LISTED),
)
COMPARED = ("task", "better", "worse")
FILTERS = (
    "protocol",
    "types",
    "languages",
    "most_parameters",
    "most_dimensions",
    "least_tokens",
    "least_characters",
    "most_characters",
    "least_words",
    "most_words",
    "licences",
    "published",
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("suite", "columns")
        with parts.more("Filters"):
            controls.render(*FILTERS)
    notice = parts.notice()
    headline = parts.static("", elem_id="headline")
    shown = table(elem_id="board", elem_classes=["t-answer"])
    with gr.Column(elem_id="parting"):
        parts.section("Where two encoders part", views.PARTING_LEAD)
        with gr.Row():
            controls.render(*COMPARED)
        apart = parts.static("", elem_id="apart")
    others = None if workspace.read_only else importing.build(workspace)["imported"]
    seen, newer = gr.State(None), gr.State(None)

    def load(request: gr.Request) -> Answer:
        held = {} if others is None else {others: importing.here(workspace)}
        return {seen: _state(workspace), **held, **_loaded(workspace, controls, request)}

    def show(values: Values, request: gr.Request) -> Iterator[Answer]:
        for named in answer(workspace, values, request.session_hash):
            yield {{"headline": headline, "board": shown}[name]: to for name, to in named.items()}

    def refresh(known: Any) -> Answer:
        now = _state(workspace)
        if known == now:
            return None
        suites, under = service.offered(workspace)
        return {
            seen: now,
            newer: now,
            controls["suite"]: gr.update(choices=views.suites(suites)),
            controls["protocol"]: gr.update(choices=_protocols(under)),
        }

    filled = [seen, headline, shown, *([] if others is None else [others])]
    opened = on_open(load, show, controls, filled, notice)
    asks = [newer.change, *(box.input for n, box in controls.items() if n not in COMPARED)]
    on(asks, show, controls, [headline, shown], notice, **ALWAYS_LAST)
    if not workspace.read_only:
        offered = [controls["suite"], controls["protocol"]]
        poll(POLL_SECONDS, opened, refresh, [seen], [seen, newer, *offered])
    _connect(workspace, controls, opened, asks, shown, apart, notice)
    controls.keep()


def answer(workspace: Workspace, values: Values, session: str | None) -> Iterator[dict[str, Any]]:
    """Yield headline and board, updated as more is known."""
    if (nothing := _nothing(workspace)) is not None:
        yield {"headline": nothing, "board": None}
        return
    for words in _lengths_read(workspace, values, session):
        yield {"headline": words}
    standings = service.board(workspace, spec(values))

    def filled(ranked: Any) -> dict[str, Any]:
        imported = published.references(workspace, standings)
        other = published.elsewhere(workspace, standings)
        return {
            "headline": views.finding(standings, ranked, imported, other),
            "board": _table(workspace, standings, ranked, values, imported),
        }

    if not service.is_ranked(
        standings
    ):  # show the order at once; resampling the ranks takes longer
        yield filled(None)
    ranked = service.ranking(workspace, standings)
    yield filled(ranked)
    if trained.look_up(workspace, standings.encoders):  # once per model: mteb takes seconds
        yield filled(ranked)
    if service.look_up(workspace, standings):  # once per version
        standings = service.board(workspace, spec(values))
        yield filled(service.ranking(workspace, standings))


def _state(workspace: Workspace) -> list[Any]:
    """What the board is made of: results, and those still awaited."""
    return [*edition(workspace), sorted(map(list, service.waiting(workspace)))]


def _lengths_read(workspace: Workspace, values: Values, session: str | None) -> Iterator[str]:
    """Read the data sets for their text lengths, if a filter needs them; yield the progress."""
    if not spec(values).by_length:
        return
    names = [column.dataset for column in service.board(workspace).columns]
    for words, _ in background_call.followed(
        lambda say: lengths.read(workspace, names, say), "Reading data sets", session
    ):
        yield words


def _table(
    workspace: Workspace, standings: Standings, ranked: Any, values: Values, imported: Any
) -> str:
    """The board's table, with the costs measured on this machine."""
    priced = cost.measured(workspace)
    keys = cost_views.ON_THE_BOARD if priced else ()
    more = {name: cost_views.cells(row, *keys) for name, row in priced.items()}
    heads = cost_views.heads_of(*keys)
    seen = service.trained_on(workspace, standings)
    of_others = values.published or not standings.encoders
    return views.table(standings, ranked, values.columns, of_others, more, heads, seen, imported)


def _connect(
    workspace: Workspace,
    controls: Controls,
    opened: Any,
    asks: list[Any],
    board: gr.HTML,
    apart: gr.HTML,
    notice: Any,
) -> None:
    """Connect the section with the examples on which two encoders of the board differ."""
    compared = [controls[name] for name in COMPARED]

    def choose(values: Values) -> Answer:
        offered = _compared(workspace, values)
        return {controls[name]: update for name, update in offered.items()}

    def part(values: Values) -> Answer:
        if not all(_picked(values)):
            return {apart: ""}
        standings = service.board(workspace, spec(values))
        try:
            found = examples.disagreement(workspace, standings, *_picked(values))
        except UserError as error:  # shown in place of the examples, which nobody requested yet
            return {apart: views.no_examples(error)}
        return {apart: views.examples(found)}

    def press(event: PageEvent) -> Answer:
        return {controls["task"]: event.text("column"), controls["better"]: event.text("row")}

    targets = (part, controls, [apart], notice)
    chosen = on(asks, choose, controls, compared, notice, **ALWAYS_LAST)
    for filled in (opened, chosen):
        on(filled.then, *targets, **ALWAYS_LAST)
    on([box.input for box in compared], *targets, **ALWAYS_LAST)
    pressed = on(board.select, press, None, compared, notice, **HIDE_PROGRESS)
    again = on(pressed.then, choose, controls, compared, notice, **ALWAYS_LAST)
    on(again.then, *targets, scroll_to_output=True, **ALWAYS_LAST)


def _compared(workspace: Workspace, values: Values) -> dict[str, Any]:
    """Choices for the comparison by example; the current choice is kept if still available."""
    try:
        standings = service.board(workspace, spec(values))
    except UserError:  # shown above
        return dict.fromkeys(COMPARED, gr.update(choices=[], value=None))
    picked = examples.opening(standings, *_picked(values))
    names = list(standings.encoders)
    offered = ([column.task for column in standings.columns], names, names)
    return {
        name: gr.update(choices=of, value=value or None)
        for name, of, value in zip(COMPARED, offered, picked, strict=True)
    }


def _picked(values: Values) -> tuple[str, str, str]:
    return values.task or "", values.better or "", values.worse or ""


def spec(values: Values) -> BoardSpec:
    """The board's spec from the values of the controls."""
    return BoardSpec(
        values.suite or service.ALL,
        values.protocol or service.OWN,
        tuple(values.types),
        tuple(values.languages),
        values.most_parameters,
        values.most_dimensions,
        values.least_tokens,
        tuple(values.licences),
        values.least_characters,
        values.most_characters,
        values.least_words,
        values.most_words,
    )


def _nothing(workspace: Workspace) -> str | None:
    """The placeholder while there are no results; else None."""
    if service.offered(workspace)[1]:
        return None
    if comparison.measuring(workspace):
        return parts.awaited()
    hint = (
        "Choose encoders and tasks; results appear here as they are computed. To add results "
        "published by others in MTEB's layout, use Published results, or theodolite results "
        "import FOLDER."
    )
    return parts.empty("No results yet", hint, ("Evaluate", "./evaluate"))


def _protocols(names: list[str]) -> list[tuple[str, str]]:
    """Choices of protocols; the first stands for each task's own."""
    return [("Each task's own", service.OWN), *views.protocols(names)]


def _loaded(workspace: Workspace, controls: Controls, request: gr.Request) -> dict[Any, Any]:
    """Values of the controls from the address, with their choices."""
    values = controls.from_address(request)
    suites, under = service.offered(workspace)
    if is_suite(values.suite) and values.suite not in suites:
        suites.append(values.suite)
    found = {controls[name]: getattr(values, name) for name in controls}
    found |= {controls[name]: offer for name, offer in _compared(workspace, values).items()}
    try:
        whole = service.board(workspace)
    except UserError:
        return found
    licences = sorted({str(row["licence"]) for row in whole.facts.values() if row.get("licence")})
    spoken = sorted({language for column in whole.columns for language in column.languages})
    for name, offered in (("types", whole.types), ("languages", spoken), ("licences", licences)):
        kept = [value for value in getattr(values, name) if value in offered]
        found[controls[name]] = gr.update(choices=list(offered), value=kept)
    return found | {
        controls["suite"]: gr.update(
            choices=views.suites(suites),
            value=address.choice(request, "suite", suites, service.ALL),
        ),
        controls["protocol"]: gr.update(
            choices=_protocols(under),
            value=address.choice(request, "protocol", under, service.OWN),
        ),
    }
