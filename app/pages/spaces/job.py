"""Two encoders over one collection: an aligned pair of maps, and what is measured of the spaces.

The second map starts from the first and is aligned with it; what is measured are the full spaces.
Both maps are stored as projections, so that the browser reads them like any map.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any

from theodolite.app import formats
from theodolite.app.components.map import Facts, MapColumn, Region
from theodolite.app.jobs.job import Job
from theodolite.app.pages.map import job as map_job
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapSpec, SecondMap
from theodolite.app.pages.map.service import StoredMap
from theodolite.app.spec import Field, Spec
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback, nobody
from theodolite.store.hashing import hash_of, to_json

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.jobs.reporter import Reporter
    from theodolite.app.workspace import Workspace
    from theodolite.engine.space.clusters import Clusters
    from theodolite.engine.space.compare import Change

FORMAT = 1
"""Increased whenever the result of the same comparison would change."""
METHODS = {"umap": "UMAP", "pca": "Principal components", "quick": "Principal components"}
"""Projections of the maps; `quick` is `pca` without measurements."""
CLUSTERINGS = {"k-means": "k-means", "hdbscan": "HDBSCAN"}
KEPT = ("label", "split", "part", "role", "length", "recall")
"""Columns of a single map that mean the same on both sides."""
CHANGED = 50
FLOOR_SAMPLE = 5000

Part = Callable[["Workspace", "Reporter"], object]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two aligned maps of one collection.

    Attributes:
        first, second: the maps; the second is aligned with the first.
        report: measurements, see `measure`; empty for a quick pair.
    """

    first: StoredMap
    second: StoredMap
    report: dict[str, Any]


