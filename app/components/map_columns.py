"""What a map knows of its points, apart from where they are. Without Gradio: workers make these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Column:
    """Something every point has, to colour and filter by.

    Attributes:
        key: names its binary at `URL/column/KEY`: uint16 label numbers, or float32 with NaN where
            there is none.
        name: for people.
        kind: `label` or `number`.
        labels: by number; for labels only.
        low, high: of the numbers.
    """

    key: str
    name: str
    kind: Literal["label", "number"]
    labels: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class Region:
    """A name on the map: where, how coarse (0 is seen from afar), and how many points it is for."""

    x: float
    y: float
    text: str
    level: int
    size: int
