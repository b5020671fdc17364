"""The pages that decode: a sentence, the points between two, and an expression over several."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import gradio as gr

from theodolite.app import decoders
from theodolite.app.blocks import Block, Nothing, Progress
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.decode import answer, example
from theodolite.app.pages.decode.analogies import PRESETS, preset_of
from theodolite.app.pages.decode.service import (
    MAX_CHARACTERS,
    MAX_STEPS,
    METHODS,
    STEPS,
    DecodeOptions,
    DecodeResult,
    NoDecoder,
    check_sentence,
)
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.encoders.service import STARTERS
from theodolite.app.pages.layout import Page
from theodolite.app.pages.search import service as search
from theodolite.app.published import Published, Static
from theodolite.app.spec import parameters
from theodolite.app.surfaces import web
from theodolite.app.web import address, background_call, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_load, shape
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

Blocks = Iterator[Sequence[Block]]

MANY: dict[str, Any] = {**parts.ALWAYS_LAST, "concurrency_limit": 12}
"""Options of an event that decodes: most events wait, and more waiting events make larger batches.
Each holds one thread per encoder meanwhile, with its own connections to the store."""
MAX_EXAMPLE_WORDS = 8
"""Most words of a random sentence; within the maximum length of any decoder."""
SENTENCES = (
    example.SENTENCE,
    "The old dog slept by the fire.",
    "I love this film.",
    "The train was late again.",
)
"""Those that are published."""
PAIRS = [
    example.ENDS,
    ("I love this film.", "The train was late again."),
    ("The old dog slept by the fire.", "Fresh snow covers the mountain road."),
]
"""Examples; the first two are published."""
TITLES = ("Tense", "Number", "Negation", "Opposite")
"""Presets that are published, after the first one of the page."""
OPENING = "Opening {} and its decoder; a model that has not been used yet takes some seconds"
_OWN: dict[str, dict[str, Any]] = {
    "temperature": {"step": 0.05, "visible": False},
    "top_p": {"step": 0.05, "minimum": 0.01, "visible": False},
    "seed": {"minimum": 0, "maximum": 2**31 - 1, "visible": False},
    "known_words": {"container": False, "elem_classes": "t-flag"},
}
OPTIONS = [
    web.control(
        one,
        None if one.field.choices else one.field.help,
        elem_id=one.key,
        **_OWN.get(one.name, {}),
    )
    for one in parameters(DecodeOptions)
]
ENCODERS = replace(choices.ENCODERS, name="encoders", key="encoder")


def text_box(
    name: str, label: str, usual: str, key: str, hint: str = "", *classes: str, **options: Any
) -> Control:
    """A box for a sentence. It takes twice as much as is allowed: an error tells how much it is."""
    usually = {
        "placeholder": "Write a sentence",
        "lines": 1,
        "max_lines": 3,
        "max_length": 2 * MAX_CHARACTERS,
        "elem_classes": ["t-wide", *classes],
    }
    most = None if "max_length" in options else (MAX_CHARACTERS, MAX_CHARACTERS)
    options = usually | options
    return Control(name, label, gr.Textbox, usual, hint, options=options, key=key, most=most)


def build_decode(workspace: Workspace) -> None:
    """Lay out the page of a sentence."""
    box = text_box("sentences", "Sentence", example.SENTENCE, "q", "", "t-bare", elem_id="sentence")
    controls = Controls(box, ENCODERS, *OPTIONS)
    with parts.bar(DECODE.TITLE, DECODE.DESCRIPTION):
        sentence = controls.render("sentences")
        go = gr.Button("Decode", variant="primary", elem_id="decode-button")
        with parts.more():
            controls.render("encoders", allow_custom_value=not workspace.read_only)
            _render_options(controls)
            pick = gr.Button("Pick a sentence", size="md", elem_id="pick")
    notice = parts.notice()

    def draw() -> Answer:
        sentences, _ = workspace.catalog.sentences("starter-topics")
        short = [text for text in sentences if len(text.split()) <= MAX_EXAMPLE_WORDS]
        return {sentence: random.choice(short)}

    def show(values: Values, session: str | None, ships: bool) -> Blocks:
        values.sentences = [check_sentence(values.sentences)]  # of several lines as well
        values.encoders = choices.need(values.encoders or [])
        spec = web.spec_of(answer.DecodeSpec, values)
        known = example.results(workspace, spec) if ships else {}
        yield from _side_by_side(workspace, answer.DECODE, spec, spec.sentences[0], session, known)

    _connect(
        workspace,
        controls,
        web.answer(elem_id="told", elem_classes=["t-answer"]),
        notice,
        show=show,
        nothing=Nothing("No sentence", "Write one above and press Enter, or pick one at random."),
        texts=["sentences"],
        submits=[go.click, sentence.submit],
        pick_event=on(pick.click, draw, None, [sentence], notice, **parts.HIDE_PROGRESS),
    )


def build_interpolation(workspace: Workspace) -> None:
    """Lay out the page of the points between two sentences."""
    how_many = {"minimum": 2, "maximum": MAX_STEPS, "precision": 0}
    paths = [("Straight line", "linear"), ("Great circle", "spherical")]
    controls = Controls(
        text_box("first", "From", example.ENDS[0], "a"),
        text_box("second", "To", example.ENDS[1], "b"),
        Control("encoder", "Encoder", gr.Dropdown, options={"choices": []}),
        Control("spherical", "Path", gr.Radio, "linear", choices=paths, key="path"),
        Control("steps", "Steps", gr.Number, STEPS, options=how_many),
        replace(collections.COLLECTION, name="data", label="Nearest real sentences of"),
        *OPTIONS,
    )
    with parts.bar(INTERPOLATION.TITLE, INTERPOLATION.DESCRIPTION):
        controls.render("first", "second")
        go = gr.Button("Interpolate", variant="primary", elem_id="walk-button")
        controls.render("encoder")
        with parts.more():
            controls.render("spherical", "steps", "data")
            _render_options(controls)
            pick = gr.Button("Pick two sentences", size="md", elem_id="pick")
    notice = parts.notice()
    ends = [controls["first"], controls["second"]]

    def draw() -> Answer:
        return dict(zip(ends, random.choice(PAIRS), strict=True))

    def show(values: Values, session: str | None, ships: bool) -> Blocks:
        data = values.data if values.data != "none" else None
        fields = vars(values) | {
            "first": check_sentence(values.first, "The first sentence"),
            "second": check_sentence(values.second, "The second sentence"),
            "encoder": choices.need([values.encoder] if values.encoder else [])[0],
            "spherical": values.spherical == "spherical",
            "data": data,
        }
        spec = answer.InterpolateSpec(**fields)
        if ships and (steps := example.steps(workspace, spec)):
            yield answer.Interpolation(spec, steps).blocks()
            return

        def ask(say: background_call.Say) -> answer.Interpolation:
            problem = search.why_incomplete(workspace, spec.encoder, data) if data else ""
            waiting = background_call.waiting(say)
            return next(answer.interpolate(workspace, spec, lambda job: False, waiting, problem))

        first = OPENING.format(spec.encoder)
        try:
            for progress, decoded in background_call.follow(ask, first, session, _progress):
                yield decoded.blocks() if decoded else [progress]
        except NoDecoder as error:
            yield [answer.no_decoder(spec.encoder, error)]

    _connect(
        workspace,
        controls,
        web.answer(charts=True, elem_id="walk", elem_classes=["t-answer"]),
        notice,
        show=show,
        nothing=Nothing("Nothing to interpolate", "Write two sentences, or pick a random pair."),
        texts=["first", "second"],
        submits=[go.click, *(end.submit for end in ends), controls["steps"].submit],
        pick_event=on(pick.click, draw, None, ends, notice, **parts.HIDE_PROGRESS),
    )


def build_arithmetic(workspace: Workspace) -> None:
    """Lay out the page of expressions."""
    usual = example.PRESET
    sentences_box = text_box(
        "named",
        "Sentences, one per line",
        usual.lines,
        "let",
        "A name, an equals sign, a sentence.",
        elem_id="sentences",
        placeholder=PRESETS[0].lines,
        lines=3,
        max_lines=14,
        max_length=60_000,
    )
    expression_box = text_box(
        "expression",
        "Expression",
        usual.expression,
        "x",
        "",
        "t-mono",
        placeholder=usual.expression,
        max_length=5000,
    )
    controls = Controls(expression_box, sentences_box, ENCODERS, *OPTIONS)
    with parts.bar(ARITHMETIC.TITLE, ARITHMETIC.DESCRIPTION):
        expression = controls.render("expression")
        go = gr.Button("Calculate", variant="primary", elem_id="calculate-button")
        titles = ["My own", *(preset.title for preset in PRESETS)]
        preset = gr.Dropdown(titles, label="Preset", value=usual.title, elem_id="preset")
        with parts.more():
            controls.render("encoders", allow_custom_value=not workspace.read_only)
            _render_options(controls)
    notice = parts.notice()
    with gr.Row(equal_height=False, elem_classes=["t-sum"]):
        with gr.Column(scale=2, min_width=300):
            sentences = controls.render("named")
        with gr.Column(scale=5, min_width=300):
            result = web.answer(elem_id="told", elem_classes=["t-answer"])

    def take(title: str) -> Answer:
        chosen = next((one for one in PRESETS if one.title == title), None)
        return {expression: chosen.expression, sentences: chosen.lines} if chosen else None

    def title_of(text: str, lines: str) -> str:
        preset = preset_of(text, lines.splitlines())
        return preset.title if preset else titles[0]

    def show(values: Values, session: str | None, ships: bool) -> Blocks:
        values.encoders = choices.need(values.encoders or [])
        spec = web.spec_of(answer.AnalogySpec, values)
        known = example.results(workspace, spec) if ships else {}
        yield from _side_by_side(workspace, answer.ANALOGY, spec, spec.expression, session, known)

    _connect(
        workspace,
        controls,
        result,
        notice,
        show=show,
        nothing=Nothing("Nothing to calculate", "Choose a preset, or write names and a sum."),
        texts=["expression", "named"],
        submits=[go.click, expression.submit, sentences.submit],
        pick_event=on(
            preset.input, take, [preset], [expression, sentences], notice, **parts.ALWAYS_LAST
        ),
    )
    boxes = [expression, sentences]
    gr.on([box.change for box in boxes], title_of, boxes, preset, **parts.ALWAYS_LAST)


def _render_options(controls: Controls) -> None:
    """Render the options; only those that the chosen method uses are visible."""
    controls.render(*(option.name for option in OPTIONS))

    def fitting(method: str) -> dict[Any, Any]:
        ours = gr.update(visible=method != "vec2sent-ref")
        sampled = gr.update(visible=method == "sample")
        return {
            controls["beams"]: gr.update(visible=method in ("beam", "sample")),
            **{controls[name]: ours for name in ("rounds", "known_words")},
            **{controls[name]: sampled for name in ("temperature", "top_p", "seed")},
        }

    shape(fitting, {controls["method"]: list(METHODS)})


def _connect(
    workspace: Workspace,
    controls: Controls,
    result: Any,
    notice: Any,
    *,
    show: Callable[[Values, str | None, bool], Blocks],
    nothing: Nothing,
    texts: Sequence[str],
    submits: Sequence[Any],
    pick_event: Any,
) -> None:
    """Answer when a page is opened, on its button, and when an option changes.

    Args:
        workspace: lists the encoders that have a decoder.
        controls: of the page, rendered.
        result: component of `surfaces.web.answer`.
        notice: component which shows an error.
        show: takes the values, the tab that asks, and whether an answer that ships will do.
        nothing: shown where no text is given yet.
        texts: names of the boxes for texts.
        submits: events that ask: without a text, they show an error.
        pick_event: event in which a click fills the texts.
    """
    chips = choices.watch(controls["encoders"]) if "encoders" in controls else ()

    def opening(request: gr.Request) -> Answer:
        values = vars(controls.from_address(request))
        named = choices.from_address(workspace, request, _usual(workspace))
        if "encoders" in values:
            values["encoders"] = choices.fill(workspace, named)
        else:
            values["encoder"] = choices.one(workspace, next(iter(named), None))
            _, data = collections.fill(workspace, values["data"])
            names = (name for name in data["choices"] if name != "none")
            values["data"] = data | {"choices": [("None", "none"), *names]}
        for name in texts:
            box = controls.declared[name]
            written = "\n".join(address.every(request, box.key)) or box.default
            values[name] = written[: box.options["max_length"]]
        filled = {controls[name]: value for name, value in values.items()}
        return filled | {box: choices.joined(values["encoders"]) for box in chips[:1]}

    def asked(values: Values, request: gr.Request) -> Iterator[Answer]:
        for blocks in show(values, request.session_hash, False):
            yield {result: web.value(blocks)}

    def quiet(values: Values, request: gr.Request) -> Iterator[Answer]:
        """An empty page that is opened or whose options change is no error."""
        if any(getattr(values, name).strip() for name in texts):
            for blocks in show(values, request.session_hash, True):
                yield {result: web.value(blocks)}
        else:
            yield {result: web.value([nothing])}

    opened = on_load(opening, [*controls.values(), *chips[:1]], notice)
    asks_itself = (*texts, "steps", "encoders")
    changes = [box.input for name, box in controls.items() if name not in asks_itself]
    changes += chips[1:]
    for event in (opened.then, pick_event.then, changes):
        on(event, quiet, controls, [result], notice, **MANY)
    on([*submits], asked, controls, [result], notice, **MANY)
    controls.keep()


def _usual(workspace: Workspace) -> list[str]:
    """At most three listed encoders with a decoder, a person's own before the starters."""
    decoded = {row.encoder for row in decoders.list_all(workspace)}
    names = [name for name in choices.names(workspace) if name in decoded]
    own = [name for name in names if name not in STARTERS]
    return [*own, *(name for name in STARTERS if name in names)][:3]


