"""The page *Arithmetic*: an expression over named sentences, and what each decoder says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app.components import told
from app.pages.decode import form, service
from app.pages.decode.analogies import ANALOGY, PRESETS, named
from app.pages.encoders import choices
from app.web import address, parts
from app.web.parts import ALWAYS_LAST
from engine.errors import UserError

if TYPE_CHECKING:
    from app.batches import Waiting
    from app.pages.decode.service import How, Said
    from app.workspace import Workspace

TITLE = "Arithmetic"
PATH = "arithmetic"
DESCRIPTION = (
    "Calculate with sentences: an expression over their vectors is a point too, and every decoder "
    "says what stands there. a - b + c is the analogy a : b :: z : c."
)
OWN = "Of my own"
LONGEST = 5000
MOST_TEXT = 60_000
"""Characters of all named sentences; the box takes no more."""
NOTHING = parts.empty("Nothing calculated yet", "Take a preset, or write names and an expression.")


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    with gr.Row(equal_height=False):
        with gr.Column(scale=2, min_width=300):
            preset = gr.Dropdown(
                [OWN, *(preset.title for preset in PRESETS)], value=OWN, label="Preset",
                elem_id="preset",
                info="The two analogies of Vec2Sent and some of ours.",
            )  # fmt: skip
            expression = gr.Textbox(
                label="Expression", placeholder=ANALOGY, lines=1, max_lines=3, max_length=LONGEST,
                elem_id="expression", elem_classes=["t-mono"],
                info="+ and - join sentences; * and / take a number; brackets.",
            )  # fmt: skip
            notice = parts.notice()
        with gr.Column(scale=3, min_width=300):
            sentences = gr.Textbox(
                label="Sentences, one a line", placeholder=PRESETS[0].lines, lines=6, max_lines=14,
                max_length=MOST_TEXT, elem_id="sentences", info="Name, equals sign, sentence.",
            )  # fmt: skip
    encoders = choices.encoder_box()
    options = form.options()
    with gr.Row(elem_classes=["t-tight"]):
        go = gr.Button("Calculate", variant="primary", elem_id="calculate-button")
    found = parts.static("", elem_id="told")
    controls = [expression, sentences, encoders, *options.values()]

    def load(request: gr.Request) -> tuple[Any, ...]:
        chosen = choices.asked(workspace, request, form.first_encoders(workspace))
        lines = "\n".join(address.every(request, "let"))[:MOST_TEXT]
        wanted = address.first(request, "x")[:LONGEST]
        return (
            _preset_of(wanted, lines), wanted, lines, choices.filled(workspace, chosen),
            *form.asked(request),
        )  # fmt: skip

    def calculate(
        request: gr.Request, text: str, lines: str, names: list[str], *values: Any
    ) -> Iterator[Any]:
        how, chosen = form.how(*values), choices.need(names or [])
        yield from _answered(workspace, request.session_hash, text, lines, chosen, how)

    def reopen(request: gr.Request, text: str, lines: str, *values: Any) -> Iterator[Any]:
        """Another option, or a page just opened, is no reason to ask for an expression."""
        if text.strip() or lines.strip():
            yield from calculate(request, text, lines, *values)
        else:
            yield NOTHING

    def take(title: str) -> tuple[Any, ...]:
        chosen = next((one for one in PRESETS if one.title == title), None)
        return (chosen.expression, chosen.lines) if chosen else (gr.skip(), gr.skip())

    calculated, again = parts.telling(calculate, 1), parts.telling(reopen, 1)
    opened = parts.on_load(parts.telling(load, len(controls) + 1), None,
                           [preset, *controls, notice])  # fmt: skip
    opened.success(again, controls, [found, notice], **form.MANY)
    gr.on([go.click, expression.submit, sentences.submit], calculated, controls, [found, notice],
          **form.MANY)  # fmt: skip
    gr.on([box.input for box in (encoders, *options.values())], again, controls, [found, notice],
          **form.MANY)  # fmt: skip
    preset.input(take, preset, [expression, sentences], **ALWAYS_LAST).then(
        again, controls, [found, notice], **form.MANY
    )
    gr.on(
        [expression.input, sentences.input],
        _preset_of,
        [expression, sentences],
        preset,
        **ALWAYS_LAST,
    )
    address.keep({"x": expression, "let": sentences, "encoder": encoders, **options}, form.DEFAULTS)


def _preset_of(expression: str, lines: str) -> str:
    """The preset that says just this."""
    same = (one.title for one in PRESETS if (one.expression, one.lines) == (expression, lines))
    return next(same, OWN)


def _answered(
    workspace: Workspace, session: str | None, expression: str, lines: str, names: list[str],
    how: How,
) -> Iterator[str]:  # fmt: skip
    """The table, row by row as they are ready."""
    if not expression.strip():
        raise UserError("The expression is empty.", f"Write one, such as {ANALOGY}.")
    sentences = named(lines)
    used = _used(expression, sentences)

    def ask(name: str, waiting: Waiting) -> list[Said]:
        return service.calculated(workspace, [name], expression, sentences, how, waiting)

    for done in form.answered(workspace, names, ask, session):
        yield _table(expression, lines, used, done)


def _used(expression: str, sentences: Mapping[str, str]) -> dict[str, str]:
    """The names in the expression, in order, with their sentences where they have one."""
    from engine.decoding.arithmetic import names

    return {name: sentences[name] for name in names(expression) if name in sentences}


def _table(
    expression: str, lines: str, used: Mapping[str, str], done: Sequence[Said | tuple[str, str]]
) -> str:
    """What was asked, what each encoder's decoder says, and what a person might say."""
    asked = "".join(
        f'<dt class="t-spec">{escape(name)}</dt><dd dir="auto">{escape(text)}</dd>'
        for name, text in list(used.items())[:12]
    )
    more = f"<dt></dt><dd>and {len(used) - 12} more</dd>" if len(used) > 12 else ""
    answer = next((p.answer for p in PRESETS if p.title == _preset_of(expression, lines)), "")
    person = (
        f'<p class="t-person">A person might say: <span dir="auto">{escape(answer)}</span></p>'
        if answer
        else ""
    )
    rows = [_row(one, used, answer) for one in done]
    title = f"What decoders say of {expression.strip()[:60]}"
    table = parts.table(("Encoder", "z, as decoded", "Cosine"), rows, title, numbers=(2,))
    return (
        f'<div class="t-calculated"><dl>{asked}{more}<dt class="t-spec">z</dt>'
        f'<dd class="t-spec">{escape(expression.strip())}</dd></dl>{table}{person}</div>'
    )


def _row(one: Said | tuple[str, str], used: Mapping[str, str], answer: str) -> tuple[str, str, str]:
    if isinstance(one, tuple):
        return f'<span class="t-spec">{escape(one[0])}</span>', one[1], ""
    shown = escape(one.sentence) or '<span class="t-muted">nothing at all</span>'
    marks = "".join(
        parts.tag(f"{name} again") for name, text in used.items() if told.alike(text, one.sentence)
    )
    if told.alike(answer, one.sentence):
        marks += parts.tag("as a person might", "good")
    if one.cut:
        marks += parts.tag("cut at its greatest length", "warn")
    said = f'<p class="t-sentence" dir="auto">{shown} {marks}</p>{told.others(one.others)}'
    return (f'<span class="t-spec">{escape(one.encoder)}</span>', said, told.cosine(one.cosine))
