"""What the training of a decoder is asked to do: frozen, versioned, hashed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from engine.errors import UserError

VERSION = 1

Architecture = Literal["prefix", "lstm", "lstm-mos"]


@dataclass(frozen=True)
class DecoderSpec:
    """Training of a decoder for one encoder.

    Attributes:
        encoder: spec string of the encoder whose vectors are decoded.
        train: files of one sentence a line, or names of data sets.
        out: the folder that becomes the decoder.
        architecture: `prefix` (a Transformer that reads the vector as its first positions), `lstm`
            (one layer, section 3.3 of Vec2Sent), `lstm-mos` (the paper's: three layers of 1024 and
            a mixture of five softmaxes).
        words: sentences of more words are cut into clauses, or left out.
        clauses: whether they are cut.
        limit: train on the first so many sentences only; None for all.
        vocabulary: pieces.
        width, layers: of the hidden states; None for the architecture's own.
        epochs: passes over the sentences.
        batch_tokens: pieces of an update.
        learning_rate: the highest, after `warmup` updates; then falling to 0 along a cosine.
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
    words: int = 14
    clauses: bool = True
    limit: int | None = None
    vocabulary: int = 8000
    width: int | None = None
    layers: int | None = None
    epochs: float = 5.0
    batch_tokens: int = 2048
    learning_rate: float = 1e-3
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
        if self.architecture not in get_args(Architecture):
            raise _refused("architecture", self.architecture, ", ".join(get_args(Architecture)))
        if not self.train:
            raise UserError("A decoder needs sentences to learn from.", "Name a file or data set.")
        for name, least in (("words", 2), ("vocabulary", 260), ("batch_tokens", 64), ("warmup", 0)):
            if getattr(self, name) < least:
                raise _refused(name, getattr(self, name), f"at least {least}")
        if not 0 < self.learning_rate < 1:
            raise _refused("learning rate", self.learning_rate, "more than 0 and below 1")
        if self.epochs <= 0:
            raise _refused("epochs", self.epochs, "more than 0")
        if not 0 <= (self.dropout or 0.0) < 1:
            raise _refused("dropout", self.dropout, "from 0 to below 1")
        if self.noise < 0:
            raise _refused("noise", self.noise, "0 or more")

    def to_dict(self) -> dict[str, Any]:
        """Every field and the version, JSON-able."""
        return {"version": VERSION} | asdict(self) | {"train": list(self.train)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> DecoderSpec:
        """The spec that `to_dict` wrote.

        Raises:
            UserError: an unknown field, or another version.
        """
        if given.get("version", VERSION) != VERSION:
            raise UserError(f"This spec is of version {given['version']}, not {VERSION}.")
        known = {field.name for field in fields(cls)}
        wanted = {name: value for name, value in given.items() if name != "version"}
        if unknown := sorted(wanted.keys() - known):
            raise UserError(f"The training of a decoder has no field {unknown[0]!r}.")
        return cls(**wanted | {"train": tuple(wanted["train"])})

    @property
    def hash(self) -> str:
        """32 hexadecimal digits over everything that decides the weights; `out` does not."""
        facts = {name: value for name, value in self.to_dict().items() if name != "out"}
        text = json.dumps(facts, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _refused(name: str, given: Any, expected: str) -> UserError:
    shown = name.replace("_", " ")
    return UserError(f"The {shown} cannot be {given!r}.", f"Expected {expected}.")
