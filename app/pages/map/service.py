"""Stored maps of a collection: opening them, looking up points and neighbours.

A map is found by a key over everything that decides it, see `app.pages.map.job`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app import formats
from app.components.map_columns import MapColumn, Region
from app.pages.map import example
from app.text_files import PER_FILE, texts_of
from app.typed import Typed
from app.vectors import vectors as vectors
from engine.errors import UserError
from store.derived import arrays

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from app.web.frozen import Folders
    from app.workspace import Workspace


QUICK_POINTS = 100_000
NEIGHBOURS = 15
"""Of a point that is opened."""
NAMES = {"umap": "UMAP", "umap-learn": "UMAP by umap-learn", "tsne": "t-SNE", "pacmap": "PaCMAP",
         **dict.fromkeys(("pca", "quick"), "Principal components")}  # fmt: skip
_MAPS_OPEN = 6

_open: OrderedDict[tuple[Path, str], tuple[object, StoredMap]] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class StoredMap:
    """A map as it lies in the store.

    Attributes:
        key: its content key.
        points: float32 (n, 2), a memory map.
        sentences: the collection's, in order, each once: row i is of sentence i.
        columns: what is known of every point; `values[column.key]` has the numbers.
        values: uint16 or float32 (n,) for each column, memory maps.
        regions: names on the map.
        info: method, parameters, library, encoder, data set, trust, seconds; plain values.
        nearest: of a map that ships, of each point the nearest in the full space: their numbers,
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
    """The map under a key; None when it was not made, or its collection is gone or has changed.

    The last few stay open: a page asks for one map many times.
    """
    kept = _kept(workspace, key)
    if kept is None:
        return None
    try:
        dataset = workspace.catalog.load(kept[0]["dataset"])
    except UserError:
        return None
    with _lock:
        known = _open.get((workspace.store.folder, key))
        # The catalog gives the same object until the data set is another one.
        if known is not None and known[0] is dataset:
            return known[1]
    found = _opened(workspace, key, *kept)
    if found is None:
        return None
    with _lock:
        _open[workspace.store.folder, key] = (dataset, found)
        while len(_open) > _MAPS_OPEN:
            _open.popitem(last=False)
    return found


def shipped(workspace: Workspace, question: Mapping[str, Any]) -> StoredMap | None:
    """The map that ships and answers a question; None where there is none."""
    key = example.key_of(question)
    return stored(workspace, key) if key else None


def _kept(workspace: Workspace, key: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """Facts and arrays of a map: from the store, else of one that ships."""
    row = workspace.store.projections.get(key)
    return example.get(key) if row is None else (dict(row["info"]), arrays(row))


def _opened(
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


def url(key: str) -> str:
    """Where the browser finds the numbers of a map, relative to the page."""
    return f"theodolite/map/{key}"


def point(workspace: Workspace, found: StoredMap, number: int, k: int) -> dict[str, Any]:
    """One point for people: text, facts, and its k nearest in the full space.

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
    facts = [(column.name, _shown(column, found.values[column.key][number]))
             for column in found.columns]  # fmt: skip
    return {
        "text": formats.encodable(found.sentences[number]),
        "facts": facts,
        "neighbours": neighbours,
    }


def place(workspace: Workspace, found: StoredMap, text: str, k: int) -> dict[str, Any]:
    """Where a sentence that is not on the map belongs: the middle of its nearest ones' places.

    Returns:
        `x`, `y` and `neighbours` as of `point`, without `kept`.

    Raises:
        UserError: an empty sentence, or an encoder that cannot be loaded.
    """
    from engine.space.projection import placed

    if not text.strip():
        raise UserError("No sentence given.", "Write one.")
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
    """Of every point, in the full space."""
    from engine.search.index import unit_rows

    return unit_rows(vectors(workspace, found.info["encoder"], found.info["dataset"]))


def drawn_at_once(workspace: Workspace, encoder: str, dataset: str) -> bool:
    """Whether all of a data set is encoded, and it has no more points than a page waits for.

    Raises:
        UserError: an encoder or data set that cannot be used.
    """
    from app.vectors import missing

    sentences, _ = workspace.catalog.sentences(dataset)
    few = 0 < len(sentences) <= QUICK_POINTS
    return few and not missing(workspace, encoder, dataset)


def _shown(column: MapColumn, value: Any) -> str:
    if column.kind == "label":
        return formats.encodable(column.labels[value])
    return f"{value:.3g}" if value == value else "not measured"


def table(found: StoredMap, ids: np.ndarray, *, spreadsheet: bool = False) -> pd.DataFrame:
    """Points as rows: number, sentence, place, and every column with its labels written out.

    Args:
        found: the map.
        ids: numbers of points, in the order wanted.
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
        "id": ids, "sentence": text([found.sentences[i] for i in ids]),
        "x": places[:, 0], "y": places[:, 1],
    }  # fmt: skip
    for column in found.columns:
        values = found.values[column.key][ids]
        columns[column.key] = (
            text([column.labels[v] for v in values]) if column.kind == "label" else values
        )
    return pd.DataFrame({name: np.asarray(values) for name, values in columns.items()})


def files(workspace: Workspace, value: Mapping[str, Any]) -> tuple[dict[str, Any], Folders]:
    """What a map reads where nobody serves it, of the value that `components.map.points` makes.

    A browser fetches coordinates and columns whole; texts and true neighbours in parts, when a
    point of the part is looked at.

    Returns:
        The value, and address of a folder -> makes its files by name.

    Raises:
        UserError: it is gone.
    """
    found = stored(workspace, value["url"].rpartition("/")[2])
    if found is None:
        raise UserError("A map to be published no longer exists.", "Compute it again.")
    k = min(NEIGHBOURS, len(found.points) - 1) if value["neighbours"] else 0
    texts, shared = texts_of(found.sentences, found.info["data_hash"])
    parts = {"per": PER_FILE, "k": k, "texts": texts}
    unserved = {"parts": parts, "placing": False, "decoding": False, "training": ""}
    numbers = {value["url"]: lambda: dict(_numbers(workspace, found, k))}
    return dict(value) | unserved, {**numbers, **shared}


def _numbers(workspace: Workspace, found: StoredMap, k: int) -> Iterator[tuple[str, bytes]]:
    yield "points", found.points.astype("<f4").tobytes()
    for column in found.columns:
        kind = "<u2" if column.kind == "label" else "<f4"
        yield f"column/{column.key}", found.values[column.key].astype(kind).tobytes()
    if not k:
        return
    near = _near(workspace, found, k)
    for number, start in enumerate(range(0, len(found.points), PER_FILE)):
        marked, cosines = (array[start : start + PER_FILE].tobytes() for array in near)
        yield f"near-{number}", marked + cosines


def _near(workspace: Workspace, found: StoredMap, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Of each point its k nearest in the full space, as the live page has them.

    Returns:
        uint32 (n, k): their numbers doubled, and one more where they are among its k nearest on
        the map; float32 (n, k): cosines.
    """
    import numpy as np

    from engine.search.index import neighbours_of_each

    if found.nearest is not None and k <= found.nearest[0].shape[1]:
        ids, cosines = (array[:, :k] for array in found.nearest)
    else:
        cosines, ids = neighbours_of_each(unit_vectors(workspace, found), k)
    ids = np.asarray(ids, np.int64)
    on_map = _nearest_on_map(found.points, k)
    n = len(found.points)
    # A pair of points is one number: those that stand in both lists are found at once.
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
    others[others.all(axis=1), -1] = False  # others lie at the same place and pushed it out
    near: np.ndarray = ids[others].reshape(-1, k)
    return near
