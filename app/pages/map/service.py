"""Stored maps of a collection: opening them, looking up points and neighbours.

A map is found by a hash of everything that determines it, see `app.pages.map.job`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.blocks import Component
from theodolite.app.components.map import PROPS, MapColumn, Region, points
from theodolite.app.examples import shipped as examples
from theodolite.app.recent import Recent
from theodolite.app.text_files import PER_FILE, texts_of
from theodolite.app.typed import Typed
from theodolite.app.vectors import vectors as vectors
from theodolite.engine.errors import UserError
from theodolite.store.derived import arrays
from theodolite.store.hashing import hash_of, to_json

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from theodolite.app.blocks import Folders
    from theodolite.app.workspace import Workspace


QUICK_POINTS = 100_000
NEIGHBOURS = 15
"""Neighbours shown for an opened point."""
NAMES = {
    "umap": "UMAP",
    "umap-learn": "UMAP by umap-learn",
    "tsne": "t-SNE",
    "pca": "Principal components",
    "pacmap": "PaCMAP",
    "quick": "Principal components",
}
"""Methods of projection; `quick` is `pca` without the slow measurements: trust, clusters, names."""
COLOURS = ("label", "cluster", "topic1", "part", "role", "length")
"""Default colour columns of a map, in order of preference."""
HEIGHT = 560


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


def stored(workspace: Workspace, key: str) -> StoredMap | None:
    """The map under a key; None if it does not exist, or its collection is gone or has changed.

    The last few maps stay open: a page requests the same map many times.
    """
    kept = _row(workspace, key)
    if kept is None:
        return None
    try:
        dataset = workspace.catalog.load(kept[0]["dataset"])
    except UserError:
        return None
    place = (workspace.store.folder, key, dataset.hash)
    return _open.get(place, lambda: _read(workspace, key, *kept))


def shipped(workspace: Workspace, question: Mapping[str, Any]) -> StoredMap | None:
    """The shipped map for a `MapSpec.question`; None if none ships."""
    digest = hash_of(to_json(question))
    keys = (one.facts["keys"].get(digest) for one in _examples())
    return next((stored(workspace, key) for key in keys if key), None)


def _examples() -> Iterator[examples.Example]:
    """Shipped examples that contain maps."""
    yield from filter(None, map(examples.read, ("map", "spaces")))


def _row(workspace: Workspace, key: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """Facts and arrays of a stored map, else of a shipped one."""
    row = workspace.store.projections.get(key)
    if row is not None:
        return dict(row["info"]), arrays(row)
    own = f"{key}/"
    for one in _examples():
        if key in one.facts["maps"]:
            held = {k.removeprefix(own): a for k, a in one.arrays.items() if k.startswith(own)}
            return dict(one.facts["maps"][key]), held
    return None


_open: Recent[tuple[Path, str, str], StoredMap | None] = Recent(6)
"""Maps by store, key and hash of the data set."""


def _read(
    workspace: Workspace, key: str, info: dict[str, Any], values: dict[str, np.ndarray]
) -> StoredMap | None:
    sentences, data_hash = workspace.catalog.sentences(info["dataset"])
    if data_hash != info["data_hash"]:
        return None
    columns = [MapColumn(**c | {"labels": tuple(c["labels"])}) for c in info.pop("columns")]
    regions = [Region(**region) for region in info.pop("regions")]
    points, near = values.pop("points"), None
    if "nearest" in values:
        near = values.pop("nearest"), values.pop("nearest_cosine")
    return StoredMap(key, points, sentences, columns, values, regions, info, near)


def equal_vectors(info: Mapping[str, Any]) -> str:
    """Say that sentences have equal vectors, as a sentence, where a map puts these at one place."""
    n, vectors = info["n"], info.get("vectors", info["n"])
    if vectors == n:
        return ""
    if vectors == 1:
        return f"All {n:,} sentences have the same vector: the map is one point."
    return (
        f"The {n:,} sentences have {vectors:,} different vectors: sentences with equal ones share "
        "a point, which counts once."
    )


def url(key: str) -> str:
    """The address of a map's files, relative to the page."""
    return f"theodolite/map/{key}"


def point(workspace: Workspace, found: StoredMap, number: int, k: int) -> dict[str, Any]:
    """One point for display: text, facts, and its k nearest in the full space.

    Returns:
        `text`, `facts` (pairs of name and value) and `neighbours`: each with `id`, `text`, `cosine`
        and `kept`, whether it is among the k nearest on the map too.
    """
    import numpy as np

    k = min(k, len(found.points) - 1)
    away = ((found.points - found.points[number]) ** 2).sum(axis=1)
    away[number] = np.inf
    near = set(np.argsort(away, kind="stable")[:k].tolist())
    if found.nearest is not None and k <= found.nearest[0].shape[1]:
        hits = _hits(found, *(array[number, :k] for array in found.nearest))
    else:
        rows = unit_vectors(workspace, found)
        hits = _nearest(found, rows, rows[number], k, number)
    neighbours = [hit | {"kept": hit["id"] in near} for hit in hits]
    facts = [
        (column.name, _written(column, found.values[column.key][number]))
        for column in found.columns
    ]
    return {
        "text": formats.encodable(found.sentences[number]),
        "facts": facts,
        "neighbours": neighbours,
    }


