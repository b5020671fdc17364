"""The first page: all results, encoders by tasks, and current runs."""

from __future__ import annotations

from functools import partial
from typing import Any

import gradio as gr

from theodolite.app.blocks import Block, Component, Finding, Link, Links, Text
from theodolite.app.components.actions import actions
from theodolite.app.components.heatmap import grid, heatmap, results
from theodolite.app.pages.overview import service, views
from theodolite.app.published import Published
from theodolite.app.surfaces.static import NoSpec, Static
from theodolite.app.web import address, parts, progress
from theodolite.app.web.controls import Answer, on, on_load, poll
from theodolite.app.web.events import PageEvent
from theodolite.app.web.parts import HIDE_PROGRESS
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store.run_rows import LIVE

TITLE = "Home"
PATH = ""
DESCRIPTION = "Every encoder on every task. Click a cell for its numbers and protocol."
POLL_SECONDS = 2
LABEL, NAME = "Scores of encoders by task", "theodolite-scores"


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    with parts.bar(TITLE, DESCRIPTION):
        if not workspace.read_only:
            parts.static(views.ACTIONS)
    notice = parts.notice()
    headline = parts.static("", elem_id="headline", elem_classes=["t-answer"])
    board = heatmap(
        label=LABEL,
        name=NAME,
        interval=partial(service.interval, workspace),
        elem_id="scores",
        elem_classes=["t-answer"],
    )
    footnote = parts.static("")
    strip = parts.static("", elem_id="running")
    card = actions(elem_id="result")
    welcome = parts.static("")
    seen = gr.State([])
    shown = [welcome, strip, headline, board, footnote, seen]

    def everything() -> dict[Any, Any]:
        runs = workspace.store.runs.list(LIVE)
        columns, rows = service.table(workspace)
        return {
            welcome: views.welcome(rows),
            strip: progress.strip(runs),
            headline: views.headline(columns, rows) if columns else views.nothing(),
            board: grid(columns, rows) if columns else None,
            footnote: f'<p class="t-muted t-small">{views.FOOTNOTE}</p>' if columns else "",
            seen: progress.signature(runs),
        }

    def load(request: gr.Request) -> Answer:
        result = address.first(request, "result")
        opened = views.card(workspace, int(result)) if result.isdecimal() else ""
        return {**everything(), card: opened}

    def refresh(known: list[list[Any]]) -> Answer:
        runs = workspace.store.runs.list(LIVE)
        now = progress.signature(runs)
        if now == known:
            return None
        if progress.finished(now) == progress.finished(known):
            return {strip: progress.strip(runs), seen: now}
        return everything()

    def open_card(event: PageEvent) -> Answer:
        return {card: views.card(workspace, event.number("result"))}

    def act(event: PageEvent) -> Answer:
        if event.act != "remove":
            return None
        row = workspace.store.results.by_id(event.number("id"))
        service.remove(workspace, [row])
        text = f"Removed: {row['encoder']} on {row['task']} under {row['protocol']}."
        return {**everything(), card: "", notice: parts.say(text)}

    opened = on_load(load, [*shown, card], notice)
    poll(POLL_SECONDS, opened, refresh, [seen], shown)
    on(board.select, open_card, None, [card], notice, scroll_to_output=True, **HIDE_PROGRESS)
    on(card.act, act, None, [*shown, card], notice, **HIDE_PROGRESS)


def _whole(published: Published) -> list[tuple[str, NoSpec]]:
    return [("", NoSpec())]


def _blocks(workspace: Workspace, spec: NoSpec) -> list[Block]:
    """The scores, with the card and the interval of each."""
    columns, rows = service.table(workspace)
    if not columns:
        raise UserError("No encoder was evaluated.", code="no-result")
    ids = results(rows)
    props = {
        "caption": LABEL,
        "name": NAME,
        "cards": {str(number): views.card(workspace, number) for number in ids},
        "intervals": {str(number): service.interval(workspace, number) for number in ids},
    }
    finding = service.finding(columns, rows)
    return [
        Finding(finding),
        Links([Link("Compare says whether this is significant", "compare")] if finding else []),
        Component("heatmap", grid(columns, rows), props),
        Text("", views.FOOTNOTE),
    ]


PUBLISHED = Static(None, _whole, blocks=_blocks, all_encoders=True)
