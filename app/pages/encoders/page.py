"""The page *Encoders*: the listed encoders, and a form to write a new one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.components.actions import actions
from theodolite.app.pages.encoders import builder, service, views
from theodolite.app.pages.encoders.checks import AUDIT, COVERAGE, AuditSpec, CoverageSpec
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_load
from theodolite.app.web.events import PageEvent
from theodolite.app.web.parts import HIDE_PROGRESS, ONE_AT_A_TIME

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Encoders"
PATH = "encoders"
CLOSED = (
    "Adding encoders is disabled here: a demonstration loads only the listed encoders. Run "
    "Theodolite on your own machine to add some."
)
DESCRIPTION = (
    "An encoder turns text into vectors. Its spec, a short text, works the same here, on the "
    "command line and in Python."
)
CONTROLS = (
    Control(
        "spec",
        "Spec",
        default="",
        options={
            "placeholder": "hf:bert-base-uncased?pooling=cls_token | normalise",
            "elem_classes": ["t-mono", "t-wide"],
            "max_lines": 1,
        },
    ),
)
MANY = 30
"""Encoders of a list that can be searched."""
NARROW = """(words) => requestAnimationFrame(() => theodolite.narrow("#encoders", words))"""
_CHECKS: dict[str, tuple[Any, Any]] = {
    "audit": (AUDIT, AuditSpec),
    "coverage": (COVERAGE, CoverageSpec),
}
"""Button of an encoder -> the question that it asks."""


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    form = _Form(workspace)
    notice = form.notice
    find = gr.Textbox(label="Find", elem_id="find", max_lines=1, visible=False)
    listing = actions(elem_id="encoders", elem_classes=["t-answer"])
    checked = web.answer(elem_id="checked")

    def load(request: gr.Request) -> Answer:
        many = len(service.names(workspace)) > MANY
        opened = address.first(request, "encoder")
        return {listing: views.listing(workspace, opened), find: gr.update(visible=many)}

    on_load(load, [listing, find], notice)
    gr.on([find.change, listing.change], fn=None, inputs=find, js=NARROW)

    def act(event: PageEvent) -> Iterator[Answer]:
        name = event.id
        if event.act == "remove":
            service.remove(workspace, name)
            text = parts.say(f"Removed {name}. Its results are kept.")
            yield {listing: views.listing(workspace), checked: "", notice: text}
        else:
            question, spec = _CHECKS[event.one_of("act", _CHECKS)]
            for answer in question.answer(workspace, spec(name), lambda job: False):
                yield {checked: web.value(answer.blocks())}

    on(listing.act, act, None, [listing, checked], notice, concurrency_limit=1, **HIDE_PROGRESS)
    if not workspace.read_only:
        form.connect(listing)


class _Form:
    """A spec in the first row, and a builder of specs in the panel; hidden from visitors."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._controls = Controls(*CONTROLS)
        with parts.bar(TITLE, DESCRIPTION, docs="encoders"):
            if not workspace.read_only:
                self._controls.render("spec")
                # Not among the controls: no address may tick it.
                self._sends = gr.Checkbox(visible=False, elem_id="send-texts", min_width=280)
                self._add = gr.Button("Add encoder", variant="primary", elem_id="add")
                with parts.more("Build a spec"):
                    self._choices, self._join = builder.build(workspace)
        self._verdict = parts.static("", elem_id="verdict")
        self.notice = parts.notice()

    def connect(self, listing: gr.HTML) -> None:
        """Attach the events: check a typed spec, write a built one, add it to the list."""
        workspace, controls, choices = self._workspace, self._controls, self._choices
        spec, verdict, join = controls["spec"], self._verdict, self._join
        sends = self._sends

        def compose(chosen: Values) -> Answer:
            ready = gr.update(interactive=bool(builder.source(chosen)))
            return {spec: builder.compose(chosen) or gr.skip(), join: ready}

        def save(inputs: Values) -> Answer:
            name = service.add(workspace, inputs.spec, send_texts=inputs.sends)["name"]
            message = parts.say(f"Added {name}.", "t-good")
            return {listing: views.listing(workspace, name), self.notice: message, **_sends(name)}

        def read(inputs: Values) -> Answer:
            return {verdict: views.verdict(inputs.spec), **_sends(inputs.spec)}

        def _sends(text: str) -> dict[Any, Any]:
            """Show the checkbox if a spec would send texts to hosts that are not allowed."""
            hosts = ", ".join(service.would_send_to(workspace, text))
            label = f"Send the texts it encodes to {hosts}"
            return {sends: gr.update(visible=bool(hosts), value=False, label=label)}

        on(
            [box.change for box in choices.values()],
            compose,
            choices,
            [spec, join],
            self.notice,
            **ONE_AT_A_TIME,
        )
        inputs = {**controls, "sends": sends}
        on(spec.change, read, controls, [verdict, sends], self.notice, **ONE_AT_A_TIME)
        on([self._add.click, spec.submit], save, inputs, [listing, sends], self.notice)
        on_load(lambda request: {spec: address.first(request, "spec")}, [spec], self.notice)
        controls.keep()
