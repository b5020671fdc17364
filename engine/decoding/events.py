"""What the training of a decoder says while it goes on; each is JSON-able."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.training.events import Event


@dataclass(frozen=True)
class Encoded(Event):
    """Before the training: sentences that have their vectors, of how many, and seconds left."""

    kind: ClassVar[str] = "encoded"
    done: int
    sentences: int
    seconds_left: float


@dataclass(frozen=True)
class Started(Event):
    """Training begins, or goes on: updates made and to make, sentences, parameters, device."""

    kind: ClassVar[str] = "started"
    step: int
    steps: int
    sentences: int
    parameters: int
    device: str


@dataclass(frozen=True)
class Stepped(Event):
    """Some updates: mean loss (nats a piece), pieces per second, seconds so far and left."""

    kind: ClassVar[str] = "stepped"
    step: int
    steps: int
    loss: float
    pieces_per_second: float
    seconds: float
    seconds_left: float


@dataclass(frozen=True)
class Looked(Event):
    """The sentences kept apart: their loss, and (sentence, what was decoded) of a few."""

    kind: ClassVar[str] = "looked"
    step: int
    loss: float
    samples: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Noted(Event):
    """Something a person should know."""

    kind: ClassVar[str] = "noted"
    message: str


@dataclass(frozen=True)
class Finished(Event):
    """The decoder is in its folder.

    Attributes:
        step: updates made.
        best_step: the update whose weights these are.
        best_loss: theirs on the sentences kept apart.
        seconds: of training.
        out: the folder.
        why: `done`, `stopped` by hand, or `diverged`: the loss was no number.
    """

    kind: ClassVar[str] = "finished"
    step: int
    best_step: int
    best_loss: float
    seconds: float
    out: str
    why: str