@dataclass(frozen=True)
class SpacesSpec(Spec, Job):
    """Compare the spaces of two encoders in all their dimensions.

    Shared neighbours, rank-biased overlap and linear CKA are 1 for the same space, the Procrustes
    residual is 0. The rows below the first say what noise and chance would give. With --json every
    row, changed sentence and the clusters are one object each; `what` tells them apart. Everything
    is kept in the store, the two maps too: the page Two spaces opens it at once.
    """

    kind = "spaces"
    interactive = True

    encoders: Annotated[
        Sequence[str],
        Field("Encoders", "Spec strings of two encoders.", names="encoder", key="encoder"),
    ]
    data: Annotated[
        str,
        Field(
            "Collection",
            "The sentences; see `theodolite data`.",
            names="dataset",
            key="in",
            flags=("--in",),
        ),
    ] = "starter-topics"
    k: Annotated[
        int,
        Field("Neighbours compared", "Per sentence, by cosine.", flags=("--k", "-k"), ge=1, le=100),
    ] = 10
    clustering: Annotated[
        str, Field("Clusters", key="groups", flags=("--clusters",), choices=CLUSTERINGS)
    ] = "k-means"
    size: Annotated[
        int | None,
        Field(
            "Groups, or smallest group size", "Default: by the number of sentences.", ge=2, le=500
        ),
    ] = None
    method: Annotated[
        str, Field("Maps", "Projection of the two maps.", flags=("--maps",), choices=METHODS)
    ] = "umap"

    def check(self) -> None:
        """There are two different encoders; a quick pair has no measurements to choose."""
        from theodolite.engine.encoders import parse

        encoders = tuple(dict.fromkeys(str(parse(name)) for name in self.encoders))
        if len(encoders) != 2:
            raise UserError(
                "Choose two different encoders.",
                "Each is also compared with itself.",
                code="conflict",
            )
        same: dict[str, Any] = {"encoders": encoders}
        if self.is_quick:
            same |= {"k": type(self).k, "clustering": type(self).clustering, "size": None}
        for name, value in same.items():
            object.__setattr__(self, name, value)

    @property
    def is_quick(self) -> bool:
        """Whether only the maps are made, by principal components."""
        return self.method == "quick"

    @property
    def title(self) -> str:
        """`Two spaces: minilm and wordllama on starter-topics`."""
        return f"Two spaces: {' and '.join(self.encoders)} on {self.data}"

    def validate(self, workspace: Workspace) -> None:
        """Raise for a collection that is too small."""
        self.sentences(workspace)

    def sentences(self, workspace: Workspace) -> list[str]:
        """The distinct sentences of the collection."""
        sentences, _ = workspace.catalog.sentences(self.data)
        if len(sentences) < 3:
            count = formats.plural(len(sentences), "distinct sentence")
            raise UserError(
                f"{self.data} has {count}: too few to compare neighbourhoods.",
                "Choose a collection of at least three.",
                code="too-few",
            )
        return sentences

    def planes(self, workspace: Workspace) -> tuple[MapSpec, MapSpec]:
        """The two maps of the pair before alignment; the second UMAP starts from the first."""
        first, second = (MapSpec(name, self.data, self.method) for name in self.encoders)
        if self.method == "umap":
            second = SecondMap(**vars(second), initial=first.key(workspace))
        return first, second

    def keys(self, workspace: Workspace) -> tuple[str, str]:
        """The store keys of the pair's two sides."""
        facts = {
            "format": FORMAT,
            "maps": [plane.key(workspace) for plane in self.planes(workspace)],
            "k": self.k,
            "clustering": self.clustering,
            "size": self.size,
            "library": f"scikit-learn {version('scikit-learn')}",
            # The stored pair contains the names: other names for the same vectors are another pair.
            "names": list(self.encoders),
        }
        return hash_of(to_json(facts | {"side": 0})), hash_of(to_json(facts | {"side": 1}))

    def stored(self, workspace: Workspace) -> Pair | None:
        """The stored or shipped pair; None for neither."""
        made = _pair(*(maps.stored(workspace, key) for key in self.keys(workspace)))
        return made or _pair(*(maps.shipped(workspace, q) for q in self.questions(workspace)))

    def questions(self, workspace: Workspace) -> list[dict[str, Any]]:
        """Everything that determines the two sides, except the libraries; keys of shipped pairs."""
        planes = [plane.question(workspace) | {"initial": None} for plane in self.planes(workspace)]
        names = ("k", "clustering", "size", "method")
        first, second = self.encoders
        spaces = {"first": first, "second": second, "dataset": self.data}
        spaces |= {name: getattr(self, name) for name in names}
        facts = {"spaces": spaces, "format": FORMAT, "maps": planes}
        return [facts | {"side": side} for side in (0, 1)]

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the pair is stored or ships."""
        return self.stored(workspace) is not None

    def units(self) -> list[str]:
        """Encoding, maps, and the measurements in the full dimensions."""
        return [label for label, _ in self._parts()]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Do the unit at a position of `units`."""
        _, do = self._parts()[position]
        do(workspace, reporter)

    def _parts(self) -> list[tuple[str, Part]]:
        """The parts of a run, in order: a label and a function."""
        encoders, dataset = self.encoders, self.data
        name = METHODS[self.method]
        umap = self.method == "umap"

        def encode(side: int) -> Part:
            return lambda workspace, reporter: maps.vectors(
                workspace, encoders[side], dataset, reporter
            )

        def project(side: int) -> Part:
            return lambda workspace, reporter: self.planes(workspace)[side].make(
                workspace, reporter.tick
            )

        return [
            *((f"Encoding {dataset} with {encoders[side]}", encode(side)) for side in (0, 1)),
            (f"{name} of {dataset} with {encoders[0]}", project(0)),
            (
                f"{name} of {dataset} with {encoders[1]}" + ", begun from the first" * umap,
                project(1),
            ),
            (
                "Neighbourhoods, noise floor and clusters in the full dimensions",
                lambda workspace, reporter: self.make(workspace, reporter.tick),
            ),
        ]

    def make(self, workspace: Workspace, tick: ProgressCallback = nobody) -> Pair:
        """Return the stored pair, or compute and store it."""
        found = self.stored(workspace)
        if found is not None:
            return found
        self.validate(workspace)
        first, second = (plane.make(workspace) for plane in self.planes(workspace))
        _make(workspace, self, (first, second), self.keys(workspace), tick)
        kept = self.stored(workspace)
        if kept is None:
            raise UserError(
                "The collection changed during the comparison.", "Compare again.", code="stale"
            )
        return kept


def _pair(first: StoredMap | None, second: StoredMap | None) -> Pair | None:
    return Pair(first, second, first.info["spaces"]) if first and second else None


def quick(workspace: Workspace, spec: SpacesSpec) -> Pair | None:
    """The aligned principal components of both spaces; None for more than `QUICK_POINTS` points."""
    for encoder in spec.encoders:
        if map_job.quick(workspace, encoder, spec.data) is None:
            return None
    return replace(spec, method="quick").make(workspace)


def _make(
    workspace: Workspace,
    spec: SpacesSpec,
    planes: tuple[StoredMap, StoredMap],
    keys: tuple[str, str],
    tick: ProgressCallback,
) -> None:
    """Align two maps, compare their spaces, and store both."""
    workspace.store.refuse_writing()
    first, second = planes
    columns: list[MapColumn] = []
    arrays: dict[str, np.ndarray] = {}
    report: dict[str, Any] = {}
    if not spec.is_quick:
        report, columns, arrays = measure(workspace, spec, tick)
    points, regions = _onto(second, first)
    sides = ((first, first.points, first.regions), (second, points, regions))
    for key, (side, places, named) in zip(keys, sides, strict=True):
        own = [column for column in side.columns if column.key in KEPT]
        values = {column.key: side.values[column.key] for column in own}
        info = side.info | {
            "columns": [vars(column) for column in [*columns, *own]],
            "regions": [vars(region) for region in named],
            "spaces": report,
        }
        workspace.store.projections.put(key, {"points": places, **values, **arrays}, info)