def _side_by_side(
    workspace: Workspace,
    question: Any,
    spec: Any,
    sentence: str,
    session: str | None,
    known: Mapping[str, DecodeResult],
) -> Blocks:
    """Ask a question of several encoders at the same time; yields the blocks as they grow.

    `known` has results of encoders that need not be asked.
    """

    def work(encoder: str) -> Callable[[background_call.Say], DecodeResult]:
        alone = replace(spec, encoders=(encoder,))

        def call(say: background_call.Say) -> DecodeResult:
            reply = question.answer(workspace, alone, None, background_call.waiting(say))
            return cast("DecodeResult", next(reply).every[0])

        return call

    results = {
        name: replace(one, token_f1=decoders.token_f1(workspace, name))
        for name, one in known.items()
    }
    works = {name: work(name) for name in spec.encoders if name not in known}
    firsts = {name: OPENING.format(name) for name in works}
    for states in background_call.together(works, firsts, session, _progress):
        for name, (progress, result) in states.items():
            results[name] = result or DecodeResult(name, progress=progress)
        every = [results[name] for name in spec.encoders]
        yield question.answer_type(spec, {sentence: every}).blocks()


def _progress(text: str, share: float | None, left: float | None) -> Progress:
    return Progress(text, done=share)


def _carry(published: Published) -> None:
    """Link and register the decoders of published encoders, in the order of the source store."""
    small = published.workspace.store.decoders
    for row in reversed(published.source.store.decoders.list()):
        if public := published.encoders.get(row["encoder"]):
            # A decoder takes its name from its folder.
            small.folder.mkdir(exist_ok=True)
            folder = small.folder / published.renamed(row["name"])
            if not folder.exists():
                folder.symlink_to(row["folder"].absolute(), target_is_directory=True)
            small.add(folder, public, row["fingerprint"], row["info"])