def place(workspace: Workspace, found: StoredMap, text: str, k: int) -> dict[str, Any]:
    """Place a new sentence on the map, at the weighted mean of its nearest neighbours.

    Returns:
        `x`, `y` and `neighbours` as in `point`, without `kept`.
    """
    from theodolite.engine.space.projection import placed

    if not text.strip():
        raise UserError("No sentence given.", "Write one.", code="missing")
    encoder = workspace.bound(found.info["encoder"], found.info["dataset"])
    vector = Typed(encoder).encode([text])
    rows = unit_vectors(workspace, found)
    ((x, y),) = placed(vector, rows, found.points)
    return {"x": float(x), "y": float(y), "neighbours": _nearest(found, rows, vector[0], k)}


def _nearest(
    found: StoredMap, rows: np.ndarray, vector: np.ndarray, k: int, itself: int | None = None
) -> list[dict[str, Any]]:
    import numpy as np

    cosines = rows @ (vector / (np.linalg.norm(vector) or 1.0))
    if itself is not None:
        cosines[itself] = -np.inf
    best = np.argsort(-cosines, kind="stable")[:k]
    return _hits(found, best, cosines[best])


def _hits(found: StoredMap, ids: np.ndarray, cosines: np.ndarray) -> list[dict[str, Any]]:
    return [
        {"id": int(i), "text": formats.encodable(found.sentences[i]), "cosine": float(cosine)}
        for i, cosine in zip(ids, cosines, strict=True)
    ]


def unit_vectors(workspace: Workspace, found: StoredMap) -> np.ndarray:
    """Unit vectors of all points in the full space, float32 (n, dim)."""
    from theodolite.engine.search.index import unit_rows

    return unit_rows(vectors(workspace, found.info["encoder"], found.info["dataset"]))


def drawn_at_once(workspace: Workspace, encoder: str, dataset: str) -> bool:
    """Whether a data set is fully encoded, and has at most `QUICK_POINTS` sentences."""
    from theodolite.app.vectors import missing

    sentences, _ = workspace.catalog.sentences(dataset)
    few = 0 < len(sentences) <= QUICK_POINTS
    return few and not missing(workspace, encoder, dataset)


def _written(column: MapColumn, value: Any) -> str:
    if column.kind == "label":
        return formats.encodable(column.labels[value])
    return f"{value:.3g}" if value == value else "not measured"


def table(
    found: StoredMap,
    ids: np.ndarray,
    labels: Mapping[str, list[str]] | None = None,
    *,
    spreadsheet: bool = False,
) -> pd.DataFrame:
    """A table of points: id, sentence, x, y, and every column with its labels written out.

    Args:
        found: the map.
        ids: ids of the points, in the order of the rows.
        labels: key of a column -> labels of the rows, where they differ from the points'.
        spreadsheet: put an apostrophe before text that a spreadsheet would take for a formula.
    """
    import numpy as np
    import pandas as pd

    def text(values: list[str]) -> list[str]:
        return [
            formats.spreadsheet_text(v) if spreadsheet else formats.encodable(v) for v in values
        ]

    places = found.points[ids]
    columns: dict[str, Any] = {
        "id": ids,
        "sentence": text([found.sentences[i] for i in ids]),
        "x": places[:, 0],
        "y": places[:, 1],
    }
    for column in found.columns:
        values = found.values[column.key][ids]
        if column.kind == "label":
            own = (labels or {}).get(column.key)
            columns[column.key] = text(own or [column.labels[v] for v in values])
        else:
            columns[column.key] = values
    return pd.DataFrame({name: np.asarray(values) for name, values in columns.items()})


