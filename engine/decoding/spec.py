"""What the training of a decoder is asked to do: frozen, versioned, hashed."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from engine.encoders.spec import as_before, of_before
from engine.errors import UserError

VERSION = 1
HEADS = 4
"""Of the attention of `prefix`."""

Architecture = Literal["prefix", "lstm", "lstm-mos", "causal"]

_RANGES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "architecture": (lambda v: v in get_args(Architecture), ", ".join(get_args(Architecture))),
    "words": (lambda v: v >= 2, "at least 2"),
    "limit": (lambda v: v >= 2, "at least 2, or none for all"),
    "held_out": (lambda v: v >= 1, "at least 1"),
    "vocabulary": (lambda v: v >= 260, "at least 260: every byte is a piece"),
    "width": (lambda v: v >= HEADS and v % HEADS == 0, f"a multiple of {HEADS}"),
    "layers": (lambda v: v >= 1, "at least 1"),
    "epochs": (lambda v: 0 < v < math.inf, "more than 0"),
    "batch_tokens": (lambda v: v >= 64, "at least 64"),
    "learning_rate": (lambda v: 0 < v < 1, "more than 0 and below 1"),
    "warmup": (lambda v: v >= 0, "0 or more"),
    "dropout": (lambda v: 0 <= v < 1, "from 0 to below 1"),
    "noise": (lambda v: 0 <= v < math.inf, "0 or more"),
}


@dataclass(frozen=True)
class DecoderSpec:
    """Training of a decoder for one encoder.

    Attributes:
        encoder: spec string of the encoder whose vectors are decoded.
        train: files of one sentence a line, or names of data sets.
        out: the folder that becomes the decoder.
        architecture: `prefix` (a Transformer that reads the vector as its first positions), `lstm`
            (one layer, section 3.3 of Vec2Sent), `lstm-mos` (the paper's: three layers of 1024 and
            a mixture of five softmaxes), `causal` (a language model that is there already).
        base: of `causal`: `hf:ID` or `dir:FOLDER`, with its own vocabulary and sizes.
        words: sentences of more words are cut into clauses, or left out.
        clauses: whether they are cut.
        limit: train on the first so many sentences only; None for all.
        held_out: sentences kept apart: of their losses the lowest decides which weights are kept.
        vocabulary: pieces.
        width, layers: of the hidden states; None for the architecture's own.
        epochs: passes over the sentences.
        batch_tokens: pieces of an update.
        learning_rate: the highest, after `warmup` updates; then falling to 0 along a cosine. The
            weights of a base learn at a twentieth of it.
        warmup: updates.
        dropout: None for the architecture's own.
        noise: standard deviation of Gaussian noise on the standardised vectors, so that points
            between those of sentences are not foreign to the decoder.
        seed: decides fresh weights, order, dropout and noise.
        device: None takes the first GPU if there is one.
    """

    encoder: str
    train: tuple[str, ...]
    out: str
    architecture: Architecture = "prefix"
    base: str | None = None
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

    def __post_init__(self) -> None:
        """Refuse what cannot be trained.

        Raises:
            UserError: names the field, what was given and what fits.
        """
        for name, (fits, expected) in _RANGES.items():
            given = getattr(self, name)
            if given is not None and not fits(given):
                raise _refused(name, given, expected)
        if not self.train:
            raise UserError("A decoder needs sentences to learn from.", "Name a file or data set.")
        causal = self.architecture == "causal"
        if causal == (self.base is None):
            raise UserError(
                f"The architecture {self.architecture} goes with {'a' if causal else 'no'} base.",
                "Give architecture causal and a base, hf:ID or dir:FOLDER, or neither.",
            )
        if causal and (self.width or self.layers or self.dropout is not None):
            raise UserError(
                "A base has a width, layers and dropout of its own.", "Leave them out, or the base."
            )

    def to_dict(self) -> dict[str, Any]:
        """Every field and the version, JSON-able."""
        return {"version": VERSION} | asdict(self) | {"train": list(self.train)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> DecoderSpec:
        """The spec that `to_dict` wrote.

        Raises:
            UserError: an unknown field, a missing one, or another version.
        """
        if given.get("version", VERSION) != VERSION:
            raise UserError(f"This spec is of version {given['version']}, not {VERSION}.")
        known = {field.name for field in fields(cls)}
        wanted = {name: value for name, value in given.items() if name != "version"}
        if unknown := sorted(wanted.keys() - known):
            raise UserError(f"The training of a decoder has no field {unknown[0]!r}.")
        if missing := sorted({"encoder", "train", "out"} - wanted.keys()):
            raise UserError(f"The training of a decoder needs the field {missing[0]!r}.")
        encoder = of_before(wanted["encoder"])
        return cls(**wanted | {"encoder": encoder, "train": tuple(wanted["train"])})

    @property
    def hash(self) -> str:
        """32 hexadecimal digits over everything that decides the weights; `out` does not."""
        facts = {name: value for name, value in self.to_dict().items() if name != "out"}
        facts["encoder"] = as_before(self.encoder)  # decoders of before are known by that
        text = json.dumps(facts, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def out_folder(spec: DecoderSpec) -> Path:
    """Where the decoder of a training will be."""
    return Path(spec.out).expanduser().absolute()


def working_folder(spec: DecoderSpec) -> Path:
    """Where the checkpoint of a training is until its decoder is written."""
    out = out_folder(spec)
    return out.with_name(out.name + ".training")


def _refused(name: str, given: Any, expected: str) -> UserError:
    shown = name.replace("_", " ")
    return UserError(f"The {shown} cannot be {given!r}.", f"Expected {expected}.")
