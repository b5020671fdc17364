"""Stored maps of a collection: opening them, looking up points and neighbours.

A map is found by a hash of everything that determines it, see `app.pages.map.job`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.app import formats
from theodolite.app.components.map import NEIGHBOURS, MapColumn, Region, StoredMap as StoredMap
from theodolite.app.pages.data import service as data
from theodolite.app.recent import Recent
from theodolite.app.typed import Typed
from theodolite.app.vectors import missing, vectors as vectors
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import tables
from theodolite.engine.errors import UserError
from theodolite.store.derived import arrays

if TYPE_CHECKING:
    import pandas as pd

KIND = "map"
"""Of the store's derived results."""
QUICK_POINTS = 100_000
"""Larger collections are not drawn before their map is computed."""
NAMES = {
    "umap": "UMAP",
    "umap-learn": "UMAP by umap-learn",
    "tsne": "t-SNE",
    "pca": "Principal components",
    "pacmap": "PaCMAP",
    "quick": "Principal components",
}
"""Methods of projection; `quick` is `pca` without the slow measurements: trust, clusters, names."""


_open: Recent[tuple[Path, str, str], StoredMap] = Recent(6)
"""Maps by store, key and hash of the sentences; a page requests the same map many times."""


def stored(workspace: Workspace, key: str) -> StoredMap | None:
    """The map under a key, made here or shipped; None if its collection is gone or has changed."""
    row = workspace.store.derived.get(key) or workspace.shipped.store.derived.get(key)
    if row is None:
        return None
    info, values = row["info"], arrays(row)
    try:
        sentences, data_hash = workspace.catalog.sentences(info["dataset"])
    except UserError:
        return None
    if data_hash != info["data_hash"]:
        return None

    def read() -> StoredMap:
        columns = [MapColumn(**c | {"labels": tuple(c["labels"])}) for c in info.pop("columns")]
        regions = [Region(**region) for region in info.pop("regions")]
        near = (
            (values.pop("nearest"), values.pop("nearest_cosine")) if "nearest" in values else None
        )
        points = values.pop("points")
        return StoredMap(key, points, sentences, columns, values, regions, info, near)

    return _open.get((workspace.store.folder, key, data_hash), read)


def equal_vectors(info: Mapping[str, Any]) -> str:
    """Say that sentences have equal vectors, as a sentence, where a map puts these at one place."""
    n, different = info["n"], info.get("vectors", info["n"])
    if different == n:
        return ""
    return (
        f"The {n:,} sentences have {formats.plural(different, 'different vector')}: those with "
        "equal ones share a point, which counts once."
    )


def point(workspace: Workspace, stored: StoredMap, number: int, k: int) -> dict[str, Any]:
    """One point for display: text, facts, and its k nearest in the full space.

    Returns:
        `text`, `facts` (pairs of name and value) and `neighbours`: each with `id`, `text`, `cosine`
        and `kept`, whether it is among the k nearest on the map too.
    """

    def written(column: MapColumn) -> str:
        value = stored.values[column.key][number]
        if column.kind == "label":
            return formats.encodable(column.labels[value])
        return "not measured" if np.isnan(value) else f"{value:.3g}"

    k = min(k, len(stored.points) - 1)
    away = ((stored.points - stored.points[number]) ** 2).sum(axis=1)
    away[number] = np.inf
    near = set(np.argsort(away, kind="stable")[:k].tolist())
    if stored.nearest is not None and k <= stored.nearest[0].shape[1]:
        hits = _hits(stored, *(array[number, :k] for array in stored.nearest))
    else:
        rows = unit_vectors(workspace, stored)
        hits = _nearest(stored, rows, rows[number], k, number)
    return {
        "text": formats.encodable(stored.sentences[number]),
        "facts": [(column.name, written(column)) for column in stored.columns],
        "neighbours": [hit | {"kept": hit["id"] in near} for hit in hits],
    }


def place(workspace: Workspace, stored: StoredMap, text: str, k: int) -> dict[str, Any]:
    """Place a new sentence on the map, at the weighted mean of its nearest neighbours.

    Returns:
        `x`, `y` and `neighbours` as in `point`, without `kept`.
    """
    from theodolite.engine.space.projection import place_vectors

    if not text.strip():
        raise UserError("No sentence given.", "Write one.", code="missing")
    encoder = workspace.bound(stored.info["encoder"], stored.info["dataset"])
    vector = Typed(encoder).encode([text])
    rows = unit_vectors(workspace, stored)
    ((x, y),) = place_vectors(vector, rows, stored.points)
    return {"x": float(x), "y": float(y), "neighbours": _nearest(stored, rows, vector[0], k)}


