"""The first page: what was measured, encoders by tasks, and what is being measured now."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app.components.actions import actions
from app.components.heatmap import grid, heatmap
from app.pages.overview import service
from app.web import address, parts, progress
from app.web.events import PageEvent

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Overview"
PATH = ""
POLL_SECONDS = 2

STARTERS = (
    ("minilm", "a transformer tuned on a billion sentence pairs: all-MiniLM-L6-v2",
     "what good looks like at 23 million parameters"),
    ("wordllama", "static word vectors taken from a large language model and averaged",
     "very fast, and no sense of word order"),
    ("random:256", "a random vector for every word, added up",
     "the baseline of shared words: whatever it reaches, no meaning was needed for"),
)  # fmt: skip
FOOTNOTE = (
    "StarterSTS, StarterTopics and StarterSearch are measured on the starter set, which we wrote "
    "for this app. Its grades follow a written rubric; agreement between people was not measured."
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header("Overview", "Every encoder on every task. A cell opens its numbers and protocol.")
    welcome = parts.static("")
    strip = parts.static("", elem_id="running")
    nothing = parts.static("")
    board = heatmap(
        label="Scores of encoders by task",
        name="theodolite-scores",
        interval=partial(service.interval, workspace),
        elem_id="scores",
    )
    footnote = parts.static("")
    notice = parts.notice()
    card = actions(elem_id="result")
    seen = gr.State([])

    def everything() -> tuple[Any, ...]:
        runs = _live(workspace)
        columns, rows = service.table(workspace)
        measured = [row for row in rows if not row.published]
        return (
            _welcome(measured),
            progress.strip(runs),
            _nothing(columns),
            grid(columns, rows) if columns else None,
            f'<p class="t-muted t-small">{escape(FOOTNOTE)}</p>' if columns else "",
            progress.signature(runs),
        )

    def load(request: gr.Request) -> tuple[Any, ...]:
        asked = address.first(request, "result")
        opened = service.card(workspace, int(asked)) if asked.isdecimal() else ""
        return (*everything(), opened)

    def poll(known: list[list[Any]]) -> tuple[Any, ...]:
        runs = _live(workspace)
        now = progress.signature(runs)
        if now == known:
            return tuple(gr.skip() for _ in shown)
        if progress.finished(now) == progress.finished(known):
            return (gr.skip(), progress.strip(runs), gr.skip(), gr.skip(), gr.skip(), now)
        return everything()

    def open_card(event: PageEvent) -> str:
        return service.card(workspace, event.number("result"))

    def act(event: PageEvent) -> tuple[Any, ...]:
        if event.act != "remove":
            return tuple(gr.skip() for _ in (*shown, card))
        row = workspace.remove_result(event.number("id"))
        said = f"Removed: {row['encoder']} on {row['task']} under {row['protocol']}."
        return (*everything(), "", parts.say(said))

    shown = [welcome, strip, nothing, board, footnote, seen]
    opened = parts.on_load(parts.telling(load, 7), None, [*shown, card, notice])
    parts.poll(POLL_SECONDS, opened, poll, seen, shown)
    board.select(
        parts.telling(open_card, 1), None, [card, notice],
        show_progress="hidden", scroll_to_output=True,
    )  # fmt: skip
    card.act(parts.telling(act, 7), None, [*shown, card, notice], show_progress="hidden")


def _live(workspace: Workspace) -> list[Any]:
    from store.runs import LIVE

    return list(workspace.store.runs.list(LIVE))


def _nothing(columns: list[Any]) -> str:
    if columns:
        return ""
    return parts.empty(
        "Nothing is measured yet",
        "Choose encoders and tasks; the scores appear here as they are measured.",
        ("Evaluate", "./evaluate"),
    )


def _welcome(rows: list[Any]) -> str:
    """For newcomers: gone once an encoder of their own is there, or when they close it."""
    names = {name for name, _, _ in STARTERS}
    if not rows or any(row.name not in names for row in rows):
        return ""
    items = "".join(
        f'<li><span class="t-spec">{escape(name)}</span><span>{escape(what)}</span>'
        f"<small>{escape(why)}</small></li>"
        for name, what, why in STARTERS
    )
    return (
        '<section class="t-welcome" aria-label="Welcome"><h2>Three encoders to start with</h2>'
        f"<ul>{items}</ul><p>They are measured first on the starter set: sentence pairs graded 0 "
        "to 5 and sentences in topics, <strong>written by us</strong> and small, so that there is "
        "something to see without a download. "
        '<a href="./encoders">Add an encoder of your own</a>, or '
        '<a href="./data">bring your data</a>.</p>'
        '<button type="button" class="t-link" onclick="theodolite.dismissWelcome()">Hide this'
        "</button></section>"
    )
