"""The events of trainings, of encoders and decoders, in the order they happen; JSON-able."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Event:
    """An event of a training run; `kind` names its type."""

    kind: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """The fields and the kind."""
        return {"kind": self.kind} | asdict(self)


@dataclass(frozen=True)
class Started(Event):
    """Training begins, or goes on from a checkpoint.

    Attributes:
        step: updates already made; 0 for a new run.
        steps: updates in all.
        examples: in the training data.
        parameters: of the model that are trained.
        device, precision: as chosen.
        data_hash: content hash of the training data.
    """

    kind: ClassVar[str] = "started"
    step: int
    steps: int
    examples: int
    parameters: int
    device: str
    precision: str
    data_hash: str


@dataclass(frozen=True)
class Stepped(Event):
    """Some updates were made.

    Attributes:
        step: updates made in all.
        steps: updates in all when the run ends.
        loss: mean over the updates since the last report.
        learning_rate: of the last update.
        grad_norm: of the last update, before clipping.
        sentences_per_second: since the last report, every column counted.
        seconds: since training began, those before a kill included.
        seconds_left: at this speed.
        gpu_bytes: most memory held on the GPU so far; None on a CPU.
    """

    kind: ClassVar[str] = "stepped"
    step: int
    steps: int
    loss: float
    learning_rate: float
    grad_norm: float
    sentences_per_second: float
    seconds: float
    seconds_left: float
    gpu_bytes: int | None


@dataclass(frozen=True)
class Evaluated(Event):
    """The dev set was scored.

    Attributes:
        step: updates made; 0 is the base as it is, with its own pooling.
        score: cosine Spearman x 100 of the dev part.
        alignment, uniformity: of the dev part (Wang and Isola 2020; lower is better), float64.
        best: whether the score is the best of the training so far; its weights are then kept.
    """

    kind: ClassVar[str] = "looked"
    step: int
    score: float
    alignment: float
    uniformity: float
    best: bool


@dataclass(frozen=True)
class Noted(Event):
    """A note for people: a smaller micro-batch, lines left out, an early stop."""

    kind: ClassVar[str] = "noted"
    step: int
    message: str


@dataclass(frozen=True)
class Finished(Event):
    """The encoder is in its folder; always the last event.

    Attributes:
        step: updates made.
        best_step: the update whose weights were kept.
        best_score: their dev score; None without a dev set.
        seconds: of training, those before a kill included.
        out: the folder.
        encoder: spec string that loads it.
        why: `done`, `stopped` (asked to), `patience` or `diverged` (a loss was NaN or infinity).
        base_score: the dev score of the base; None without a dev set or a trained base.
    """

    kind: ClassVar[str] = "finished"
    step: int
    best_step: int
    best_score: float | None
    seconds: float
    out: str
    encoder: str
    why: str
    base_score: float | None = None


def against_base(score: float | None, base: float | None) -> str:
    """How a dev score compares with that of the base, in words; empty if one is missing.

    >>> against_base(67.08, 69.15)
    '2.07 worse than the base (69.15)'
    """
    if score is None or base is None:
        return ""
    by = round(score, 2) - round(base, 2)
    how = f"{abs(by):.2f} {'better' if by > 0 else 'worse'} than" if by else "no better than"
    return f"{how} the base ({base:.2f})"


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


EVENTS: Mapping[str, type[Event]] = {
    event.kind: event for event in (Started, Stepped, Evaluated, Noted, Finished)
}
DECODER_EVENTS: Mapping[str, type[Event]] = {
    event.kind: event
    for event in (Encoded, DecoderStarted, DecoderStepped, DecoderEvaluated, Noted, DecoderFinished)
}
"""Event classes by kind, to read the output of `to_dict`: of encoders, and of decoders."""
