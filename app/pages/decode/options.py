"""How points are decoded: the options that all questions of decoding share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from theodolite.app.spec import Field, Spec
from theodolite.engine.errors import UserError

METHODS = {
    "beam": "Beam search",
    "greedy": "Greedy",
    "sample": "Sampling",
    "vec2sent-ref": "As the reference code",
}
"""Methods of `engine.decode`, and their labels."""
MAX_BEAMS = 20
MAX_ROUNDS = 20


@dataclass(frozen=True, kw_only=True)
class DecodeOptions(Spec):
    """How points are decoded."""

    method: Annotated[
        str,
        Field(
            "Method",
            "How sentences are searched for; vec2sent-ref is the beam search of the released code.",
            choices=METHODS,
        ),
    ] = "beam"
    rounds: Annotated[
        int,
        Field(
            "Corrections",
            "Encode the result, shift the vector by the error, keep the best; none with "
            "vec2sent-ref.",
            key="corrections",
            flags=("--corrections",),
            ge=0,
            le=MAX_ROUNDS,
        ),
    ] = 2
    beams: Annotated[
        int,
        Field(
            "Candidates",
            "Of beam search or sampling; the best by cosine is kept.",
            ge=1,
            le=MAX_BEAMS,
        ),
    ] = 5
    temperature: Annotated[
        float, Field("Temperature", "Of the sampling; low is cautious.", ge=0.05, le=5)
    ] = 1.0
    top_p: Annotated[
        float,
        Field("Top-p", "Of the sampling: probability mass to draw from.", key="share", ge=0, le=1),
    ] = 0.9
    seed: Annotated[int, Field("Random seed", "Of the sampling.")] = 0
    known_words: Annotated[
        bool,
        Field(
            "Known words only",
            "Only words of the decoder's training text.",
            key="known-words",
            flags=("--known-words/--any-words",),
        ),
    ] = True

    def check(self) -> None:
        """Something must be left to draw from."""
        if not self.top_p:
            raise UserError("Top-p cannot be 0.", "Give a number above 0.")


DEFAULTS = DecodeOptions()
