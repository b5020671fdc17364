"""The page *Interpolate*: from one sentence to another, decoded step by step."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.blocks import Nothing
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.decode import example, form, published, service
from theodolite.app.pages.decode.answer import InterpolateSpec, Interpolation, no_decoder
from theodolite.app.pages.decode.answer import interpolate as answer
from theodolite.app.pages.decode.service import STEPS, NoDecoder
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.search import job as search
from theodolite.app.surfaces import document, web
from theodolite.app.web import background_call, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_load
from theodolite.app.web.parts import HIDE_PROGRESS
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Interpolate"
PATH = "interpolate"
DESCRIPTION = (
    "Move through the space from one sentence to another: each step is a point between their "
    "vectors, and the decoder writes the sentence it finds there."
)
PUBLISHED = published.INTERPOLATIONS
PATHS = [("Straight line", "linear"), ("Great circle", "spherical")]
NOTHING = Nothing("Nothing to interpolate", "Write two sentences, or pick a random pair.")
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
    walk = web.answer(charts=True, elem_id="walk", elem_classes=["t-answer"])
    ends = [controls["first"], controls["second"]]

    def load(request: gr.Request) -> Answer:
        filled = _filled(workspace, controls.from_address(request), request)
        return {controls[name]: value for name, value in filled.items()}

    def ask(values: Values, session: str | None, shipped: bool) -> Iterator[Answer]:
        known = _shipped(workspace, values) if shipped else None
        for found in [known] if known else _answers(workspace, values, session):
            yield {walk: found}

    def nothing(values: Values) -> Answer:
        empty = {walk: web.value([NOTHING])}
        return None if (values.first + values.second).strip() else empty

    start, again, reopen = form.handlers(ask, nothing)
    opened = on_load(load, controls.values(), notice)
    on(opened.then, reopen, controls, [walk], notice, **form.MANY)
    changed = form.changes(controls, "encoder", "path", "collection")
    on(changed, again, controls, [walk], notice, **form.MANY)
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
        on(event, start, controls, [walk], notice, **form.MANY)
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


def _answers(workspace: Workspace, values: Values, session: str | None) -> Iterator[str]:
    """Yield progress, then the answer, or the way to train a decoder."""
    spec = _spec(values)
    if not spec.encoder:
        raise UserError(
            "No encoder chosen.", "Choose one above, or add one on Encoders.", code="missing"
        )

    def work(say: background_call.Say) -> Interpolation:
        lacking = search.lacking(workspace, spec.encoder, spec.data) if spec.data else ""
        waiting = background_call.waiting(say)
        (found,) = answer(workspace, spec, lambda job: False, waiting, lacking=lacking)
        return found

    try:
        for progress, found in background_call.followed(work, form.opening(spec.encoder), session):
            yield document.as_json([progress]) if found is None else web.value(found.blocks())
    except NoDecoder as error:
        yield web.value([no_decoder(spec.encoder, error)])


def _spec(values: Values) -> InterpolateSpec:
    """The interpolation that the controls describe."""
    given = vars(form.options(values)) | {
        "first": service.checked(values.first, "The first sentence"),
        "second": service.checked(values.second, "The second sentence"),
        "encoder": values.encoder or "",
        "steps": int(values.steps or STEPS),
        "spherical": values.path == "spherical",
        "data": values.collection if values.collection != "none" else None,
    }
    return InterpolateSpec(**given)


def _shipped(workspace: Workspace, values: Values) -> str | None:
    """The shipped answer to these values; None if none ships."""
    steps = example.interpolated(
        workspace,
        values.encoder,
        (values.first, values.second),
        int(values.steps or STEPS),
        values.path,
        values.collection,
        form.options(values),
    )
    return web.value(Interpolation(_spec(values), steps).blocks()) if steps else None