def _with_decoder(published: Published) -> tuple[str, ...]:
    """Published encoders that have a decoder."""
    names = []
    for name in published.with_vectors:
        with suppress(UserError):  # an encoder whose files are gone
            if decoders.decoder_of(published.workspace, name):
                names.append(name)
    return tuple(names)


def _sentences(published: Published) -> Iterator[tuple[str, answer.DecodeSpec]]:
    """A few sentences, decoded by each encoder's decoder."""
    if encoders := _with_decoder(published):
        for text in SENTENCES:
            yield text, answer.DecodeSpec(sentences=(text,), encoders=encoders)


def _interpolations(published: Published) -> Iterator[tuple[str, answer.InterpolateSpec]]:
    """One interpolation per encoder, near a collection that it has encoded; two for the first."""
    for place, name in enumerate(_with_decoder(published)):
        near = None
        for data in reversed([*published.data.values()]):
            with suppress(UserError):  # its texts are not published
                if not search.why_incomplete(published.workspace, name, data):
                    near = data
        for a, b in PAIRS[: 1 if place else 2]:
            spec = answer.InterpolateSpec(first=a, second=b, encoder=name, data=near)
            yield f"{name} · {a} – {b}", spec


def _analogies(published: Published) -> Iterator[tuple[str, answer.AnalogySpec]]:
    """A few expressions, decoded by each encoder's decoder."""
    presets = (example.PRESET, *(one for one in PRESETS if one.title in TITLES))
    for one in presets if (encoders := _with_decoder(published)) else ():
        lines = one.lines.splitlines()
        spec = answer.AnalogySpec(expression=one.expression, named=lines, encoders=encoders)
        yield one.title, spec


DECODE = Page(
    "Decode",
    "decode",
    "Write a sentence. Each encoder turns it into a vector, and its decoder reconstructs the "
    "sentence from the vector alone: what comes back is what the vector preserves.",
    Static(answer.DECODE, _sentences, _carry),
    build_decode,
)
INTERPOLATION = Page(
    "Interpolation",
    "interpolate",
    "Move through the space from one sentence to another: each step is a point between their "
    "vectors, and the decoder writes the sentence it finds there.",
    Static(answer.INTERPOLATE, _interpolations, _carry),
    build_interpolation,
)
ARITHMETIC = Page(
    "Arithmetic",
    "arithmetic",
    "Calculate with sentences: an expression over their vectors is itself a point, and each "
    "decoder writes the sentence it finds there. + and - combine sentences, * and / take a "
    "number, parentheses group; a - b + c is the analogy a : b :: z : c.",
    Static(answer.ANALOGY, _analogies, _carry),
    build_arithmetic,
)