def keep(
    workspace: Workspace, stored: StoredMap, name: str, ids: Sequence[int], labels: Sequence[str]
) -> str:
    """Store points as a data set, with the collection's labels if there are several and no others.

    Args:
        workspace: store and data.
        stored: the map.
        name: of the data set.
        ids: of the points.
        labels: one for each, or none.

    Returns:
        The name of the data set.
    """
    rows = [{"text": stored.sentences[i]} for i in ids]
    if not labels and "label" in stored.values:
        of_collection = table(stored, np.array(ids))["label"].tolist()
        labels = of_collection if len(set(of_collection)) > 1 else ()
    if labels:
        rows = [row | {"label": label} for row, label in zip(rows, labels, strict=True)]
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"selection of {data.name_for(stored.info['dataset'])}.jsonl"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        roles = {role: role for role in rows[0]}
        mapping = tables.Mapping("labels" if labels else "sentences", roles)
        return f"upload:{data.keep(workspace, file, file.name, name.strip(), mapping)['name']}"


def _nearest(
    stored: StoredMap, rows: np.ndarray, vector: np.ndarray, k: int, itself: int | None = None
) -> list[dict[str, Any]]:
    cosines = rows @ (vector / (np.linalg.norm(vector) or 1.0))
    if itself is not None:
        cosines[itself] = -np.inf
    best = np.argsort(-cosines, kind="stable")[:k]
    return _hits(stored, best, cosines[best])


def _hits(stored: StoredMap, ids: np.ndarray, cosines: np.ndarray) -> list[dict[str, Any]]:
    return [
        {"id": int(i), "text": formats.encodable(stored.sentences[i]), "cosine": float(cosine)}
        for i, cosine in zip(ids, cosines, strict=True)
    ]


def unit_vectors(workspace: Workspace, stored: StoredMap) -> np.ndarray:
    """Unit vectors of all points in the full space, float32 (n, dim)."""
    from theodolite.engine.search.index import unit_rows

    return unit_rows(vectors(workspace, stored.info["encoder"], stored.info["dataset"]))


def drawn_at_once(workspace: Workspace, encoder: str, dataset: str) -> bool:
    """Whether a data set is fully encoded, and has at most `QUICK_POINTS` sentences."""
    sentences, _ = workspace.catalog.sentences(dataset)
    few = 0 < len(sentences) <= QUICK_POINTS
    return few and not missing(workspace, encoder, dataset)


def table(
    stored: StoredMap,
    ids: np.ndarray,
    labels: Mapping[str, Sequence[str]] | None = None,
    *,
    spreadsheet: bool = False,
) -> pd.DataFrame:
    """A table of points: id, sentence, x, y, and every column with its labels written out.

    Args:
        stored: the map.
        ids: ids of the points, in the order of the rows.
        labels: key of a column -> labels of the rows, where they differ from the points'.
        spreadsheet: put an apostrophe before text that a spreadsheet would take for a formula.
    """
    import pandas as pd

    safe = formats.spreadsheet_text if spreadsheet else formats.encodable
    texts = {"sentence": [stored.sentences[i] for i in ids]}
    columns: dict[str, Any] = {"id": ids, "sentence": None}
    columns |= {"x": stored.points[ids, 0], "y": stored.points[ids, 1]}
    for column in stored.columns:
        columns[column.key] = values = stored.values[column.key][ids]
        if column.kind == "label":
            texts[column.key] = [column.labels[v] for v in values]
    for name, written in (texts | dict(labels or {})).items():
        columns[name] = [safe(text) for text in written]
    return pd.DataFrame({name: np.asarray(values) for name, values in columns.items()})


def nearest(
    workspace: Workspace, stored: StoredMap, k: int = NEIGHBOURS
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest neighbours of each point in the full space.

    Returns:
        Ids, int (n, k), nearest first, and cosines, float32 (n, k).
    """
    from theodolite.engine.search.index import neighbours_of_each

    if stored.nearest is not None and k <= stored.nearest[0].shape[1]:
        return stored.nearest[0][:, :k], stored.nearest[1][:, :k]
    cosines, ids = neighbours_of_each(unit_vectors(workspace, stored), k)
    return ids, cosines
