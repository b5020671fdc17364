"""The first page: all results, encoders by tasks, and current runs."""

from functools import partial
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.blocks import Block, Component
from theodolite.app.components.heatmap import grid, heatmap, results
from theodolite.app.pages.overview import answer
from theodolite.app.published import NoSpec, Published, Static
from theodolite.app.surfaces import document
from theodolite.app.web import parts, progress
from theodolite.app.web.controls import Answer, Control, Controls, PageEvent, on, on_load, poll
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store.run_rows import LIVE

TITLE = "Home"
PATH = ""
DESCRIPTION = "Every encoder on every task. Click a cell for its numbers and protocol."
POLL_SECONDS = 2
LABEL, NAME = "Scores of encoders by task", "theodolite-scores"
ACTIONS = (
    '<a class="t-button t-primary" href="./evaluate">Evaluate</a> '
    '<a class="t-button" href="./encoders">Add an encoder</a>'
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(Control("result", "Result", default="", options={"visible": "hidden"}))
    with parts.bar(TITLE, DESCRIPTION):
        if not workspace.read_only:
            parts.static(ACTIONS)
    notice = parts.notice()
    result = controls.render("result")
    headline = web.answer(elem_id="headline", elem_classes=["t-answer"])
    board = heatmap(
        label=LABEL,
        name=NAME,
        interval=partial(answer.interval, workspace),
        elem_id="scores",
        elem_classes=["t-answer"],
    )
    strip = parts.static("", elem_id="running")
    card = web.answer(elem_id="result-card")
    below = web.answer()
    marks = gr.State([])
    page_parts = [strip, headline, board, below, marks]

    def everything() -> dict[Any, Any]:
        runs = workspace.store.runs.list(LIVE)
        columns, rows = answer.table(workspace)
        footnote = answer.FOOTNOTE if columns else []
        return {
            strip: progress.strip(runs),
            headline: web.value(answer.headline(columns, rows)),
            board: grid(columns, rows) if columns else None,
            below: web.value([*footnote, *answer.welcome(rows)]),
            marks: progress.signature(runs),
        }

    def one(number: str) -> dict[Any, Any]:
        blocks = answer.card(workspace, int(number)) if number.isdecimal() else []
        return {result: number, card: web.value(blocks)}

    def load(request: gr.Request) -> Answer:
        return everything() | one(controls.from_address(request).result)

    def refresh(known: list[list[Any]]) -> Answer:
        runs = workspace.store.runs.list(LIVE)
        now = progress.signature(runs)
        if now == known:
            return None
        if progress.finished_part(now) == progress.finished_part(known):
            return {strip: progress.strip(runs), marks: now}
        return everything()

    def open_card(event: PageEvent) -> Answer:
        return one(str(event.number("result")))

    def act(event: PageEvent) -> Answer:
        row = workspace.store.results.by_id(event.number("id"))
        answer.remove(workspace, [row])
        text = f"Removed: {row['encoder']} on {row['task']} under {row['protocol']}."
        return everything() | one("") | {notice: parts.say(text)}

    opened = on_load(load, [*page_parts, result, card], notice)
    poll(POLL_SECONDS, opened, refresh, [marks], page_parts)
    outputs = [result, card]
    on(board.select, open_card, None, outputs, notice, scroll_to_output=True, **parts.HIDE_PROGRESS)
    on(card.act, act, None, [*page_parts, *outputs], notice, **parts.HIDE_PROGRESS)
    controls.keep()


def _whole(published: Published) -> list[tuple[str, NoSpec]]:
    return [("", NoSpec())]


def _blocks(workspace: Workspace, spec: NoSpec) -> list[Block]:
    """The scores, with the card and the interval of each."""
    columns, rows = answer.table(workspace)
    if not columns:
        raise UserError("No encoder was evaluated.", code="no-result")
    cards = {number: document.pieces(answer.card(workspace, number)) for number in results(rows)}
    props = {
        "caption": LABEL,
        "name": NAME,
        "cards": {str(n): "".join(map(str, pieces)) for n, pieces in cards.items()},
        "intervals": {str(number): answer.interval(workspace, number) for number in cards},
    }
    scores = Component("heatmap", grid(columns, rows), props)
    return [*answer.headline(columns, rows), scores, *answer.FOOTNOTE]


PUBLISHED = Static(None, _whole, blocks=_blocks, all_encoders=True)
