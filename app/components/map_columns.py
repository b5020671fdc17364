"""Attributes of a map's points besides their positions. Needs no Gradio: workers create them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np

MAX_LABELS = 65_534


@dataclass(frozen=True)
class MapColumn:
    """An attribute of every point, to colour and filter by.

    Attributes:
        key: name of its binary at `URL/column/KEY`: uint16 label numbers, or float32 with NaN for
            missing values.
        name: display name.
        kind: `label` or `number`.
        labels: the labels, indexed by number; for labels only.
        low, high: range of the numbers.
    """

    key: str
    name: str
    kind: Literal["label", "number"]
    labels: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class Region:
    """A name on the map: its position, level (0: visible from afar) and number of points."""

    x: float
    y: float
    text: str
    level: int
    size: int


@dataclass
class Facts:
    """Columns and regions being collected."""

    columns: list[MapColumn] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)

    def label(self, key: str, name: str, labels: Sequence[str], numbers: np.ndarray) -> None:
        """Add a column of labels; those beyond the 65,534th are merged into `other`."""
        import numpy as np

        kept = list(labels)
        if len(kept) > MAX_LABELS:
            kept = [*kept[:MAX_LABELS], "other"]
            numbers = np.minimum(numbers, MAX_LABELS)
        self.columns.append(MapColumn(key, name, "label", tuple(kept)))
        self.arrays[key] = np.asarray(numbers, np.uint16)

    def number(self, key: str, name: str, values: np.ndarray) -> None:
        """Add a column of numbers, NaN for missing values; skipped when all are missing."""
        import numpy as np

        known = values[np.isfinite(values)]
        if not len(known):
            return
        low, high = float(known.min()), float(known.max())
        self.columns.append(MapColumn(key, name, "number", (), low, high))
        self.arrays[key] = np.asarray(values, np.float32)
