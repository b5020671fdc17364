"""Attributes of a map's points besides their positions. Without Gradio: workers create these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np

MOST_LABELS = 65_534


@dataclass(frozen=True)
class MapColumn:
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


@dataclass
class Facts:
    """Columns and regions as they are gathered."""

    columns: list[MapColumn] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)

    def label(self, key: str, name: str, labels: Sequence[str], numbers: np.ndarray) -> None:
        """Add a column of labels; what stands beyond the 65,534th label becomes one, `other`."""
        import numpy as np

        kept = list(labels)
        if len(kept) > MOST_LABELS:
            kept = [*kept[:MOST_LABELS], "other"]
            numbers = np.minimum(numbers, MOST_LABELS)
        self.columns.append(MapColumn(key, name, "label", tuple(kept)))
        self.arrays[key] = np.asarray(numbers, np.uint16)

    def number(self, key: str, name: str, values: np.ndarray) -> None:
        """Add a column of numbers; NaN where there is none. Without any it is left out."""
        import numpy as np

        known = values[np.isfinite(values)]
        if not len(known):
            return
        low, high = float(known.min()), float(known.max())
        self.columns.append(MapColumn(key, name, "number", (), low, high))
        self.arrays[key] = np.asarray(values, np.float32)
