"""The page *Data*: data sets to evaluate on and to search, and forms to add your own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from theodolite.app import suites as mteb_suites
from theodolite.app.components.actions import actions
from theodolite.app.pages.data import form, service, suites, suites_views, views
from theodolite.app.pages.jobs import run_panel
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import address, background_call, parts
from theodolite.app.web.controls import (
    Answer,
    Control,
    Controls,
    Values,
    on,
    on_load,
    opening,
)
from theodolite.app.web.events import PageEvent
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

TITLE = "Data"
PATH = "data"
CLOSED = (
    "Uploads are disabled here; nothing from visitors is stored. Run Theodolite on your own "
    "machine to use your own files."
)
DESCRIPTION = "Data sets to evaluate and to search. Click a name for a preview."
CONTROLS = (
    Control(
        "find",
        "Find",
        default="",
        options={"placeholder": "A name, a kind, a word", "max_lines": 1},
    ),
)
NARROW = """(words) => requestAnimationFrame(
  () => theodolite.narrow("#datasets, #suites", words))"""
DONE = """() => document.querySelector("#more.t-open .t-rest-head button")?.click()"""
"""Closes the panel, which may cover the added data set."""
FIRST = "Reading what mteb has; the first time this takes some seconds"
TO_CARD = """() => document.querySelector("#suite section")?.scrollIntoView()"""
LINE = {"max_lines": 1}
HUB = (
    Control(
        "repository",
        "Data set",
        default="",
        hint="Owner and name.",
        options=LINE
        | {"placeholder": "mteb/stsbenchmark-sts", "scale": 3, "elem_id": "hub-repository"},
    ),
    Control(
        "revision",
        "Revision",
        default="main",
        hint="Commit, tag, branch.",
        options=LINE | {"scale": 1, "min_width": 120, "elem_id": "hub-revision"},
    ),
    Control(
        "file",
        "File",
        default="",
        hint="Empty: list the files.",
        options=LINE | {"placeholder": "test.jsonl.gz", "scale": 2, "elem_id": "hub-file"},
    ),
    Control(
        "columns",
        "Columns",
        default="",
        hint="Empty: guessed.",
        options=LINE
        | {
            "placeholder": "left=sentence1&right=sentence2&score=score",
            "scale": 3,
            "elem_id": "hub-columns",
        },
    ),
)
"""The controls that name a file of the hub."""


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        find = controls.render("find", elem_classes=["t-wide"])
        brought = None if workspace.read_only else _bring(workspace)
    notice = parts.notice()
    section = _Suites(workspace)
    card = actions(elem_id="preview")
    listing = actions(elem_id="datasets", elem_classes=["t-answer"])
    opened = controls.add("opened", gr.State(""))
    section.listing.render()
    shown = [listing, card, opened]

    def drawn(name: str, asking: bool = False) -> dict[Any, Any]:
        preview = views.preview(workspace, name, asking) if name else ""
        return {listing: views.listing(workspace, name), card: preview, opened: name}

    def load(request: gr.Request) -> Answer:
        words, name = address.first(request, "find"), address.first(request, "set")
        try:
            return {find: words, **drawn(name)}
        except UserError as error:
            return {find: words, **drawn(""), notice: parts.problem(error)}

    def act(values: Values, event: PageEvent) -> Answer:
        if event.act == "remove":
            service.remove(workspace, event.id)
            text = parts.say(f"{event.id} was removed. Its results are kept.")
            return {**drawn(""), notice: text}
        if event.act == "open":
            return drawn("" if event.id == values.opened else event.id)
        return drawn(event.id, asking=event.act == "ask")

    on_load(load, [find, *shown], notice)
    gr.on([find.change, listing.change, section.listing.change], fn=None, inputs=find, js=NARROW)
    on(listing.act, act, controls, shown, notice, scroll_to_output=True, **HIDE_PROGRESS)
    on(card.act, act, controls, shown, notice, **HIDE_PROGRESS)
    section.connect(controls)
    controls.keep()
    if brought is not None:
        kept, read, named, hub = brought
        on(kept.change, drawn, [kept], shown, notice, **ALWAYS_LAST)
        for name in (kept, named):
            name.change(None, name, js=address.writer(["set"]))
            name.change(None, js=DONE)

        def from_hub(values: Values) -> Answer:
            name = service.hub_name(values.repository, values.revision, values.file, values.columns)
            return {named: name, **drawn(name)}

        on(
            [read.click, hub["columns"].submit],
            from_hub,
            {**controls, **hub},
            [named, *shown],
            notice,
            show_progress="full",
            show_progress_on=read,
        )


def _bring(workspace: Workspace) -> tuple[Any, Any, Any, Controls]:
    """Lay out the forms for a file of your own and for one of the hub.

    Returns:
        The hidden box of the first form; button, hidden box and controls of the second.
    """
    with parts.more("Bring data", named=True):
        with gr.Accordion("Add your own files", elem_id="bring"):
            kept = form.build(workspace)
        with gr.Accordion("Read a file from the Hugging Face hub", open=False, elem_id="hub"):
            hub = Controls(*HUB)
            with gr.Row():
                hub.render(*hub.declared)
            read = gr.Button("Read it", elem_id="hub-read")
            named = gr.Textbox(visible="hidden", label="Name")
    return kept, read, named, hub


class _Suites:
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
            known = mteb_suites.look_up(self._workspace)
            visitor = self._workspace.read_only
            card = suites_views.card(suites.suite(name), visitor) if name else ""
            return suites_views.listing(known, name), card

        for words, found in background_call.followed(find, FIRST, session):
            if found is None:
                yield {self._card: words}
            else:
                yield {self.listing: found[0], self._card: found[1], self._opened: name}

    def _closed(self) -> dict[Any, Any]:
        known = mteb_suites.known(self._workspace)
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
