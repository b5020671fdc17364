"""The page *Data*: data sets to evaluate on and to search, and forms to add your own."""

from collections.abc import Iterator, Mapping
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import suites as names
from theodolite.app.blocks import Block
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.data import form, service, sets, suites
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import address, background_call, parts
from theodolite.app.web.controls import Answer, Control, Controls, PageEvent, Values, on, on_open
from theodolite.app.workspace import Workspace

TITLE = "Data"
PATH = "data"
CLOSED = (
    "Uploads are disabled here; nothing from visitors is stored. Run Theodolite on your own "
    "machine to use your own files."
)
DESCRIPTION = "Data sets to evaluate and to search. Click a name for a preview."
NARROW = """(words) => requestAnimationFrame(() => theodolite.narrow("#datasets", words))"""
TO_CARD = """() => theodolite.reach("#preview section")"""
LINE = {"max_lines": 1}
CONTROLS = (
    Control("find", "Find", options=LINE | {"placeholder": "A name, a kind, a word"}),
    Control("set", "Opened", options={"visible": "hidden"}),
)
HUB = (
    Control(
        "repository",
        "Data set",
        hint="Owner and name.",
        options=LINE | {"placeholder": "mteb/stsbenchmark-sts", "scale": 3},
    ),
    Control(
        "revision",
        "Revision",
        default="main",
        hint="Commit, tag, branch.",
        options=LINE | {"scale": 1, "min_width": 120},
    ),
    Control(
        "file",
        "File",
        hint="Empty: list the files.",
        options=LINE | {"placeholder": "test.jsonl.gz", "scale": 2, "elem_id": "hub-file"},
    ),
    Control(
        "columns",
        "Columns",
        hint="Empty: guessed.",
        options=LINE | {"placeholder": "left=sentence1&right=sentence2&score=score", "scale": 3},
    ),
)
"""The controls that name a file of the hub."""


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls, hub = Controls(*CONTROLS), Controls(*HUB)
    with parts.bar(TITLE, DESCRIPTION):
        find = controls.render("find", elem_classes=["t-wide"])
        if not workspace.read_only:
            added, read = _bring(workspace, hub)
    opened = controls.render("set")
    notice = parts.notice()
    panel = RunPanel(workspace)
    controls.add("run", panel.run)
    card = web.answer(elem_id="preview")
    listing = web.answer(elem_id="datasets", elem_classes=["t-answer"])
    nothing = parts.empty("No data set matches", "Clear the field to see all of them.")
    parts.static(f'<div id="datasets-none" hidden>{nothing}</div>')
    updates = {
        "card": card,
        "listing": listing,
        "opened": opened,
        "run": panel.run,
        "notice": notice,
    }

    def changes(fields: Iterator[Mapping[str, Any]]) -> Iterator[Answer]:
        yield from ({updates[name]: value for name, value in field.items()} for field in fields)

    def load(request: gr.Request) -> Answer:
        name = address.first(request, "set") or address.first(request, "suite")
        run = address.first(request, "run")
        return {find: address.first(request, "find"), opened: name, panel.run: run}

    def show(values: Values, request: gr.Request) -> Iterator[Answer]:
        yield from changes(_open(workspace, values.set.strip(), request.session_hash))

    def act(values: Values, event: PageEvent, request: gr.Request) -> Iterator[Answer]:
        yield from changes(_act(workspace, values.set, event, request.session_hash))

    def from_hub(values: Values, request: gr.Request) -> Iterator[Answer]:
        name = service.hub_name(**vars(values))
        yield from changes(_open(workspace, name, request.session_hash))

    outputs = list(updates.values())[:-1]
    on_open(load, show, controls, outputs, notice)
    gr.on([find.change, listing.change], fn=None, inputs=find, js=NARROW)
    # What was pressed last is shown, also if pressed while another is still read.
    in_order = {**parts.HIDE_PROGRESS, "trigger_mode": "multiple", "concurrency_limit": 1}
    for part in (card, listing):
        on(part.act, act, controls, outputs, notice, **in_order).then(None, js=TO_CARD)
    on(panel.moved.change, show, controls, outputs, notice, **parts.ALWAYS_LAST)
    controls.keep("set")
    if not workspace.read_only:
        on(added.change, show, {"set": added}, outputs, notice, **parts.ALWAYS_LAST).then(
            None, js=parts.CLOSE_MORE
        )
        triggers, waiting = [read.click, hub["columns"].submit], {"show_progress_on": read}
        on(triggers, from_hub, hub, outputs, notice, **waiting).then(None, js=parts.CLOSE_MORE)


def _bring(workspace: Workspace, hub: Controls) -> tuple[Any, gr.Button]:
    """Lay out the forms; return the box of `form.build`, and the button that reads from the hub."""
    with parts.more("Bring data", is_named=True):
        with gr.Accordion("Add your own files", elem_id="bring"):
            added = form.build(workspace)
        with gr.Accordion("Read a file from the Hugging Face hub", open=False):
            with gr.Row():
                hub.render(*hub.declared)
            read = gr.Button("Read it", elem_id="hub-read")
    return added, read


def _act(
    workspace: Workspace, name: str, event: PageEvent, session: str | None
) -> Iterator[Mapping[str, Any]]:
    """Answer a button, while a data set or a suite is opened."""
    if event.act == "fetch":
        yield {"run": queue(workspace, suites.fetch_job(name, event.id.split()))}
    elif event.act == "remove":
        service.remove(workspace, event.id)
        yield from _open(workspace, "", session)
        yield {"notice": parts.say(f"{event.id} was removed. Its results are kept.")}
    else:
        yield from _open(workspace, event.id, session, event.act == "list")


def _open(
    workspace: Workspace, name: str, session: str | None, look_up: bool = False
) -> Iterator[Mapping[str, Any]]:
    """Yield the list, and what is opened; a suite is read from mteb, and all are to `look_up`."""
    of_mteb = names.is_suite(name)

    def read(_say: background_call.Say) -> tuple[list[Block]]:
        if of_mteb or look_up:
            names.look_up(workspace)
        if of_mteb:
            return ([suites.suite(name).block(workspace.read_only)],)
        return ([sets.preview(workspace, name)] if name else [],)

    def listing() -> dict[str, Any]:
        every = [*sets.list_sets(workspace), suites.list_suites(names.known(workspace))]
        return {"listing": web.value(every)}

    words = "Reading the list of data sets; the first time this takes some seconds"
    yield from background_call.changes(lambda _say: listing(), words, session, "listing")
    first = f"Reading {name or 'what mteb has'}; the first time this takes some seconds"
    for progress, answer in background_call.follow(read, first, session):
        if answer is None:
            yield {"card": progress}
        else:
            yield {"card": web.value(answer[0]), "opened": name}
    if of_mteb or look_up:
        yield listing()
