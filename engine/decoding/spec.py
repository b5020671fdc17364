"""The spec of a decoder's training: frozen, versioned, hashed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from theodolite.engine.errors import UserError
from theodolite.engine.training.base_spec import BaseSpec, PrecisionName, Ranges

VERSION = 1
HEADS = 4
"""Attention heads of `prefix`."""

Architecture = Literal["prefix", "lstm", "lstm-mos", "causal"]

_RANGES: Ranges = {
    "words": (lambda v: v >= 2, "at least 2"),
    "limit": (lambda v: v >= 2, "at least 2, or none for all"),
    "held_out": (lambda v: v >= 1, "at least 1"),
    "vocabulary": (lambda v: v >= 260, "at least 260: every byte is a token"),
    "width": (lambda v: v >= HEADS and v % HEADS == 0, f"a multiple of {HEADS}"),
    "layers": (lambda v: v >= 1, "at least 1"),
    "batch_tokens": (lambda v: v >= 64, "at least 64"),
    "warmup": (lambda v: v >= 0, "0 or more"),
    "noise": (lambda v: 0 <= v < math.inf, "0 or more"),
}


@dataclass(frozen=True)
class DecoderSpec(BaseSpec):
    """Training of a decoder for one encoder.

    Attributes:
        encoder: spec string of the encoder whose vectors are decoded.
        train: files of one sentence a line, or names of data sets.
        out: the folder that becomes the decoder.
        architecture: `prefix` (a Transformer that reads the vector as its first positions), `lstm`
            (one layer, section 3.3 of Vec2Sent), `lstm-mos` (the paper's: three layers of 1024 and
            a mixture of five softmaxes), `causal` (an existing language model).
        base: for `causal`: `hf:ID` or `dir:FOLDER`, with its own vocabulary and sizes.
        start: a decoder to continue from, by its folder or its name in the list, of the same
            encoder, architecture and sizes: its weights, tokens and standardisation are taken; None
            for random weights.
        words: sentences of more words are cut into clauses, or left out.
        clauses: whether longer sentences are cut into clauses.
        limit: most sentences, of which the first are taken; None for all.
        held_out: number of held-out sentences; the weights with the lowest loss on them are kept.
        vocabulary: size in tokens.
        width, layers: of the hidden states; None for the architecture's own.
        epochs: over the sentences; fractions allowed.
        batch_tokens: tokens per update.
        learning_rate: the peak, reached after `warmup` updates, then decayed to 0 along a cosine.
            The weights of a base learn at a twentieth of it.
        warmup: number of warmup updates.
        dropout: None for the architecture's own.
        noise: standard deviation of Gaussian noise on the standardised vectors, so that the decoder
            also learns points between those of sentences.
        seed: decides initial weights, order, dropout and noise.
        device: None takes the first GPU if there is one.
        precision: `auto` takes bf16 on a GPU that has it, fp16 on others, and fp32 on a CPU.
    """

    version = VERSION
    name = "decoder's training spec"
    verb = "train-decoder"
    arguments = ("encoder",)
    sources = ("encoder", "train", "base", "start")

    encoder: str
    train: tuple[str, ...]
    out: str
    architecture: Architecture = "prefix"
    base: str | None = None
    start: str | None = None
    words: int = 14
    clauses: bool = True
    limit: int | None = None
    held_out: int = 500
    vocabulary: int = 8000
    width: int | None = None
    layers: int | None = None
    epochs: float = 5.0
    batch_tokens: int = 2048
    learning_rate: float = 2e-3
    warmup: int = 300
    dropout: float | None = None
    noise: float = 0.0
    seed: int = 42
    device: str | None = None
    precision: PrecisionName = "auto"

    def __post_init__(self) -> None:
        """Validate the fields."""
        self.check(_RANGES)
        if not self.train:
            raise UserError(
                "A decoder needs sentences to learn from.",
                "Name a file or data set.",
                code="missing",
            )
        causal = self.architecture == "causal"
        if causal == (self.base is None):
            raise UserError(
                f"The architecture {self.architecture} goes with {'a' if causal else 'no'} base.",
                "Give architecture causal and a base, hf:ID or dir:FOLDER, or neither.",
                code="conflict",
            )
        if causal and self.start is not None:
            raise UserError(
                "A language model starts from its base, not from a decoder.",
                "Leave out the start.",
                code="conflict",
            )
        if causal and (self.width or self.layers or self.dropout is not None):
            raise UserError(
                "A base has a width, layers and dropout of its own.",
                "Leave them out, or the base.",
                code="conflict",
            )