def _onto(second: StoredMap, first: StoredMap) -> tuple[np.ndarray, list[Region]]:
    """Align the second map with the first by Procrustes, rescaled to its width; with its regions.

    Procrustes alone would shrink a map the more, the less it has in common with the other.
    """
    import numpy as np

    from theodolite.engine.space.projection import procrustes

    middle, width = first.points.mean(axis=0), float(first.points.std())
    points = procrustes(second.points, first.points) - middle
    points = (middle + points * (width / (float(points.std()) or 1.0))).astype(np.float32)
    ones = np.ones((len(points), 1))
    # The alignment is affine: fitted to the moved points, it moves the regions likewise.
    moved, *_ = np.linalg.lstsq(np.hstack([second.points, ones]), points, rcond=None)
    regions = [
        replace(region, x=float(x), y=float(y))
        for region in second.regions
        for x, y in [np.array([region.x, region.y, 1.0]) @ moved]
    ]
    return points, regions


def measure(
    workspace: Workspace, spec: SpacesSpec, tick: ProgressCallback = nobody
) -> tuple[dict[str, Any], list[MapColumn], dict[str, np.ndarray]]:
    """Compare the two spaces in their full dimensions.

    Returns:
        report: `n`, `k`, `looked_at`; `rows`: figures of the two spaces, of each against itself
            (the noise floor) and of chance; `changed`: the sentences that changed most, with both
            neighbour lists; `clusters`: sizes, names, flow, agreement. JSON-serialisable.
        columns: for both maps: how much each point changed, its group in either space.
        arrays: the values of the columns.
    """
    from theodolite.engine.space import compare as engine

    sentences = spec.sentences(workspace)
    first, second = (maps.vectors(workspace, name, spec.data) for name in spec.encoders)
    k = min(spec.k, len(sentences) - 1)
    found = engine.change(first, second, k, tick=lambda share: tick(0.5 * share))
    facts = Facts()
    facts.number("change", f"How much its {k} nearest changed", _spread(found, len(sentences)))
    rows = [
        {
            "kind": "between",
            "name": " and ".join(spec.encoders),
            "how": "",
            "n": len(found.looked_at),
            **_plain(engine.figures(first, second, found)),
        },
        *_floors(workspace, spec, first, second, k, lambda share: tick(0.5 + 0.3 * share)),
    ]
    report = {
        "encoders": list(spec.encoders),
        "dataset": spec.data,
        "n": len(sentences),
        "k": k,
        "looked_at": len(found.looked_at),
        "rows": rows,
        "changed": _changed(found, first, second),
        "clusters": _clusters(workspace, spec, first, second, sentences, facts),
    }
    tick(1.0)
    return report, facts.columns, facts.arrays


def _spread(found: Change, n: int) -> np.ndarray:
    """One minus rank-biased overlap for every point; NaN for points not in the sample."""
    import numpy as np

    values = np.full(n, np.nan)
    values[found.looked_at] = 1 - found.overlap
    return values


def _plain(figures: Any) -> dict[str, float | None]:
    return {name: v if math.isfinite(v) else None for name, v in asdict(figures).items()}


def _floors(
    workspace: Workspace,
    spec: SpacesSpec,
    first: np.ndarray,
    second: np.ndarray,
    k: int,
    tick: ProgressCallback,
) -> list[dict[str, Any]]:
    """The same figures for each encoder against itself, and for chance."""
    from theodolite.engine.space import compare as engine

    pairs = []
    for name, vectors in zip(spec.encoders, (first, second), strict=True):
        twin = _again(workspace, name, spec.data)
        if twin is not None:
            pairs.append(("floor", name, "with another seed", vectors, twin))
        else:
            how = f"through two random projections to {vectors.shape[1]} dimensions"
            pairs.append(("floor", name, how, *engine.twins(vectors)))
    how = "the second's sentences shuffled: what is shared by chance"
    pairs.append(("chance", "Chance", how, first, engine.shuffled(second)))
    rows = []
    for place, (kind, name, how, a, b) in enumerate(pairs):
        found = engine.change(a, b, k, sample=FLOOR_SAMPLE)
        numbers = _plain(engine.figures(a, b, found))
        rows.append({"kind": kind, "name": name, "how": how, "n": len(found.looked_at), **numbers})
        tick((place + 1) / len(pairs))
    return rows


