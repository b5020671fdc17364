"""The training form, for encoders and decoders: a preset, the settings, the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from types import SimpleNamespace
from typing import Any

import gradio as gr

from theodolite.app.pages.train.launch import on_several_machines
from theodolite.app.pages.train.service import OWN, Training
from theodolite.app.pages.train.settings import Setting, Values
from theodolite.app.web import address, background_call, parts
from theodolite.app.web.controls import Answer, Control, Controls, on, on_load
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS, ONE_AT_A_TIME
from theodolite.engine.errors import UserError

Choices = Sequence[Any]
NO_SPELLCHECK = {
    "max_lines": 1,
    "html_attributes": gr.InputHTMLAttributes(
        spellcheck=False, autocapitalize="none", autocomplete="off"
    ),
}
"""Options of a text box for numbers and names, which no browser should correct."""
PRESET = Control(
    "preset",
    "Preset",
    gr.Dropdown,
    choices=(),
    hint="Preset to start from: ours for this machine, or a paper's.",
    options={"filterable": False},
)
CLOSED = (
    "Training is disabled here: it would take computing time from all visitors. The form and "
    "its command are the same as on your own machine."
)
LEAVE = '(run) => { if (run) location.assign("./runs?run=" + encodeURIComponent(run)); }'


class Form:
    """A training form. A page places its parts, and names the model and the data.

    Attributes:
        controls: kept in the address: the preset, those that name model and data, the settings.
        notice: errors of the values filled in.
    """

    notice: Any

    def __init__(
        self,
        training: Training[Any, Any],
        name: str,
        own: Sequence[Control],
        offer: Callable[[Values], Mapping[str, tuple[Choices, Any]]],
        deciding: Sequence[str],
    ) -> None:
        """Declare the controls.

        Args:
            training: the kind of training.
            name: prefix of the ids of its elements.
            own: the page's own controls, which name the model and the data.
            offer: the choices of some controls and the value among them, given all values.
            deciding: controls whose value decides which others are shown, or what they offer.
        """
        self.training, self._offer, self._deciding = training, offer, deciding
        usual = training.settings.defaults()
        settings = training.settings.values()
        self.controls = Controls(
            PRESET, *own, *(_control(training, setting, name, usual) for setting in settings)
        )

    # Layout ---------------------------------------------------------------------------------

    def place_bar(self, title: str, about: str) -> None:
        """Place the page's first row, with the choice of a preset."""
        with parts.bar(title, about):
            self.controls.render("preset")
        self._about = parts.static("", elem_id="preset-about")

    def place_settings(self) -> None:
        """Place the settings by group: text boxes side by side, then checkboxes; some in a fold."""
        for group, title in self.training.settings.groups.items():
            if title:
                with gr.Accordion(title, open=False, elem_id=f"fold-{group}"):
                    self._place(group)
            else:
                self._place(group)

    def _place(self, group: str) -> None:
        settings = self.training.settings
        mine = [name for name in settings if settings[name].group == group]
        with gr.Row(elem_classes="t-fields"):
            for name in mine:
                if not settings.ticked(name):
                    self.controls.render(name)
        for name in mine:
            if settings.ticked(name):
                self.controls.render(name)

    def place_side(self) -> None:
        """Place the side panel: the plan or an error, the command, the start, the cost."""
        may = not self.training.workspace.read_only
        self._plan = parts.static("", elem_id="said")
        self._command = parts.static("", elem_id="command")
        with gr.Row(visible=may, elem_classes="t-go"):
            self._go = gr.Button("Start training", variant="primary", elem_id="start")
            self._cost = gr.Button("Estimate time and memory", elem_id="cost")
        self._estimate = parts.static("", elem_id="estimate")
        self._failure = parts.notice()  # of the buttons: the form's own must not overwrite it
        self.notice = parts.notice()
        self._started = gr.Textbox(visible="hidden", label="Run", elem_id="started")
        if not may:
            parts.static(
                parts.say("Visitors cannot start runs here. On your own machine, use the command.")
            )

    # Events ---------------------------------------------------------------------------------

    def wire(self) -> None:
        """Attach the events; a started run is followed on *Trainings*."""
        controls, preset = self.controls, self.controls["preset"]
        every = list(controls.values())
        seen = [preset, self._about, self._command, self._plan]
        on_load(self._load, [*every, *seen[1:]], self.notice)
        on(preset.input, self._pick, controls, [*every, self._about], self.notice, **ALWAYS_LAST)
        decide = [controls[name].input for name in self._deciding]
        on(decide, self.reshape, controls, every, self.notice, **ONE_AT_A_TIME)
        # `change`, not `input`: a text that is pasted or filled in counts as well.
        typed = [box.change for name, box in controls.items() if name != "preset"]
        on(typed, self._review, controls, seen, self.notice, **ONE_AT_A_TIME)
        if not self.training.workspace.read_only:
            for button, handler, output in (
                (self._go, self._start, self._started),
                (self._cost, self._probe, self._estimate),
            ):
                on(button.click, handler, controls, [output], self._failure, **HIDE_PROGRESS)
        self._started.change(None, self._started, js=LEAVE)
        usual = {
            name: one.default
            for name, one in controls.declared.items()
            if one.default not in (None, "")
        }
        address.keep(controls, usual | {"preset": self.training.usual})

    def spec(self, values: SimpleNamespace) -> Any:
        """The spec of the values as typed."""
        return self.training.spec(vars(values))

    def reshape(self, values: SimpleNamespace) -> dict[Any, Any]:
        """Show the controls that apply, and offer the data that fits.

        Other controls are left alone: somebody may type in them meanwhile.
        """
        choices, value = self._offer(vars(values))["train"]
        return self._shaped(vars(values), {"train": {"choices": choices, "value": value}})

    def _filled(self, values: Values, filled: Values) -> dict[Any, Any]:
        """Updates that set `filled`, and offer what there is, given all values."""
        updates: dict[str, dict[str, Any]] = {name: {"value": filled[name]} for name in filled}
        for name, (choices, value) in self._offer(values).items():
            updates[name] = {"choices": choices, "value": value}
        return self._shaped(values, updates)

    def _shaped(self, values: Values, updates: dict[str, dict[str, Any]]) -> dict[Any, Any]:
        """The updates, with which settings are shown."""
        for setting in self.training.settings.values():
            if setting.when:
                shown = {"visible": setting.applies(values)}
                updates[setting.name] = updates.get(setting.name, {}) | shown
        return {self.controls[name]: gr.update(**given) for name, given in updates.items()}

    def _load(self, request: gr.Request) -> Answer:
        """Fill the form from the address: its fields over its preset over the defaults."""
        training, presets = self.training, self.training.presets()
        given = {
            name: found
            for name in (*training.named, *training.settings)
            if (found := address.every(request, name))
        }
        theirs = training.preset(training.usual).keys()
        name = address.choice(
            request,
            "preset",
            [*(preset.name for preset in presets), OWN],
            OWN if theirs & given.keys() else training.usual,
        )
        values = dict.fromkeys(training.named) | training.preset(name)
        for field, found in given.items():
            ticked = field in training.settings and training.settings.ticked(field)
            values[field] = found[0] == "true" if ticked else found[0]
            if field in training.several:
                values[field] = found
        values |= {field: value for field, (_, value) in self._offer(values).items()}
        seen = self._review(SimpleNamespace(**values, preset=name))
        labels = [*((preset.label, preset.name) for preset in presets), ("My own settings", OWN)]
        preset = self.controls["preset"]
        return {
            **self._filled(values, values),
            **seen,
            preset: gr.update(choices=labels, value=seen[preset]),
        }

    def _pick(self, values: SimpleNamespace) -> Answer:
        """Fill the form with a preset; `OWN` leaves it as it is."""
        if values.preset == OWN:
            return {self._about: ""}
        filled = self.training.preset(values.preset)
        return self._filled(vars(values) | filled, filled)

    def _review(self, values: SimpleNamespace) -> dict[Any, Any]:
        """The preset that the values match, the command, and the plan or an error.

        While controls are filled one after another, the values may leave a preset and return to it.
        """
        named, training = self.controls["preset"], self.training
        if values.preset is None:
            return {}  # a control fired before all are filled
        try:
            spec = self.spec(values)
        except UserError as error:
            notice = f"<p>{escape(error.message)}</p><p>{escape(error.hint)}</p>"
            notice = f'<div class="t-notice t-bad" role="status">{notice}</div>'
            return {named: OWN, self._about: "", self._command: "", self._plan: notice}
        preset = training.preset_of(vars(values))
        about = escape(preset.about) if preset else ""
        return {
            named: preset.name if preset else OWN,
            self._about: about and f'<p class="t-small t-muted">{about}</p>',
            self._command: _command_html(training.command(spec)),
            self._plan: _facts(training.plan(spec)),
        }

    def _start(self, values: SimpleNamespace) -> Answer:
        return {self._started: self.training.start(self.spec(values))}

    def _probe(self, values: SimpleNamespace) -> Iterator[Answer]:
        """Yield progress, and after some seconds the estimated cost."""
        training, spec = self.training, self.spec(values)
        text = "Running a few updates on real batches; they are discarded"
        for progress, cost in background_call.followed(lambda _: training.probe(spec), text):
            shown = progress
            if cost is not None:
                notes = parts.warn(getattr(cost, "notes", ()))
                shown = f'<div role="status">{_facts(training.facts(cost))}</div>{notes}'
            yield {self._estimate: shown}


