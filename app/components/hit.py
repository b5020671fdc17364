"""One hit of a search."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hit:
    """One sentence found.

    Attributes:
        index: its index among the collection's distinct sentences.
        sentence: its text.
        cosine: cosine to the query; None in a search by words.
        span: (start, end) of the matching words in it.
    """

    index: int
    sentence: str
    cosine: float | None
    span: tuple[int, int] | None = None