def _again(workspace: Workspace, encoder: str, dataset: str) -> np.ndarray | None:
    """The vectors of the same encoder with another seed; None if it uses no random numbers."""
    from theodolite.engine import encoders

    spec = encoders.parse(encoder)
    sources = tuple(
        replace(
            s,
            options=(
                *((n, v) for n, v in s.options if n != "seed"),
                ("seed", str(_next(int(s.option("seed") or 0)))),
            ),
        )
        if s.kind == "borep"
        else s
        for s in spec.sources
    )
    steps = tuple(s if s.seed is None else replace(s, seed=_next(s.seed)) for s in spec.steps)
    other = str(replace(spec, sources=sources, steps=steps))
    if other == str(spec):
        return None
    data = workspace.catalog.load(dataset)
    sentences, _ = workspace.catalog.sentences(dataset)
    collection = encoders.PromptTask(dataset, "Retrieval")
    twin = encoders.load(
        str(encoders.parse(other)),
        cache=workspace.store.vectors.of(encoder),
        datasets=workspace.catalog.every_sentence,
    )
    return encoders.bind_task(twin, data.sentences, data.hash, collection).encode(sentences)


def _next(seed: int) -> int:
    return (seed + 1) % 2**32


def _changed(found: Change, first: np.ndarray, second: np.ndarray) -> list[dict[str, Any]]:
    """The sentences whose neighbourhoods changed most, with (id, cosine) of their neighbours."""
    import numpy as np

    def near(vectors: np.ndarray, i: int, ids: np.ndarray) -> list[list[float]]:
        from theodolite.engine.space.geometry import cosine

        own = np.broadcast_to(vectors[i], (len(ids), vectors.shape[1]))
        values = cosine(own, vectors[ids])
        return [[int(j), round(float(c), 4)] for j, c in zip(ids, values, strict=True)]

    out = []
    for row in found.most(CHANGED):
        i = int(found.looked_at[row])
        out.append(
            {
                "id": i,
                "jaccard": float(found.jaccard[row]),
                "overlap": float(found.overlap[row]),
                "first": near(first, i, found.first[row]),
                "second": near(second, i, found.second[row]),
            }
        )
    return out


def _clusters(
    workspace: Workspace,
    spec: SpacesSpec,
    first: np.ndarray,
    second: np.ndarray,
    sentences: Sequence[str],
    facts: Facts,
) -> dict[str, Any]:
    """Cluster both spaces and match the groups; adds the group numbers as columns of both maps."""
    from theodolite.engine.space import clusters as engine
    from theodolite.engine.space.topics import RegionWords

    method: Any = spec.clustering
    before = engine.cluster(first, method, spec.size)
    after = engine.renumbered(before, engine.cluster(second, method, spec.size))
    flow = engine.flow(before, after)
    words = RegionWords(sentences)
    names = [_names(words, side) for side in (before, after)]
    names[1] = [  # a number that is empty in the second keeps its name from the first
        name if size else names[0][i]
        for i, (name, size) in enumerate(zip(names[1], after.sizes, strict=True))
    ]
    for key, encoder, side, own in (
        ("cluster_a", spec.encoders[0], before, names[0]),
        ("cluster_b", spec.encoders[1], after, names[1]),
    ):
        shown = [*own, "in no group"] if side.noise else own
        facts.label(
            key,
            f"Clusters of {encoder}",
            shown,
            (side.of if not side.noise else _last(side, len(own))),
        )
    known = _labels(workspace, spec.data, sentences)
    return {
        "method": method,
        "how": [before.how, after.how],
        "names": names,
        "sizes": [side.sizes.tolist() for side in (before, after)],
        "noise": [before.noise, after.noise],
        "counts": flow.counts.tolist(),
        "pairs": [list(pair) for pair in flow.pairs],
        "kept": flow.kept,
        "between": asdict(engine.agreement(before.of, after.of)),
        "labels": None
        if known is None
        else [asdict(engine.agreement(known, side.of)) for side in (before, after)],
    }


def _names(words: Any, side: Clusters) -> list[str]:
    """Words that name each group; a group without distinct words gets its number as well."""
    from theodolite.engine.space.topics import distinct

    count = len(side.sizes)
    if not count:
        return []
    return distinct(words.names(side.of, count, words.everywhere(side.of, count)))


def _last(side: Clusters, place: int) -> np.ndarray:
    import numpy as np

    return np.where(side.of < 0, place, side.of)


def _labels(workspace: Workspace, dataset: str, sentences: Sequence[str]) -> np.ndarray | None:
    """The label of each sentence at its first occurrence; None for a collection without labels."""
    import numpy as np

    from theodolite.engine.datasets.types import LabelledSentences

    data = workspace.catalog.load(dataset)
    if not isinstance(data, LabelledSentences):
        return None
    of = dict(zip(reversed(data.sentences), map(str, reversed(data.labels)), strict=True))
    return np.array([of[sentence] for sentence in sentences])
