"""The page *Decode*: a sentence, and what each encoder's vector kept of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from app.components import told
from app.pages.decode import form, service
from app.pages.encoders import choices
from app.web import address, parts
from app.web.parts import HIDE_PROGRESS

if TYPE_CHECKING:
    from app.batches import Waiting
    from app.pages.decode.service import How, Said
    from app.workspace import Workspace

TITLE = "Decode"
PATH = "decode"
DESCRIPTION = (
    "Write a sentence. Each encoder makes a vector of it, and its decoder has to say the sentence "
    "again from the vector alone: what comes back is what the vector kept."
)
NOTHING = parts.empty("No sentence yet", "Write one above and press Enter, or have one picked.")
LONGEST_EXAMPLE = 8
"""Words of a sentence that is offered: any decoder knows as many."""


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    sentence = gr.Textbox(
        label="Sentence", placeholder="The old dog slept by the fire.", lines=1, max_lines=3,
        max_length=2 * service.MOST_CHARACTERS, elem_id="sentence",
    )  # fmt: skip
    encoders = choices.encoder_box()
    options = form.options()
    with gr.Row(elem_classes=["t-tight"]):
        go = gr.Button("Decode", variant="primary", elem_id="decode-button")
        pick = gr.Button("Pick a sentence", size="md", elem_id="pick")
    notice = parts.notice()
    found = parts.static("", elem_id="told")
    controls = [sentence, encoders, *options.values()]

    def load(request: gr.Request) -> tuple[Any, ...]:
        first = form.first_encoders(workspace)
        chosen = choices.asked(workspace, request, first)
        asked = form.asked(request)
        said = address.first(request, "q")[: 2 * service.MOST_CHARACTERS]
        return said, choices.filled(workspace, chosen), *asked

    def decode(request: gr.Request, text: str, names: list[str], *values: Any) -> Iterator[Any]:
        yield from _answered(workspace, request, text, choices.need(names or []), form.how(*values))

    def reopen(request: gr.Request, text: str, names: list[str], *values: Any) -> Iterator[Any]:
        """Another option, or a page just opened, is no reason to ask for a sentence."""
        how = form.how(*values)
        if text.strip():
            yield from _answered(workspace, request, text, choices.need(names or []), how)
        else:
            yield NOTHING

    decoded, reopened = parts.telling(decode, 1), parts.telling(reopen, 1)
    opened = parts.on_load(parts.telling(load, len(controls)), None, [*controls, notice])
    opened.then(reopened, controls, [found, notice], **form.MANY)
    again = [box.input for box in (encoders, *options.values())]
    gr.on([go.click, sentence.submit], decoded, controls, [found, notice], **form.MANY)
    gr.on(again, reopened, controls, [found, notice], **form.MANY)
    pick.click(
        parts.telling(lambda: _drawn(workspace), 1), None, [sentence, notice], **HIDE_PROGRESS
    ).then(decoded, controls, [found, notice], **form.MANY)
    address.keep({"q": sentence, "encoder": encoders, **options}, form.DEFAULTS)


def _answered(
    workspace: Workspace, request: gr.Request, text: str, names: list[str], how: How
) -> Iterator[str]:
    """The cards, one after another as they are ready; quick ones without a word before."""
    text = service.checked(text)

    def ask(name: str, waiting: Waiting) -> list[Said]:
        return service.decoded(workspace, [name], text, how, waiting)

    for done in form.answered(workspace, names, ask, request.session_hash):
        heard = any(not isinstance(one, tuple) for one in done)
        yield told.cards(done) + (told.LEGEND if heard else "")


def _drawn(workspace: Workspace) -> str:
    """A short sentence of the starter set."""
    sentences, _ = workspace.catalog.sentences("starter-topics")
    return random.choice([s for s in sentences if len(s.split()) <= LONGEST_EXAMPLE])
