"""Maps of a collection: from the names of an encoder and a data set to a stored projection.

A map is found by a key over everything that decides it. It is made by a background run of the kind
`project`; only the first two principal components are worked out wherever they are asked for.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from app import formats
from app.components.map_columns import Column, Region
from app.jobs.kinds import versioned
from app.typed import Typed
from app.vectors import vectors as vectors
from engine.errors import UserError
from store.hashing import hash_of, to_json

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from app.workspace import Workspace
    from engine.encoders import Encoder
    from store.derived import ProjectionRow

Method = Literal["umap", "tsne", "pacmap", "pca", "quick"]
"""`quick` is `pca` without what takes time to measure: trust, clusters, names."""
Tick = Callable[[float], None]

FORMAT = 1
"""Raised when a map of the same question would come out otherwise."""
QUICK_POINTS = 100_000
MOST_NEIGHBOURS = 200
ANY_SEED = "any"
LIBRARIES = {"umap": "umap-learn", "tsne": "scikit-learn", "pacmap": "pacmap", "pca": "numpy",
             "quick": "numpy"}  # fmt: skip
NAMES = {"umap": "UMAP", "tsne": "t-SNE", "pacmap": "PaCMAP",
         **dict.fromkeys(("pca", "quick"), "Principal components")}  # fmt: skip
_MAPS_OPEN = 6

_open: OrderedDict[tuple[Path, str], tuple[object, StoredMap]] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True)
class Wanted:
    """What a map is asked to be.

    Attributes:
        encoder: canonical spec.
        dataset: name in the catalog.
        method: how vectors become points.
        neighbours: of each point, for UMAP and PaCMAP; the perplexity of t-SNE.
        min_dist: how close UMAP may put points.
        seed: None for a map that is quicker and not reproducible.
        initial: key of a stored map of the same collection to begin from (UMAP), for two spaces
            side by side.
    """

    encoder: str
    dataset: str
    method: Method = "umap"
    neighbours: int = 15
    min_dist: float = 0.1
    seed: int | None = 0
    initial: str | None = None


def wanted(encoder: str, dataset: str, **how: Any) -> Wanted:
    """Check what is asked and put it into one form, so that equal questions are equal.

    Raises:
        UserError: a spec, method or parameter that cannot be used.
    """
    from engine import encoders

    asked = Wanted(str(encoders.parse(encoder)), dataset, **how)
    if asked.method not in get_args(Method):
        raise UserError(
            f"There is no method {asked.method!r}.", "Choose one of umap, tsne, pacmap and pca."
        )
    if not 2 <= asked.neighbours <= MOST_NEIGHBOURS:
        raise UserError(
            f"{asked.neighbours} cannot be n_neighbors.",
            f"Choose from 2 to {MOST_NEIGHBOURS}; 15 is usual.",
        )
    if not 0 <= asked.min_dist < 1:
        raise UserError(
            f"{asked.min_dist} cannot be min_dist.",
            "Choose from 0, for tight heaps, to 0.99, for an even spread.",
        )
    if asked.seed is not None and not 0 <= asked.seed < 2**32:
        raise UserError(f"{asked.seed} cannot be a random seed.", "Choose from 0 to 4294967295.")
    if asked.method in ("pca", "quick"):  # nothing else decides these
        return Wanted(asked.encoder, asked.dataset, asked.method)
    if asked.method in ("tsne", "pacmap"):
        return Wanted(asked.encoder, asked.dataset, asked.method, asked.neighbours, seed=asked.seed)
    return asked


def seed_of(text: str | None) -> int | None:
    """The random seed that a person writes; None for any.

    Raises:
        UserError: something else than a whole number, `any` or nothing.
    """
    written = (text or ANY_SEED).strip()
    if written == ANY_SEED:
        return None
    if not (written.isascii() and written.isdigit()):
        raise UserError(
            f"{written[:20]!r} is not a random seed.", f"Give a whole number, or {ANY_SEED!r}."
        )
    return int(written)


def key(workspace: Workspace, encoder: str, dataset: str, **how: Any) -> str:
    """The content key of a map: 32 hexadecimal digits.

    Args:
        workspace: where encoders and data sets are.
        encoder: a spec string.
        dataset: a name of the catalog.
        **how: `method`, `neighbours`, `min_dist`, `seed`, `initial` as in `Wanted`.

    Raises:
        UserError: an encoder, data set, method or parameter that cannot be used; a method whose
            package is not installed.
    """
    return key_of(workspace, wanted(encoder, dataset, **how))


def key_of(workspace: Workspace, asked: Wanted) -> str:
    """The content key of a question.

    The name of the data set is part of it, and so are its labels: the columns of a map hold
    them, and a map is opened by the name it was made under.

    Raises:
        UserError: an encoder or data set that cannot be used.
    """
    facts = asdict(asked) | {
        "format": FORMAT, "fingerprint": bound(workspace, asked).fingerprint,
        "data": workspace.catalog.load(asked.dataset).hash, "library": _library(asked.method),
    }  # fmt: skip
    return hash_of(to_json(facts))


def _library(method: Method) -> str:
    package = LIBRARIES[method]
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        raise UserError(
            f"{NAMES[method]} needs the package {package}, which is not installed here.",
            "Install it with `pip install 'theodolite[maps]'`, or choose UMAP.",
        ) from None


def bound(workspace: Workspace, asked: Wanted) -> Encoder:
    """The encoder, fitted on this collection where its steps say `@task`."""
    return workspace.bound(asked.encoder, asked.dataset)


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
    """

    key: str
    points: np.ndarray
    sentences: list[str]
    columns: list[Column]
    values: dict[str, np.ndarray]
    regions: list[Region]
    info: dict[str, Any]


