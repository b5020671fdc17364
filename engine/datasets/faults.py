"""Rows of a table that cannot be used, counted for a message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Faults:
    """The number of rows with one kind of fault, and the first five."""

    what: str
    count: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, place: str) -> None:
        """Count a row, with its place."""
        self.count += 1
        if len(self.places) < 5:
            self.places.append(place)

    def __str__(self) -> str:
        more = f" and {self.count - len(self.places)} more" if self.count > len(self.places) else ""
        return f"{self.what}: {', '.join(self.places)}{more}."


def ragged_rows(width: int) -> Faults:
    """Return the faults of rows without exactly so many columns."""
    return Faults(f"Rows without exactly {width} columns (what they have instead)")


def short(cell: Any, limit: int = 40) -> str:
    """Return a cell as text, cut to `limit` characters."""
    try:
        text = str(cell).encode("utf-8", "replace").decode("utf-8")
    except RecursionError:  # JSON of deeply nested lists
        return "…"
    return text if len(text) <= limit else text[: limit - 1] + "…"
