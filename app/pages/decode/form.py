"""What the pages of decoding have in common: how a point is decoded, and what if it cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

import gradio as gr

from app.pages.decode import service
from app.pages.decode.service import How, NoDecoder
from app.pages.encoders import choices
from app.web import address, background_call, parts
from app.web.parts import ALWAYS_LAST

if TYPE_CHECKING:
    from app.batches import Waiting
    from app.pages.decode.service import Said
    from app.workspace import Workspace
    from engine.errors import UserError

WAYS = [("Beam search", "beam"), ("Greedy", "greedy"), ("Sampling", "sample"),
        ("As the reference code", "vec2sent-ref")]  # fmt: skip
DEFAULTS: dict[str, Any] = {
    "method": "beam",
    "beams": 5,
    "temperature": 1,
    "share": 0.9,
    "seed": 0,
    "corrections": 0,
}
NAMES = tuple(DEFAULTS)
MANY: dict[str, Any] = {**ALWAYS_LAST, "concurrency_limit": 12}
"""Of an event that decodes: most of them only wait, and the more wait, the larger the batches. Each
takes a thread an encoder meanwhile, with its own connections to the store."""
Answer: TypeAlias = "Said | tuple[str, str]"
"""What an encoder said, or (its spec, HTML that stands in its place)."""


def options() -> dict[str, Any]:
    """Lay out the options, folded away; names as in the address."""
    with gr.Accordion("How it is decoded", open=False):
        with gr.Row():
            method = gr.Radio(WAYS, value="beam", label="Method", elem_id="method", min_width=300,
                              scale=3)  # fmt: skip
            corrections = gr.Number(
                0, label="Corrections", minimum=0, maximum=service.MOST_ROUNDS, precision=0,
                elem_id="corrections", min_width=160, scale=1,
                info="Encode again, move by what was missed, keep the best.",
            )  # fmt: skip
        with gr.Row():
            beams = gr.Number(5, label="Candidates", minimum=1, maximum=service.MOST_BEAMS,
                              precision=0, elem_id="beams", min_width=120,
                              info="The best by cosine is shown.")  # fmt: skip
            temperature = gr.Number(1, label="Temperature", minimum=0.05, maximum=5, step=0.05,
                                    elem_id="temperature", min_width=120, visible=False,
                                    info="Low is cautious.")  # fmt: skip
            share = gr.Number(0.9, label="Share drawn from", minimum=0.01, maximum=1, step=0.05,
                              elem_id="share", min_width=120, visible=False,
                              info="Of the likeliest pieces; top-p.")  # fmt: skip
            seed = gr.Number(0, label="Seed", minimum=0, maximum=2**31 - 1, precision=0,
                             elem_id="seed", min_width=120, visible=False,
                             info="Draws the same again.")  # fmt: skip
    boxes = (method, beams, temperature, share, seed, corrections)
    parts.shape(_shape, {method: [way for _, way in WAYS]}, [beams, temperature, share, seed])
    return dict(zip(NAMES, boxes, strict=True))


def _shape(method: str) -> tuple[Any, ...]:
    """Only what matters to a method is shown."""
    drawn = gr.update(visible=method == "sample")
    return gr.update(visible=method in ("beam", "sample")), drawn, drawn, drawn


def how(*values: Any) -> How:
    """The options as `saying` takes them, in the order of `NAMES`; empty ones are the usual.

    Raises:
        UserError: what cannot be decoded by.
    """
    asked = {k: DEFAULTS[k] if v in (None, "") else v for k, v in zip(NAMES, values, strict=True)}
    return How(
        asked["method"], int(asked["beams"]), float(asked["temperature"]), float(asked["share"]),
        int(asked["seed"]), int(asked["corrections"]),
    )  # fmt: skip


def asked(request: gr.Request) -> tuple[Any, ...]:
    """The options as the address has them, in the order of `NAMES`; what cannot be is the usual."""
    method = address.choice(request, "method", [value for _, value in WAYS], "beam")
    limits = {"beams": (1, service.MOST_BEAMS), "temperature": (0.05, 5), "share": (0.01, 1),
              "seed": (0, 2**31 - 1), "corrections": (0, service.MOST_ROUNDS)}  # fmt: skip
    return (method, *(
        _number(address.first(request, name), *ends, DEFAULTS[name])
        for name, ends in limits.items()
    ))  # fmt: skip


def _number(text: str, lowest: float, highest: float, usual: Any) -> Any:
    value = address.number(text)
    if value is None or not lowest <= value <= highest:
        return usual
    return int(value) if isinstance(usual, int) and value.is_integer() else value


def first_encoders(workspace: Workspace) -> list[str]:
    """Encoders to begin with: kept ones that have a decoder, a person's own before the starters.

    No model is loaded for that.
    """
    from app.pages.train import decoders

    decoded = {row.encoder for row in decoders.listed(workspace)}
    kept = [name for name in choices.names(workspace) if name in decoded]
    own = [name for name in kept if name not in choices.STARTERS]
    return [*own, *(name for name in choices.STARTERS if name in kept)][:3]


def answered(
    workspace: Workspace,
    encoders: Sequence[str],
    ask: Callable[[str, Waiting], list[Said]],
    session: str | None,
) -> Iterator[list[Answer]]:
    """What several encoders say, all asked at the same moment.

    Args:
        workspace: where everything is.
        encoders: specs.
        ask: asks one of them; given its spec, and whom to tell how many requests come before.
        session: the tab that asks.

    Yields:
        Of each encoder what it said, or (its spec, HTML that stands in its place: how far it is,
        or why there is nothing).
    """

    def work(encoder: str) -> Callable[[background_call.Say], Answer]:
        def do(say: background_call.Say) -> Answer:
            (said,) = ask(encoder, background_call.waiting(say))
            if said.problem:
                return encoder, instead(workspace, encoder, said.problem)
            return said

        return do

    works = {encoder: work(encoder) for encoder in encoders}
    firsts = {encoder: opening(encoder) for encoder in encoders}
    for found in background_call.together(works, firsts, session):
        yield [
            (encoder, progress) if answer is None else answer
            for encoder, (progress, answer) in found.items()
        ]


def opening(encoder: str) -> str:
    """What is done first, in words."""
    return f"Opening {encoder} and its decoder; a model that was not used yet takes some seconds"


def instead(workspace: Workspace, encoder: str, problem: UserError) -> str:
    """What stands in place of an answer: an error, or how to come to a decoder. HTML."""
    if not isinstance(problem, NoDecoder):
        return parts.problem(problem)
    return lacking(workspace, encoder)


def lacking(workspace: Workspace, encoder: str) -> str:
    """A calm word that there is no decoder, and the way to one. HTML."""
    if workspace.read_only:
        more = "Visitors cannot train one; choose another encoder."
        link = ""
    else:
        more = "A decoder is trained once, in the background."
        if took := service.training_time(workspace, encoder):
            more += f" For this encoder that takes {took}, as far as can be told beforehand."
        to = escape(address.link("train-decoder", encoder=encoder))
        link = f'<p><a class="t-button" href="{to}">Train a decoder</a></p>'
    return (
        f'<div class="t-notice t-lacking" role="status"><p><strong>No decoder for '
        f'<span class="t-spec">{escape(encoder)}</span> yet.</strong></p>'
        f"<p>{escape(more)}</p>{link}</div>"
    )
