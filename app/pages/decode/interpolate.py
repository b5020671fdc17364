"""The page *Interpolate*: what stands between two sentences, step by step."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from app.components.chart import chart
from app.components.interpolation import Near, Stop, interpolation, value_of
from app.pages.data import choices as collections
from app.pages.decode import figures, form, service, views
from app.pages.decode.service import NEAR, STEPS, NoDecoder
from app.pages.encoders import choices
from app.pages.search import service as search
from app.web import address, background_call, parts
from app.web.controls import Answer, Control, Controls, Values, on, on_load
from app.web.parts import HIDE_PROGRESS
from engine.errors import UserError

if TYPE_CHECKING:
    from app.pages.decode.service import Step
    from app.workspace import Workspace

TITLE = "Interpolate"
PATH = "interpolate"
DESCRIPTION = (
    "Go through the space from one sentence to another: every step is a point between their "
    "vectors, and the decoder says what stands there."
)
PATHS = [("Straight line", "linear"), ("Great circle", "spherical")]
NOTHING = parts.empty("Nothing to interpolate yet", "Write two sentences, or have them picked.")
EXAMPLES = [("The old dog slept by the fire.", "Fresh snow covers the mountain road."),
            ("I love this film.", "The train was late again."),
            ("He plays the guitar.", "She cooks dinner for her friends.")]  # fmt: skip
CONTROLS = (
    *(
        Control(name, f"{name.capitalize()} sentence", key=key,
                options={"placeholder": example, "lines": 1, "max_lines": 3,
                         "max_length": form.MOST_WRITTEN, "min_width": 300})
        for name, key, example in zip(("first", "second"), "ab", EXAMPLES[0], strict=True)
    ),
    Control("encoder", "Encoder", gr.Dropdown, options={"choices": [], "min_width": 220}),
    Control("path", "Path", gr.Radio, "linear", choices=PATHS, options={"min_width": 240}),
    Control("steps", "Steps", gr.Number, STEPS,
            options={"minimum": 2, "maximum": service.MOST_STEPS, "precision": 0,
                     "min_width": 100}),
    Control("collection", "Nearest real sentences of", gr.Dropdown, collections.DEFAULT, key="in",
            options={"choices": [], "value": None, "min_width": 220}),
    *form.OPTIONS,
)  # fmt: skip


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    controls = Controls(*CONTROLS)
    with gr.Row():
        controls.render("first", "second")
    with gr.Row():
        controls.render("encoder", "path", "steps", "collection")
    form.render(controls)
    with gr.Row(elem_classes=["t-tight"]):
        go = gr.Button("Interpolate", variant="primary", elem_id="walk-button")
        pick = gr.Button("Pick two sentences", size="md", elem_id="pick")
    notice = parts.notice()
    words = parts.static("", elem_id="told")
    strip = interpolation(elem_id="walk")
    drawn = chart(elem_id="way", height=320)
    at = gr.State(None)
    ends = [controls["first"], controls["second"]]
    shown = [words, strip, drawn]

    def load(request: gr.Request) -> Answer:
        step = address.first(request, "at")
        filled = _filled(workspace, controls.asked(request), request)
        return {
            at: int(step) if step.isdecimal() and len(step) < 4 else None,
            **{controls[name]: value for name, value in filled.items()},
        }

    def start(asked: Values, request: gr.Request) -> Iterator[Answer]:
        """How far it is, then the strip and the chart, or how to come to a decoder."""
        for found in _answers(workspace, asked, request.session_hash):
            yield dict(zip(shown, found, strict=True))

    def again(asked: Values, request: gr.Request) -> Iterator[Answer]:
        """Another option, or a page just opened, is no reason to ask for sentences."""
        if asked.first.strip() or asked.second.strip():
            yield from start(asked, request)
        else:
            yield {words: NOTHING, strip: None, drawn: None}

    opened = on_load(load, [*controls.values(), at], notice)
    on(opened.then, again, {**controls, "at": at}, shown, notice, **form.MANY)
    on(form.changes(controls, "encoder", "path", "collection"), again, controls, shown, notice,
       **form.MANY)  # fmt: skip
    picked = on(pick.click, lambda: dict(zip(ends, random.choice(EXAMPLES), strict=True)), None,
                ends, notice, **HIDE_PROGRESS)  # fmt: skip
    submits = [go.click, *(end.submit for end in ends), controls["steps"].submit]
    for event in (submits, picked.then):
        on(event, start, controls, shown, notice, **form.MANY)
    controls.keep()


def _filled(workspace: Workspace, asked: Values, request: gr.Request) -> dict[str, Any]:
    """The controls as the address has them."""
    kept = choices.names(workspace)
    chosen = choices.asked(workspace, request, form.first_encoders(workspace))[:1]
    names = [info.name for info in workspace.catalog.list()]
    place = asked.collection if asked.collection in ("none", *names) else collections.DEFAULT
    return {
        **vars(asked),
        "first": (asked.first or "")[: form.MOST_WRITTEN],
        "second": (asked.second or "")[: form.MOST_WRITTEN],
        "encoder": gr.update(
            choices=list(dict.fromkeys([*kept, *chosen])), value=next(iter(chosen), None)
        ),
        "collection": gr.update(
            choices=[("None", "none"), *((name, name) for name in names)], value=place
        ),
    }


def _answers(
    workspace: Workspace, asked: Values, session: str | None
) -> Iterator[tuple[Any, Any, Any]]:
    """Words, strip and chart: first how far it is."""
    options, many = form.options(asked), int(asked.steps or STEPS)
    ends = (service.checked(asked.first, "The first sentence"),
            service.checked(asked.second, "The second sentence"))  # fmt: skip
    encoder = asked.encoder
    if not encoder:
        raise UserError("No encoder was chosen.", "Choose one above, or add one on Encoders.")
    place = asked.collection if asked.collection and asked.collection != "none" else None

    def work(say: background_call.Say) -> tuple[list[Step], str]:
        lacking = _lacking(workspace, encoder, place) if place else ""
        near = None if lacking else place
        found = service.interpolate(
            workspace, encoder, *ends, many, options, spherical=asked.path == "spherical",
            collection=near, near=NEAR, waiting=background_call.waiting(say),
        )  # fmt: skip
        return found, lacking

    try:
        for progress, found in background_call.followed(work, form.opening(encoder), session):
            if found is None:
                yield progress, gr.skip(), gr.skip()
                continue
            steps, lacking = found
            strip = value_of(
                [_stop(step) for step in steps], ends, at=getattr(asked, "at", None),
                collection="" if lacking else place or "",
            )  # fmt: skip
            said = views.interpolated(steps, figures.said(steps), lacking, place)
            yield said, strip, figures.cosines(steps)
    except NoDecoder:
        yield views.no_decoder(workspace, encoder), None, None


def _stop(step: Step) -> Stop:
    near = [Near(hit.sentence, hit.cosine or 0.0) for hit in step.near]
    return Stop(step.share, step.result.sentence, step.result.cosine or 0.0, step.to_first,
                step.to_second, near)  # fmt: skip


def _lacking(workspace: Workspace, encoder: str, collection: str) -> str:
    """Why no real sentences can be shown, in words; empty when they can."""
    return search.lacking(workspace, encoder, collection)
