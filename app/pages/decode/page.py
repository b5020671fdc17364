"""The page *Decode*: a sentence, and what each encoder's vector preserves of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import gradio as gr

from theodolite.app.pages.decode import example, form, published, service
from theodolite.app.pages.encoders import choices
from theodolite.app.web import parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_load
from theodolite.app.web.parts import HIDE_PROGRESS

if TYPE_CHECKING:
    from theodolite.app.batches import Waiting
    from theodolite.app.pages.decode.service import DecodeResult
    from theodolite.app.workspace import Workspace

TITLE = "Decode"
PATH = "decode"
DESCRIPTION = (
    "Write a sentence. Each encoder turns it into a vector, and its decoder reconstructs the "
    "sentence from the vector alone: what comes back is what the vector preserves."
)
NOTHING = parts.empty("No sentence", "Write one above and press Enter, or pick one at random.")
CONTROLS = (
    Control(
        "sentence",
        "Sentence",
        default=example.SENTENCE,
        key="q",
        options={
            "placeholder": "Write a sentence",
            "lines": 1,
            "max_lines": 3,
            "max_length": form.MAX_TYPED,
            "elem_classes": ["t-wide", "t-bare"],
        },
    ),
    choices.ENCODERS,
    *form.OPTIONS,
)
PUBLISHED = published.ROUND_TRIPS
MAX_EXAMPLE_WORDS = 8
"""Most words of a random sentence; within the maximum length of any decoder."""


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        sentence = controls.render("sentence")
        go = gr.Button("Decode", variant="primary", elem_id="decode-button")
        with parts.more():
            controls.render("encoder")
            form.render(controls)
            pick = gr.Button("Pick a sentence", size="md", elem_id="pick")
    notice = parts.notice()
    found = parts.static("", elem_id="told", elem_classes=["t-answer"])

    def load(request: gr.Request) -> Answer:
        values = controls.from_address(request)
        chosen = choices.from_address(workspace, request, form.first_encoders(workspace))
        values.encoder = choices.filled(workspace, chosen)
        values.sentence = (values.sentence or "")[: form.MAX_TYPED]
        return {controls[name]: value for name, value in vars(values).items()}

    def answer(values: Values, session: str | None, shipped: bool) -> Iterator[Answer]:
        """Yield the cards each time an encoder has answered; fast answers show no progress."""
        names, options = choices.need(values.encoder or []), form.options(values)
        text = service.checked(values.sentence)
        known = example.decoded(workspace, names, text, options) if shipped else {}

        def ask(name: str, waiting: Waiting) -> list[DecodeResult]:
            return service.decode(workspace, [name], text, options, waiting)

        for cards in form.answers(workspace, names, ask, session, known):
            yield {found: cards}

    def nothing(values: Values) -> Answer:
        return None if values.sentence.strip() else {found: NOTHING}

    decode, again, reopen = form.handlers(answer, nothing)
    opened = on_load(load, controls.values(), notice)
    on(opened.then, reopen, controls, [found], notice, **form.MANY)
    on(form.changes(controls, "encoder"), again, controls, [found], notice, **form.MANY)
    picked = on(
        pick.click, lambda: {sentence: _drawn(workspace)}, None, [sentence], notice, **HIDE_PROGRESS
    )
    for event in ([go.click, sentence.submit], picked.then):
        on(event, decode, controls, [found], notice, **form.MANY)
    controls.keep()


def _drawn(workspace: Workspace) -> str:
    """A short sentence of the starter set."""
    sentences, _ = workspace.catalog.sentences("starter-topics")
    return random.choice([s for s in sentences if len(s.split()) <= MAX_EXAMPLE_WORDS])
