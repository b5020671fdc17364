"""The page *Trainings*: trainings live, and side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.components.actions import actions
from theodolite.app.pages.jobs import service as jobs
from theodolite.app.pages.trainings import freezing, section, service, views
from theodolite.app.report import answers
from theodolite.app.report.button import report_button
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, on, on_load, poll
from theodolite.app.web.events import PageEvent
from theodolite.app.web.frozen import Frozen
from theodolite.app.web.parts import HIDE_PROGRESS
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.pages.trainings.service import TrainingRun
    from theodolite.app.report.file import Report
    from theodolite.app.workspace import Workspace

TITLE = "Trainings"
PATH = "runs"
DESCRIPTION = (
    "All trainings of encoders and decoders, live: click a name to draw its curves, several to "
    "overlay them. Trainings continue when this page is closed."
)
POLL_SECONDS = 2
LISTED = 60
FROZEN = Frozen(carry=freezing.carry, views=freezing.trainings, build=freezing.build)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    with parts.bar(TITLE, DESCRIPTION):
        parts.static(
            '<a class="t-button" href="./train">Train an encoder</a>',
            visible=not workspace.read_only,
        )
    notice = parts.notice()
    chosen = gr.Textbox(visible="hidden", label="Chosen", elem_id="chosen")
    opened = gr.Textbox(visible="hidden", label="Opened", elem_id="opened")
    seen = gr.State([])
    listing = actions(elem_id="runs")
    shown = {"listing": listing, **section.charts()}
    shown["marks"] = seen
    every = [chosen, opened, *shown.values()]
    report_button([chosen], notice, lambda kept: _report(workspace, _keys(kept)))

    def viewed(*values: Any) -> dict[Any, Any]:
        return {shown[name]: value for name, value in _views(workspace, *values).items()}

    def drawn(rows: list[TrainingRun], keys: list[str], sweep: str) -> dict[Any, Any]:
        return {chosen: ",".join(keys), opened: sweep, **viewed(rows, keys, sweep)}

    def load(request: gr.Request) -> Answer:
        rows = service.table(workspace, LISTED)
        return drawn(rows, *_named(rows, request))

    def polled(kept: str, sweep: str, known: list[Any]) -> Answer:
        rows, keys = service.table(workspace, LISTED), _keys(kept)
        if _marks(workspace, rows, keys, sweep) == known:
            return None
        return viewed(rows, keys, sweep, known)

    def act(kept: str, sweep: str, event: PageEvent) -> Answer:
        """Answer a button of the list."""
        keys, message = _keys(kept), ""
        if event.act not in ("toggle", "sweep"):
            message = jobs.act(workspace, event.act, event.id)
        rows = service.table(workspace, LISTED)
        keys, sweep = _pressed(rows, keys, sweep, event)
        return {**drawn(rows, keys, sweep), notice: parts.say(message) if message else ""}

    loaded = on_load(load, every, notice)
    poll(POLL_SECONDS, loaded, polled, [chosen, opened, seen], [*shown.values()])
    on(listing.act, act, [chosen, opened], every, notice, **HIDE_PROGRESS)
    address.keep({"run": chosen, "sweep": opened})


def _pressed(
    rows: list[TrainingRun], keys: list[str], sweep: str, event: PageEvent
) -> tuple[list[str], str]:
    """The keys drawn and the sweep opened after a button of the list is pressed."""
    if event.act == "toggle":
        keys = [key for key in keys if key != event.id] + [event.id] * (event.id not in keys)
    elif event.act == "sweep":
        sweep = "" if sweep == event.id else event.id
        mine = _of_run(rows, event.id)
        keys = mine if sweep else [key for key in keys if key not in mine]
    keys = [row.key for row in _known(rows, keys)]
    if len(keys) > section.MAX_CURVES:
        raise UserError(
            f"{len(keys)} trainings are too many to distinguish.",
            f"Choose at most {section.MAX_CURVES}.",
            code="too-large",
        )
    return keys, sweep


def _of_run(rows: list[TrainingRun], run: str) -> list[str]:
    """The keys of a run's trainings."""
    return [row.key for row in rows if row.run == run]


def _known(rows: list[TrainingRun], keys: list[str]) -> list[TrainingRun]:
    """The trainings of keys, in their order; removed ones are left out."""
    trained = {row.key: row for row in rows}
    return [trained[key] for key in keys if key in trained]


def _named(rows: list[TrainingRun], request: gr.Request) -> tuple[list[str], str]:
    """The trainings and the sweep that the address names; else the newest."""
    requested = address.first(request, "run").split(",")
    keys = [row.key for row in rows if row.key in requested]
    named = (*requested, address.first(request, "sweep"))
    sweep = next((row.run for row in rows if row.run in named and row.position is not None), "")
    if sweep and not keys:
        keys = _of_run(rows, sweep)
    if not keys and rows:
        keys, sweep = _newest(rows)
    return keys[: section.MAX_CURVES], sweep


def _keys(kept: str) -> list[str]:
    return [key for key in kept.split(",") if key]


def _newest(rows: list[TrainingRun]) -> tuple[list[str], str]:
    """The default keys and sweep: the running training, else the last that made progress."""
    going = [row for row in rows if row.state == "running"]
    learned = [row for row in rows if row.step is not None]
    first = next(iter(going or learned or rows))
    if first.position is None:
        return [first.key], ""
    return _of_run(rows, first.run), first.run


def _marks(workspace: Workspace, rows: list[TrainingRun], keys: list[str], sweep: str) -> list[Any]:
    """State whose change redraws the page: of the list, and of the curves."""
    cursors = [service.cursor(workspace, key) for key in keys]
    listed = [
        [row.key, row.state, row.stopping, row.step, row.score, row.encoder, row.error]
        for row in rows
    ]
    return [[listed, sweep, keys], cursors]


def _views(
    workspace: Workspace, rows: list[TrainingRun], keys: list[str], sweep: str, known: Any = None
) -> dict[str, Any]:
    """Everything on the page by name; curves only if they have grown since the `known` marks."""
    marks, here = _marks(workspace, rows, keys, sweep), _known(rows, keys)
    if not rows and (learned := service.example()) is not None:
        return {**section.drawn([learned]), "listing": views.shipped(learned[0]), "marks": marks}
    listed = views.listing(workspace, rows, [row.key for row in here], sweep)
    if known and marks[1] == known[1]:
        return {"listing": listed, "marks": marks}
    found = [(row, service.curves(workspace, row.key)) for row in here]
    return {**section.drawn(found), "listing": listed, "marks": marks}


def _report(workspace: Workspace, keys: list[str]) -> Report:
    """A report of the trainings drawn."""
    rows = service.table(workspace, LISTED)
    if not rows and (learned := service.example()) is not None:
        return answers.of_trainings([learned])
    return answers.training(workspace, [row.key for row in _known(rows, keys)])