def nearest(
    workspace: Workspace, found: StoredMap, k: int = NEIGHBOURS
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest neighbours of each point in the full space.

    Returns:
        Ids, int (n, k), nearest first, and cosines, float32 (n, k).
    """
    from theodolite.engine.search.index import neighbours_of_each

    if found.nearest is not None and k <= found.nearest[0].shape[1]:
        return found.nearest[0][:, :k], found.nearest[1][:, :k]
    cosines, ids = neighbours_of_each(unit_vectors(workspace, found), k)
    return ids, cosines


def contained(found: StoredMap) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What a document that loads nothing says of a map: `parts` of its value, and its files.

    An opened point has neighbours if the map has `nearest`.
    """
    near = None if found.nearest is None else _mark(found, *found.nearest)
    parts, shared = _parts(found, 0 if near is None else near[0].shape[1])
    return parts, {**dict(_numbers(found, near)), **shared[parts["texts"]]()}


def component(found: StoredMap, linked: str = "") -> Component:
    """A map with everything that its script reads, in a document that loads nothing.

    Args:
        found: the map; its points have true neighbours if it has `nearest`.
        linked: group of maps that are linked with each other.
    """
    colour = default_colour(found)
    static, files = contained(found)
    value = points(
        "",
        label(found),
        name=f"map-{found.key[:8]}",
        columns=found.columns,
        regions=found.regions,
        colour=colour,
        plain=colour,
        collection=found.info["data_hash"],
        neighbours=True,
        linked=linked,
    )
    held = {name: base64.b64encode(file).decode() for name, file in files.items()}
    held_by = value | {"parts": static, "held": held}
    return Component("map/map", held_by, PROPS | {"height": HEIGHT})


def default_colour(found: StoredMap) -> str | None:
    """Key of the column that a map is coloured by at first."""
    has = {column.key for column in found.columns}
    return next((key for key in COLOURS if key in has), None)


def label(found: StoredMap) -> str:
    """What a map is, for screen readers."""
    info = found.info
    return (
        f"Map of {len(found.points):,} sentences of {info['dataset']} as {info['encoder']} has "
        f"them, by {NAMES[info['method']]}"
    )


def files(workspace: Workspace, value: Mapping[str, Any]) -> tuple[dict[str, Any], Folders]:
    """Return the value of a published map, from that of `components.map.points`, and its files.

    A browser fetches coordinates and columns whole; texts and true neighbours in parts, on demand.

    Returns:
        The value, and folder address -> function that makes its files by name.
    """
    found = stored(workspace, value["url"].rpartition("/")[2])
    if found is None:
        raise UserError(
            "A map to be published no longer exists.", "Compute it again.", code="stale"
        )
    k = min(NEIGHBOURS, len(found.points) - 1) if value["neighbours"] else 0
    parts, shared = _parts(found, k)
    static = {"parts": parts, "placing": False, "decoding": False, "training": ""}

    def numbers() -> dict[str, bytes]:
        near = _mark(found, *nearest(workspace, found, k)) if k else None
        return dict(_numbers(found, near))

    return dict(value) | static, {value["url"]: numbers, **shared}


def _parts(found: StoredMap, k: int) -> tuple[dict[str, Any], Folders]:
    """`parts` of the value of a map without a server, with k neighbours; and its texts."""
    texts, shared = texts_of(found.sentences, found.info["data_hash"])
    return {"per": PER_FILE, "k": k, "texts": texts}, shared


def _numbers(
    found: StoredMap, near: tuple[np.ndarray, np.ndarray] | None
) -> Iterator[tuple[str, bytes]]:
    """The files of numbers, given what `_mark` returns."""
    yield "points", found.points.astype("<f4").tobytes()
    for column in found.columns:
        kind = "<u2" if column.kind == "label" else "<f4"
        yield f"column/{column.key}", found.values[column.key].astype(kind).tobytes()
    if near is None:
        return
    for number, start in enumerate(range(0, len(found.points), PER_FILE)):
        marked, cosines = (array[start : start + PER_FILE].tobytes() for array in near)
        yield f"near-{number}", marked + cosines


def _mark(found: StoredMap, ids: np.ndarray, cosines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mark the nearest neighbours in the full space that are near on the map too.

    Returns:
        uint32 (n, k): 2 * id, plus 1 for neighbours that are also among the k nearest on the map;
        float32 (n, k): cosines.
    """
    import numpy as np

    ids = np.asarray(ids, np.int64)
    on_map = _nearest_on_map(found.points, ids.shape[1])
    n = len(found.points)
    # A pair of points is encoded as one number, so one call intersects all the lists.
    own = np.arange(n)[:, None] * n
    kept = np.isin(own + ids, own + on_map)
    return (2 * ids + kept).astype("<u4"), np.asarray(cosines, "<f4")


def _nearest_on_map(points: np.ndarray, k: int) -> np.ndarray:
    """The k nearest other points of each on the plane, int64 (n, k)."""
    import numpy as np
    from scipy.spatial import cKDTree

    plane = np.asarray(points, np.float64)
    _, ids = cKDTree(plane).query(plane, k + 1)
    others = ids != np.arange(len(plane))[:, None]
    others[others.all(axis=1), -1] = False  # coincident points displaced the point itself
    near: np.ndarray = ids[others].reshape(-1, k)
    return near
