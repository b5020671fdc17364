"""Shared by the decode pages: decoding options, and decoding with several encoders at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.pages.decode import service, views
from theodolite.app.pages.decode.service import DEFAULTS, DecodeOptions
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.encoders.service import STARTERS
from theodolite.app.web import background_call
from theodolite.app.web.controls import Answer, Control, Controls, Values, shape
from theodolite.app.web.parts import ALWAYS_LAST

if TYPE_CHECKING:
    from theodolite.app.batches import Waiting
    from theodolite.app.pages.decode.service import DecodeResult
    from theodolite.app.pages.decode.views import Shown
    from theodolite.app.workspace import Workspace

Handler = Callable[[Values, gr.Request], Iterator[Answer]]
Answering = Callable[[Values, "str | None", bool], Iterator[Answer]]

MAX_TYPED = 2 * service.MAX_CHARACTERS
"""Most characters of a sentence box: above the limit, so that an error reports a long sentence."""
MANY: dict[str, Any] = {**ALWAYS_LAST, "concurrency_limit": 12}
"""Options of an event that decodes: most events wait, and more waiting events make larger batches.
Each holds one thread per encoder meanwhile, with its own connections to the store."""
METHODS = [
    ("Beam search", "beam"),
    ("Greedy", "greedy"),
    ("Sampling", "sample"),
    ("As the reference code", "vec2sent-ref"),
]


def _number(
    name: str, label: str, hint: str, low: float, high: float, key: str = "", **options: Any
) -> Control:
    """A control for a numeric field of `DecodeOptions`."""
    default = getattr(DEFAULTS, name)
    step = {"precision": 0} if isinstance(default, int) else {"step": 0.05}
    return Control(
        name,
        label,
        gr.Number,
        default,
        hint,
        key=key,
        options={"elem_id": key or name, "minimum": low, "maximum": high} | step | options,
    )


OPTIONS = (
    Control("method", "Method", gr.Radio, DEFAULTS.method, choices=METHODS),
    _number(
        "rounds",
        "Corrections",
        "Encode the result, shift the vector by the error, keep the best.",
        0,
        service.MAX_ROUNDS,
        "corrections",
    ),
    _number("beams", "Candidates", "The best by cosine is shown.", 1, service.MAX_BEAMS),
    _number("temperature", "Temperature", "Low is cautious.", 0.05, 5, visible=False),
    _number(
        "top_p",
        "Top-p",
        "Probability mass of the tokens to draw from.",
        0.01,
        1,
        "share",
        visible=False,
    ),
    _number("seed", "Random seed", "Repeats the same draws.", 0, 2**31 - 1, visible=False),
    Control(
        "known_words",
        "Known words only",
        gr.Checkbox,
        DEFAULTS.known_words,
        "Only words of the decoder's training text.",
        key="known-words",
        options={"elem_id": "known-words", "container": False, "elem_classes": "t-flag"},
    ),
)
"""Controls for the fields of `DecodeOptions`."""


def render(controls: Controls) -> None:
    """Render the options; only those that the chosen method uses are visible."""
    controls.render(*(option.name for option in OPTIONS))
    sampled = [controls[name] for name in ("temperature", "top_p", "seed")]

    def fitting(method: str) -> dict[Any, Any]:
        drawn = gr.update(visible=method == "sample")
        beams = gr.update(visible=method in ("beam", "sample"))
        ours = gr.update(visible=method != "vec2sent-ref")
        return {
            controls["beams"]: beams,
            controls["rounds"]: ours,
            controls["known_words"]: ours,
            **dict.fromkeys(sampled, drawn),
        }

    shape(fitting, {controls["method"]: [way for _, way in METHODS]})


def changes(controls: Controls, *names: str) -> list[Any]:
    """The input events of the options and of the named controls."""
    return [controls[name].input for name in (*names, *(option.name for option in OPTIONS))]


def options(values: Values) -> DecodeOptions:
    """Read the options from the controls; an empty control takes the default."""
    given = {}
    for field in fields(DecodeOptions):
        value, usual = getattr(values, field.name), getattr(DEFAULTS, field.name)
        given[field.name] = usual if value in (None, "") else type(usual)(value)
    return DecodeOptions(**given)


def first_encoders(workspace: Workspace) -> list[str]:
    """At most three listed encoders with a decoder, a person's own before the starters.

    Loads no model.
    """
    from theodolite.app import decoders

    decoded = {row.encoder for row in decoders.listed(workspace)}
    kept = [name for name in choices.names(workspace) if name in decoded]
    own = [name for name in kept if name not in STARTERS]
    return [*own, *(name for name in STARTERS if name in kept)][:3]


def answers(
    workspace: Workspace,
    encoders: Sequence[str],
    ask: Callable[[str, Waiting], list[DecodeResult]],
    session: str | None,
    known: Mapping[str, DecodeResult] | None = None,
) -> Iterator[list[Shown]]:
    """Decode with several encoders at the same time.

    Args:
        workspace: the workspace.
        encoders: specs.
        ask: decodes with one encoder; takes its spec and the `Waiting` callback.
        session: the tab that asks.
        known: results by encoder that are already known; these encoders are not asked.

    Yields:
        For each encoder its result, or (its spec, HTML in place of it: progress or the error).
    """

    def work(encoder: str) -> Callable[[background_call.Say], Shown]:
        def do(say: background_call.Say) -> Shown:
            (result,) = ask(encoder, background_call.waiting(say))
            if result.problem:
                return encoder, views.instead(workspace, encoder, result.problem)
            return result

        return do

    known = known or {}
    works = {encoder: work(encoder) for encoder in encoders if encoder not in known}
    firsts = {encoder: opening(encoder) for encoder in works}
    for found in background_call.together(works, firsts, session):
        results: dict[str, Shown] = {
            encoder: (encoder, progress) if answer is None else answer
            for encoder, (progress, answer) in found.items()
        }
        yield [known.get(encoder) or results[encoder] for encoder in encoders]


def handlers(
    answering: Answering, nothing: Callable[[Values], Answer]
) -> tuple[Handler, Handler, Handler]:
    """Return the handlers of a submit, of a changed option, and of a page load.

    Args:
        answering: computes the answer for a tab; its flag allows a shipped answer.
        nothing: returns the view of an empty input; None if the input is not empty.
    """

    def ask(values: Values, request: gr.Request) -> Iterator[Answer]:
        yield from answering(values, request.session_hash, False)

    def again(values: Values, request: gr.Request) -> Iterator[Answer]:
        """Answer again after an option changed; an empty input is not an error here."""
        shown = nothing(values)
        yield from [shown] if shown else ask(values, request)

    def reopen(values: Values, request: gr.Request) -> Iterator[Answer]:
        yield from answering(values, request.session_hash, True)

    return ask, again, reopen


def opening(encoder: str) -> str:
    """The first progress message."""
    return (
        f"Opening {encoder} and its decoder; a model that has not been used yet takes some seconds"
    )
