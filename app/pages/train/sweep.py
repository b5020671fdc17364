"""The section of the page *Train* that tries several values at once, and its commands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app import formats
from theodolite.app.pages.train import service
from theodolite.app.pages.train.form import NO_SPELLCHECK, Form
from theodolite.app.web import parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, shape
from theodolite.app.web.parts import HIDE_PROGRESS, ONE_AT_A_TIME
from theodolite.engine.training.fields import number

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.engine.training.spec import TrainSpec

GRID, DRAWN = "grid", "random"
EXAMPLE = "temperature = 0.01, 0.05, 0.1\nlearning_rate = 1e-5, 3e-5"
SHOWN = 6
"""Most labels of runs in the preview."""
LEAVE = '(run) => { if (run) location.assign("./runs?run=" + encodeURIComponent(run)); }'


CONTROLS = (
    Control(
        "lines",
        "One field per line, with its values",
        default="",
        hint="As on the command line; a random search can also draw uniformly from "
        "0.01..0.2, and log-uniformly from 1e-6..1e-4:log.",
        options={
            "elem_id": "sweep-values",
            "elem_classes": ["t-mono"],
            **NO_SPELLCHECK,
            "lines": 3,
            "max_lines": 8,
            "placeholder": EXAMPLE,
        },
    ),
    Control(
        "way",
        "Combinations to try",
        gr.Radio,
        GRID,
        options={"elem_id": "sweep-way"},
        choices=(("Every combination", GRID), ("A random search", DRAWN)),
    ),
    Control(
        "draws",
        "Runs to draw",
        default="8",
        options={"elem_id": "sweep-count", "visible": False, "min_width": 110, **NO_SPELLCHECK},
    ),
    Control(
        "draw_seed",
        "Random seed of the draws",
        default="0",
        options={"elem_id": "sweep-seed", "visible": False, "min_width": 110, **NO_SPELLCHECK},
    ),
)


class Sweep:
    """The fold: values to try, how to combine them, a preview, the start button."""

    def __init__(self, workspace: Workspace) -> None:
        self._training = service.EncoderTraining(workspace)
        self._controls = Controls(*CONTROLS)
        with gr.Accordion(
            "Try several values at once",
            open=False,
            elem_id="sweep",
            visible=not workspace.read_only,
        ):
            self._controls.render("lines")
            with gr.Row(elem_classes="t-fields"):
                self._controls.render("way", "draws", "draw_seed")
            self._preview = parts.static("", elem_id="sweep-preview")
            self._go = gr.Button("Start the sweep", elem_id="start-sweep")
            self._notice = parts.notice()
        self._run = gr.Textbox(visible="hidden", label="Sweep", elem_id="started-sweep")

    def wire(self, form: Form) -> None:
        """Attach the events to the form whose values are the base of all runs."""
        controls, inputs = self._controls, {**self._controls, **form.inputs}

        def preview(values: Values) -> Answer:
            if not (values.lines or "").strip():
                return {self._preview: ""}
            base = form.spec(values)
            return {self._preview: _preview(form, base, values, _children(base, values))}

        def start(values: Values) -> Answer:
            base = form.spec(values)
            return {self._run: self._training.start_sweep(base, _children(base, values))}

        shape(
            lambda way: {
                controls[name]: gr.update(visible=way == DRAWN) for name in ("draws", "draw_seed")
            },
            {controls["way"]: (GRID, DRAWN)},
        )
        on(
            [control.change for control in inputs.values()],
            preview,
            inputs,
            [self._preview],
            self._notice,
            **ONE_AT_A_TIME,
        )
        on(self._go.click, start, inputs, [self._run], self._notice, **HIDE_PROGRESS)
        self._run.change(None, self._run, js=LEAVE)


def _children(spec: TrainSpec, values: Values) -> list[tuple[str, dict[str, Any]]]:
    """Label and changes of every run."""
    draws = seed = None
    if values.way == DRAWN:
        draws = int(number("number of runs to draw", values.draws, whole=True, such_as=8))
        seed = int(number("seed of the draws", values.draw_seed, whole=True, such_as=0))
    return service.varied(spec, (values.lines or "").splitlines(), draws, seed or 0)


def _preview(
    form: Form, spec: TrainSpec, values: Values, children: Sequence[tuple[str, dict[str, Any]]]
) -> str:
    items = "".join(f"<li>{escape(label)}</li>" for label, _ in children[:SHOWN])
    more = len(children) - SHOWN
    items += f'<li class="t-absent">and {more} more</li>' if more > 0 else ""
    words = form.training.command(spec)
    words[1] = "sweep"
    for line in (values.lines or "").splitlines():
        if line.strip():
            words += ["--set", re.sub(r"\s*([=,:])\s*", r"\1", line.strip())]
    if values.way == DRAWN:
        words += ["--draw", str(values.draws).strip(), "--draw-seed", str(values.draw_seed).strip()]
    return (
        f'<p role="status">{formats.plural(len(children), "run")}, one after the other:</p>'
        f'<ul class="t-members">{items}</ul>{parts.command(words)}'
    )
