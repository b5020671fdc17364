"""The page *Board*: all evaluated encoders ranked, with the uncertainty of each rank."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import exchange, formats
from theodolite.app.blocks import Block, Link, Nothing, Text
from theodolite.app.components.folder import folder
from theodolite.app.pages.board import examples, service
from theodolite.app.pages.board.answer import BOARD, OF_OTHERS
from theodolite.app.pages.board.spec import FILTERS, OWN, BoardSpec
from theodolite.app.pages.board.spec import PUBLISHED as PUBLISHED_RESULTS
from theodolite.app.pages.compare import service as comparison
from theodolite.app.pages.evaluate.job import waiting
from theodolite.app.published import Published
from theodolite.app.spec import parameters
from theodolite.app.suites import ALL, UPLOADS, is_suite
from theodolite.app.surfaces.static import Static
from theodolite.app.web import parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_open, poll
from theodolite.app.web.events import PageEvent
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.mteb.reading import ENDINGS, Reading

TITLE = "Board"
PATH = "board"
DESCRIPTION = (
    "All evaluated encoders ranked on the tasks of a suite: means, the Borda count, and how "
    "certain each rank is. Missing scores are never counted as zero."
)
DISAGREEMENT = (
    "Of a correlation, how right an example is: how close the encoder's rank is to the graded "
    "rank. Otherwise: what the example adds to the score."
)
POLL_SECONDS = 2.0
SUITES = {
    ALL: "All evaluated",
    "starter": "Starter set",
    "sts": "The 7 STS tasks",
    "transfer": "The 7 transfer tasks",
    "senteval": "SentEval",
    "probing": "Probing",
    UPLOADS: "Your uploads",
}
_FIELDS = {parameter.name: parameter for parameter in parameters(BoardSpec)}


def _list(name: str, hint: str | None = None, **options: Any) -> Control:
    """A list whose choices depend on the store."""
    one = web.control(_FIELDS[name], hint, **options)
    several = {"multiselect": True} if _FIELDS[name].many else {}
    default = () if several else one.default
    return replace(
        one,
        box=gr.Dropdown,
        default=default,
        choices=() if several else None,
        options=several | options,
    )


def suites(names: Sequence[str]) -> list[tuple[str, str]]:
    """Choices of suites as (label, name)."""
    return [(SUITES.get(name, name), name) for name in names]


def _protocols(names: Sequence[str]) -> list[tuple[str, str]]:
    """Choices of protocols as (label, name); the first stands for each task's own."""
    labels = [(OF_OTHERS if name == PUBLISHED_RESULTS else name, name) for name in names]
    return [("Each task's own", OWN), *labels]


_SHOWN: dict[str, Any] = {"choices": [], "value": None, "min_width": 220}
CONTROLS = (
    *web.controls(
        BoardSpec,
        suite=_list("suite", min_width=200, choices=suites([ALL])),
        protocol=_list(
            "protocol",
            "Scores of mteb's own code are never averaged with others.",
            choices=_protocols([]),
        ),
        types=_list("types", "None: all."),
        languages=_list("languages", "None: all."),
        licences=_list("licences", "None: any."),
    ),
    Control("task", "Task", gr.Dropdown, options=_SHOWN),
    Control("better", "Does better", gr.Dropdown, options=_SHOWN),
    Control("worse", "Does worse", gr.Dropdown, options=_SHOWN),
)
COMPARED = ("task", "better", "worse")


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("suite", "columns")
        with parts.more("Filters"):
            controls.render(*FILTERS, "published")
    notice = parts.notice()
    board = web.answer(elem_id="board", elem_classes=["t-answer"])
    with gr.Column(elem_id="examples", visible=False) as section:
        parts.section("Examples on which two encoders disagree", DISAGREEMENT)
        with gr.Row():
            controls.render(*COMPARED)
        apart = web.answer(elem_id="apart")
    others = None if workspace.read_only else _importing(workspace)["imported"]
    seen, newer = gr.State(None), gr.State(None)
    compared = [controls[name] for name in COMPARED]

    def load(request: gr.Request) -> Answer:
        held = {} if others is None else {others: _imported(workspace)}
        return {seen: _state(workspace), **held, **_filled(workspace, controls, request)}

    def show(values: Values, request: gr.Request) -> Iterator[Answer]:
        for blocks in answer(workspace, values):
            yield {board: web.value(blocks)}

    def refresh(known: Any) -> Answer:
        now = _state(workspace)
        if known == now:
            return None
        names, under = service.offered(workspace)
        return {
            seen: now,
            newer: now,
            controls["suite"]: gr.update(choices=suites(names)),
            controls["protocol"]: gr.update(choices=_protocols(under)),
        }

    def compare(values: Values) -> Answer:
        """Offer the encoders and tasks of the board, and compare two of them by example."""
        offers = _offers(workspace, values)
        return {
            section: gr.update(visible=bool(offers["better"]["choices"])),
            **{controls[name]: offer for name, offer in offers.items()},
            apart: web.value(_examples(workspace, values, offers)),
        }

    def press(event: PageEvent) -> Answer:
        return {controls["task"]: event.text("column"), controls["better"]: event.text("row")}

    filled = [seen, board, *([] if others is None else [others])]
    opened = on_open(load, show, controls, filled, notice)
    asks = [newer.change, *(box.input for n, box in controls.items() if n not in COMPARED)]
    answered = on(asks, show, controls, [board], notice, **ALWAYS_LAST)
    pressed = on(board.select, press, None, compared, notice, **HIDE_PROGRESS)
    outputs = [section, *compared, apart]
    for before in (opened, answered):
        on(before.then, compare, controls, outputs, notice, **ALWAYS_LAST)
    on(pressed.then, compare, controls, outputs, notice, scroll_to_output=True, **ALWAYS_LAST)
    on([box.input for box in compared], compare, controls, outputs, notice, **ALWAYS_LAST)
    if not workspace.read_only:
        offered = [controls["suite"], controls["protocol"]]
        poll(POLL_SECONDS, opened, refresh, [seen], [seen, newer, *offered])
    controls.keep()


