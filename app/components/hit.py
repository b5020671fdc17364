"""One hit of a search."""

from __future__ import annotations

from dataclasses import dataclass

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Hit:
    """One sentence found.

    Attributes:
        index: its index among the collection's distinct sentences.
        sentence: its text.
        cosine: cosine to the query; None in a search by words.
        spans: (start, end) of each match in it, in order.
    """

    index: int
    sentence: str
    cosine: float | None
    spans: Spans = ()
