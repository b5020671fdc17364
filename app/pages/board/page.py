"""The page *Board*: all evaluated encoders ranked, with the uncertainty of each rank."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import exchange, formats
from theodolite.app.blocks import Block, Caveat, Caveats, Link, Nothing, Text
from theodolite.app.components.folder import folder
from theodolite.app.pages.board import examples, standings
from theodolite.app.pages.board.answer import BOARD
from theodolite.app.pages.board.standings import FILTERS, LANGUAGES, TYPES, BoardSpec
from theodolite.app.pages.encoders.choices import read
from theodolite.app.pages.evaluate.job import waiting
from theodolite.app.pages.layout import AWAITED, fill
from theodolite.app.published import Published, Static
from theodolite.app.surfaces import document
from theodolite.app.web import parts
from theodolite.app.web.controls import (
    Answer,
    Control,
    Controls,
    PageEvent,
    Values,
    on,
    on_open,
    poll,
)
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.mteb.results import ENDINGS

TITLE = "Board"
PATH = "board"
DESCRIPTION = (
    "All evaluated encoders ranked on the tasks of a suite: means, the Borda count, and how "
    "certain each rank is. Missing scores are never counted as zero."
)
APART = Text(
    "Examples on which two encoders disagree",
    "For correlations: how close the encoder's rank is to the graded rank. Otherwise: what the "
    "example adds to the score.",
)
POLL_SECONDS = 2.0
MAX_PROBLEMS = 3
COMPARED = ("task", "better", "worse")
CONTROLS = (
    *web.controls(BoardSpec),
    *(
        Control(name, label, gr.Dropdown, options={"choices": [], "value": None, "min_width": 220})
        for name, label in zip(COMPARED, ("Task", "Does better", "Does worse"), strict=True)
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("suite", "columns")
        with parts.more("Filters"):
            controls.render(*(parameter.name for parameter in FILTERS), "published")
    notice = parts.notice()
    board = web.answer(elem_id="board", elem_classes=["t-answer"])
    with gr.Column(elem_id="examples", visible=False) as section:
        parts.section(APART.heading, APART.paragraph)
        with gr.Row():
            controls.render(*COMPARED)
        apart = web.answer(elem_id="apart")
    others = [] if workspace.read_only else [_place_import(workspace)]
    edition, newer = gr.State(None), gr.State(None)

    def load(request: gr.Request) -> Answer:
        values = controls.from_address(request)
        updates = {**fill(workspace, BoardSpec, values, request), **_offer(workspace, values)}
        return {
            **{controls[name]: updates[name] for name in controls},
            **dict.fromkeys(others, _import_choices(workspace)),
            edition: _state(workspace),
        }

    def show(values: Values, request: gr.Request) -> Iterator[Answer]:
        for blocks in answer(workspace, values):
            yield {board: web.value(blocks)}

    def refresh(known: Any) -> Answer:
        now = _state(workspace)
        return None if known == now else {edition: now, newer: now}

    def compare(values: Values) -> Answer:
        """Offer the encoders and tasks of the board, and compare two of them by example."""
        offers = _offer(workspace, values)
        picked = [offers[name]["value"] or "" for name in COMPARED]
        return {
            section: gr.update(visible=len(offers["better"]["choices"]) > 1),
            **{controls[name]: offer for name, offer in offers.items()},
            apart: web.value(_apart(workspace, web.spec_of(BoardSpec, values), *picked)),
        }

    def press(event: PageEvent) -> Answer:
        row = event.text("row")
        return {controls["task"]: event.text("column"), controls["better"]: read(row) or row}

    compared = [controls[name] for name in COMPARED]
    opened = on_open(load, show, controls, [edition, board, *others], notice)
    asks = [newer.change, *(box.input for n, box in controls.items() if n not in COMPARED)]
    answered = on(asks, show, controls, [board], notice, **parts.ALWAYS_LAST)
    pressed = on(board.select, press, None, compared, notice, **parts.HIDE_PROGRESS)
    again = (compare, controls, [section, *compared, apart], notice)
    on(opened.then, *again, **parts.ALWAYS_LAST)
    on(answered.then, *again, **parts.ALWAYS_LAST)
    on([box.input for box in compared], *again, **parts.ALWAYS_LAST)
    on(pressed.then, *again, scroll_to_output=True, **parts.ALWAYS_LAST)
    if not workspace.read_only:
        poll(POLL_SECONDS, opened, refresh, [edition], [edition, newer])
    controls.keep()


def answer(workspace: Workspace, values: Values) -> Iterator[Sequence[Block]]:
    """Yield the board, each time that more of it is known; or what to do while there is none."""
    if len(standings.protocols_here(workspace)) > 1:
        for one in BOARD.answer(workspace, web.spec_of(BoardSpec, values), lambda job: True):
            yield one.blocks()
    elif waiting(workspace):
        yield [AWAITED]
    else:
        hint = "They appear here as encoders are evaluated."
        if not workspace.read_only:
            hint += (
                " To add results published by others in MTEB's layout, use Published results, or "
                "theodolite results import FOLDER."
            )
        yield [Nothing("No results yet", hint, Link("Evaluate", "evaluate"))]


def _state(workspace: Workspace) -> list[Any]:
    """What the board is made of: results, and those still awaited."""
    return [*standings.edition(workspace), sorted(map(list, waiting(workspace)))]


def _offer(workspace: Workspace, values: Values) -> dict[str, Any]:
    """Updates of the tasks and encoders to compare; a choice stays if it is still available."""
    try:
        board = standings.board(workspace, web.spec_of(BoardSpec, values))
    except UserError:  # shown above
        return dict.fromkeys(COMPARED, gr.update(choices=[], value=None))
    picked = examples.first_choice(board, *(getattr(values, name) or "" for name in COMPARED))
    choices = ([column.task for column in board.columns], board.encoders, board.encoders)
    return {
        name: gr.update(choices=[*of], value=value or None)
        for name, of, value in zip(COMPARED, choices, picked, strict=True)
    }


def _apart(
    workspace: Workspace, spec: BoardSpec, task: str, better: str, worse: str
) -> Sequence[Block]:
    """The examples on which two encoders disagree, or why there are none."""
    if not (task and better and worse):
        return []
    board = standings.board(workspace, spec)
    try:
        return examples.disagreement(workspace, board, task, better, worse).blocks()
    except UserError as error:  # in place of the examples, which nobody asked for yet
        return [Text("", f"{error.message} {error.hint}")]


def _views(published: Published) -> Iterator[tuple[str, BoardSpec]]:
    """The board by tasks, and by types and languages if there are several."""
    board = standings.board(published.workspace)
    yield "Tasks", BoardSpec()
    if len(board.types) > 1:
        yield "Types", BoardSpec(columns=TYPES)
    if len(board.languages) > 1:
        yield "Languages", BoardSpec(columns=LANGUAGES)


def _blocks(workspace: Workspace, spec: BoardSpec) -> list[Block]:
    """The board, and examples on which two encoders disagree."""
    answer = BOARD.last(workspace, spec, lambda job: True)
    apart = _apart(workspace, spec, *examples.first_choice(answer.standings, "", "", ""))
    return [*answer.blocks(), *([APART, *apart] if apart else [])]


PUBLISHED = Static(BOARD, _views, blocks=_blocks, all_encoders=True)


def _place_import(workspace: Workspace) -> gr.Dropdown:
    """Lay out the section; the page notices imports by itself, and fills the list of models."""
    with gr.Accordion("Published results", open=False, elem_id="published-results"):
        parts.static(
            '<p class="t-muted">Results in MTEB\'s layout (MODEL/REVISION/TASK.json), as a ZIP '
            "archive, a folder or single files, and the hub's YAML of evaluation results. They are "
            "references: never ranked, tested, or averaged with yours.</p>"
        )
        with gr.Row():
            with gr.Column(scale=3, min_width=280):
                file = gr.File(
                    label="ZIP, JSON or YAML",
                    file_count="multiple",
                    height=120,
                    elem_id="published-files",
                )
                folder("Choose a whole folder", file.elem_id, ENDINGS, elem_id="published-folder")
            with gr.Column(scale=2, min_width=280):
                model = gr.Textbox(
                    label="Model",
                    info="Owner/name; needed if the files lack it.",
                    max_lines=1,
                    elem_id="published-model",
                )
                revision = gr.Textbox(label="Revision of the model", max_lines=1)
                take = gr.Button("Import", size="md", elem_id="published-take")
            with gr.Column(scale=2, min_width=280):
                held = gr.Dropdown(
                    [],
                    label="Imported models",
                    info="Removed results can be imported again.",
                    multiselect=True,
                    elem_id="published-here",
                )
                remove = gr.Button("Remove", size="md", elem_id="published-remove")
        notice = parts.notice()

    def bring(files: Sequence[str] | None, model: str, revision: str) -> Answer:
        if not files:
            raise UserError(
                "There is nothing to import.", "Choose files or a folder first.", code="missing"
            )
        places = [(Path(one).name, Path(one)) for one in files]
        imported = exchange.bring(workspace, places, model, revision)
        models = formats.plural(
            len({(one.model, one.revision) for one in imported.results}), "model"
        )
        tasks = formats.plural(len({one.task for one in imported.results}), "task")
        left = [f"Left out: {problem}." for problem in imported.problems[:MAX_PROBLEMS]]
        if more := len(imported.problems) - len(left):
            left.append(f"Also left out: {formats.plural(more, 'file')}.")
        results = formats.plural(len(imported.results), "result")
        message = parts.say(f"{results} of {models} on {tasks} imported.")
        (warned,) = document.pieces([Caveats([*map(Caveat, [*imported.notes, *left])])])
        return {file: None, held: _import_choices(workspace), notice: f"{message}{warned}"}

    def let_go(names: Sequence[str]) -> Answer:
        number = exchange.forget(workspace, [tuple(json.loads(one)) for one in names])
        message = parts.say(f"{formats.plural(number, 'published result')} removed.")
        return {held: _import_choices(workspace), notice: message}

    on(
        [file.upload, take.click],
        bring,
        [file, model, revision],
        [file, held],
        notice,
        show_progress="full",
        show_progress_on=file,
    )
    on(remove.click, let_go, [held], [held], notice)
    return held


def _import_choices(workspace: Workspace) -> Any:
    """The choices of models with imported results, by revision."""
    return gr.update(
        choices=[
            (
                f"{model}{revision and f', {revision[:8]}'}: {formats.plural(number, 'result')}",
                formats.json_text([model, revision]),
            )
            for model, revision, number in workspace.store.published.revisions()
        ],
        value=[],
    )
