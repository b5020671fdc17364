"""The form of a training, as data: a preset, the settings, and what is said of them.

Numbers are typed as text, so that `3e-5` stays as written and a typo is reported beside the form
instead of being clipped. Types, defaults and bounds are those of the engine's spec.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from html import escape
from typing import Any, ClassVar

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.blocks import Block, Problem
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.train.job import TrainingJob
from theodolite.app.pages.train.launch import on_several_machines
from theodolite.app.web import address, parts
from theodolite.app.web.controls import (
    Answer,
    Control,
    Controls,
    Values as Namespace,
    on,
    on_load,
    settled,
)
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS, ONE_AT_A_TIME
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.training.base_spec import Setting, settings, written

Values = Mapping[str, Any]
LONG = 60
"""Letters of a choice from which its list needs the width of two."""
OWN = "own"
"""In place of a preset: the user's own settings."""
NONE = "none"
"""Value of a list for a setting that is None."""
PLAIN_TEXT = {
    "max_lines": 1,
    "html_attributes": gr.InputHTMLAttributes(
        spellcheck=False, autocapitalize="none", autocomplete="off"
    ),
}
"""Options of a text box for numbers and names, which no browser should correct."""
CLOSED = (
    "Training is disabled here: it would take computing time from all visitors. The form and "
    "its command are the same as on your own machine."
)
SEVERAL = (
    "Run on each machine, with its own --node-rank. HOST is the address of the first one; all need "
    "the training data and shared access to the folder."
)
FOLLOW = '(run) => { if (run) location.assign("./runs?run=" + encodeURIComponent(run)); }'