def answer(workspace: Workspace, values: Values) -> Iterator[Sequence[Block]]:
    """Yield the board, each time that more of it is known; or what to do while there is none."""
    if service.offered(workspace)[1]:
        for one in BOARD.answer(workspace, web.spec_of(BoardSpec, values), lambda job: True):
            yield one.blocks()
    elif comparison.measuring(workspace):
        hint = "They will appear here as they are computed. Jobs shows the progress."
        yield [Nothing("The first results are being computed", hint, Link("Jobs", "jobs"))]
    else:
        hint = (
            "Choose encoders and tasks; results appear here as they are computed. To add results "
            "published by others in MTEB's layout, use Published results, or theodolite results "
            "import FOLDER."
        )
        yield [Nothing("No results yet", hint, Link("Evaluate", "evaluate"))]


def _state(workspace: Workspace) -> list[Any]:
    """What the board is made of: results, and those still awaited."""
    return [*service.edition(workspace), sorted(map(list, waiting(workspace)))]


def _offers(workspace: Workspace, values: Values) -> dict[str, Any]:
    """Updates of the tasks and encoders to compare; a choice stays if it is still available."""
    try:
        standings = service.board(workspace, web.spec_of(BoardSpec, values))
    except UserError:  # shown above
        return dict.fromkeys(COMPARED, gr.update(choices=[], value=None))
    picked = examples.opening(standings, values.task or "", values.better or "", values.worse or "")
    names = list(standings.encoders)
    offered = ([column.task for column in standings.columns], names, names)
    return {
        name: gr.update(choices=of, value=value or None)
        for name, of, value in zip(COMPARED, offered, picked, strict=True)
    }


def _examples(workspace: Workspace, values: Values, offers: dict[str, Any]) -> Sequence[Block]:
    task, better, worse = (offers[name]["value"] for name in COMPARED)
    if not (task and better and worse):
        return []
    standings = service.board(workspace, web.spec_of(BoardSpec, values))
    try:
        return examples.disagreement(workspace, standings, task, better, worse).blocks()
    except UserError as error:  # in place of the examples, which nobody asked for yet
        return [Text("", f"{error.message} {error.hint}")]


def _filled(workspace: Workspace, controls: Controls, request: gr.Request) -> dict[Any, Any]:
    """Values of the controls from the address, with their choices."""
    values = controls.from_address(request)
    names, under = service.offered(workspace)
    if is_suite(values.suite) and values.suite not in names:
        names.append(values.suite)
    values.suite = values.suite if values.suite in names else ALL
    values.protocol = values.protocol if values.protocol in under else OWN
    offers: dict[str, list[Any]] = {"suite": suites(names), "protocol": _protocols(under)}
    try:
        whole = service.board(workspace)
    except UserError:
        pass
    else:
        facts = whole.facts.values()
        offers["types"] = list(whole.types)
        offers["languages"] = sorted({one for column in whole.columns for one in column.languages})
        offers["licences"] = sorted({str(row["licence"]) for row in facts if row.get("licence")})
        for name in ("types", "languages", "licences"):
            kept = [value for value in getattr(values, name) if value in offers[name]]
            setattr(values, name, kept)
    filled = vars(values) | {
        name: gr.update(choices=choices, value=getattr(values, name))
        for name, choices in offers.items()
    }
    return {controls[name]: value for name, value in (filled | _offers(workspace, values)).items()}


