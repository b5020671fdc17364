"""The events of trainings, of encoders and decoders, in the order they happen; JSON-able."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar


@dataclass(frozen=True)
class Event:
    """An event of a training run; `kind` names its type."""

    kind: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """The kind and the fields, without those left at a default."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        usual = {f.name: f.default for f in fields(self)}
        return {"kind": self.kind} | {k: v for k, v in values.items() if v != usual[k]}


@dataclass(frozen=True)
class Started(Event):
    """Training begins, or goes on from a checkpoint.

    Attributes:
        step: updates already made; 0 for a new run.
        steps: updates in all.
        examples: that are learned from.
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
    """An encoder was scored on its dev set, or a decoder on its held-out sentences.

    Attributes:
        step: updates made; 0 is the base as it is, with its own pooling.
        best: whether nothing was as good so far in the training; these weights are then kept.
        score: cosine Spearman x 100 of the dev part.
        alignment, uniformity: of the dev part (Wang and Isola 2020; lower is better), float64.
        low, high: the 95 % interval of the score (bootstrap over the pairs of the dev part).
        loss: of a decoder, nats per token.
        samples: of a decoder: (sentence, what its vector is decoded to) of a few.
    """

    kind: ClassVar[str] = "looked"
    step: int
    best: bool
    score: float | None = None
    alignment: float | None = None
    uniformity: float | None = None
    low: float | None = None
    high: float | None = None
    loss: float | None = None
    samples: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Noted(Event):
    """A note for people: a smaller micro-batch, lines left out, an early stop."""

    kind: ClassVar[str] = "noted"
    step: int
    message: str


@dataclass(frozen=True)
class Finished(Event):
    """The model is in its folder; always the last event.

    Attributes:
        step: updates made.
        best_step: the update whose weights were kept.
        best_score: their dev score; None without a dev set, and of a decoder.
        seconds: of training, those before a kill included.
        out: the folder.
        encoder: spec string that loads it; of a decoder, its encoder's.
        why: `done`, `stopped` (asked to), `patience` or `diverged` (a loss was NaN or infinity).
        base_score: the dev score of the base; None without a dev set or a trained base.
        best_loss: of a decoder, on the held-out sentences.
    """

    kind: ClassVar[str] = "finished"
    step: int
    best_step: int
    best_score: float | None
    seconds: float
    out: str
    encoder: str
    why: str
    base_score: float | None
    best_loss: float | None = None


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


def is_improved(score: float | None, base: float | None) -> bool:
    """Whether a training is not known to have left its encoder no better than the base."""
    return score is None or base is None or round(score, 2) > round(base, 2)


def headline(score: float | None, base: float | None) -> str:
    """What a training did to its base, as a sentence; empty if a score is missing.

    >>> headline(67.08, 69.15)
    '2.07 worse than the base (69.15): the base remains the better choice.'
    """
    words = against_base(score, base)
    advice = "" if is_improved(score, base) else ": the base remains the better choice"
    return words and f"{words[0].upper()}{words[1:]}{advice}."


@dataclass(frozen=True)
class Encoded(Event):
    """Before a decoder's training: sentences encoded so far and in all, and seconds left."""

    kind: ClassVar[str] = "encoded"
    done: int
    sentences: int
    seconds_left: float


EVENTS: Mapping[str, type[Event]] = {
    event.kind: event for event in (Encoded, Started, Stepped, Evaluated, Noted, Finished)
}
"""Event classes by kind, to read the output of `to_dict`."""
