"""Shared by the decode pages: decoding options, and decoding with several encoders at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.pages.decode import service
from theodolite.app.pages.decode.answer import completed, word_diff_of
from theodolite.app.pages.decode.options import METHODS, DecodeOptions
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.encoders.service import STARTERS
from theodolite.app.spec import parameters
from theodolite.app.surfaces import document, web
from theodolite.app.web import background_call
from theodolite.app.web.controls import Answer, Controls, Values, shape
from theodolite.app.web.parts import ALWAYS_LAST

if TYPE_CHECKING:
    from theodolite.app.batches import Waiting
    from theodolite.app.blocks import WordDiff
    from theodolite.app.pages.decode.service import DecodeResult
    from theodolite.app.workspace import Workspace

Handler = Callable[[Values, gr.Request], Iterator[Answer]]
Answering = Callable[[Values, "str | None", bool], Iterator[Answer]]

MAX_TYPED = 2 * service.MAX_CHARACTERS
"""Most characters of a sentence box: above the limit, so that an error reports a long sentence."""
MANY: dict[str, Any] = {**ALWAYS_LAST, "concurrency_limit": 12}
"""Options of an event that decodes: most events wait, and more waiting events make larger batches.
Each holds one thread per encoder meanwhile, with its own connections to the store."""
_OWN: dict[str, dict[str, Any]] = {
    "temperature": {"step": 0.05, "visible": False},
    "top_p": {"step": 0.05, "minimum": 0.01, "visible": False},
    "seed": {"minimum": 0, "maximum": 2**31 - 1, "visible": False},
    "known_words": {"container": False, "elem_classes": "t-flag"},
}
OPTIONS = tuple(
    web.control(
        one,
        None if one.field.choices else one.field.help,
        elem_id=one.key,
        **_OWN.get(one.name, {}),
    )
    for one in parameters(DecodeOptions)
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

    shape(fitting, {controls["method"]: list(METHODS)})


def changes(controls: Controls, *names: str) -> list[Any]:
    """The input events of the options and of the named controls."""
    return [controls[name].input for name in (*names, *(option.name for option in OPTIONS))]


def options(values: Values) -> DecodeOptions:
    """Read the options from the controls; an empty control takes the default."""
    return DecodeOptions(**{one.name: getattr(values, one.name) for one in OPTIONS})


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
    known: Mapping[str, DecodeResult],
    card: Callable[[DecodeResult], WordDiff] = word_diff_of,
) -> Iterator[str]:
    """Decode with several encoders at the same time.

    Args:
        workspace: the workspace.
        encoders: specs.
        ask: decodes with one encoder; takes its spec and the `Waiting` callback.
        session: the tab that asks.
        known: results by encoder that are already known; these encoders are not asked.
        card: what to show of a result.

    Yields:
        The HTML of a card for each encoder: of its result, its progress, or its error.
    """

    def work(encoder: str) -> Callable[[background_call.Say], WordDiff]:
        def do(say: background_call.Say) -> WordDiff:
            (result,) = ask(encoder, background_call.waiting(say))
            return card(completed(workspace, result))

        return do

    shown = {encoder: card(completed(workspace, one)) for encoder, one in known.items()}
    works = {encoder: work(encoder) for encoder in encoders if encoder not in known}
    firsts = {encoder: opening(encoder) for encoder in works}
    for found in background_call.together(works, firsts, session):
        results: dict[str, WordDiff | tuple[str, str]] = {
            encoder: (encoder, progress) if answer is None else answer
            for encoder, (progress, answer) in found.items()
        }
        results |= shown
        yield document.word_diffs([results[encoder] for encoder in encoders])


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
