"""The section of the page Data that shows MTEB's suites and downloads their data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app import suites as names
from theodolite.app.components.actions import actions
from theodolite.app.pages.data import suites, suites_views
from theodolite.app.pages.jobs import run_panel
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import address, background_call, parts
from theodolite.app.web.controls import Answer, Controls, Values, on, opening
from theodolite.app.web.events import PageEvent
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

FIRST = "Reading what mteb has; the first time this takes some seconds"

TO_CARD = """() => document.querySelector("#suite section")?.scrollIntoView()"""


class Section:
    """The opened suite and the download's run; the list of all suites is rendered by the page.

    Attributes:
        listing: the list of all suites, not rendered yet.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._panel = RunPanel(workspace)
        self._notice = parts.notice()  # a separate one: the list of data sets has its own
        self._card = actions(elem_id="suite")
        self._opened = gr.State("")
        self.listing = actions(elem_id="suites", render=False)

    def connect(self, controls: Controls) -> None:
        """Connect the events; adds the run to the controls of the page."""
        controls.add("run", self._panel.run)
        notice = self._notice
        named, shown = {"suite": self._opened}, [self._card, self.listing, self._opened]
        on(opening(), self._load, None, [*shown, self._panel.run], notice, **HIDE_PROGRESS)
        pressed = (self._act, named, [*shown, self._panel.run], notice)
        on(self._card.act, *pressed, **HIDE_PROGRESS)
        # The suite clicked last is shown, also if clicked while another is still loading.
        in_order = {**HIDE_PROGRESS, "trigger_mode": "multiple", "concurrency_limit": 1}
        on(self.listing.act, *pressed, **in_order).then(None, js=TO_CARD)
        on(self._panel.moved.change, self._again, named, shown, notice, **ALWAYS_LAST)

    def _drawn(self, name: str, session: str | None) -> Iterator[Answer]:
        """Yield progress, then the list and a suite; imports mteb."""

        def find(_say: background_call.Say) -> tuple[str, str]:
            known = names.look_up(self._workspace)
            visitor = self._workspace.read_only
            card = suites_views.card(suites.suite(name), visitor) if name else ""
            return suites_views.listing(known, name), card

        for words, found in background_call.followed(find, FIRST, session):
            if found is None:
                yield {self._card: words}
            else:
                yield {self.listing: found[0], self._card: found[1], self._opened: name}

    def _closed(self) -> dict[Any, Any]:
        known = names.known(self._workspace)
        return {self.listing: suites_views.listing(known, ""), self._card: "", self._opened: ""}

    def _load(self, request: gr.Request) -> Iterator[Answer]:
        yield self._closed() | {self._panel.run: run_panel.from_address(self._workspace, request)}
        if name := address.first(request, "suite"):
            yield from self._drawn(name, request.session_hash)

    def _act(self, values: Values, event: PageEvent, request: gr.Request) -> Iterator[Answer]:
        if event.act == "fetch":
            some = [event.id] if event.id else []
            yield {self._panel.run: suites.run_fetch(self._workspace, values.suite, some)}
        elif event.act == "open" and event.id in ("", values.suite):
            yield self._closed()
        else:
            yield from self._drawn(event.id, request.session_hash)

    def _again(self, values: Values, request: gr.Request) -> Iterator[Answer]:
        """Redraw the opened suite after some data were downloaded."""
        if values.suite:
            yield from self._drawn(values.suite, request.session_hash)