def _views(published: Published) -> Iterator[tuple[str, BoardSpec]]:
    """The board by tasks, and by types and languages if there are several."""
    standings = service.board(published.workspace)
    labels = {"tasks": "Tasks"}
    if len(standings.types) > 1:
        labels["types"] = "Types"
    if len({one for column in standings.columns for one in column.languages}) > 1:
        labels["languages"] = "Languages"
    for columns, label in labels.items():
        yield label, BoardSpec(columns=columns)


def _blocks(workspace: Workspace, spec: BoardSpec) -> list[Block]:
    """The board, and examples on which two encoders disagree if their texts are published."""
    found = BOARD.last(workspace, spec, lambda job: True)
    blocks, standings = [*found.blocks()], found.standings
    task, better, worse = examples.opening(standings, "", "", "")
    if task and better and worse:
        with suppress(UserError):
            apart = examples.disagreement(workspace, standings, task, better, worse).blocks()
            blocks += [Text("Examples on which two encoders disagree", DISAGREEMENT), *apart]
    return blocks


PUBLISHED = Static(BOARD, _views, blocks=_blocks, all_encoders=True)
PUBLISHED_LEAD = (
    "Results in MTEB's layout (MODEL/REVISION/TASK.json), as a ZIP archive, a folder or single "
    "files, and the hub's YAML of evaluation results. They are references: never ranked, tested, "
    "or averaged with yours."
)
_FILES = "published-files"
IMPORTS = (
    Control(
        "file",
        "ZIP, JSON or YAML",
        gr.File,
        options={"file_count": "multiple", "height": 120, "elem_id": _FILES},
    ),
    Control(
        "model",
        "Model",
        default="",
        hint="Owner/name; needed if the files lack it.",
        options={"max_lines": 1, "elem_id": "published-model"},
    ),
    Control(
        "revision",
        "Revision of the model",
        default="",
        options={"max_lines": 1, "elem_id": "published-revision"},
    ),
    Control(
        "imported",
        "Imported models",
        gr.Dropdown,
        (),
        "Removed results can be imported again.",
        (),
        {"multiselect": True, "elem_id": "published-here"},
    ),
)
MAX_PROBLEMS = 3


def _importing(workspace: Workspace) -> Controls:
    """Lay out the section; the page notices imports by itself, and fills the list of models."""
    controls = Controls(*IMPORTS)
    with gr.Accordion("Published results", open=False, elem_id="published-results"):
        parts.static(f'<p class="t-muted">{PUBLISHED_LEAD}</p>')
        with gr.Row():
            with gr.Column(scale=3, min_width=280):
                controls.render("file")
                folder("Choose a whole folder", _FILES, ENDINGS, elem_id="published-folder")
            with gr.Column(scale=2, min_width=280):
                controls.render("model", "revision")
                take = gr.Button("Import", size="md", elem_id="published-take")
            with gr.Column(scale=2, min_width=280):
                controls.render("imported")
                remove = gr.Button("Remove", size="md", elem_id="published-remove")
        notice = parts.notice()
    changed = [controls["file"], controls["imported"]]

    def bring(values: Values) -> Answer:
        files = [(Path(file).name, Path(file)) for file in values.file or ()]
        if not files:
            raise UserError(
                "There is nothing to import.", "Choose files or a folder first.", code="missing"
            )
        found = exchange.bring(workspace, files, values.model, values.revision)
        return {
            controls["file"]: None,
            controls["imported"]: _imported(workspace),
            notice: _summary(found),
        }

    def let_go(values: Values) -> Answer:
        chosen = [tuple(json.loads(one)) for one in values.imported]
        number = exchange.forget(workspace, chosen)
        words = f"{formats.plural(number, 'published result')} removed."
        return {controls["imported"]: _imported(workspace), notice: parts.say(words)}

    on(
        [controls["file"].upload, take.click],
        bring,
        controls,
        changed,
        notice,
        show_progress="full",
        show_progress_on=controls["file"],
    )
    on(remove.click, let_go, controls, changed, notice)
    return controls


def _imported(workspace: Workspace) -> Any:
    """The choices of models with imported results, by revision."""
    choices = [
        (
            f"{model}{revision and f', {revision[:8]}'}: {formats.plural(number, 'result')}",
            formats.json_text([model, revision]),
        )
        for model, revision, number in workspace.store.published.held()
    ]
    return gr.update(choices=choices, value=[])


def _summary(found: Reading) -> str:
    """The outcome of an import: the number of results, files left out, notes."""
    models = {(one.model, one.revision) for one in found.results}
    tasks = {one.task for one in found.results}
    left = [f"Left out: {problem}." for problem in found.problems[:MAX_PROBLEMS]]
    if len(found.problems) > MAX_PROBLEMS:
        left.append(f"Also left out: {len(found.problems) - MAX_PROBLEMS} more files.")
    what = (
        f"{formats.plural(len(found.results), 'result')} of {formats.plural(len(models), 'model')} "
        f"on {formats.plural(len(tasks), 'task')} imported."
    )
    return parts.say(what) + parts.warn([*found.notes, *left])
