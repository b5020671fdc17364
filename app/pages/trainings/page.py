"""The page *Trainings*: trainings live, and side by side."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import formats
from theodolite.app.blocks import Block, Readings
from theodolite.app.components.actions import actions, button
from theodolite.app.names import labelled
from theodolite.app.pages.jobs import service as jobs, views
from theodolite.app.pages.trainings import service
from theodolite.app.pages.trainings.answer import (
    TRAINING,
    Trainings,
    TrainingsSpec,
    labels_of,
    setting_text,
    uses,
)
from theodolite.app.pages.trainings.service import Course, TrainingRun
from theodolite.app.published import Published, Static, stored_answer
from theodolite.app.report.button import report_button
from theodolite.app.report.file import of_answer
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, PageEvent, on, on_load, poll
from theodolite.app.web.figures import style
from theodolite.app.web.parts import HIDE_PROGRESS
from theodolite.app.web.progress import TURN
from theodolite.app.workspace import Workspace
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.errors import UserError
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.base_spec import defaults, written
from theodolite.engine.training.events import against_base
from theodolite.store.run_rows import LIVE

TITLE = "Trainings"
PATH = "runs"
DESCRIPTION = (
    "All trainings of encoders and decoders, live: click a name to draw its curves, several to "
    "overlay them. Trainings continue when this page is closed."
)
POLL_SECONDS = 2
LISTED = 60
ENDINGS = {
    "stopped": "stopped, best weights kept",
    "patience": "stopped early: the dev score no longer improved",
    "diverged": "the loss was NaN or infinity, best weights kept",
}
_ASIDE = ("objective", "base", "encoder", "train", "dev", "dev_every", "device")
"""Settings that the title includes, or that depend on the machine."""
_DASHES = {"solid": "", "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3"}


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    with parts.bar(TITLE, DESCRIPTION):
        parts.static(
            '<a class="t-button" href="./train">Train an encoder</a>',
            visible=not workspace.read_only,
        )
    notice = parts.notice()
    selection = gr.Textbox(visible="hidden", label="Chosen", elem_id="chosen")
    seen = gr.State([])
    listing = actions(elem_id="runs")
    curves = web.answer(charts=True, elem_id="curves", elem_classes=["t-answer"])
    every = [selection, listing, curves, seen]

    def draw(rows: list[TrainingRun], given: Iterable[str]) -> dict[Any, Any]:
        keys = [key for row in rows for key in (row.run, row.key) if key in given]
        keys = list(dict.fromkeys(keys))
        courses = _courses(workspace, keys)
        marks = [
            [row.key, row.state, row.stopping, row.step, row.score, row.encoder, row.error]
            for row in rows
        ]
        run_keys = [row.key for row, _ in courses]
        return {
            selection: ",".join(keys),
            listing: _list(workspace, rows, run_keys, keys) if rows else _example_note(workspace),
            curves: web.value(Trainings(courses).blocks()),
            seen: [marks, run_keys, [lines.cursor for _, lines in courses]],
        }

    def load(request: gr.Request) -> Answer:
        """Draw the trainings that the address names; else the newest."""
        rows = service.table(workspace, LISTED)
        keys = address.first(request, "run").split(",")
        if rows and not any(row.key in keys or row.run in keys for row in rows):
            going = [row for row in rows if row.state == "running"]
            keys = [next(iter(going or [row for row in rows if row.step is not None] or rows)).run]
        return draw(rows, keys)

    def refresh(keys: str, known: list[Any]) -> Answer:
        changed = draw(service.table(workspace, LISTED), keys.split(","))
        if changed[seen] == known:
            return None
        # Another training may have been chosen meanwhile; curves that have not grown stay.
        same = [curves] if changed[seen][1:] == known[1:] else []
        return {box: changed[box] for box in every if box not in (selection, *same)}

    def act(text: str, event: PageEvent) -> Answer:
        """Answer a button of the list."""
        keys, message = text.split(","), ""
        if event.act == "toggle":
            keys = _toggled(keys, event.id)
        else:
            message = parts.say(jobs.act(workspace, event.act, event.id))
        return {**draw(service.table(workspace, LISTED), keys), notice: message}

    def report(text: str) -> Any:
        keys = [key for key in text.split(",") if key]
        return of_answer(TRAINING, TrainingsSpec(keys), Trainings(_courses(workspace, keys)))

    report_button([selection], notice, report)
    loaded = on_load(load, every, notice)
    poll(POLL_SECONDS, loaded, refresh, [selection, seen], [listing, curves, seen])
    on(listing.act, act, [selection], every, notice, **HIDE_PROGRESS)
    address.keep({"run": selection})


def _courses(workspace: Workspace, keys: Sequence[str]) -> list[Course]:
    """The trainings with these keys; that which ships, where nothing was trained yet."""
    example = None if keys or service.table(workspace, 1) else service.example(workspace)
    return [example] if example else service.courses_of(workspace, keys)


# The list -----------------------------------------------------------------------------------


def _example_note(workspace: Workspace) -> str:
    """In place of the list: a note that the curves are of an example that ships."""
    example = service.example(workspace)
    if example is None:
        return parts.empty(
            "No trainings yet",
            "Trainings appear here as soon as they are queued, with live curves.",
            None if workspace.read_only else ("Train an encoder", "./train"),
        )
    return (
        '<div class="t-notice"><p><strong>Nothing was trained here yet.</strong> The curves are '
        "those of a real training that ships as an example.</p>"
        f"<p>{escape(example[0].label)}: {escape(summary(example[0]))}.</p></div>"
    )


def _toggled(keys: Sequence[str], run_id: str) -> list[str]:
    """The chosen keys without those of a run, or with it."""
    others = [key for key in keys if key.partition(":")[0] != run_id]
    return others if len(others) < len(keys) else [*keys, run_id]


def _list(
    workspace: Workspace, rows: Sequence[TrainingRun], shown: Sequence[str], keys: Sequence[str]
) -> str:
    """Every run, the newest first; the names are buttons that show or hide its curves.

    Args:
        workspace: with the runs.
        rows: of the runs.
        shown: keys of the trainings that are drawn.
        keys: the chosen ones, of runs and of trainings.
    """
    items = []
    for run_id, group in groupby(rows, key=lambda row: row.run):
        run, mine = workspace.store.runs.get(run_id), list(group)
        verbs, row, below = views.buttons(workspace, run), mine[0], ""
        is_open, about = any(one.key in shown for one in mine), views.about(run)
        what = f"{run['title']}, {run['state']}: {'hide' if is_open else 'show'} its curves"
        then = ("run", ",".join(_toggled(keys, run_id)))
        name = button(run["title"], "toggle", run_id, about=what, param=then, kind="link")
        if row.key == run_id:
            about = facts(row, run)
            links = "".join(
                f'<a href="{escape(address.link(one.page, **one.query))}" '
                f'aria-label="{escape(f"{one.label}: {row.label}")}">{one.label}</a>'
                for one in uses(row)
                if not (workspace.read_only and one.page == "encoders")  # to rename it
            )
            below = f'<p class="t-small">{escape(unusual(row))}</p><p class="t-opens">{links}</p>'
            if is_open:
                name = f"{_key(shown.index(row.key))}{name}"
            if row.state not in LIVE and not workspace.read_only:
                again = address.link("train-decoder" if row.is_decoder else "train", **_query(row))
                verbs += (
                    f'<a class="t-button t-small-button" href="{escape(again)}" aria-label='
                    f'"{escape(f"Train again with the settings of {row.label}")}">Train again</a>'
                )
        items.append(views.item(run, name, about, verbs, below=below, is_open=is_open))
    return views.run_list(items, "Trainings, newest first", "t-training")


def _key(place: int) -> str:
    """The line of a training as in the charts."""
    look = style(place)
    return (
        '<svg class="t-key" width="26" height="8" aria-hidden="true"><path d="M0 4h26" stroke='
        f'"{look["color"]}" stroke-width="3" stroke-dasharray="{_DASHES[look["dash"]]}"/></svg>'
    )


def _query(row: TrainingRun) -> dict[str, Any]:
    """Query of the form's address with a run's settings."""
    usual = _defaults(row)
    fields: dict[str, Any] = {
        name: value if isinstance(value, list) else written(value)
        for name, value in row.settings.items()
        if name == "dev" or usual.get(name, ()) != value
    }
    return {"preset": "own", **fields}


def summary(row: TrainingRun) -> str:
    """Its unusual settings and its outcome. Plain text."""
    return "; ".join(filter(None, [unusual(row), facts(row, {})]))


def facts(row: TrainingRun, run: Mapping[str, Any]) -> str:
    """One line: progress, best score or loss, how it ended. Plain text."""
    if row.state == "queued":
        return run.get("message") or TURN
    of = f" of {formats.count(row.steps)}" if row.steps and row.state in LIVE else ""
    scores = row.step is None or (row.step in (0, row.steps) and row.state in LIVE)
    took = "" if row.seconds is None else formats.duration(row.seconds)
    left = formats.time_left(run.get("eta_seconds")) if row.state == "running" else ""
    doing = run.get("message")
    if doing == row.label:  # the unit's, until it says more
        doing = "starting"
    called = None if row.is_decoder or not row.encoder else labelled(row.encoder)
    score = f"best dev score {formats.score(row.score)} at step {formats.count(row.best_step)}"
    lines = (
        None if called == row.encoder else called,
        against_base(row.score, row.base_score),
        doing if scores else f"{formats.count(row.step)}{of} updates",
        left or took,
        None if row.score is None else score,
        None if row.loss is None else f"loss {row.loss:.3f} on held-out sentences",
        ENDINGS.get(row.why or ""),
    )
    return ", ".join(filter(None, lines)) or "nothing was trained"


def unusual(row: TrainingRun) -> str:
    """The settings that differ from the defaults, in one line. Plain text."""
    usual = _defaults(row)
    return ", ".join(
        f"{name.replace('_', ' ')} {setting_text(value)}"
        for name, value in row.settings.items()
        if name in usual and name not in _ASIDE and value != usual[name]
    )


def _defaults(row: TrainingRun) -> dict[str, Any]:
    return defaults(DecoderSpec if row.is_decoder else TrainSpec)


# Published ----------------------------------------------------------------------------------


def _carry(published: Published) -> None:
    """Publish the chosen trainings with their curves."""
    for course in service.courses_of(published.source, published.trainings):
        published.keep(service.KIND, course[0].key, service.freeze(course))


def _read(workspace: Workspace, key: str) -> Course:
    """A training as published."""
    frozen = stored_answer(workspace, service.KIND, key)
    if frozen is None:
        raise UserError(f"The training {key[:40]!r} is not published.", code="unknown")
    return service.thaw(frozen)


def _views(published: Published) -> Iterator[tuple[str, TrainingsSpec]]:
    """All chosen trainings overlaid, then each by itself."""
    keys = published.trainings
    if len(keys) > 1:
        yield f"All {len(keys)}", TrainingsSpec(keys)
    names = labels_of([_read(published.workspace, key)[0] for key in keys])
    yield from ((name, TrainingsSpec([key])) for name, key in zip(names, keys, strict=True))


def _blocks(workspace: Workspace, spec: TrainingsSpec) -> list[Block]:
    courses = [_read(workspace, key) for key in spec.keys]
    rows = [row for row, _ in courses]
    about = {name: f"{summary(row)}." for name, row in zip(labels_of(rows), rows, strict=True)}
    return [Readings(about), *Trainings(courses).blocks()]


PUBLISHED = Static(TRAINING, _views, _carry, _blocks)
