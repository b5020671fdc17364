"""Maps of a collection: from the names of an encoder and a data set to a stored projection.

A map is found by a key over everything that decides it. It is made by a background run of the kind
`project`; only the first two principal components are worked out wherever they are asked for.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal, get_args

from app.components.map_columns import Column, Region
from engine.errors import UserError
from store.database import to_json

if TYPE_CHECKING:
    import numpy as np

    from app.workspace import Workspace
    from engine.encoders import Encoder

Method = Literal["umap", "pacmap", "pca", "quick"]
"""`quick` is `pca` without what takes time to measure: trust, clusters, names."""
Tick = Callable[[float], None]

FORMAT = 1
"""Raised when a map of the same question would come out otherwise."""
QUICK_POINTS = 100_000
MOST_NEIGHBOURS = 200
LIBRARIES = {"umap": "umap-learn", "pacmap": "pacmap", "pca": "numpy", "quick": "numpy"}
NAMES = {"umap": "UMAP", "pacmap": "PaCMAP", "pca": "Principal components",
         "quick": "Principal components"}  # fmt: skip
_VECTORS_IN_MEMORY = 2

_vectors: OrderedDict[tuple[str, str], np.ndarray] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True)
class Wanted:
    """What a map is asked to be.

    Attributes:
        encoder: canonical spec.
        dataset: name in the catalog.
        method: how vectors become points.
        neighbours: of each point, for UMAP and PaCMAP.
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
            f"There is no method {asked.method!r}.", f"Choose one of {', '.join(get_args(Method))}."
        )
    if not 2 <= asked.neighbours <= MOST_NEIGHBOURS:
        raise UserError(
            f"{asked.neighbours} neighbours cannot be used.",
            f"Choose from 2 to {MOST_NEIGHBOURS}; 15 is usual.",
        )
    if not 0 <= asked.min_dist < 1:
        raise UserError(
            f"A least distance of {asked.min_dist} cannot be used.",
            "Choose from 0, for tight heaps, to 0.99, for an even spread.",
        )
    if asked.seed is not None and not 0 <= asked.seed < 2**32:
        raise UserError(f"{asked.seed} cannot be a seed.", "Choose from 0 to 4294967295.")
    if asked.method in ("pca", "quick"):  # nothing else decides these
        return Wanted(asked.encoder, asked.dataset, asked.method)
    return asked


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
    asked = wanted(encoder, dataset, **how)
    _, data_hash = workspace.catalog.sentences(asked.dataset)
    return _key(asked, _bound(workspace, asked).fingerprint, data_hash)


def _key(asked: Wanted, fingerprint: str, data_hash: str) -> str:
    facts = asdict(asked) | {
        "format": FORMAT, "encoder": fingerprint, "dataset": data_hash,
        "library": _library(asked.method),
    }  # fmt: skip
    return hashlib.blake2b(to_json(facts).encode(), digest_size=16).hexdigest()


def _library(method: Method) -> str:
    package = LIBRARIES[method]
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        raise UserError(
            f"{NAMES[method]} needs the package {package}, which is not installed here.",
            "Install it with `pip install 'theodolite[maps]'`, or choose UMAP.",
        ) from None


def _bound(workspace: Workspace, asked: Wanted) -> Encoder:
    """The encoder, fitted on this collection where its steps say `@task`."""
    from engine.encoders import bind_task

    sentences, data_hash = workspace.catalog.sentences(asked.dataset)
    return bind_task(workspace.load(asked.encoder), sentences, data_hash)


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
    """The map under a key; None when it was not made, or its collection is gone or has changed."""
    import numpy as np

    row = workspace.store.projections.get(key)
    if row is None:
        return None
    info = dict(row["info"])
    try:
        sentences, data_hash = workspace.catalog.sentences(info["dataset"])
    except UserError:
        return None
    if data_hash != info["data_hash"]:
        return None
    values = {n: np.load(f, mmap_mode="r", allow_pickle=False) for n, f in row["files"].items()}
    columns = [Column(**c | {"labels": tuple(c["labels"])}) for c in info.pop("columns")]
    regions = [Region(**region) for region in info.pop("regions")]
    return StoredMap(key, values.pop("points"), sentences, columns, values, regions, info)


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
    workspace.catalog.sentences(asked.dataset)
    title = f"{NAMES[asked.method]} of {asked.dataset} with {asked.encoder}"
    return workspace.jobs.enqueue("project", {"version": 1, **asdict(asked)}, title=title)


def of_spec(spec: Any) -> Wanted:
    """The question in the spec of a run."""
    return Wanted(**{name: spec[name] for name in Wanted.__dataclass_fields__})


def vectors(
    workspace: Workspace,
    encoder: str,
    dataset: str,
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """The vectors of a collection, float32 (n, dim), read-only; the last two stay in memory.

    Raises:
        UserError: an encoder or data set that cannot be used, or a value that is not a number.
    """
    import numpy as np

    bound = _bound(workspace, Wanted(encoder, dataset))
    sentences, data_hash = workspace.catalog.sentences(dataset)
    place = (bound.fingerprint, data_hash)
    with _lock:
        if place in _vectors:
            _vectors.move_to_end(place)
            return _vectors[place]
    rows = bound.encode(sentences, progress)
    bad = ~np.isfinite(rows).all(axis=1)
    if bad.any():
        raise UserError(
            f"{int(bad.sum())} of {len(rows)} vectors hold values that are not numbers, the first "
            f"for the sentence {sentences[int(bad.argmax())][:80]!r}.",
            "Choose another encoder, or look at its steps.",
        )
    rows.flags.writeable = False
    with _lock:
        _vectors[place] = rows
        while len(_vectors) > _VECTORS_IN_MEMORY:
            _vectors.popitem(last=False)
    return rows
