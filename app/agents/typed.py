"""What the tools return: flat rows, whose fields define the schema shown to an agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True)
class EncoderRow:
    """An encoder that is kept."""

    name: str
    dim: int | None
    parameters: int | None
    licence: str | None


@dataclass(frozen=True)
class DataRow:
    """A data set that is here."""

    name: str
    kind: str | None
    description: str
    task: str | None


@dataclass(frozen=True)
class ResultRow:
    """The main score of an encoder on a task, or what went wrong."""

    encoder: str
    task: str
    score: float | None
    metric: str | None
    n: int | None
    protocol: str
    seed: int
    error: str | None
    hint: str | None


@dataclass(frozen=True)
class BoardRow:
    """An encoder in the order of a suite; its mean is over `tasks` of `of`."""

    encoder: str
    rank: int
    borda: float
    mean: float | None
    tasks: int
    of: int


@dataclass(frozen=True)
class ComparedRow:
    """An encoder on a task, and its difference to the first one with a 95 % interval."""

    task: str
    encoder: str
    score: float | None
    tie_group: str | None
    against: str | None
    delta: float | None
    low: float | None
    high: float | None
    verdict: str | None


@dataclass(frozen=True)
class HitRow:
    """A sentence that was found."""

    query: str
    encoder: str
    rank: int
    cosine: float | None
    sentence: str


@dataclass(frozen=True)
class DecodedRow:
    """What an encoder's decoder made of a sentence's vector."""

    given: str
    encoder: str
    sentence: str
    cosine: float | None
    error: str | None


@dataclass(frozen=True)
class Encoders:
    """`left_out` rows more there are."""

    rows: list[EncoderRow]
    left_out: int


@dataclass(frozen=True)
class Data:
    """`left_out` rows more there are."""

    rows: list[DataRow]
    left_out: int


@dataclass(frozen=True)
class Results:
    """`left_out` rows more there are."""

    rows: list[ResultRow]
    left_out: int


@dataclass(frozen=True)
class Board:
    """`left_out` rows more there are."""

    rows: list[BoardRow]
    left_out: int


@dataclass(frozen=True)
class Compared:
    """Rows by task, the means last; what makes the comparison unfair; `left_out` rows more."""

    rows: list[ComparedRow]
    warnings: list[str]
    left_out: int


@dataclass(frozen=True)
class Hits:
    """By encoder and query, nearest first."""

    rows: list[HitRow]


@dataclass(frozen=True)
class Decoded:
    """A row for each sentence and encoder."""

    rows: list[DecodedRow]


def row(kind: type[Row], held: Mapping[str, Any]) -> Row:
    """A row of a kind, of an object that has more or less than its fields."""
    return kind(**{field.name: held.get(field.name) for field in fields(kind)})  # type: ignore[arg-type]
