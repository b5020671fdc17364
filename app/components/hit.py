"""One sentence that was found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hit:
    """One sentence found.

    Attributes:
        index: its place in the collection's distinct sentences.
        sentence: its text.
        cosine: to the query; None where words were looked for.
        span: (start, end) of the words found in it.
    """

    index: int
    sentence: str
    cosine: float | None
    span: tuple[int, int] | None = None
