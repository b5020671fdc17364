"""The page *Interpolate*: what stands between two sentences, step by step."""

from __future__ import annotations

import random
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app.components.chart import chart
from app.components.walk import Near, Stop, walk, way
from app.pages.decode import figures as pictures
from app.pages.decode import form, service
from app.pages.decode.service import NoDecoder
from app.pages.encoders import choices
from app.pages.search import searchable
from app.pages.search import service as searching
from app.web import address, background_call, parts
from app.web.parts import HIDE_PROGRESS
from engine.errors import UserError

if TYPE_CHECKING:
    from app.pages.decode.service import Step
    from app.workspace import Workspace

TITLE = "Interpolate"
PATH = "interpolate"
DESCRIPTION = (
    "Walk through the space from one sentence to another: every step is a point between their "
    "vectors, and the decoder says what stands there."
)
PATHS = [("Straight line", "linear"), ("Great circle", "spherical")]
STEPS = 11
NEAR = 3
DEFAULTS = {"in": "starter-topics", "path": "linear", "steps": STEPS, **form.DEFAULTS}
NOTHING = parts.empty("Nothing to walk between yet", "Write two sentences, or have them picked.")
EXAMPLES = [("The old dog slept by the fire.", "Fresh snow covers the mountain road."),
            ("I love this film.", "The train was late again."),
            ("He plays the guitar.", "She cooks dinner for her friends.")]  # fmt: skip


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    most = 2 * service.MOST_CHARACTERS
    with gr.Row():
        first = gr.Textbox(label="First sentence", placeholder=EXAMPLES[0][0], lines=1, max_lines=3,
                           max_length=most, elem_id="first", min_width=300)  # fmt: skip
        second = gr.Textbox(label="Second sentence", placeholder=EXAMPLES[0][1], lines=1,
                            max_lines=3, max_length=most, elem_id="second",
                            min_width=300)  # fmt: skip
    with gr.Row():
        encoder = gr.Dropdown([], label="Encoder", elem_id="encoder", min_width=220)
        path = gr.Radio(PATHS, value="linear", label="Path", elem_id="path", min_width=240)
        steps = gr.Number(STEPS, label="Steps", minimum=2, maximum=service.MOST_STEPS, precision=0,
                          elem_id="steps", min_width=100)  # fmt: skip
        collection = gr.Dropdown([], label="Nearest real sentences of", elem_id="collection",
                                 min_width=220)  # fmt: skip
    options = form.options()
    with gr.Row(elem_classes=["t-tight"]):
        go = gr.Button("Walk", variant="primary", elem_id="walk-button")
        pick = gr.Button("Pick two sentences", size="md", elem_id="pick")
    notice = parts.notice()
    words = parts.static("", elem_id="told")
    strip = walk(elem_id="walk")
    drawn = chart(elem_id="way", height=320)
    at = gr.State(None)
    controls = [first, second, encoder, path, steps, collection, *options.values()]
    views = [words, strip, drawn]

    def load(request: gr.Request) -> tuple[Any, ...]:
        return _loaded(workspace, request)

    def reopen(request: gr.Request, at: int | None, *values: Any) -> Iterator[tuple[Any, ...]]:
        if values[0].strip() or values[1].strip():
            yield from _shown(workspace, request, at, *values)
        else:
            yield NOTHING, None, None

    def change(request: gr.Request, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Another option is no reason to ask for sentences."""
        yield from reopen(request, None, *values)

    def start(request: gr.Request, *values: Any) -> Iterator[tuple[Any, ...]]:
        yield from _shown(workspace, request, None, *values)

    opened = parts.on_load(parts.telling(load, len(controls) + 1), None, [*controls, at, notice])
    opened.then(parts.telling(reopen, 3), [at, *controls], [*views, notice], **form.MANY)
    walked = parts.telling(start, 3)
    gr.on([go.click, first.submit, second.submit, steps.submit], walked, controls,
          [*views, notice], **form.MANY)  # fmt: skip
    again = (encoder, path, collection, *options.values())
    gr.on([box.input for box in again], parts.telling(change, 3), controls,
          [*views, notice], **form.MANY)  # fmt: skip
    pick.click(parts.telling(lambda: random.choice(EXAMPLES), 2), None, [first, second, notice],
               **HIDE_PROGRESS).then(walked, controls, [*views, notice], **form.MANY)  # fmt: skip
    address.keep(
        {"a": first, "b": second, "encoder": encoder, "path": path, "steps": steps,
         "in": collection, **options}, DEFAULTS,
    )  # fmt: skip


def _loaded(workspace: Workspace, request: gr.Request) -> tuple[Any, ...]:
    """The controls as the address has them, and the step it names."""
    kept = choices.names(workspace)
    chosen = choices.asked(workspace, request, form.first_encoders(workspace))[:1]
    names = [info.name for info in workspace.catalog.list()]
    place = address.choice(request, "in", ["none", *names], "starter-topics")
    asked, step = address.first(request, "steps"), address.first(request, "at")
    sound = asked.isdecimal() and len(asked) < 4 and 2 <= int(asked) <= service.MOST_STEPS
    return (
        *(address.first(request, name)[: 2 * service.MOST_CHARACTERS] for name in "ab"),
        gr.update(choices=list(dict.fromkeys([*kept, *chosen])), value=next(iter(chosen), None)),
        address.choice(request, "path", [value for _, value in PATHS], "linear"),
        int(asked) if sound else STEPS,
        gr.update(choices=[("None", "none"), *((name, name) for name in names)], value=place),
        *form.asked(request),
        int(step) if step.isdecimal() and len(step) < 4 else None,
    )


def _shown(
    workspace: Workspace, request: gr.Request, at: int | None, first: str, second: str,
    encoder: str | None, path: str, steps: float | None, collection: str | None, *options: Any,
) -> Iterator[tuple[Any, ...]]:  # fmt: skip
    """How far it is, then the strip and the chart, or how to come to a decoder."""
    how, many = form.how(*options), int(steps or STEPS)
    ends = (service.checked(first, "The first sentence"),
            service.checked(second, "The second sentence"))  # fmt: skip
    if not encoder:
        raise UserError("No encoder was chosen.", "Choose one above, or add one on Encoders.")
    place = collection if collection and collection != "none" else None

    def work(say: background_call.Say) -> tuple[list[Step], str]:
        lacking = _lacking(workspace, encoder, place) if place else ""
        near = None if lacking else place
        found = service.walked(workspace, encoder, *ends, many, how, spherical=path == "spherical",
                              collection=near, near=NEAR,
                              waiting=background_call.waiting(say))  # fmt: skip
        return found, lacking

    try:
        for progress, found in background_call.followed(
            work, form.opening(encoder), request.session_hash
        ):
            if found is None:
                yield progress, gr.skip(), gr.skip()
            else:
                walked, lacking = found
                stops = [_stop(step) for step in walked]
                value = way(stops, ends, at=at, collection="" if lacking else place or "")
                yield _words(walked, lacking, place), value, pictures.way(walked)
    except NoDecoder:
        yield form.lacking(workspace, encoder), None, None


def _stop(step: Step) -> Stop:
    near = [Near(hit.sentence, hit.cosine or 0.0) for hit in step.near]
    return Stop(step.share, step.said.sentence, step.said.cosine or 0.0, step.to_first,
                step.to_second, near)  # fmt: skip


def _lacking(workspace: Workspace, encoder: str, collection: str) -> str:
    """Why no real sentences can be shown, in words; empty when they can."""
    return searching.undone(searchable.so_far(workspace, encoder, collection), collection)


def _words(steps: list[Step], lacking: str, collection: str | None) -> str:
    said = [f"<p>{escape(pictures.told(steps))}</p>"]
    if known := next((step.said.known for step in steps if step.said.known), 0):
        said.append(
            f'<p class="t-small t-muted">The decoder {escape(steps[0].said.decoder)} knows '
            f"sentences of at most {known} words.</p>"
        )
    if lacking:
        to = escape(address.link("search", **{"in": collection, "encoder": steps[0].said.encoder}))
        said.append(
            f'<p class="t-small t-muted">{escape(lacking)} <a href="{to}">Search</a> does that '
            "once; then the nearest real sentences stand beneath each step.</p>"
        )
    return f'<div class="t-said">{"".join(said)}</div>'
