"""The page *Runs*: training as it goes on, runs side by side, and the paper's tables as grids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from app.components.actions import actions
from app.components.chart import chart
from app.pages.jobs import service as jobs
from app.pages.trainings import ablations_form, figures
from app.pages.trainings import views as runs_views
from app.web import address, parts
from app.web.events import PageEvent
from app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from engine.errors import UserError

if TYPE_CHECKING:
    from app.pages.trainings.service import TrainingRun
    from app.workspace import Workspace

TITLE = "Runs"
PATH = "runs"
DESCRIPTION = (
    "Every training, as it learns: press a name to draw its curves, several to lay them over each "
    "other. Work goes on when this page is closed."
)
POLL_SECONDS = 2
LISTED = 60
MOST = 24
"""Curves over each other: more have no colour and dash of their own."""


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    notice = parts.notice()
    chosen = gr.Textbox(visible="hidden", label="Chosen", elem_id="chosen")
    opened = gr.Textbox(visible="hidden", label="Opened", elem_id="opened")
    seen = gr.State([])
    listing = actions(elem_id="runs")
    charts: list[Any] = []
    with gr.Column(elem_classes="t-charts", elem_id="curves"):
        for name, (title, about) in runs_views.CHARTS.items():
            with gr.Column(elem_classes="t-figure-box", min_width=0):
                parts.section(title, about)
                tall = name in ("score", "trajectory")
                height = figures.TALL if tall else figures.SMALL
                charts.append(chart(height=height, elem_id=f"chart-{name}"))
    noted = parts.static("", elem_id="noted")
    differing = parts.static("", elem_id="differences")
    queued = ablations_form.build(workspace)

    views = [listing, *charts, noted, differing, seen]
    shown = [chosen, opened, *views]

    def load(request: gr.Request) -> tuple[Any, ...]:
        return _loaded(workspace, request)

    def poll(kept: str, sweep: str, known: list[Any]) -> tuple[Any, ...]:
        rows, keys = _rows(workspace), _keys(kept)
        marks = _marks(workspace, rows, keys, sweep)
        if marks == known:
            return tuple(gr.skip() for _ in views)
        grown = not known or marks[1] != known[1]
        return _views(workspace, rows, keys, sweep, charts=grown)

    def act(kept: str, sweep: str, event: PageEvent) -> tuple[Any, ...]:
        return _acted(workspace, _keys(kept), sweep, event.act, event.id)

    def follow(run: str) -> tuple[Any, ...]:
        rows = _rows(workspace)
        return _drawn(workspace, rows, [row.key for row in rows if row.run == run][:MOST], run)

    loaded = parts.on_load(parts.telling(load, len(shown)), None, [*shown, notice])
    parts.poll(POLL_SECONDS, loaded, poll, [chosen, opened, seen], views)
    listing.act(parts.telling(act, len(shown)), [chosen, opened], [*shown, notice], **HIDE_PROGRESS)
    if queued is not None:
        queued.change(parts.telling(follow, len(shown)), queued, [*shown, notice], **ALWAYS_LAST)
    address.keep({"run": chosen, "sweep": opened})


def _loaded(workspace: Workspace, request: gr.Request) -> tuple[Any, ...]:
    """What the address names: runs by their keys, a sweep; else the newest."""
    rows = _rows(workspace)
    asked = address.first(request, "run").split(",")
    keys = [row.key for row in rows if row.key in asked]
    named = (*asked, address.first(request, "sweep"))
    sweep = next((row.run for row in rows if row.run in named and row.position is not None), "")
    if sweep and not keys:
        keys = [row.key for row in rows if row.run == sweep]
    if not keys and rows:
        keys, sweep = _newest(rows)
    return _drawn(workspace, rows, keys[:MOST], sweep)


def _acted(
    workspace: Workspace, keys: list[str], sweep: str, verb: str, of: str
) -> tuple[Any, ...]:
    """Answer a button of the list."""
    rows, said = _rows(workspace), ""
    if verb == "toggle":
        keys = [key for key in keys if key != of] if of in keys else [*keys, of]
    elif verb == "sweep":
        sweep = "" if sweep == of else of
        mine = [row.key for row in rows if row.run == of]
        keys = mine if sweep else [key for key in keys if key not in mine]
    else:
        said = jobs.act(workspace, verb, of)
        rows = _rows(workspace)
    if len(keys) > MOST:
        raise UserError(f"{len(keys)} runs are too many to tell apart.", f"Choose at most {MOST}.")
    return (*_drawn(workspace, rows, keys, sweep), parts.say(said) if said else "")


def _drawn(
    workspace: Workspace, rows: list[TrainingRun], keys: list[str], sweep: str
) -> tuple[Any, ...]:
    return (",".join(keys), sweep, *_views(workspace, rows, keys, sweep))


def _rows(workspace: Workspace) -> list[TrainingRun]:
    from app.pages.trainings import service

    return service.table(workspace, LISTED)


def _keys(kept: str) -> list[str]:
    return [key for key in kept.split(",") if key]


def _newest(rows: list[TrainingRun]) -> tuple[list[str], str]:
    """What is drawn when the address names nothing: what is learning, or last did."""
    going = [row for row in rows if row.state == "running"]
    learned = [row for row in rows if row.step is not None]
    first = next(iter(going or learned or rows))
    if first.position is None:
        return [first.key], ""
    return [row.key for row in rows if row.run == first.run], first.run


def _marks(workspace: Workspace, rows: list[TrainingRun], keys: list[str], sweep: str) -> list[Any]:
    """What decides whether the page is drawn anew: of the list, and of the curves."""
    from app.pages.trainings import service

    cursors = [service.cursor(workspace, key) for key in keys]
    listed = [
        [row.key, row.state, row.stopping, row.step, row.score, row.encoder, row.error]
        for row in rows
    ]
    return [[listed, sweep, keys], cursors]


def _views(
    workspace: Workspace, rows: list[TrainingRun], keys: list[str], sweep: str, charts: bool = True
) -> tuple[Any, ...]:
    """Everything on the page; without `charts` the curves stay as they are."""
    from app.pages.trainings import service

    shown = {row.key: row for row in rows}
    here = [shown[key] for key in keys if key in shown]
    listed = runs_views.listing(workspace, rows, [row.key for row in here], sweep)
    marks = _marks(workspace, rows, keys, sweep)
    if not charts:
        return (listed, *(gr.skip() for _ in range(len(runs_views.CHARTS) + 2)), marks)
    found = [(row, service.curves(workspace, row.key)) for row in here]
    return (
        listed,
        *runs_views.charts(found).values(),
        runs_views.notes(found),
        runs_views.differences(here) if here else "",
        marks,
    )
