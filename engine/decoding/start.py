"""An existing decoder from which another training starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from theodolite.engine.decoding import folder as folders
from theodolite.engine.decoding.folder import DecoderModel
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.vocabulary import Words
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.errors import UserError
from theodolite.engine.paths import named

SAME = ("architecture", "vocabulary", "width", "layers")
"""Settings fixed by the weights."""


@dataclass(frozen=True)
class Start:
    """The decoder that a training starts from.

    Attributes:
        model: with its weights, and the dropout of the new training.
        vocabulary: its tokens, and the words that decoding is restricted to.
        facts: the content of its `decoder.json`, with the sizes of `model`.
    """

    model: DecoderModel
    vocabulary: Words
    facts: dict[str, Any]

    @classmethod
    def of(cls, spec: DecoderSpec, encoder: Encoder) -> Start | None:
        """Open the decoder that a training starts from; None for random weights."""
        if spec.start is None:
            return None
        folder = named(spec.start)
        model, vocabulary, facts = folders.read(folder)
        if (facts["fingerprint"], facts["dim"]) != (encoder.fingerprint, encoder.dim):
            raise UserError(
                f"The decoder {folder.name} reads vectors of {facts['encoder']} with the "
                f"fingerprint {facts['fingerprint']}, not those of {spec.encoder} "
                f"({encoder.fingerprint}).",
                "Continue with the encoder that it was trained for.",
                code="mismatch",
            )
        then = DecoderSpec.from_dict(facts["spec"])
        for name in SAME:
            was, requested = getattr(then, name), getattr(spec, name)
            if was != requested:
                raise UserError(
                    f"The decoder {folder.name} has the {name} {was or 'of its kind'}, not "
                    f"{requested or 'that of its kind'}.",
                    f"Give the same {name}, or no decoder to start from.",
                    code="mismatch",
                )
        sizes = facts["sizes"] = facts["sizes"] | {"dropout": spec.dropout}
        own = folders.build(spec.architecture, encoder.dim, len(vocabulary), sizes)
        own.load_state_dict(model.state_dict())
        return cls(own, vocabulary, facts)
