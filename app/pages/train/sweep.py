"""The part of the page *Train* that tries several values at once, and the commands it shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import formats
from app.web import parts
from app.web.parts import HIDE_PROGRESS, ONE_AT_A_TIME
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace
    from engine.training.spec import TrainSpec

GRID, DRAWN = "grid", "random"
EXAMPLE = "temperature = 0.01, 0.05, 0.1\nlearning_rate = 1e-5, 3e-5"
SHOWN = 6
"""Labels of runs in the preview."""
LEAVE = '(run) => { if (run) location.assign("./runs?run=" + encodeURIComponent(run)); }'  # to Runs


class Sweep:
    """The fold: values to try, how they are combined, what that makes, the button."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        with gr.Accordion("Try several values at once", open=False, elem_id="sweep",
                          visible=not workspace.read_only):  # fmt: skip
            self._lines = gr.Textbox(
                label="A field a line, with its values", lines=3, max_lines=8,
                elem_id="sweep-values", elem_classes=["t-mono"], placeholder=EXAMPLE,
                info="As on the command line; a random search draws from 0.01..0.2 too, and evenly "
                "in the logarithm from 1e-6..1e-4:log.",
                html_attributes=gr.InputHTMLAttributes(spellcheck=False, autocapitalize="none"),
            )  # fmt: skip
            with gr.Row(elem_classes="t-fields"):
                self._way = gr.Radio(
                    [("Every combination", GRID), ("A random search", DRAWN)], value=GRID,
                    label="Which are tried", elem_id="sweep-way",
                )  # fmt: skip
                self._count = gr.Textbox("8", label="Runs to draw", max_lines=1, min_width=110,
                                         visible=False, elem_id="sweep-count")  # fmt: skip
                self._seed = gr.Textbox("0", label="Seed of the draws", max_lines=1,
                                        visible=False, min_width=110)  # fmt: skip
            self._preview = parts.static("", elem_id="sweep-preview")
            self._go = gr.Button("Start the sweep", elem_id="start-sweep")
            self._notice = parts.notice()
        self._run = gr.Textbox(visible="hidden", label="Sweep", elem_id="started-sweep")

    def wire(
        self, asked: list[Any], spec: Callable[..., TrainSpec],
        check: Callable[[Workspace, TrainSpec], None],
    ) -> None:  # fmt: skip
        """Attach the events; `spec` reads the values of the controls `asked`."""
        mine = [self._lines, self._way, self._count, self._seed]

        def preview(*values: Any) -> str:
            if not (values[0] or "").strip():
                return ""
            base = spec(*values[len(mine) :])
            return _preview(base, values[: len(mine)], _children(base, *values[: len(mine)]))

        def start(*values: Any) -> str:
            from app.pages.trainings import service as runs

            self._workspace.refuse_visitors()
            base = spec(*values[len(mine) :])
            children = _children(base, *values[: len(mine)])
            check(self._workspace, base)
            return runs.queue_sweep(self._workspace, base, children)

        parts.shape(lambda way: [gr.update(visible=way == DRAWN)] * 2,
                    {self._way: (GRID, DRAWN)}, [self._count, self._seed])  # fmt: skip
        gr.on([control.change for control in [*mine, *asked]], parts.telling(preview, 1),
              [*mine, *asked], [self._preview, self._notice], **ONE_AT_A_TIME)  # fmt: skip
        self._go.click(
            parts.telling(start, 1), [*mine, *asked], [self._run, self._notice], **HIDE_PROGRESS
        )
        self._run.change(None, self._run, js=LEAVE)


def _children(
    spec: TrainSpec, lines: str, way: str, count: str, seed: str
) -> list[tuple[str, dict[str, Any]]]:
    """Label and changes of every run.

    Raises:
        UserError: a line that cannot be read, a value that cannot be, or too many runs.
    """
    from engine.training import sweeps

    varied = dict(sweeps.parsed(line) for line in (lines or "").splitlines() if line.strip())
    if way == GRID:
        return sweeps.grid(spec, varied)
    return sweeps.search(spec, varied, _whole(count, "Runs to draw"), _whole(seed, "The seed"))


def _whole(text: str, label: str) -> int:
    if not str(text).strip().isdecimal():
        raise UserError(f"{label}: {str(text)[:40]!r} is no whole number.", "Write one such as 8.")
    return int(text)


def _preview(
    spec: TrainSpec, given: Sequence[Any], children: Sequence[tuple[str, dict[str, Any]]]
) -> str:
    lines, way, count, seed = given
    items = "".join(f"<li>{escape(label)}</li>" for label, _ in children[:SHOWN])
    more = len(children) - SHOWN
    items += f'<li class="t-absent">and {more} more</li>' if more > 0 else ""
    words = []
    for line in (lines or "").splitlines():
        if line.strip():
            words += ["--set", re.sub(r"\s*([=,:])\s*", r"\1", line.strip())]
    if way == DRAWN:
        words += ["--draw", str(count).strip(), "--draw-seed", str(seed).strip()]
    return (
        f'<p role="status">{formats.plural(len(children), "run")}, one after the other:</p>'
        f'<ul class="t-members">{items}</ul>{command(spec, "sweep", words)}'
    )


def command(spec: TrainSpec, verb: str = "train", more: Sequence[str] = ()) -> str:
    """The command that does the same, with a button to copy it."""
    from app.pages.trainings import service as runs

    base = re.sub(r"[^a-z0-9]+", "-", spec.base.rsplit("/", 1)[-1].lower()).strip("-")[:24]
    words = shlex.split(runs.command_of(replace(spec, out=spec.out or f"{spec.objective}-{base}")))
    words = [words[0], verb, *words[2:], *more]
    return parts.command(words)
