"""Judging in published pages: sessions of published encoders on published texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from theodolite.app.blocks import Block, Text
from theodolite.app.pages.judge.answer import STATUS, Judgement, board_of, judgement
from theodolite.app.pages.judge.session import SETTLED, Session, opened
from theodolite.app.pages.judge.spec import StatusSpec
from theodolite.app.published import Published, kept
from theodolite.app.surfaces.static import Static
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

KIND = "judgement"


def _carry(published: Published) -> None:
    """Publish the sessions of published encoders on data whose texts are published."""
    for row in published.source.store.judgements.list():
        spec = row["spec"]
        wanted = set(spec["encoders"]) <= published.encoders.keys()
        if not (wanted and row["marks"] and spec["collection"] in published.texts):
            continue
        with suppress(UserError):  # its texts are not published
            published.workspace.catalog.load(published.texts[spec["collection"]])
            board = board_of(_nameless(opened(published.source, row["id"])))
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


def _views(published: Published) -> Iterator[tuple[str, StatusSpec]]:
    """Every published session, the newest first; else the shipped example."""
    found = False
    for row in published.source.store.judgements.list():
        if board := kept(published.workspace, KIND, row["id"]):
            found = True
            yield board["title"], StatusSpec(row["id"])
    board = judgement(published.workspace, "", names=True).board
    if not found and set(board["blind"]) <= set(published.encoders.values()):
        with suppress(UserError):
            published.workspace.catalog.load(board["collection"])
            yield "Example", StatusSpec("")


def _blocks(workspace: Workspace, spec: StatusSpec) -> Sequence[Block]:
    """What all marks say, and the last question."""
    said = judgement(workspace, "", names=True)
    if spec.session:
        board: Any = kept(workspace, KIND, spec.session)
        if board is None:
            raise UserError(f"The session {spec.session[:40]!r} is not published.", code="unknown")
        said = Judgement(board)
    last = said.board["last"]
    texts = " / ".join(" · ".join(one) for one in last["texts"])
    marked = Text(last["query"], f"{texts} (marked {last['mark']:g})")
    return [*said.blocks(), Text("The last question"), marked]


PUBLISHED = Static(STATUS, _views, _carry, _blocks)
