"""The page *Arithmetic*: an expression over named sentences, decoded by each decoder."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import gradio as gr

from theodolite.app.pages.decode import example, form, published, service
from theodolite.app.pages.decode.analogies import ANALOGY, PRESETS, preset_of
from theodolite.app.pages.decode.answer import AnalogySpec, calculated_card
from theodolite.app.pages.encoders import choices
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_load
from theodolite.app.web.parts import ALWAYS_LAST
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.batches import Waiting
    from theodolite.app.pages.decode.service import DecodeResult
    from theodolite.app.workspace import Workspace

TITLE = "Arithmetic"
PATH = "arithmetic"
DESCRIPTION = (
    "Calculate with sentences: an expression over their vectors is itself a point, and each "
    "decoder writes the sentence it finds there. + and - combine sentences, * and / take a "
    "number, parentheses group; a - b + c is the analogy a : b :: z : c."
)
PUBLISHED = published.ARITHMETIC
OWN = "My own"
MAX_EXPRESSION = 5000
MAX_TEXT = 60_000
"""Most characters of all named sentences in the text box."""
NOTHING = parts.empty("Nothing to calculate", "Choose a preset, or enter names and an expression.")
CONTROLS = (
    Control(
        "expression",
        "Expression",
        default=example.ANALOGY.expression,
        key="x",
        options={
            "placeholder": ANALOGY,
            "lines": 1,
            "max_lines": 3,
            "max_length": MAX_EXPRESSION,
            "elem_classes": ["t-mono", "t-wide"],
        },
    ),
    Control(
        "sentences",
        "Sentences, one per line",
        default=example.ANALOGY.lines,
        key="let",
        hint="A name, an equals sign, a sentence.",
        options={
            "placeholder": PRESETS[0].lines,
            "lines": 3,
            "max_lines": 14,
            "max_length": MAX_TEXT,
        },
    ),
    choices.ENCODERS,
    *form.OPTIONS,
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        expression = controls.render("expression")
        go = gr.Button("Calculate", variant="primary", elem_id="calculate-button")
        preset = gr.Dropdown(
            [OWN, *(preset.title for preset in PRESETS)],
            label="Preset",
            value=example.ANALOGY.title,
            elem_id="preset",
        )
        with parts.more():
            controls.render("encoder")
            form.render(controls)
    notice = parts.notice()
    with gr.Row(equal_height=False, elem_classes=["t-sum"]):
        with gr.Column(scale=2, min_width=300):
            sentences = controls.render("sentences")
        with gr.Column(scale=5, min_width=300):
            found = parts.static("", elem_id="told", elem_classes=["t-answer"])

    def load(request: gr.Request) -> Answer:
        values = controls.from_address(request)
        chosen = choices.from_address(workspace, request, form.first_encoders(workspace))
        values.encoder = choices.filled(workspace, chosen)
        values.expression = (values.expression or "")[:MAX_EXPRESSION]
        lines = address.every(request, "let") or [example.ANALOGY.lines]
        values.sentences = "\n".join(lines)[:MAX_TEXT]
        filled = {controls[name]: value for name, value in vars(values).items()}
        return {preset: _preset_of(values.expression, values.sentences), **filled}

    def answer(values: Values, session: str | None, shipped: bool) -> Iterator[Answer]:
        """Yield the table each time an encoder has answered."""
        names, options, text = (
            choices.need(values.encoder or []),
            form.options(values),
            values.expression,
        )
        if not text.strip():
            raise UserError(
                "The expression is empty.", f"Write one, such as {ANALOGY}.", code="missing"
            )
        sentences = tuple(line for line in values.sentences.splitlines() if line.strip())
        spec = AnalogySpec(expression=text, named=sentences, encoders=names, **vars(options))
        lines = spec.sentences()
        known = (
            example.calculated(workspace, names, text, values.sentences, options) if shipped else {}
        )

        def ask(name: str, waiting: Waiting) -> list[DecodeResult]:
            return service.calculate(workspace, [name], text, lines, options, waiting)

        below = f"A person might say: {spec.expected}"
        expected = parts.heading("", below) if spec.expected else ""
        card = partial(calculated_card, spec=spec)
        for cards in form.answers(workspace, names, ask, session, known, card):
            yield {found: cards + expected}

    def nothing(values: Values) -> Answer:
        return None if (values.expression + values.sentences).strip() else {found: NOTHING}

    calculate, again, reopen = form.handlers(answer, nothing)

    def take(title: str) -> Answer:
        chosen = next((one for one in PRESETS if one.title == title), None)
        return {expression: chosen.expression, sentences: chosen.lines} if chosen else None

    opened = on_load(load, [preset, *controls.values()], notice)
    taken = on(preset.input, take, [preset], [expression, sentences], notice, **ALWAYS_LAST)
    on(opened.success, reopen, controls, [found], notice, **form.MANY)
    for event in (taken.then, form.changes(controls, "encoder")):
        on(event, again, controls, [found], notice, **form.MANY)
    on(
        [go.click, expression.submit, sentences.submit],
        calculate,
        controls,
        [found],
        notice,
        **form.MANY,
    )
    # Without a notice: it would clear one that an answer has filled in the meantime.
    gr.on(
        [expression.input, sentences.input],
        _preset_of,
        [expression, sentences],
        preset,
        **ALWAYS_LAST,
    )
    controls.keep()


def _preset_of(expression: str, lines: str) -> str:
    """The title of the preset with this expression and these sentences, or `OWN`."""
    preset = preset_of(expression, lines.splitlines())
    return preset.title if preset else OWN
