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

Updates = dict[str, dict[str, Any]]
"""Control -> keyword arguments of its `gr.update`."""
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


class Form:
    """A training form. A page places its parts and adds controls of its own.

    Attributes:
        controls: kept in the address: the preset, the page's own, the settings.
        aside: controls of the page that the address keeps only as the fields made from them.
        boxes: layout blocks shown or hidden by a choice, by name.
        started: a hidden box that receives the id of each started run.
        notice: errors of the values filled in.
    """

    started: Any
    notice: Any

    def __init__(
        self,
        training: Training[Any, Any],
        name: str,
        own: Sequence[Control] = (),
        aside: Sequence[Control] = (),
        deciding: Sequence[str] = (),
    ) -> None:
        """Declare the controls.

        Args:
            training: the kind of training.
            name: prefix of the ids of its elements.
            own: the page's controls that the address keeps.
            aside: controls of the page that the address keeps only as the fields made from them.
            deciding: controls whose value decides which others are shown.
        """
        self.training = training
        usual = training.settings.defaults()
        settings = [
            _control(training, setting, name, usual) for setting in training.settings.values()
        ]
        self.controls, self.aside = Controls(PRESET, *own, *settings), Controls(*aside)
        self.boxes: dict[str, Any] = {}
        self._deciding = deciding

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
        self._said = parts.static("", elem_id="said")
        self._command = parts.static("", elem_id="command")
        with gr.Row(visible=may, elem_classes="t-go"):
            self._go = gr.Button("Start training", variant="primary", elem_id="start")
            self._cost = gr.Button("Estimate time and memory", elem_id="cost")
        self._estimate = parts.static("", elem_id="estimate")
        self._told = parts.notice()  # for the buttons: notices of the form must not overwrite it
        self.notice = parts.notice()
        self.started = gr.Textbox(visible="hidden", label="Run", elem_id="started")
        if not may:
            parts.static(
                parts.say("Visitors cannot start runs here. On your own machine, use the command.")
            )

    # Events ---------------------------------------------------------------------------------

    def wire(
        self,
        fill: Callable[[Values], Updates],
        shape: Callable[[Values], Updates] = lambda values: {},
        whole: Callable[[Values], Values] = lambda values: values,
        done: str = "",
    ) -> None:
        """Attach the events.

        Args:
            fill: updates of the page's own controls from the values of a spec.
            shape: updates that show the controls that apply, given all values as typed.
            whole: adds to the values as typed the fields made from the page's own controls.
            done: notice when a run is started.
        """
        self._fill, self._shape, self._whole, self._done = fill, shape, whole, done
        controls = self.controls
        self._hidden = {
            name: controls.add(name, gr.Textbox(visible="hidden", elem_id=f"kept-{name}"))
            for name in self.training.named
            if name not in controls
        }  # fields of the spec without a control of their own, kept for the address
        self.inputs = {**controls, **self.aside}
        filled = [*self.inputs.values(), *self.boxes.values(), self._about]
        seen = [controls["preset"], self._about, self._command, self._said, *self._hidden.values()]
        on_load(self._load, [*filled, self._command, self._said], self.notice)
        on(controls["preset"].input, self._pick, self.inputs, filled, self.notice, **ALWAYS_LAST)
        on(
            [self.inputs[name].input for name in self._deciding],
            self.reshape,
            self.inputs,
            self.shaped,
            self.notice,
            **ONE_AT_A_TIME,
        )
        # `change`, not `input`: a text that is pasted or filled in counts as well.
        typed = [
            box.change
            for name, box in self.inputs.items()
            if name != "preset" and name not in self._hidden
        ]
        on(typed, self._review, self.inputs, seen, self.notice, **ONE_AT_A_TIME)
        if not self.training.workspace.read_only:
            on(
                self._go.click,
                self._start,
                self.inputs,
                [self.started],
                self._told,
                **HIDE_PROGRESS,
            )
            on(
                self._cost.click,
                self._probe,
                self.inputs,
                [self._estimate],
                self._told,
                **HIDE_PROGRESS,
            )
        usual = {
            name: control.default
            for name, control in controls.declared.items()
            if control.default not in (None, "")
        }
        address.keep(dict(controls), usual | {"preset": self.training.usual})

    @property
    def shaped(self) -> list[Any]:
        """Components that `reshape` may update."""
        settings = self.training.settings.values()
        conditional = [self.controls[setting.name] for setting in settings if setting.when]
        return [*conditional, *self.aside.values(), *self.boxes.values()]

    def spec(self, values: SimpleNamespace) -> Any:
        """The spec of the values as typed."""
        return self.training.spec(self._whole(vars(values)))

    def reshape(self, values: SimpleNamespace, **changed: Any) -> dict[Any, Any]:
        """Show the controls that apply.

        Args:
            values: the values as typed.
            **changed: values to set, by control.
        """
        updates: Updates = {name: {"value": value} for name, value in changed.items()}
        return self._components(self._shaped(vars(values) | changed, updates))

    def _shaped(self, values: Values, updates: Updates) -> Updates:
        """The updates, with the visibility of controls added."""
        settings = self.training.settings.values()
        whether = {s.name: {"visible": s.applies(values)} for s in settings if s.when}
        shapes: Updates = whether | self._shape(values)
        return updates | {name: updates.get(name, {}) | shapes[name] for name in shapes}

    def _components(self, updates: Updates) -> dict[Any, Any]:
        places = {**self.inputs, **self.boxes}
        return {places[name]: gr.update(**changes) for name, changes in updates.items() if changes}

    def _filled(self, values: Values) -> Updates:
        """Updates that fill every control from the values of a spec."""
        updates: Updates = {name: {"value": values[name]} for name in self.training.settings}
        for name, changes in self._fill(values).items():
            updates[name] = updates.get(name, {}) | changes
        typed = {**values, **{n: changes["value"] for n, changes in updates.items()}}
        return self._shaped(typed, updates)

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
        values = training.preset(name)
        for field, found in given.items():
            ticked = field in training.settings and training.settings.ticked(field)
            values[field] = found[0] == "true" if ticked else found[0]
            if field in training.several:
                values[field] = found
        updates = self._filled(values)
        typed = {field: updates.get(field, {}).get("value") for field in self.inputs}
        updates = {field: self._changed(field, changes) for field, changes in updates.items()}
        labels = [*((preset.label, preset.name) for preset in presets), ("My own settings", OWN)]
        seen = self._review(SimpleNamespace(**typed | {"preset": name}))
        named = {"choices": labels, "value": seen[self.controls["preset"]]}
        return {
            **self._components(updates),
            **seen,
            self.controls["preset"]: gr.update(**named),
        }

    def _changed(self, field: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """What a page that was just opened does not show anyway: a hundred updates take time."""
        box = {**self.inputs, **self.boxes}[field]
        more = {name: to for name, to in changes.items() if getattr(box, name, None) != to}
        # An empty text box is left alone: the user may have begun to type in it.
        if more.get("value") == "" and isinstance(box, gr.Textbox):
            del more["value"]
        return more

    def _pick(self, values: SimpleNamespace) -> Answer:
        """Fill the form with a preset; `OWN` leaves it as it is."""
        if values.preset == OWN:
            return {self._about: ""}
        return self._components(self._filled(vars(values) | self.training.preset(values.preset)))

    def _review(self, chosen: SimpleNamespace) -> dict[Any, Any]:
        """The preset that the values match, the command, and the plan or an error.

        While controls are filled one after another, the values may leave a preset and return to it.
        """
        named, training = self.controls["preset"], self.training
        if chosen.preset is None:
            return {}  # a control fired before all are filled
        try:
            values = self._whole(vars(chosen))
            spec = training.spec(values)
        except UserError as error:
            return {named: OWN, self._about: "", self._command: "", self._said: _error(error)}
        preset = training.preset_of(values)
        return {
            named: preset.name if preset else OWN,
            self._about: _about_html(preset.about if preset else ""),
            self._command: _command_html(training.command(spec)),
            self._said: _plan_html(training.plan(spec), training.guess(spec)),
            **{box: values[name] for name, box in self._hidden.items()},
        }

    def _start(self, values: SimpleNamespace) -> Answer:
        run = self.training.start(self.spec(values))
        notice = {self._told: parts.say(self._done, "t-good")} if self._done else {}
        return {self.started: run, **notice}

    def _probe(self, values: SimpleNamespace) -> Iterator[Answer]:
        """Yield progress, and after some seconds the estimated cost."""
        training = self.training
        spec = self.spec(values)
        text = "Running a few updates on real batches; they are discarded"
        for drawn, cost in background_call.followed(lambda _: training.probe(spec), text):
            found = (
                drawn if cost is None else _cost_html(training.facts(cost), training.notes(cost))
            )
            yield {self._estimate: found}


def _control(
    training: Training[Any, Any], setting: Setting, form: str, usual: Mapping[str, Any]
) -> Control:
    """The control of a setting, initially visible if it applies under the defaults."""
    name, default = setting.name, usual[setting.name]
    first = {"objective": "unsup"} | dict(usual)
    options: dict[str, Any] = {"elem_id": f"{form}-{name}", "visible": setting.applies(first)}
    if training.settings.ticked(name):
        options |= {"container": False, "elem_classes": "t-flag"}
        return Control(name, setting.label, gr.Checkbox, default, setting.hint, None, options)
    if setting.choices:
        known = [value for _, value in setting.choices]
        default = default if default in known else None
        options |= {"filterable": False, "min_width": 190}
        return Control(
            name, setting.label, gr.Dropdown, default, setting.hint, setting.choices, options
        )
    options |= {"min_width": 150, **NO_SPELLCHECK}
    return Control(name, setting.label, gr.Textbox, default, setting.hint, None, options)


def _about_html(text: str) -> str:
    """The description of a preset."""
    return f'<p class="t-small t-muted">{escape(text)}</p>' if text else ""


def _error(error: UserError) -> str:
    """The error that keeps the form from being a spec, shown while it is filled in."""
    notice = f'<div class="t-notice t-bad" role="status"><p>{escape(error.message)}</p>'
    return notice + f"<p>{escape(error.hint)}</p></div>"


def _plan_html(facts: Mapping[str, str], time: str) -> str:
    """The plan, with the estimated time where known."""
    notice = ""
    if time:
        notice = (
            f'<p class="t-small" role="status">It takes <strong>{escape(time)}</strong>, going by '
            "the size of the text and what this machine showed before.</p>"
        )
    return f"{_facts(facts)}{notice}"


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


def _cost_html(facts: Mapping[str, str], notes: Sequence[str]) -> str:
    """The estimated cost and its caveats."""
    return f'<div role="status">{_facts(facts)}</div>{parts.warn(notes)}'


def _facts(facts: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{name}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items())
    return f'<dl class="t-facts">{rows}</dl>'
