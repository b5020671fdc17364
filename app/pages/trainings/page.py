"""The page *Trainings*: trainings live, and side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import formats
from theodolite.app.blocks import Block, Readings
from theodolite.app.components.actions import actions, button
from theodolite.app.pages.jobs import service as jobs
from theodolite.app.pages.jobs import views
from theodolite.app.pages.trainings import service
from theodolite.app.pages.trainings.answer import (
    TRAINING,
    Trainings,
    TrainingsSpec,
    called,
    setting,
)
from theodolite.app.pages.trainings.service import MAX_CURVES, Course, TrainingRun
from theodolite.app.published import Published, kept
from theodolite.app.report.button import report_button
from theodolite.app.report.file import of_answer
from theodolite.app.surfaces.static import Static
from theodolite.app.web import address, parts, progress
from theodolite.app.web.controls import Answer, on, on_load, poll
from theodolite.app.web.events import PageEvent
from theodolite.app.web.figures import style
from theodolite.app.web.parts import HIDE_PROGRESS
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.errors import UserError
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.events import against_base
from theodolite.engine.training.fields import defaults, written
from theodolite.store.run_rows import LIVE

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
    chosen = gr.Textbox(visible="hidden", label="Chosen", elem_id="chosen")
    opened = gr.Textbox(visible="hidden", label="Opened", elem_id="opened")
    seen = gr.State([])
    listing = actions(elem_id="runs")
    curves = web.answer(charts=True, elem_id="curves", elem_classes=["t-answer"])
    every = [chosen, opened, listing, curves, seen]

    def draw(rows: list[TrainingRun], keys: Sequence[str], sweep: str) -> dict[Any, Any]:
        keys = [row.key for row in rows if row.key in keys]
        courses = _courses(workspace, keys)
        html = _listing(workspace, rows, keys, sweep) if rows else _nothing(workspace)
        progress = [
            [row.key, row.state, row.stopping, row.step, row.score, row.encoder, row.error]
            for row in rows
        ]
        return {
            chosen: ",".join(keys),
            opened: sweep,
            listing: html,
            curves: web.value(Trainings(courses).blocks()),
            seen: [[progress, sweep], keys, [lines.cursor for _, lines in courses]],
        }

    def load(request: gr.Request) -> Answer:
        rows = service.table(workspace, LISTED)
        return draw(rows, *_of_address(rows, request))

    def refresh(given: str, sweep: str, known: list[Any]) -> Answer:
        changed = draw(service.table(workspace, LISTED), given.split(","), sweep)
        if changed[seen] == known:
            return None
        # Another training may have been chosen meanwhile; curves that have not grown stay.
        same = [curves] if changed[seen][1:] == known[1:] else []
        return {box: changed[box] for box in every if box not in (chosen, opened, *same)}

    def act(given: str, sweep: str, event: PageEvent) -> Answer:
        """Answer a button of the list."""
        keys, told = set(given.split(",")), ""
        if event.act not in ("toggle", "sweep"):
            told = parts.say(jobs.act(workspace, event.act, event.id))
        rows = service.table(workspace, LISTED)
        if event.act == "toggle":
            keys ^= {event.id}
        elif event.act == "sweep":
            sweep = "" if sweep == event.id else event.id
            mine = {row.key for row in rows if row.run == event.id}
            keys = mine if sweep else keys - mine
        return {**draw(rows, [*keys], sweep), notice: told}

    def report(given: str) -> Any:
        keys = [key for key in given.split(",") if key]
        return of_answer(TRAINING, TrainingsSpec(keys), Trainings(_courses(workspace, keys)))

    report_button([chosen], notice, report)
    loaded = on_load(load, every, notice)
    poll(POLL_SECONDS, loaded, refresh, [chosen, opened, seen], [listing, curves, seen])
    on(listing.act, act, [chosen, opened], every, notice, **HIDE_PROGRESS)
    address.keep({"run": chosen, "sweep": opened})


def _courses(workspace: Workspace, keys: Sequence[str]) -> list[Course]:
    """The trainings with these keys; that which ships, where nothing was trained yet."""
    learned = None if keys or service.table(workspace, 1) else service.example()
    return [learned] if learned else service.chosen(workspace, keys)


def _of_address(rows: list[TrainingRun], request: gr.Request) -> tuple[list[str], str]:
    """The trainings and the sweep that the address names; else the newest."""
    named = [*address.first(request, "run").split(","), address.first(request, "sweep")]
    keys = [row.key for row in rows if row.key in named]
    sweep = next((row.run for row in rows if row.run in named and row.run != row.key), "")
    if not (keys or sweep) and rows:  # the running training, else the last that made progress
        going = [row for row in rows if row.state == "running"]
        first = next(iter(going or [row for row in rows if row.step is not None] or rows))
        keys, sweep = ([first.key], "") if first.run == first.key else ([], first.run)
    return (keys or [row.key for row in rows if row.run == sweep])[:MAX_CURVES], sweep


# The list -----------------------------------------------------------------------------------


def _nothing(workspace: Workspace) -> str:
    """In place of the list: a note that the curves are of an example that ships."""
    learned = service.example()
    if learned is None:
        return parts.empty(
            "No trainings yet",
            "Trainings appear here as soon as they are queued, with live curves.",
            None if workspace.read_only else ("Train an encoder", "./train"),
        )
    return (
        '<div class="t-notice"><p><strong>Nothing was trained here yet.</strong> The curves are '
        "those of a real training that ships as an example.</p>"
        f"<p>{escape(learned[0].label)}: {escape(summary(learned[0]))}.</p></div>"
    )


def _listing(
    workspace: Workspace, rows: Sequence[TrainingRun], keys: Sequence[str], sweep: str
) -> str:
    """Every run, the newest first; the opened sweep with its children."""
    items = []
    for run_id, group in groupby(rows, key=lambda row: row.run):
        run, mine = workspace.store.runs.get(run_id), list(group)
        verbs, row = views.buttons(workspace, run), mine[0]
        if row.key != run_id:
            opened, title = sweep == run_id, run["title"]
            about = "close" if opened else "show its trainings and their outcome"
            name = button(title, "sweep", run_id, kind="link", about=f"{title}: {about}")
            inside = f'<div class="t-children">{_children(mine, keys)}</div>' if opened else ""
            about = views.about(run)
            items.append(views.item(run, name, about, verbs, inside=inside, opened=opened))
            continue
        if row.state not in LIVE and not workspace.read_only:
            again = address.link("train-decoder" if row.is_decoder else "train", **_query(row))
            about = escape(f"Train again with the settings of {row.label}")
            verbs += (
                f'<a class="t-button t-small-button" href="{escape(again)}" aria-label="{about}">'
                "Train again</a>"
            )
        below = f'<p class="t-small">{escape(unusual(row))}</p><p class="t-opens">{_links(row)}</p>'
        name, opened = _toggle(row, keys), row.key in keys
        items.append(views.item(run, name, facts(row, run), verbs, below=below, opened=opened))
    return views.listing(items, "Trainings, newest first", "t-training")


def _children(rows: Sequence[TrainingRun], keys: Sequence[str]) -> str:
    best = max((row.score for row in rows if row.score is not None), default=None)
    body = []
    for row in rows:
        state = "stopping" if row.stopping else row.state
        score = formats.score(row.score)
        body.append(
            (
                f"{_toggle(row, keys)}{parts.failure(row.error, row.hint)}",
                parts.tag(state, progress.KINDS.get(state, "live")),
                f"<strong>{score}</strong>" if row.score and row.score == best else score,
                formats.count(row.best_step),
                _links(row),
            )
        )
    heads = ("Run", "State", "Best dev score", "At step", "Open")
    table = parts.table(heads, body, "Runs of the sweep", (2, 3))
    columns = ["key", "label", "state", "score", "best_step", "encoder", "error"]
    data = [[getattr(row, name) for name in columns] for row in rows]
    save = parts.csv_button("Runs as CSV", f"sweep-{rows[0].run}.csv", [columns, *data])
    return f'{table}<p class="t-small">{save}</p>'


def _toggle(row: TrainingRun, keys: Sequence[str]) -> str:
    """The name as a button that shows or hides its curves, with its line as in the charts."""
    shown = row.key in keys
    about = f"{row.label}, {row.state}: {'hide' if shown else 'show'} its curves"
    name = button(row.label, "toggle", row.key, about=about, kind="link")
    if not shown:
        return name
    look = style(keys.index(row.key))
    return (
        '<svg class="t-key" width="26" height="8" aria-hidden="true"><path d="M0 4h26" stroke='
        f'"{look["color"]}" stroke-width="3" stroke-dasharray="{_DASHES[look["dash"]]}"/></svg>'
        f"{name}"
    )


def _links(row: TrainingRun) -> str:
    """Links to the pages that use the trained model; empty before it is finished."""
    if not row.encoder or row.why is None:
        return ""
    names = ("decode", "interpolate", "diagnose")
    pages: dict[str, Any] = dict.fromkeys(names, row.encoder)
    base = str(row.settings.get("base", ""))
    if not row.is_decoder:
        both = row.encoder if base.startswith("new:") else [base, row.encoder]
        pages = {"evaluate": row.encoder, "compare": both, "map": row.encoder}
    return " ".join(
        f'<a href="{escape(address.link(page, encoder=encoder))}" '
        f'aria-label="{escape(f"{page.capitalize()}: {row.label}")}">{page.capitalize()}</a>'
        for page, encoder in pages.items()
    )


def _query(row: TrainingRun) -> dict[str, Any]:
    """Query of the form's address with a run's settings."""
    usual = _defaults(row)
    given: dict[str, Any] = {
        name: value if isinstance(value, list) else written(value)
        for name, value in row.settings.items()
        if name == "dev" or usual.get(name, ()) != value
    }
    return {"preset": "own", **given}


def summary(row: TrainingRun) -> str:
    """Its unusual settings and its outcome. Plain text."""
    return "; ".join(filter(None, [unusual(row), facts(row, {})]))


def facts(row: TrainingRun, run: Mapping[str, Any]) -> str:
    """One line: progress, best score or loss, how it ended. Plain text."""
    if row.state == "queued":
        return "waiting for its turn"
    of = f" of {formats.count(row.steps)}" if row.steps and row.state in LIVE else ""
    took = "" if row.seconds is None else formats.duration(row.seconds)
    left = formats.time_left(run.get("eta_seconds")) if row.state == "running" else ""
    score = f"best dev score {formats.score(row.score)} at step {formats.count(row.best_step)}"
    lines = (
        run.get("message") if row.step is None else f"{formats.count(row.step)}{of} updates",
        left or took,
        None if row.score is None else score,
        against_base(row.score, row.base_score),
        None if row.loss is None else f"loss {row.loss:.3f} on held-out sentences",
        ENDINGS.get(row.why or ""),
    )
    return ", ".join(filter(None, lines)) or "nothing was trained"


def unusual(row: TrainingRun) -> str:
    """The settings that differ from the defaults, in one line. Plain text."""
    usual = _defaults(row)
    return ", ".join(
        f"{name.replace('_', ' ')} {setting(value)}"
        for name, value in row.settings.items()
        if name in usual and name not in _ASIDE and value != usual[name]
    )


def _defaults(row: TrainingRun) -> dict[str, Any]:
    return defaults(DecoderSpec if row.is_decoder else TrainSpec)


# Published ----------------------------------------------------------------------------------


def _carry(published: Published) -> None:
    """Publish the chosen trainings with their curves."""
    for course in service.chosen(published.source, published.trainings):
        published.keep(KIND, course[0].key, service.frozen(course))


def _read(workspace: Workspace, key: str) -> Course:
    """A training as published."""
    frozen = kept(workspace, KIND, key)
    if frozen is None:
        raise UserError(f"The training {key[:40]!r} is not published.", code="unknown")
    return service.thawed(frozen)


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
    about = {name: f"{summary(row)}." for name, row in zip(called(rows), rows, strict=True)}
    return [Readings(about), *Trainings(courses).blocks()]


PUBLISHED = Static(TRAINING, _views, _carry, _blocks)
