"""The page *Trainings*: trainings live, and side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.blocks import Block, Readings
from theodolite.app.components.actions import actions
from theodolite.app.pages.jobs import service as jobs
from theodolite.app.pages.trainings import service, views
from theodolite.app.pages.trainings.answer import TRAINING, Trainings, TrainingsSpec, called
from theodolite.app.pages.trainings.service import MAX_CURVES, Course, Curves, TrainingRun
from theodolite.app.published import Published, kept
from theodolite.app.report.button import report_button
from theodolite.app.report.file import Report, of_answer
from theodolite.app.surfaces.static import Static
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, on, on_load, poll
from theodolite.app.web.events import PageEvent
from theodolite.app.web.parts import HIDE_PROGRESS
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Trainings"
PATH = "runs"
DESCRIPTION = (
    "All trainings of encoders and decoders, live: click a name to draw its curves, several to "
    "overlay them. Trainings continue when this page is closed."
)
POLL_SECONDS = 2
LISTED = 60
KIND = "training"


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
    curves = web.answer(charts=True, elem_id="curves", elem_classes=["t-answer"])
    every = [chosen, opened, listing, curves, seen]
    report_button([chosen], notice, lambda given: _report(workspace, _keys(given)))

    def drawn(rows: list[TrainingRun], keys: list[str], sweep: str) -> dict[Any, Any]:
        marks = _marks(workspace, rows, keys, sweep)
        learned = service.example() if not rows else None
        courses = [learned] if learned else service.chosen(workspace, keys)
        return {
            chosen: ",".join(keys),
            opened: sweep,
            listing: views.shipped(learned[0])
            if learned
            else views.listing(workspace, rows, keys, sweep),
            curves: web.value(Trainings(courses).blocks()),
            seen: marks,
        }

    def load(request: gr.Request) -> Answer:
        rows = service.table(workspace, LISTED)
        return drawn(rows, *_named(rows, request))

    def polled(given: str, sweep: str, known: list[Any]) -> Answer:
        rows = service.table(workspace, LISTED)
        keys = _known(rows, _keys(given))
        marks = _marks(workspace, rows, keys, sweep)
        if marks == known:
            return None
        changed = drawn(rows, keys, sweep)
        # Another training may have been chosen meanwhile; curves that have not grown stay.
        left = {chosen, opened, *([curves] if marks[1:] == known[1:] else [])}
        return {box: value for box, value in changed.items() if box not in left}

    def act(given: str, sweep: str, event: PageEvent) -> Answer:
        """Answer a button of the list."""
        message, keys = "", _keys(given)
        if event.act not in ("toggle", "sweep"):
            message = jobs.act(workspace, event.act, event.id)
        rows = service.table(workspace, LISTED)
        if event.act == "toggle":
            keys = [key for key in keys if key != event.id] + [event.id] * (event.id not in keys)
        elif event.act == "sweep":
            sweep = "" if sweep == event.id else event.id
            mine = _of_run(rows, event.id)
            keys = mine if sweep else [key for key in keys if key not in mine]
        said = parts.say(message) if message else ""
        return {**drawn(rows, _known(rows, keys), sweep), notice: said}

    loaded = on_load(load, every, notice)
    poll(POLL_SECONDS, loaded, polled, [chosen, opened, seen], [listing, curves, seen])
    on(listing.act, act, [chosen, opened], every, notice, **HIDE_PROGRESS)
    address.keep({"run": chosen, "sweep": opened})


def _of_run(rows: Sequence[TrainingRun], run: str) -> list[str]:
    """The keys of a run's trainings."""
    return [row.key for row in rows if row.run == run]


def _known(rows: Sequence[TrainingRun], keys: Sequence[str]) -> list[str]:
    """The keys of trainings that there are, in their order."""
    return [row.key for row in rows if row.key in keys]


def _named(rows: list[TrainingRun], request: gr.Request) -> tuple[list[str], str]:
    """The trainings and the sweep that the address names; else the newest."""
    requested = address.first(request, "run").split(",")
    keys = _known(rows, requested)
    named = (*requested, address.first(request, "sweep"))
    sweep = next((row.run for row in rows if row.run in named and row.position is not None), "")
    if not keys and not sweep and rows:  # the running training, else the last that made progress
        going = [row for row in rows if row.state == "running"]
        first = next(iter(going or [row for row in rows if row.step is not None] or rows))
        keys, sweep = ([first.key], "") if first.position is None else ([], first.run)
    if sweep and not keys:
        keys = _of_run(rows, sweep)
    return keys[:MAX_CURVES], sweep


def _keys(given: str) -> list[str]:
    return [key for key in given.split(",") if key]


def _marks(workspace: Workspace, rows: list[TrainingRun], keys: list[str], sweep: str) -> list[Any]:
    """State whose change redraws the page: of the list, and of the curves."""
    listed = [
        [row.key, row.state, row.stopping, row.step, row.score, row.encoder, row.error]
        for row in rows
    ]
    return [[listed, sweep], keys, [service.cursor(workspace, key) for key in keys]]


def _report(workspace: Workspace, keys: list[str]) -> Report:
    """A report of the trainings drawn."""
    learned = None if keys else service.example()
    courses = [learned] if learned else service.chosen(workspace, keys)
    return of_answer(TRAINING, TrainingsSpec(keys), Trainings(courses))


# Published ----------------------------------------------------------------------------------


def _carry(published: Published) -> None:
    """Publish the chosen trainings with their curves, without the folders of this machine."""
    for row, curves in service.chosen(published.source, published.trainings):
        info = {
            "run": asdict(replace(row, out="", error=None, hint="")),
            "steps": curves.steps,
            "evals": curves.evals,
            "notes": curves.notes,
        }
        published.keep(KIND, row.key, info)


def _read(workspace: Workspace, key: str) -> Course:
    """A training as published."""
    frozen = kept(workspace, KIND, key)
    if frozen is None:
        raise UserError(f"The training {key[:40]!r} is not published.", code="unknown")
    lists = {name: frozen[name] for name in ("steps", "evals", "notes")}
    return TrainingRun(**frozen["run"]), Curves(**lists)


def _views(published: Published) -> Iterator[tuple[str, TrainingsSpec]]:
    """All chosen trainings overlaid, then each by itself."""
    keys = published.trainings
    if len(keys) > 1:
        every = keys[:MAX_CURVES]
        yield f"All {len(every)}", TrainingsSpec(every)
    names = called([_read(published.workspace, key)[0] for key in keys])
    yield from ((name, TrainingsSpec([key])) for name, key in zip(names, keys, strict=True))


def _blocks(workspace: Workspace, spec: TrainingsSpec) -> list[Block]:
    courses = [_read(workspace, key) for key in spec.keys]
    rows = [row for row, _ in courses]
    about = [f"{views.summary(row, {})}." for row in rows]
    return [Readings(dict(zip(called(rows), about, strict=True))), *Trainings(courses).blocks()]


PUBLISHED = Static(TRAINING, _views, _carry, _blocks)