def _control(
    training: Training[Any, Any], setting: Setting, form: str, usual: Mapping[str, Any]
) -> Control:
    """The control of a setting, initially visible if it applies under the defaults."""
    name, default = setting.name, usual[setting.name]
    first = {"objective": "unsup"} | dict(usual)
    options: dict[str, Any] = {"elem_id": f"{form}-{name}", "visible": setting.applies(first)}
    box: Any = gr.Textbox
    if training.settings.ticked(name):
        box = gr.Checkbox
        options |= {"container": False, "elem_classes": "t-flag"}
    elif setting.choices:
        box = gr.Dropdown
        default = default if default in [value for _, value in setting.choices] else None
        options |= {"filterable": False, "min_width": 190}
    else:
        options |= {"min_width": 150, **NO_SPELLCHECK}
    return Control(
        name, setting.label, box, default, setting.hint, setting.choices or None, options
    )


def _command_html(words: Sequence[str]) -> str:
    """The equivalent command; for an encoder also the one for several machines."""
    block = parts.command(words)
    if words[1] != "train":
        return block
    several = parts.command(
        on_several_machines(words),
        "Run on each machine, with its own --node-rank. HOST is the address of the first "
        "one; all need the training data and shared access to the folder.",
    )
    return f"{block}<details><summary>On several machines</summary>{several}</details>"


def _facts(facts: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{name}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items())
    return f'<dl class="t-facts">{rows}</dl>'
