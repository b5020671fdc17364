"""Judgements in published pages: the estimates, and the last question."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.pages.judge import example, report, service, views
from theodolite.app.pages.judge.session import SETTLED, Session
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, on_load
from theodolite.app.web.frozen import Published, View, kept
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

KIND = "judgement"
DESCRIPTION = (
    "Encoders compared by what a person found relevant, without knowing which encoder "
    "returned it: the difference of each pair after every mark, with an interval that is "
    "valid even if you look after every mark."
)

EXAMPLE = (
    '<p class="t-muted">A session on the starter set, played by a script that knows the labels.</p>'
)


def carry(published: Published) -> None:
    """Publish the sessions of published encoders on data whose texts are published."""
    for row in published.source.store.judgements.list():
        spec = row["spec"]
        wanted = set(spec["encoders"]) <= published.encoders.keys()
        if not (wanted and row["marks"] and spec["collection"] in published.texts):
            continue
        with suppress(UserError):  # its texts are not published
            published.workspace.catalog.load(published.texts[spec["collection"]])
            board = report.board(_nameless(service.opened(published.source, row["id"])))
            if board["second"]:  # the address of its server is private
                board["second"] |= {"model": board["second"]["model"].rpartition("#")[2]}
            published.keep(KIND, row["id"], board | {"id": "", "title": row["title"]})


def _nameless(found: Session) -> Session:
    """The session with its judges numbered instead of named."""
    names = sorted({name for at in found.marks.values() for name in at} - {SETTLED})
    called = {name: f"judge {number}" for number, name in enumerate(names, 1)} | {SETTLED: SETTLED}
    marks = {
        position: {called[name]: mark for name, mark in at.items()}
        for position, at in found.marks.items()
    }
    return replace(found, marks=marks)


def sessions(published: Published) -> list[View]:
    """Every published session, the newest first; else the shipped example."""
    found = []
    for row in published.source.store.judgements.list():
        if board := kept(published.workspace, KIND, row["id"]):
            found.append(View(board["title"], (("session", row["id"]),)))
    board = example.board()
    if not found and board and set(board["blind"]) <= set(published.encoders.values()):
        with suppress(UserError):
            published.workspace.catalog.load(board["collection"])
            found.append(View("Example", ()))
    return found


def build(workspace: Workspace) -> None:
    """Lay out the page: one session, read-only."""
    with parts.bar("Judge", DESCRIPTION):
        pass
    notice = parts.notice()
    place = parts.static("", elem_id="judging", elem_classes=["t-answer"])

    def load(request: gr.Request) -> Answer:
        session = address.first(request, "session")
        board: Any = kept(workspace, KIND, session) if session else example.board()
        if board is None:
            raise UserError(f"The session {session[:40]!r} is not published.", code="unknown")
        left = views.last(board, "The last mark" if session else "The script")
        found = views.findings(board, names=True, visitor=True)
        return {place: views.whole(left, found, before="" if session else EXAMPLE)}

    on_load(load, [place], notice)
