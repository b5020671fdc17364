"""The events of a decoder's training, in JSON-able form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from theodolite.engine.training.events import Event, Noted


@dataclass(frozen=True)
class Encoded(Event):
    """Before the training: sentences encoded so far, sentences in all, and seconds left."""

    kind: ClassVar[str] = "encoded"
    done: int
    sentences: int
    seconds_left: float


@dataclass(frozen=True)
class DecoderStarted(Event):
    """Training begins or resumes: updates made and in all, sentences, parameters, device."""

    kind: ClassVar[str] = "started"
    step: int
    steps: int
    sentences: int
    parameters: int
    device: str


@dataclass(frozen=True)
class DecoderStepped(Event):
    """Some updates: mean loss (nats a token), tokens per second, seconds so far and left."""

    kind: ClassVar[str] = "stepped"
    step: int
    steps: int
    loss: float
    pieces_per_second: float
    seconds: float
    seconds_left: float


@dataclass(frozen=True)
class DecoderEvaluated(Event):
    """An evaluation on the held-out sentences: their loss, and (sentence, decoded) of a few."""

    kind: ClassVar[str] = "looked"
    step: int
    loss: float
    samples: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class DecoderFinished(Event):
    """The decoder has been written.

    Attributes:
        step: updates made.
        best_step: the update whose weights these are.
        best_loss: their loss on the held-out sentences.
        seconds: of training.
        out: the folder.
        why: `done`, `stopped` by hand, or `diverged`: a loss was NaN or infinity.
    """

    kind: ClassVar[str] = "finished"
    step: int
    best_step: int
    best_loss: float
    seconds: float
    out: str
    why: str


DECODER_EVENTS: Mapping[str, type[Event]] = {
    event.kind: event
    for event in (Encoded, DecoderStarted, DecoderStepped, DecoderEvaluated, Noted, DecoderFinished)
}
"""Event classes by kind, to read the output of `to_dict`."""


def finished(facts: Mapping[str, Any], folder: Path) -> DecoderFinished:
    """Return the last event of a decoder's training, from the facts in its `decoder.json`."""
    steps, step, loss, seconds = (facts[name] for name in ("steps", "step", "loss", "seconds"))
    return DecoderFinished(steps, step, loss, seconds, str(folder), facts["why"])
