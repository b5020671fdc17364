"""A map of points with sentences behind them: WebGL, millions of points, rendered in the browser.

Hover, zoom, pan, lasso, filter and recolour never leave the browser; it fetches coordinates and
columns once, as binary, and texts on demand. The component computes no projections.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from theodolite.app.blocks import Component, Folders
from theodolite.app.text_files import PER_FILE, texts_of
from theodolite.app.web.theme import SERIES

if TYPE_CHECKING:
    Nearest = Callable[[int], tuple[np.ndarray, np.ndarray]]

PROPS = {"palette": list(SERIES), "height": 560}
"""What the script is given besides its value."""
COLOURS = ("label", "change", "cluster", "topic1", "cluster_a", "part", "role", "length")
"""Default colour columns, in order of preference."""
NEIGHBOURS = 15
"""Neighbours shown for an opened point."""
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
        names = list(labels)
        if len(names) > MAX_LABELS:
            names = [*names[:MAX_LABELS], "other"]
        self.columns.append(MapColumn(key, name, "label", tuple(names)))
        self.arrays[key] = numbers.clip(max=MAX_LABELS).astype("uint16")

    def number(self, key: str, name: str, values: np.ndarray) -> None:
        """Add a column of numbers, NaN for missing values; skipped when all are missing."""
        known = values[np.isfinite(values)]
        if len(known):
            low, high = float(known.min()), float(known.max())
            self.columns.append(MapColumn(key, name, "number", (), low, high))
            self.arrays[key] = np.asarray(values, np.float32)


@dataclass(frozen=True, eq=False)
class StoredMap:
    """A stored map.

    Attributes:
        key: its content key.
        points: float32 (n, 2), memory-mapped; row i is sentence i.
        sentences: the distinct sentences of the collection, in order.
        columns: attributes of the points; `values[column.key]` has the numbers.
        values: uint16 or float32 (n,) for each column, memory-mapped.
        regions: names on the map.
        info: method, parameters, library, encoder, data set, trust, seconds; plain values.
        nearest: for a shipped map, the nearest neighbours of each point in the full space: ids,
            int (n, k), and cosines, float32 (n, k).
    """

    key: str
    points: np.ndarray
    sentences: list[str]
    columns: list[MapColumn]
    values: dict[str, np.ndarray]
    regions: list[Region]
    info: dict[str, Any]
    nearest: tuple[np.ndarray, np.ndarray] | None = None


def url(key: str) -> str:
    """The address of a map's files, relative to the page; see `app.pages.map.routes`."""
    return f"theodolite/map/{key}"


def value(stored: StoredMap, k: int = 0, **more: Any) -> dict[str, Any]:
    """What the script shows of a map.

    Args:
        stored: the map.
        k: true neighbours of each point in the files that are read where nobody serves them.
        **more: `keeps`, whether a selection can become a data set; `making`, `url` of a map of the
            same points that is being laid out, which the points follow; `linked`, a group of maps
            that hover, select and zoom together; `whole`, the plane that is seen at first as x, y
            and its size, None for all points.
    """
    info, has = stored.info, {column.key for column in stored.columns}
    texts, _ = texts_of(stored.sentences, info["data_hash"])
    return {
        "url": url(stored.key),
        "label": f"Map of {len(stored.points):,} sentences of {info['dataset']} as "
        f"{info['encoder']} has them",
        "name": f"map-{stored.key[:8]}",
        "encoder": info["encoder"],
        "dataset": info["dataset"],
        "collection": info["data_hash"],
        "colour": next((key for key in COLOURS if key in has), None),
        "columns": [asdict(column) for column in stored.columns],
        "regions": [asdict(one) for one in sorted(stored.regions, key=lambda one: -one.size)],
        "parts": {"per": PER_FILE, "k": k, "texts": texts},
        **more,
    }


def folders(stored: StoredMap, k: int, nearest: Nearest) -> Folders:
    """The files that the script reads where nobody serves them.

    Texts and true neighbours are in parts, fetched on demand.

    Args:
        stored: the map.
        k: true neighbours of each point; 0 for none.
        nearest: finds the ids of these, int (n, k), and their cosines, float32 (n, k).
    """

    def numbers() -> dict[str, bytes]:
        files = {"points": stored.points.astype("<f4").tobytes()}
        for column in stored.columns:
            kind = "<u2" if column.kind == "label" else "<f4"
            files[f"column/{column.key}"] = stored.values[column.key].astype(kind).tobytes()
        if k:
            marked, cosines = _mark(stored.points, *nearest(k))
            for number, start in enumerate(range(0, len(marked), PER_FILE)):
                part = slice(start, start + PER_FILE)
                files[f"near-{number}"] = marked[part].tobytes() + cosines[part].tobytes()
        return files

    _, texts = texts_of(stored.sentences, stored.info["data_hash"])
    return {url(stored.key): numbers, **texts}


def point_map(stored: StoredMap, k: int, nearest: Nearest, **more: Any) -> Component:
    """The component, with its files; the arguments are those of `value` and `folders`."""
    return Component("map/map", value(stored, k, **more), PROPS, folders(stored, k, nearest))


def _mark(
    points: np.ndarray, ids: np.ndarray, cosines: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mark the nearest neighbours in the full space that are near on the map too.

    Returns:
        uint32 (n, k): 2 * id, plus 1 for neighbours that are also among the k nearest on the map;
        float32 (n, k): cosines.
    """
    from scipy.spatial import cKDTree

    ids, n = np.asarray(ids, np.int64), len(points)
    plane = np.asarray(points, np.float64)
    _, near = cKDTree(plane).query(plane, ids.shape[1] + 1)
    others = near != np.arange(n)[:, None]
    others[others.all(axis=1), -1] = False  # coincident points displaced the point itself
    # A pair of points is encoded as one number, so one call intersects all the lists.
    own = np.arange(n)[:, None] * n
    valid = np.isin(own + ids, own + near[others].reshape(ids.shape))
    return (2 * ids + valid).astype("<u4"), np.asarray(cosines, "<f4")
