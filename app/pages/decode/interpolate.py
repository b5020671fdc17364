"""The page *Interpolate*: from one sentence to another, decoded step by step."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.components.chart import chart
from theodolite.app.components.interpolation import Near, Stop, interpolation, value_of
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.decode import example, figures, form, freezing, service, views
from theodolite.app.pages.decode.service import NEAR, STEPS, NoDecoder
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.search import job as search
from theodolite.app.web import address, background_call, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_load
from theodolite.app.web.frozen import Frozen
from theodolite.app.web.parts import HIDE_PROGRESS
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.pages.decode.service import Step
    from theodolite.app.workspace import Workspace

TITLE = "Interpolate"
PATH = "interpolate"
DESCRIPTION = (
    "Move through the space from one sentence to another: each step is a point between their "
    "vectors, and the decoder writes the sentence it finds there."
)
FROZEN = Frozen(carry=freezing.carry, views=freezing.interpolations)
PATHS = [("Straight line", "linear"), ("Great circle", "spherical")]
NOTHING = parts.empty("Nothing to interpolate", "Write two sentences, or pick a random pair.")
EXAMPLES = [
    example.ENDS,
    ("I love this film.", "The train was late again."),
    ("The old dog slept by the fire.", "Fresh snow covers the mountain road."),
]
CONTROLS = (
    *(
        Control(
            name,
            label,
            default=usual,
            key=key,
            options={
                "placeholder": "Write a sentence",
                "lines": 1,
                "max_lines": 3,
                "max_length": form.MAX_TYPED,
                "elem_classes": ["t-wide"],
            },
        )
        for name, label, key, usual in zip(
            ("first", "second"), ("From", "To"), "ab", example.ENDS, strict=True
        )
    ),
    Control("encoder", "Encoder", gr.Dropdown, options={"choices": []}),
    Control("path", "Path", gr.Radio, "linear", choices=PATHS),
    Control(
        "steps",
        "Steps",
        gr.Number,
        STEPS,
        options={"minimum": 2, "maximum": service.MAX_STEPS, "precision": 0},
    ),
    Control(
        "collection",
        "Nearest real sentences of",
        gr.Dropdown,
        collections.DEFAULT,
        key="in",
        options={"choices": [], "value": None},
    ),
    *form.OPTIONS,
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("first", "second")
        go = gr.Button("Interpolate", variant="primary", elem_id="walk-button")
        controls.render("encoder")
        with parts.more():
            controls.render("path", "steps", "collection")
            form.render(controls)
            pick = gr.Button("Pick two sentences", size="md", elem_id="pick")
    notice = parts.notice()
    words = parts.static("", elem_id="told")
    strip = interpolation(elem_id="walk", elem_classes=["t-answer"])
    drawn = chart(elem_id="way", height=320)
    at = gr.State(None)
    ends = [controls["first"], controls["second"]]
    shown = {"words": words, "strip": strip, "drawn": drawn}

    def load(request: gr.Request) -> Answer:
        step = address.first(request, "at")
        filled = _filled(workspace, controls.from_address(request), request)
        return {
            at: int(step) if step.isdecimal() and len(step) < 4 else None,
            **{controls[name]: value for name, value in filled.items()},
        }

    def answer(values: Values, session: str | None, shipped: bool) -> Iterator[Answer]:
        """Yield progress, then the strip and the chart, or the way to train a decoder."""
        steps = _shipped(workspace, values) if shipped else []
        answers = [_drawn(steps, values)] if steps else _answers(workspace, values, session)
        for found in answers:
            yield {shown[name]: value for name, value in found.items()}

    def nothing(values: Values) -> Answer:
        empty = {words: NOTHING, strip: None, drawn: None}
        return None if (values.first + values.second).strip() else empty

    boxes = [*shown.values()]
    start, again, reopen = form.handlers(answer, nothing)
    opened = on_load(load, [*controls.values(), at], notice)
    on(opened.then, reopen, {**controls, "at": at}, boxes, notice, **form.MANY)
    on(
        form.changes(controls, "encoder", "path", "collection"),
        again,
        controls,
        boxes,
        notice,
        **form.MANY,
    )
    picked = on(
        pick.click,
        lambda: dict(zip(ends, random.choice(EXAMPLES), strict=True)),
        None,
        ends,
        notice,
        **HIDE_PROGRESS,
    )
    submits = [go.click, *(end.submit for end in ends), controls["steps"].submit]
    for event in (submits, picked.then):
        on(event, start, controls, boxes, notice, **form.MANY)
    controls.keep()


def _filled(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    kept = choices.names(workspace)
    chosen = choices.from_address(workspace, request, form.first_encoders(workspace))[:1]
    names = [info.name for info in workspace.catalog.list()]
    place = values.collection if values.collection in ("none", *names) else collections.DEFAULT
    return {
        **vars(values),
        "first": (values.first or "")[: form.MAX_TYPED],
        "second": (values.second or "")[: form.MAX_TYPED],
        "encoder": gr.update(
            choices=list(dict.fromkeys([*kept, *chosen])), value=next(iter(chosen), None)
        ),
        "collection": gr.update(
            choices=[("None", "none"), *((name, name) for name in names)], value=place
        ),
    }


def _answers(workspace: Workspace, values: Values, session: str | None) -> Iterator[dict[str, Any]]:
    """Yield progress, then words, strip and chart."""
    options, many = form.options(values), int(values.steps or STEPS)
    ends = (
        service.checked(values.first, "The first sentence"),
        service.checked(values.second, "The second sentence"),
    )
    encoder = values.encoder
    if not encoder:
        raise UserError(
            "No encoder chosen.", "Choose one above, or add one on Encoders.", code="missing"
        )
    place = _place(values)

    def work(say: background_call.Say) -> tuple[list[Step], str]:
        lacking = search.lacking(workspace, encoder, place) if place else ""
        near = None if lacking else place
        found = service.interpolate(
            workspace,
            encoder,
            *ends,
            many,
            options,
            spherical=values.path == "spherical",
            collection=near,
            near=NEAR,
            waiting=background_call.waiting(say),
        )
        return found, lacking

    try:
        for progress, found in background_call.followed(work, form.opening(encoder), session):
            if found is None:
                yield {"words": progress}
                continue
            yield _drawn(found[0], values, found[1])
    except NoDecoder:
        yield {"words": views.no_decoder(workspace, encoder), "strip": None, "drawn": None}


def _shipped(workspace: Workspace, values: Values) -> list[Step]:
    """The shipped steps for these values; empty if none ship."""
    return example.interpolated(
        workspace,
        values.encoder,
        (values.first, values.second),
        int(values.steps or STEPS),
        values.path,
        values.collection,
        form.options(values),
    )


def _drawn(steps: list[Step], values: Values, lacking: str = "") -> dict[str, Any]:
    """Words, strip and chart."""
    place = _place(values)
    strip = value_of(
        [_stop(step) for step in steps],
        (values.first, values.second),
        at=getattr(values, "at", None),
        collection="" if lacking else place or "",
    )
    words = views.interpolated(steps, figures.headline(steps), lacking, place)
    return {"words": words, "strip": strip, "drawn": figures.cosines(steps)}


def _place(values: Values) -> str | None:
    """The collection whose real sentences are shown; None for none."""
    return values.collection if values.collection and values.collection != "none" else None


def _stop(step: Step) -> Stop:
    near = [Near(hit.sentence, hit.cosine or 0.0) for hit in step.near]
    return Stop(
        step.share,
        step.result.sentence,
        step.result.cosine or 0.0,
        step.to_first,
        step.to_second,
        near,
    )
