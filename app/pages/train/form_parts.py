"""What the forms of *Train* and *Train decoder* share: their fields, and what stands beside them.

Numbers are typed as text, so that `3e-5` stays as it was written and a slip is answered beside the
form instead of being cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import gradio as gr

from app import formats
from app.web import parts
from app.web.parts import HIDE_PROGRESS
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

Values = Mapping[str, Any]


def _always(values: Values) -> bool:
    return True


@dataclass(frozen=True)
class Field:
    """One field of a spec on its form.

    Attributes:
        name: as in the spec.
        label, info: for people.
        kind: how it is asked and read.
        group: of the fields it stands with.
        applies: from all values as typed, whether it is shown and read.
        choices: (label, value) of a choice.
        optional: empty is None; `info` says what that means.
    """

    name: str
    label: str
    kind: Literal["whole", "number", "choice", "flag", "text"]
    group: str
    info: str = ""
    applies: Callable[[Values], bool] = _always
    choices: Sequence[tuple[str, str]] = ()
    optional: bool = False


def shown(field: Field, value: Any) -> Any:
    """A value of the spec as the field's control has it: text, except for a flag."""
    if field.kind == "flag":
        return bool(value)
    if value is None:
        return ""
    return formats.brief(value) if isinstance(value, float) else str(value)


def boxes(fields: Sequence[Field], form: str, choice: int, text: int) -> dict[str, Any]:
    """Name -> component, for a row: of every field that is not ticked.

    Args:
        fields: of one group.
        form: what the ids of their elements begin with.
        choice: least width in pixels of a list to choose from.
        text: least width in pixels of a line.
    """
    made: dict[str, Any] = {}
    for field in fields:
        about: dict[str, Any] = {"label": field.label, "elem_id": f"{form}-{field.name}",
                                 "info": field.info or None}  # fmt: skip
        if field.kind == "choice":
            made[field.name] = gr.Dropdown(
                list(field.choices), filterable=False, min_width=choice, **about
            )
        elif field.kind != "flag":
            plain = gr.InputHTMLAttributes(
                spellcheck=False, autocapitalize="none", autocomplete="off"
            )
            made[field.name] = gr.Textbox(
                max_lines=1, min_width=text, html_attributes=plain,
                visible=field.kind != "text",  # else hidden until it applies
                **about,
            )  # fmt: skip
    return made


def ticks(fields: Sequence[Field], form: str) -> dict[str, Any]:
    """Name -> component, to stand below the row: of every field that is ticked."""
    return {
        field.name: gr.Checkbox(
            label=field.label, info=field.info or None, elem_id=f"{form}-{field.name}",
            container=False, elem_classes="t-flag",
        )
        for field in fields
        if field.kind == "flag"
    }  # fmt: skip


def read(field: Field, typed: Any, usual: Any, example: int) -> Any:
    """The value that was meant.

    Args:
        field: that was filled in.
        typed: what its control has.
        usual: what it has unless it is changed.
        example: a number to give where usually there is none.

    Raises:
        UserError: it cannot be read; names the field and what was given.
    """
    if field.kind == "flag":
        return bool(typed)
    text = "" if typed is None else str(typed).strip()
    if not text:
        if field.optional:
            return None
        raise UserError(f"{field.label} is empty.", f"Usual is {usual}.")
    if field.kind in ("choice", "text"):
        return text
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (field.kind == "whole" and value != int(value)):
        expected = "a whole number" if field.kind == "whole" else "a number"
        raise UserError(
            f"{field.label}: {text[:40]!r} is no number that fits.",
            f"Expected {expected}, such as {usual or example}.",
        )
    return int(value) if field.kind == "whole" else value


def wrong(error: UserError) -> str:
    """What keeps the form from being a spec, said beside it while it is filled in."""
    said = f'<div class="t-notice t-bad" role="status"><p>{escape(error.message)}</p>'
    return said + f"<p>{escape(error.hint)}</p></div>"


class Side:
    """What stands beside a form: the command, what is said of the form, the cost, the start."""

    def __init__(self, workspace: Workspace, cost: str) -> None:
        self._workspace = workspace
        self.command = parts.static("", elem_id="command")
        self.said = parts.static("", elem_id="said")
        may = not workspace.read_only
        with gr.Row(visible=may, elem_classes="t-go"):
            self._go = gr.Button("Start training", variant="primary", elem_id="start")
            self._cost = gr.Button(cost, elem_id="cost")
        self._estimate = parts.static("", elem_id="estimate")
        self._told = parts.notice()  # of the buttons: what the form says must not wipe it out
        self.notice = parts.notice()
        self._run = gr.Textbox(visible="hidden", label="Run", elem_id="started")
        if not may:
            parts.static(
                parts.say("Visitors cannot start runs here. The command does it elsewhere.")
            )

    def wire(
        self, controls: Mapping[str, Any], begin: Callable[[Workspace, Values], Any],
        probe: Callable[[Workspace, Values], Iterator[str]],
    ) -> Any:  # fmt: skip
        """Attach the buttons.

        Args:
            controls: name -> component of the form.
            begin: from the controls' values by name, queues the run; its id, and what to say.
            probe: from the same, what it will cost, as it becomes known.

        Returns:
            The box that gets the id of a run that was started.
        """
        if self._workspace.read_only:
            return self._run

        def start(*values: Any) -> Any:
            return begin(self._workspace, dict(zip(controls, values, strict=True)))

        def cost(*values: Any) -> Iterator[str]:
            yield from probe(self._workspace, dict(zip(controls, values, strict=True)))

        asked = list(controls.values())
        self._go.click(parts.telling(start, 1), asked, [self._run, self._told], **HIDE_PROGRESS)
        self._cost.click(
            parts.telling(cost, 1), asked, [self._estimate, self._told], **HIDE_PROGRESS
        )
        return self._run
