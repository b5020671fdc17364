"""A diagnosis as data: figures, their intervals, samples; and as a stored result.

Knows nothing of how figures are computed (see `engine.diagnose`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np

from theodolite.engine.decoding.differing import Word, differing
from theodolite.engine.protocols.vec2sent import VEC2SENT
from theodolite.engine.results import Result, Score

System = Literal["decoder", "nearest", "another"]
SYSTEMS: dict[System, str] = {
    "decoder": "the decoder",
    "nearest": "nearest training sentence",
    "another": "another sentence's vector",
}
NAMES = {
    "id": "Id",
    "perm": "PERM",
    "id_perm": "Id/PERM",
    "bleu": "BLEU",
    "bleu-ref": "BLEU as the paper's code got it",
    "token_f1": "Token F1",
    "round_trip": "Cosine of the round trip",
}
"""Names for people; a Word Mover's score is named after the encoder of its words."""
_TASK = "Vec2Sent"


@dataclass(frozen=True)
class Figure:
    """One number and its interval, in points of 100 (`round_trip`: a cosine); nan for none."""

    metric: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class FigureRow:
    """The figures of one system, the decoder or a baseline, on some sentences.

    Attributes:
        system: its name.
        length: empty for all sentences, else as `5 to 7 words`.
        n: sentences.
        figures: in the order of the card.
    """

    system: System
    length: str
    n: int
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class DecodedSample:
    """A sentence and its reconstruction.

    Attributes:
        sentence: as given.
        decoded: the sentence decoded from its vector.
        cosine: of the round trip.
        cut: whether decoding was cut off, or the decoder was trained on shorter sentences only.
        nearest: the nearest training sentence; empty without any.
        nearest_cosine: of its vector; None without any.
    """

    sentence: str
    decoded: str
    cosine: float
    cut: bool
    nearest: str = ""
    nearest_cosine: float | None = None

    @property
    def words(self) -> tuple[Word, ...]:
        """The words kept, moved, lost and new."""
        return differing(self.sentence, self.decoded)


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The results of a diagnosis.

    Attributes:
        encoder: its spec string.
        dim: of its vectors.
        fingerprint: of the encoder and the decoder together.
        data_hash: of the sentences.
        decoder: facts on it: `architecture`, `sentences`, `words`, `fingerprint`.
        mover: name of the Word Mover's score; empty without one.
        known: number of training sentences searched for the nearest.
        rows: all lengths first, the decoder first.
        samples: some of the sentences.
        notes: what a person should read beside the numbers.
        seed: of all random draws.
        seconds: duration.
        examples: of the decoder, for each sentence: `token_f1`, `identical`, `permuted`,
            `round_trip`, and `mover` where there is one.
    """

    encoder: str
    dim: int
    fingerprint: str
    data_hash: str
    decoder: Mapping[str, Any]
    mover: str
    known: int
    rows: tuple[FigureRow, ...]
    samples: tuple[DecodedSample, ...]
    notes: tuple[str, ...]
    seed: int
    seconds: float
    examples: Mapping[str, np.ndarray] = field(default_factory=dict)

    def figures(self, system: System = "decoder", length: str = "") -> dict[str, Figure]:
        """Return the figures of a system by metric; empty if it has none for that length."""
        rows = (row for row in self.rows if (row.system, row.length) == (system, length))
        return {figure.metric: figure for row in rows for figure in row.figures}

    @property
    def lengths(self) -> tuple[str, ...]:
        """The bins of length that have sentences, the shortest first."""
        return tuple(dict.fromkeys(row.length for row in self.rows if row.length))

    def to_dict(self) -> dict[str, Any]:
        """Everything but the examples, JSON-able; nan as None."""
        fields: dict[str, Any] = _plain(asdict(replace(self, examples={})))
        del fields["examples"]
        return fields

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Diagnosis:
        """Read the output of `to_dict`; other keys (of a result's `details`) are ignored."""
        rows = [row | {"figures": tuple(map(_figure, row["figures"]))} for row in values["rows"]]
        own = {field.name: values[field.name] for field in fields(cls) if field.name != "examples"}
        own |= {
            "rows": tuple(FigureRow(**row) for row in rows),
            "samples": tuple(DecodedSample(**sample) for sample in values["samples"]),
            "notes": tuple(values["notes"]),
        }
        return cls(**own)


def task_of(source: str) -> str:
    """Return the task name of a diagnosis on a text."""
    return f"{_TASK}-{source}" if source else _TASK


def source_of(task: str) -> str:
    """Return the text of a task named by `task_of`."""
    return task.removeprefix(_TASK).removeprefix("-")


def to_result(diagnosis: Diagnosis, source: str = "") -> Result:
    """Convert a diagnosis to a result of the task `Vec2Sent` or `Vec2Sent-SOURCE`.

    Scores of the baselines and of each bin of length are aggregations beside the main one. All else
    is in `details`, from which `Diagnosis.from_dict` reads it.
    """
    scores = []
    for row in diagnosis.rows:
        parts = [row.length, SYSTEMS[row.system] if row.system != "decoder" else ""]
        aggregation = ", ".join(part for part in parts if part) or None
        for figure in row.figures:
            main = aggregation is None and figure.metric == "token_f1"
            unit = "cosine" if figure.metric == "round_trip" else ""
            if not math.isnan(figure.value):
                scores.append(
                    Score("test", aggregation, figure.metric, figure.value, row.n, main, unit)
                )
    return Result(
        encoder=diagnosis.encoder,
        fingerprint=diagnosis.fingerprint,
        dim=diagnosis.dim,
        task=task_of(source),
        protocol=VEC2SENT.name,
        seed=diagnosis.seed,
        data_hash=diagnosis.data_hash,
        scores=tuple(scores),
        examples=diagnosis.examples,
        details=diagnosis.to_dict() | {"protocol_hash": VEC2SENT.hash},
        seconds=diagnosis.seconds,
    )


def _figure(values: Mapping[str, Any]) -> Figure:
    numbers: dict[str, Any] = {n: math.nan if v is None else v for n, v in values.items()}
    return Figure(**numbers)


def _plain(value: Any) -> Any:
    """Replace tuples with lists, and nan with None."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and math.isnan(value) else value