class Form(ABC):
    """The form of a kind of training, on a page that says what it consists of.

    Attributes:
        job_type: class of its jobs.
        own: the controls that name the model and the data.
        following: the controls whose choices follow the other values.
        usual: the preset that it starts with, the first of all.
        out: name of the folder in the command.
        settings: the fields of the spec that can be set, in their order.
        controls: the preset, `own` and the settings; kept in the address.
        notice: errors of the values filled in.
        reviewed: what answers a changed setting; further answers are its `then`. Gradio repeats a
            deferred answer by its event, so that two answers to one event set each other off.
    """

    job_type: ClassVar[type[TrainingJob[Any]]]
    own: ClassVar[Sequence[Control]]
    out: ClassVar[str]
    following: ClassVar[Sequence[str]] = ("train",)

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        spec: Any = self.job_type.spec_type
        self._spec = spec
        self.settings = [one for one in settings(spec).values() if not one.required]
        preset = Control("preset", "Preset", gr.Dropdown, choices=(), options={"filterable": False})
        first = {control.name: control.default for control in self.own} | self.defaults()
        boxes = (self._control(setting, first) for setting in self.settings)
        self.controls = Controls(preset, *self.own, *boxes)
        self._folds: dict[str, gr.Accordion] = {}

    @abstractmethod
    def presets(self) -> Sequence[Any]:
        """Settings to start from, each with a name, a label, a description, and the changes."""

    @abstractmethod
    def offer(self, values: Values) -> Mapping[str, tuple[Sequence[Any], Any]]:
        """The choices of some controls and the value among them, given all values."""

    @abstractmethod
    def plan(self, spec: Any) -> dict[str, str]:
        """What a training will do, in words; no data is read."""

    def examples(self, values: Values) -> list[Block]:
        """The first examples of the data that are chosen; an error where they do not fit."""
        return []

    @property
    def usual(self) -> str:
        """The preset that the form starts with: the first."""
        return str(self.presets()[0].name)

    def spec(self, values: Values) -> Any:
        """The spec that the values describe; settings that do not apply keep their default."""
        fields: dict[str, Any] = {"out": ""}
        for control in self.own:
            value = values[control.name]
            fields[control.name] = value.strip() if isinstance(value, str) else value
            if not fields[control.name]:
                raise UserError(f"{control.label}: nothing chosen.", "Choose one.", code="missing")
        for setting in self.settings:
            if self._spec.applies(setting, values):
                fields[setting.name] = setting.read(str(values[setting.name]))
        return self._spec.from_dict(fields)

    def command(self, spec: Any) -> list[str]:
        """The words of the command that trains the same."""
        return list(replace(spec, out=self.out).command())

    # Values ---------------------------------------------------------------------------------

    def defaults(self) -> dict[str, Any]:
        """The default of every setting, as its control shows it."""
        return {setting.name: _shown_value(setting, setting.default) for setting in self.settings}

    def preset(self, name: str) -> dict[str, Any]:
        """The settings of a preset, as the controls show them; the defaults for no preset."""
        changes: Values = next((one.changes for one in self.presets() if one.name == name), {})
        own = settings(self._spec)
        return self.defaults() | {name: _shown_value(own[name], changes[name]) for name in changes}

    def preset_of(self, values: Values) -> Any | None:
        """The preset that equals the values in every field that applies; None for none.

        While controls are filled one after another, the values may leave a preset and return to it.
        """
        names = [control.name for control in self.own]
        names += [setting.name for setting in self.settings if self._spec.applies(setting, values)]
        for preset in self.presets():
            theirs = self.preset(preset.name)
            if all(values[name] == theirs[name] for name in names if name in theirs):
                return preset
        return None

    # Layout ---------------------------------------------------------------------------------

    @contextmanager
    def layout(self, title: str, about: str) -> Iterator[None]:
        """Lay out the page around its own part, the left column."""
        with parts.bar(title, about):
            self.controls.render("preset")
        self._about = parts.static("", elem_id="preset-about")
        with gr.Row(elem_classes="t-desk"):
            with gr.Column(scale=5, min_width=320, elem_classes=["t-answer"]):
                yield
            with gr.Column(scale=3, min_width=320, elem_classes=["t-beside"]):
                self._place_side()
        self._attach()

    def place_settings(self) -> None:
        """Place the settings by group: text boxes side by side, then checkboxes; some in a fold."""
        for title in dict.fromkeys(one.group for one in self.settings):
            if title:
                self._folds[title] = gr.Accordion(title, open=False)
            with self._folds.get(title, nullcontext()):
                mine = [one for one in self.settings if one.group == title]
                with gr.Row(elem_classes="t-fields"):
                    self.controls.render(*(one.name for one in mine if one.kind is not bool))
                if ticked := [one.name for one in mine if one.kind is bool]:
                    self.controls.render(*ticked)

    def _place_side(self) -> None:
        """Place the plan or an error, the command, and the start."""
        may = not self.workspace.read_only
        self._plan = parts.static("", elem_id="said")
        self._command = parts.static("", elem_id="command")
        self._go = gr.Button("Start training", variant="primary", elem_id="start", visible=may)
        self.notice = parts.notice()
        self._examples = web.answer(elem_id="examples")  # last: what comes late must not move Start
        self._started = gr.Textbox(visible="hidden", label="Run", elem_id="started")
        closed = "Visitors cannot start runs here. On your own machine, use the command."
        parts.static(parts.say(closed), visible=not may)

    def _control(self, setting: Setting, first: Values) -> Control:
        """The control of a setting, visible if it applies to the first values."""
        default, named = first[setting.name], setting.choices or setting.offers or {}
        choices: Sequence[Any] | None = [(label, value) for value, label in named.items()] or None
        shared = {
            "visible": self._spec.applies(setting, first),
            "elem_id": f"setting-{setting.name}",
        }
        box, options = gr.Textbox, {"min_width": 150, **PLAIN_TEXT}
        if setting.kind is bool:
            box, options = gr.Checkbox, {"container": False, "elem_classes": "t-flag"}
        elif named:
            box, options = gr.Dropdown, {"filterable": False, "min_width": 190}
            if max(map(len, named.values())) > LONG:
                options["min_width"] = 420
            if default not in named:
                default, choices = None, ()  # offered once the page is opened
        label, hint = setting.label, setting.help
        return Control(setting.name, label, box, default, hint, choices, options | shared)

    # Events ---------------------------------------------------------------------------------

    def _attach(self) -> None:
        """Attach the events; a started run is followed on *Trainings*."""
        controls, preset = self.controls, self.controls["preset"]
        boxes = [*controls.values(), *self._folds.values()]
        outputs = [preset, self._about, self._command, self._plan]
        on_load(self._load, [*boxes, *outputs[1:]], self.notice)
        on(preset.input, self._pick, controls, boxes, self.notice, **ALWAYS_LAST)
        # `change`, not `input`: a text that is pasted or filled in counts as well.
        typed = settled(box for box in controls.values() if box is not preset)
        self.reviewed = on(typed, self._review, controls, outputs, self.notice, **ONE_AT_A_TIME)
        on(self.reviewed.then, self.reshape, controls, boxes, self.notice, **ALWAYS_LAST)
        if not self.workspace.read_only:
            read = self.reviewed.then
            on(read, self._read, controls, [self._examples], self.notice, **ALWAYS_LAST)
            start = self._go.click
            on(start, self._start, controls, [self._started], self.notice, **HIDE_PROGRESS)
        self._started.change(None, self._started, js=FOLLOW)
        declared = controls.declared.values()
        usual = {one.name: one.default for one in declared if one.default not in (None, "")}
        address.keep(controls, usual | {"preset": self.usual})

    def reshape(self, values: Namespace) -> Answer:
        """Show the controls that apply, and offer what fits the others.

        Values are left alone: somebody may type meanwhile.
        """
        if values.preset is None:
            return None  # a control fired before all are filled
        offered = self.offer(vars(values))
        return self._shape(vars(values), {n: {"choices": offered[n][0]} for n in self.following})

    def _shape(self, values: Values, updates: dict[str, dict[str, Any]]) -> dict[Any, Any]:
        """The updates, with which settings and folds are shown."""
        visible = {setting.name: self._spec.applies(setting, values) for setting in self.settings}
        for name, is_shown in visible.items():
            updates.setdefault(name, {})["visible"] = is_shown
        full = {setting.group for setting in self.settings if visible[setting.name]}
        folds = {fold: gr.update(visible=title in full) for title, fold in self._folds.items()}
        return folds | {
            self.controls[name]: gr.update(**update) for name, update in updates.items()
        }

    def _fill(self, values: dict[str, Any]) -> dict[Any, Any]:
        """Updates of all controls, with what there is to choose from."""
        offered = self.offer(values)
        values |= {name: value for name, (_, value) in offered.items()}
        updates = {name: {"value": value} for name, value in values.items()}
        for name, (choices, _) in offered.items():
            updates[name]["choices"] = choices
        return self._shape(values, updates)

    def _load(self, request: gr.Request) -> Answer:
        """Fill the form from the address: its fields over its preset over the defaults."""
        presets = [*((one.label, one.name) for one in self.presets()), ("My own settings", OWN)]
        values = vars(self.controls.from_address(request))
        from_address = {
            name: value for name, value in values.items() if address.first(request, name)
        }
        names = [name for _, name in presets]
        usual = OWN if from_address else self.usual
        preset = address.choice(request, "preset", names, usual)
        values = values | self.preset(preset) | from_address
        del values["preset"]
        filled = self._fill(values)
        reviewed = self._review(Namespace(**values, preset=preset))
        box = self.controls["preset"]
        return {**filled, **reviewed, box: gr.update(choices=presets, value=reviewed[box])}

    def _pick(self, values: Namespace) -> Answer:
        """Fill the form with a preset; the user's own settings leave it as it is."""
        if values.preset == OWN:
            return None
        return self._fill(
            {n: value for n, value in vars(values).items() if n != "preset"}
            | self.preset(values.preset)
        )

    def _review(self, values: Namespace) -> dict[Any, Any]:
        """The preset that the values are, the command, and the plan or an error."""
        if values.preset is None:
            return {}  # a control fired before all are filled
        preset = self.preset_of(vars(values))
        about = f'<p class="t-small t-muted">{escape(preset.about)}</p>' if preset else ""
        updates = {self.controls["preset"]: preset.name if preset else OWN, self._about: about}
        try:
            spec = self.spec(vars(values))
        except UserError as error:
            problem = f"<p>{escape(error.message)}</p><p>{escape(error.hint)}</p>"
            problem = f'<div class="t-notice t-bad" role="status">{problem}</div>'
            return {**updates, self._command: "", self._plan: problem}
        takes = self.job_type(spec).takes(self.workspace)
        facts = (self.plan(spec) | {"Takes": takes}).items()
        plan = "".join(f"<dt>{name}</dt><dd>{escape(fact)}</dd>" for name, fact in facts)
        command = self.command(spec)
        html = parts.command(command)
        if command[1] == "train" and not spec.is_alone:
            several = parts.command(on_several_machines(command), SEVERAL)
            html += f"<details><summary>On several machines</summary>{several}</details>"
        return {**updates, self._command: html, self._plan: f'<dl class="t-facts">{plan}</dl>'}

    def _read(self, values: Namespace) -> Answer:
        try:
            blocks = self.examples(vars(values)) if vars(values)["train"] else []
        except UserError as error:
            blocks = [Problem(error)]
        return {self._examples: web.value(blocks)}

    def _start(self, values: Namespace) -> Answer:
        job = self.job_type.of(self.workspace, self.spec(vars(values)))
        return {self._started: queue(self.workspace, job)}


def _shown_value(setting: Setting, value: Any) -> Any:
    """A value of the spec as its control shows it: text, or bool for a checkbox."""
    if setting.kind is bool:
        return bool(value)
    listed = setting.choices or setting.offers
    return "" if value is None and not listed else written(value)
