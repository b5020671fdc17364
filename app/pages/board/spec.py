"""The settings of the board: a suite, a protocol, and filters for tasks and encoders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.pages.board.columns import TaskColumn

ALL, UPLOADS, OWN, PUBLISHED = "all", "uploads", "", "published"
"""Every task that was measured; those of them on uploads; each task's own protocol; what others
published, and what mteb's own code measured here."""


@dataclass(frozen=True)
class BoardSpec:
    """What is asked.

    Attributes:
        suite: its name; ALL for every task with a score.
        protocol: for all tasks; OWN for each task's own, PUBLISHED for those of which others
            published a number.
        types, languages: only such tasks; empty for all.
        most_parameters: of an encoder, in millions; with the next ones, an encoder of which that is
            not known is left out.
        most_dimensions: of its vectors.
        least_tokens: that it reads of a text.
        licences: of its weights.
        least_characters, most_characters: only tasks whose texts have so many in the mean; one
            whose texts are not here is left out.
        least_words, most_words: the same in words, which white space parts.
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
        """Whether texts have to be read for it."""
        return any(
            bound is not None
            for bound in (self.least_characters, self.most_characters, self.least_words,
                          self.most_words)
        )  # fmt: skip

    def wants(self, column: TaskColumn) -> bool:
        """Whether a task is of a type and language that were asked for."""
        return (not self.types or column.type in self.types) and (
            not self.languages or bool(set(self.languages) & set(column.languages))
        )

    def fits(self, facts: Mapping[str, Any]) -> bool:
        """Whether an encoder is what was asked for, as far as is known."""
        size, dim, tokens = (facts.get(name) for name in ("parameters", "dim", "max_tokens"))
        most, largest, least = self.most_parameters, self.most_dimensions, self.least_tokens
        return not (
            (most is not None and (size is None or size > 1e6 * most))
            or (largest is not None and (dim is None or dim > largest))
            or (least is not None and (tokens is None or tokens < least))
            or (self.licences and facts.get("licence") not in self.licences)
        )


EVERYTHING = BoardSpec()
