"""The page *Train*: a form, the equivalent command, the estimated cost, the start, and sweeps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import formats
from theodolite.app.pages.train import choices
from theodolite.app.pages.train.form import CLOSED, LEAVE, NO_SPELLCHECK, Choices, Form
from theodolite.app.pages.train.service import EncoderTraining, SweepSpec
from theodolite.app.pages.train.settings import ENCODER, NONE, OBJECTIVES
from theodolite.app.spec import parameters, words
from theodolite.app.web import parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on
from theodolite.app.web.parts import HIDE_PROGRESS, ONE_AT_A_TIME
from theodolite.engine.datasets.dialect import ENDINGS
from theodolite.engine.training.presets import STARTER

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

__all__ = ["CLOSED", "PATH", "TITLE", "build"]
TITLE = "Train"
PATH = "train"
DESCRIPTION = (
    "Train a sentence encoder with the objectives of SimCSE. It runs in the background, with "
    "its curves on Trainings; the trained encoder is added to the encoders."
)
OWN = (
    Control("objective", "Objective", gr.Radio, "unsup", choices=OBJECTIVES),
    Control(
        "base",
        "Base",
        gr.Dropdown,
        choices=(),
        hint="An installed encoder, hf:NAME, dir:FOLDER, or new:… for a small BERT from scratch.",
    ),
    Control(
        "train",
        "Training data",
        gr.Dropdown,
        choices=(),
        hint="A data set, or the path of a file, which can be larger than memory.",
    ),
)
DECIDING = (
    "objective",
    "steps",
    "dev",
    "hard_negatives",
    "mlm_weight",
    "augmentation",
)
MAX_LABELS = 6
"""Labels of runs in the preview of a sweep."""
_FIELDS = {parameter.name: parameter for parameter in parameters(SweepSpec)}


def _dropdown(name: str, none: str) -> Control:
    control = web.control(_FIELDS[name], filterable=False)
    choices = [(none, ""), *(control.choices or ())]
    return replace(control, box=gr.Dropdown, choices=choices, default="")


SWEEP = web.controls(
    SweepSpec,
    vary=web.control(
        _FIELDS["vary"],
        "One field per line, with its values; to draw from, also a range: 0.01..0.2, or "
        "1e-6..1e-4:log.",
        elem_id="sweep-values",
        elem_classes=["t-mono"],
        placeholder="temperature = 0.01, 0.05, 0.1",
        **NO_SPELLCHECK | {"lines": 3, "max_lines": 8},
    ),
    draw=web.control(_FIELDS["draw"], "0: every combination.", minimum=0),
    ablation=_dropdown("ablation", "none"),
    scale=_dropdown("scale", "as above"),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    own = not workspace.read_only
    form = Form(EncoderTraining(workspace), "train", OWN, partial(_offer, workspace), DECIDING)
    form.place_bar(TITLE, DESCRIPTION)
    with gr.Row(elem_classes="t-desk"):
        with gr.Column(scale=5, min_width=320):
            parts.section("Objective")
            form.controls.render("objective")
            parts.section("Model and data")
            form.controls.render("base", "train", allow_custom_value=own)
            upload = gr.UploadButton(
                "Upload a file",
                file_types=[*ENDINGS, ".gz"],
                elem_id="upload",
                size="md",
                visible=own,
            )
            parts.static(
                '<p class="t-small t-muted">One sentence per line, or a table with sent0, sent1, '
                "hard_neg; also .gz.</p>",
                visible=own,
            )
            parts.section("Settings")
            form.place_settings()
            fold = {"open": False, "elem_id": "sweep", "visible": own}
            with gr.Accordion("Try several values at once", **fold):
                _sweep(form)
        with gr.Column(scale=3, min_width=320, elem_classes=["t-beside", "t-answer"]):
            form.place_side()
    form.wire()

    def take_in(values: Values) -> Answer:
        values.train = choices.taken_in(workspace, values.upload)
        said = parts.say(f"Added as {values.train}.", "t-good")
        return {**form.reshape(values), form.notice: said}

    on(
        upload.upload,
        take_in,
        {**form.controls, "upload": upload},
        form.controls.values(),
        form.notice,
        show_progress_on=upload,
    )


def _offer(workspace: Workspace, values: Mapping[str, Any]) -> Mapping[str, tuple[Choices, Any]]:
    """The bases, the data sets that fit the objective, and the dev sets."""
    base = values["base"] or choices.bases(workspace)[0]
    objective, train = values["objective"] or "unsup", values["train"] or STARTER
    sets, scored = choices.datasets(workspace, objective, train), choices.scored_sets(workspace)
    return {
        "objective": (OBJECTIVES, objective),
        "base": (list(dict.fromkeys([*choices.bases(workspace), base])), base),
        "train": (sets, train if train in [name for _, name in sets] else STARTER),
        "dev": (
            [*scored, *ENCODER["dev"].choices],
            values["dev"] if values["dev"] in scored else NONE,
        ),
    }


def _sweep(form: Form) -> None:
    """Lay out the fold of a sweep, whose trainings share the other values of the form."""
    controls = Controls(*SWEEP)
    controls.render("vary")
    with gr.Row(elem_classes="t-fields"):
        controls.render("draw", "draw_seed", min_width=150)
    with gr.Row(elem_classes="t-fields"):
        controls.render("ablation", min_width=320)
        controls.render("scale", "seeds", min_width=150)
    preview = parts.static("", elem_id="sweep-preview")
    go = gr.Button("Start the sweep", elem_id="start-sweep")
    notice = parts.notice()
    started = gr.Textbox(visible="hidden", label="Sweep", elem_id="started-sweep")
    training, inputs = EncoderTraining(form.training.workspace), {**controls, **form.controls}

    def show(values: Values) -> Answer:
        if not (values.vary.strip() or values.ablation):
            return {preview: ""}
        base, spec = form.spec(values), _sweep_spec(values)
        labels = spec.job(training.workspace, base).units()
        more = [f"and {len(labels) - MAX_LABELS} more"] if len(labels) > MAX_LABELS else []
        items = [f"<li>{escape(label)}</li>" for label in [*labels[:MAX_LABELS], *more]]
        command = [*training.command(base), *words(spec)]
        command[1] = "sweep"
        return {
            preview: f'<p role="status">{formats.plural(len(labels), "run")}, one after the other:'
            f'</p><ul class="t-members">{"".join(items)}</ul>{parts.command(command)}'
        }

    def start(values: Values) -> Answer:
        return {started: training.start_sweep(form.spec(values), _sweep_spec(values))}

    changes = [box.change for box in inputs.values()]
    on(changes, show, inputs, [preview], notice, **ONE_AT_A_TIME)
    on(go.click, start, inputs, [started], notice, **HIDE_PROGRESS)
    started.change(None, started, js=LEAVE)


def _sweep_spec(values: Values) -> SweepSpec:
    lines = (re.sub(r"\s*([=,:])\s*", r"\1", line.strip()) for line in values.vary.splitlines())
    given: dict[str, Any] = {one.name: getattr(values, one.name) or None for one in SWEEP}
    given["vary"] = [line for line in lines if line]
    return SweepSpec(**given)