def stored(workspace: Workspace, key: str) -> StoredMap | None:
    """The map under a key; None when it was not made, or its collection is gone or has changed.

    The last few stay open: a page asks for one map many times.
    """
    row = workspace.store.projections.get(key)
    if row is None:
        return None
    try:
        dataset = workspace.catalog.load(row["info"]["dataset"])
    except UserError:
        return None
    with _lock:
        known = _open.get((workspace.store.folder, key))
        # The catalog gives the same object until the data set is another one.
        if known is not None and known[0] is dataset:
            return known[1]
    found = _opened(workspace, row)
    if found is None:
        return None
    with _lock:
        _open[workspace.store.folder, key] = (dataset, found)
        while len(_open) > _MAPS_OPEN:
            _open.popitem(last=False)
    return found


def _opened(workspace: Workspace, row: ProjectionRow) -> StoredMap | None:
    import numpy as np

    info = dict(row["info"])
    sentences, data_hash = workspace.catalog.sentences(info["dataset"])
    if data_hash != info["data_hash"]:
        return None
    values = {n: np.load(f, mmap_mode="r", allow_pickle=False) for n, f in row["files"].items()}
    columns = [Column(**c | {"labels": tuple(c["labels"])}) for c in info.pop("columns")]
    regions = [Region(**region) for region in info.pop("regions")]
    return StoredMap(row["key"], values.pop("points"), sentences, columns, values, regions, info)


def url(key: str) -> str:
    """Where the browser finds the numbers of a map, relative to the page."""
    return f"theodolite/map/{key}"


def queue(workspace: Workspace, encoder: str, dataset: str, **how: Any) -> str:
    """Queue the making of a map and return the run's id; parameters as of `key`.

    Raises:
        UserError: as `key`, before anything is queued.
    """
    workspace.refuse_visitors()
    asked = wanted(encoder, dataset, **how)
    _library(asked.method)
    refuse_too_many(workspace, asked)
    title = f"{NAMES[asked.method]} of {asked.dataset} with {asked.encoder}"
    return workspace.jobs.enqueue("project", versioned("project", asdict(asked)), title=title)


def refuse_too_many(workspace: Workspace, asked: Wanted) -> None:
    """Raise a UserError where t-SNE is asked for more sentences than it can lay out in minutes."""
    from engine.space.projection import TSNE_POINTS

    sentences, _ = workspace.catalog.sentences(asked.dataset)
    if asked.method == "tsne" and len(sentences) > TSNE_POINTS:
        raise UserError(
            f"t-SNE was asked for {len(sentences):,} sentences; it takes up to {TSNE_POINTS:,}.",
            "Choose UMAP, which is much quicker, or a smaller collection.",
        )


def of_spec(spec: Any) -> Wanted:
    """The question in the spec of a run."""
    return Wanted(**{name: spec[name] for name in Wanted.__dataclass_fields__})


def point(workspace: Workspace, found: StoredMap, number: int, k: int) -> dict[str, Any]:
    """One point for people: text, facts, and its k nearest in the full space.

    Returns:
        `text`, `facts` (pairs of name and value) and `neighbours`: each with `id`, `text`, `cosine`
        and `kept`, whether it is among the k nearest on the map too.
    """
    import numpy as np

    rows = _unit_vectors(workspace, found)
    k = min(k, len(rows) - 1)
    away = ((found.points - found.points[number]) ** 2).sum(axis=1)
    away[number] = np.inf
    near = set(np.argsort(away, kind="stable")[:k].tolist())
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
        raise UserError("There is no sentence to place.", "Write one.")
    asked = Wanted(found.info["encoder"], found.info["dataset"])
    vector = Typed(bound(workspace, asked)).encode([text])
    rows = _unit_vectors(workspace, found)
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
    return [
        {"id": int(i), "text": formats.encodable(found.sentences[i]), "cosine": float(cosines[i])}
        for i in best
    ]


def _unit_vectors(workspace: Workspace, found: StoredMap) -> np.ndarray:
    from engine.search.index import unit_rows

    return unit_rows(vectors(workspace, found.info["encoder"], found.info["dataset"]))


def _shown(column: Column, value: Any) -> str:
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
