"""The settings of the board: a suite, a protocol, and filters for tasks and encoders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ALL, UPLOADS, OWN, PUBLISHED = "all", "uploads", "", "published"
"""Suites: every evaluated task, and those on uploads. Protocols: each task's own, and published
results together with those of mteb's own code computed here."""


@dataclass(frozen=True)
class TaskColumn:
    """A task on the board; without its data, its languages and data set are unknown."""

    task: str
    type: str
    protocol: str
    languages: tuple[str, ...] = ()
    dataset: str = ""


@dataclass(frozen=True)
class BoardSpec:
    """The settings of a board.

    Attributes:
        suite: name of the suite; ALL for every task with a score.
        protocol: protocol of all tasks; OWN for each task's own, PUBLISHED for tasks with published
            scores.
        types, languages: filters of tasks; empty for all.
        most_parameters: maximum size of an encoder, in millions of parameters; by this and the next
            three filters, encoders with an unknown value are left out.
        most_dimensions: maximum dimension of its vectors.
        least_tokens: minimum of its max sequence length.
        licences: allowed licences of its weights.
        least_characters, most_characters: bounds of a task's mean text length; tasks whose texts
            are not available are left out.
        least_words, most_words: the same in words, separated by white space.
    """

    suite: str = ALL
    protocol: str = OWN
    types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    most_parameters: float | None = None
    most_dimensions: int | None = None
    least_tokens: int | None = None
    licences: tuple[str, ...] = ()
    least_characters: float | None = None
    most_characters: float | None = None
    least_words: float | None = None
    most_words: float | None = None

    @property
    def by_length(self) -> bool:
        """Whether a filter needs the lengths of texts."""
        return any(
            bound is not None
            for bound in (
                self.least_characters,
                self.most_characters,
                self.least_words,
                self.most_words,
            )
        )

    def wants(self, column: TaskColumn) -> bool:
        """Whether a task matches the filters by type and language."""
        return (not self.types or column.type in self.types) and (
            not self.languages or bool(set(self.languages) & set(column.languages))
        )

    def fits(self, facts: Mapping[str, Any]) -> bool:
        """Whether an encoder's facts match the filters; unknown values do not."""
        size, dim, tokens = (facts.get(name) for name in ("parameters", "dim", "max_tokens"))
        most, largest, least = self.most_parameters, self.most_dimensions, self.least_tokens
        return not (
            (most is not None and (size is None or size > 1e6 * most))
            or (largest is not None and (dim is None or dim > largest))
            or (least is not None and (tokens is None or tokens < least))
            or (self.licences and facts.get("licence") not in self.licences)
        )


EVERYTHING = BoardSpec()
