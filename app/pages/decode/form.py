"""What the decode pages have in common: decoding options, and several encoders at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import gradio as gr

from app.pages.decode import service, views
from app.pages.decode.service import DEFAULTS, DecodeOptions
from app.pages.encoders import choices
from app.pages.encoders.service import STARTERS
from app.web import background_call
from app.web.controls import Answer, Control, Controls, Values, shape
from app.web.parts import ALWAYS_LAST

if TYPE_CHECKING:
    from app.batches import Waiting
    from app.pages.decode.service import DecodeResult
    from app.pages.decode.views import Shown
    from app.workspace import Workspace

Handler = Callable[[Values, gr.Request], Iterator[Answer]]
Answering = Callable[[Values, "str | None", bool], Iterator[Answer]]

MOST_WRITTEN = 2 * service.MOST_CHARACTERS
"""Characters that the box of a sentence takes: what is too long is said, not cut."""
MANY: dict[str, Any] = {**ALWAYS_LAST, "concurrency_limit": 12}
"""Of an event that decodes: most of them only wait, and the more wait, the larger the batches. Each
takes a thread an encoder meanwhile, with its own connections to the store."""
METHODS = [("Beam search", "beam"), ("Greedy", "greedy"), ("Sampling", "sample"),
           ("As the reference code", "vec2sent-ref")]  # fmt: skip


def _number(name: str, label: str, hint: str, low: float, high: float, key: str = "",
            **options: Any) -> Control:  # fmt: skip
    """A field of `DecodeOptions` that is a number."""
    default = getattr(DEFAULTS, name)
    step = {"precision": 0} if isinstance(default, int) else {"step": 0.05}
    return Control(
        name, label, gr.Number, default, hint, key=key,
        options={"elem_id": key or name, "minimum": low, "maximum": high} | step | options,
    )  # fmt: skip


OPTIONS = (
    Control("method", "Method", gr.Radio, DEFAULTS.method, choices=METHODS),
    _number("rounds", "Corrections",
            "Encode the result, shift the vector by the error, keep the best.",
            0, service.MOST_ROUNDS, "corrections"),
    _number("beams", "Candidates", "The best by cosine is shown.", 1, service.MOST_BEAMS),
    _number("temperature", "Temperature", "Low is cautious.", 0.05, 5, visible=False),
    _number("top_p", "Top-p", "Probability mass of the tokens to draw from.", 0.01, 1, "share",
            visible=False),
    _number("seed", "Random seed", "Repeats the same draws.", 0, 2**31 - 1, visible=False),
    Control("known_words", "Known words only", gr.Checkbox, DEFAULTS.known_words,
            "Only words of the decoder's training text.", key="known-words",
            options={"elem_id": "known-words", "container": False, "elem_classes": "t-flag"}),
)  # fmt: skip
"""The fields of `DecodeOptions`."""


def render(controls: Controls) -> None:
    """Place the options here; only what matters to a method is shown."""
    controls.render(*(option.name for option in OPTIONS))
    sampled = [controls[name] for name in ("temperature", "top_p", "seed")]

    def fitting(method: str) -> dict[Any, Any]:
        drawn = gr.update(visible=method == "sample")
        beams = gr.update(visible=method in ("beam", "sample"))
        words = gr.update(visible=method != "vec2sent-ref")
        return {
            controls["beams"]: beams,
            controls["known_words"]: words,
            **dict.fromkeys(sampled, drawn),
        }

    shape(fitting, {controls["method"]: [way for _, way in METHODS]})


def changes(controls: Controls, *names: str) -> list[Any]:
    """The events of the options and of other controls that ask for another answer."""
    return [controls[name].input for name in (*names, *(option.name for option in OPTIONS))]


def options(values: Values) -> DecodeOptions:
    """What the controls say; an empty one is as usual.

    Raises:
        UserError: what cannot be decoded by.
    """
    given = {}
    for field in fields(DecodeOptions):
        value, usual = getattr(values, field.name), getattr(DEFAULTS, field.name)
        given[field.name] = usual if value in (None, "") else type(usual)(value)
    return DecodeOptions(**given)


def first_encoders(workspace: Workspace) -> list[str]:
    """Encoders to begin with: kept ones that have a decoder, a person's own before the starters.

    No model is loaded for that.
    """
    from app import decoders

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
    """What several encoders say, all asked at the same moment.

    Args:
        workspace: where everything is.
        encoders: specs.
        ask: asks one of them; given its spec, and whom to tell how many requests come before.
        session: the tab that asks.
        known: what some of them say already; these are not asked.

    Yields:
        Of each encoder what it said, or (its spec, HTML that stands in its place: how far it is,
        or why there is nothing).
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
    """Handlers of a question, of another option, and of a page that was just opened.

    Args:
        answering: computes the answer for a tab; its flag says whether a shipped answer will do.
        nothing: what is shown while nothing is written; None where something is.
    """

    def ask(values: Values, request: gr.Request) -> Iterator[Answer]:
        yield from answering(values, request.session_hash, False)

    def again(values: Values, request: gr.Request) -> Iterator[Answer]:
        """Another option is no reason to ask for a sentence."""
        shown = nothing(values)
        yield from [shown] if shown else ask(values, request)

    def reopen(values: Values, request: gr.Request) -> Iterator[Answer]:
        yield from answering(values, request.session_hash, True)

    return ask, again, reopen


def opening(encoder: str) -> str:
    """What is done first, in words."""
    return (
        f"Opening {encoder} and its decoder; a model that has not been used yet takes some seconds"
    )
