"""Return types of the tools: flat rows, whose fields define the schema shown to an agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True)
class EncoderRow:
    """A stored encoder."""

    name: str
    dim: int | None
    parameters: int | None
    licence: str | None


@dataclass(frozen=True)
class DataRow:
    """An available data set."""

    name: str
    kind: str | None
    description: str
    task: str | None


@dataclass(frozen=True)
class ResultRow:
    """The main score of an encoder on a task, or the error."""

    encoder: str
    task: str
    score: float | None
    metric: str | None
    n: int | None
    protocol: str
    seed: int
    error: str | None
    hint: str | None


# A class for each tool, not one generic class: the schema of a generic one would be that of an
# object with a single field, `result`.


@dataclass(frozen=True)
class Encoders:
    """Rows of encoders; `left_out` more exceed the limit."""

    rows: list[EncoderRow]
    left_out: int


@dataclass(frozen=True)
class Data:
    """Rows of data sets; `left_out` more exceed the limit."""

    rows: list[DataRow]
    left_out: int


@dataclass(frozen=True)
class Results:
    """Rows of results; `left_out` more exceed the limit."""

    rows: list[ResultRow]
    left_out: int


def row(kind: type[Row], held: Mapping[str, Any]) -> Row:
    """Make a row from an object that may have extra fields or lack some."""
    return kind(**{field.name: held.get(field.name) for field in fields(kind)})  # type: ignore[arg-type]
