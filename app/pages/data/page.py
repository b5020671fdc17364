"""The page *Data*: what there is to measure on and to search, and how to bring one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from app.components.actions import actions
from app.pages.data import views
from app.pages.data.form import Form
from app.web import address, parts
from app.web.events import PageEvent
from app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Data"
PATH = "data"
DESCRIPTION = "What encoders are measured on and searched in. A name opens a preview."


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    form, hub = None, None
    if not workspace.read_only:
        with gr.Accordion("Bring a file of your own", open=False, elem_id="bring"):
            form = Form(workspace)
        with gr.Accordion("Read a file of the Hugging Face hub", open=False, elem_id="hub"):
            hub = _hub()
    notice = parts.notice()
    card = actions(elem_id="preview")
    find = gr.Textbox(label="Find", placeholder="A name, a kind, a word", elem_id="find",
                      max_lines=1)  # fmt: skip
    listing = actions(elem_id="datasets")
    opened = gr.State("")
    shown = [listing, card, opened]

    def drawn(words: str, name: str, asking: bool = False) -> tuple[str, str, str]:
        card = views.preview(workspace, name, asking) if name else ""
        return views.listing(workspace, words, name), card, name

    def load(request: gr.Request) -> tuple[Any, ...]:
        words, name = address.first(request, "find"), address.first(request, "set")
        try:
            return words, *drawn(words, name)
        except UserError as error:
            return words, *drawn(words, ""), parts.problem(error)

    def act(words: str, name: str, event: PageEvent) -> tuple[Any, ...]:
        if event.act == "remove" and not workspace.read_only:
            workspace.store.uploads.remove(event.id.removeprefix("upload:"))
            return *drawn(words, ""), parts.say(f"{event.id} is gone. Its results stay.")
        if event.act == "open":
            return drawn(words, "" if event.id == name else event.id)
        return drawn(words, event.id, asking=event.act == "ask")

    parts.on_load(parts.telling(load, 4), None, [find, *shown, notice])
    find.change(lambda words, name: views.listing(workspace, words, name), [find, opened],
               listing, **ALWAYS_LAST)  # fmt: skip
    listing.act(parts.telling(act, 3), [find, opened], [*shown, notice],
                scroll_to_output=True, **HIDE_PROGRESS)  # fmt: skip
    card.act(parts.telling(act, 3), [find, opened], [*shown, notice], **HIDE_PROGRESS)
    address.keep({"find": find})
    if form is not None and hub is not None:
        form.kept.change(
            parts.telling(drawn, 3), [find, form.kept], [*shown, notice], **ALWAYS_LAST
        )
        form.kept.change(None, form.kept, js=address.writer(["set"]))
        *boxes, read, name = hub
        named = gr.on([read.click, boxes[-1].submit], parts.telling(_hub_name, 1), boxes,
                      [name, notice], **HIDE_PROGRESS)  # fmt: skip
        named.then(parts.telling(drawn, 3), [find, name], [*shown, notice],
                   show_progress="full", show_progress_on=read)  # fmt: skip
        name.change(None, name, js=address.writer(["set"]))


def _hub() -> tuple[Any, ...]:
    """The boxes that name a file of the hub, the button, and the name they make up."""
    with gr.Row():
        repository = gr.Textbox(
            label="Data set", placeholder="mteb/stsbenchmark-sts", max_lines=1, scale=3,
            info="Owner and name.", elem_id="hub-repository",
        )  # fmt: skip
        revision = gr.Textbox(
            label="Revision", value="main", max_lines=1, scale=1, min_width=120,
            info="Commit, tag, branch.", elem_id="hub-revision",
        )  # fmt: skip
        file = gr.Textbox(
            label="File", placeholder="test.jsonl.gz", max_lines=1, scale=2,
            info="Empty: say which there are.", elem_id="hub-file",
        )  # fmt: skip
        columns = gr.Textbox(
            label="Columns", placeholder="left=sentence1&right=sentence2&score=score", scale=3,
            info="Empty: guessed.", max_lines=1, elem_id="hub-columns",
        )  # fmt: skip
    read = gr.Button("Read it", elem_id="hub-read")
    name = gr.Textbox(visible="hidden", label="Name")
    return repository, revision, file, columns, read, name


def _hub_name(repository: str, revision: str, file: str, columns: str) -> str:
    """The name that stands for these boxes everywhere else.

    Raises:
        UserError: no data set was named, or the boxes do not make up a name.
    """
    from urllib.parse import quote

    from engine.datasets import hub

    if not repository.strip():
        raise UserError("No data set was named.", "Write owner/name as on the hub.")
    head = f"{hub.PREFIX}{repository.strip()}@{quote(revision.strip() or 'main', safe='')}"
    path = f"/{quote(file.strip())}" if file.strip() else ""
    name = f"{head}{path}" + (f"?{columns.strip()}" if columns.strip() else "")
    hub.parse(name)
    return name
