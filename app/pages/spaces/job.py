"""Two encoders over one collection: an aligned pair of maps, and what is measured of the spaces.

The second map starts from the first and is aligned with it; what is measured are the full spaces.
Both maps are stored as projections, so that the browser reads them like any map.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Annotated, Any

import numpy as np

from theodolite.app import formats
from theodolite.app.components.map import Facts, Region, StoredMap
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapSpec, SecondMap, is_unknown
from theodolite.app.spec import Field, Spec
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders.spec import SourceSpec
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback, nobody
from theodolite.engine.space import clusters, compare
from theodolite.store.hashing import hash_of, to_json

FORMAT = 1
"""Increased whenever the result of the same comparison would change."""
METHODS = {"umap": "UMAP", "pca": "Principal components", "quick": "Principal components"}
"""Projections of the maps; `quick` is `pca` without measurements."""
CLUSTERINGS = {"k-means": "k-means", "hdbscan": "HDBSCAN"}
KEPT = ("label", "split", "part", "role", "length", "recall")
"""Columns of a single map that mean the same on both sides."""
CHANGED = 50
FLOOR_SAMPLE = 5000


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
        from theodolite.engine.encoders import canonical

        encoders = canonical(self.encoders)
        if len(encoders) != 2:
            raise UserError(
                f"Two different encoders are compared; {len(encoders)} were given.",
                "Name two. Each is also compared with itself.",
                code="conflict",
            )
        vars(self).update(encoders=encoders)
        if self.is_quick:
            vars(self).update(k=type(self).k, clustering=type(self).clustering, size=None)

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

    def keys(self, workspace: Workspace) -> list[str]:
        """The store keys of the pair's two sides."""
        facts = {
            "format": FORMAT,
            "maps": [plane.key(workspace) for plane in self.planes(workspace)],
            "k": self.k,
            "clustering": self.clustering,
            "size": self.size,
            "library": "" if workspace.ships else f"scikit-learn {version('scikit-learn')}",
            # The stored pair contains the names: other names for the same vectors are another pair.
            "names": list(self.encoders),
        }
        return [hash_of(to_json(facts | {"side": side})) for side in (0, 1)]

    def stored(self, workspace: Workspace) -> Pair | None:
        """The stored or shipped pair; None for neither."""
        if is_unknown(workspace, self.data, self.encoders):
            return None
        for place in (workspace, workspace.shipped):
            first, second = (maps.stored(workspace, key) for key in self.keys(place))
            if first and second:
                return Pair(first, second, first.info["spaces"])
        return None

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the pair is stored or ships."""
        return self.stored(workspace) is not None

    def units(self) -> list[str]:
        """Encoding, maps, and the measurements in the full dimensions."""
        first, second = self.encoders
        plane = f"{METHODS[self.method]} of {self.data}"
        return [
            f"Encoding {self.data} with {first}",
            f"Encoding {self.data} with {second}",
            f"{plane} with {first}",
            f"{plane} with {second}" + ", begun from the first" * (self.method == "umap"),
            "Neighbourhoods, noise floor and clusters in the full dimensions",
        ]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Do the unit at a position of `units`."""
        if position < 2:
            maps.vectors(workspace, self.encoders[position], self.data, reporter)
        elif position < 4:
            self.planes(workspace)[position - 2].make(workspace, reporter.tick)
        else:
            self.make(workspace, reporter.tick)

    def make(self, workspace: Workspace, tick: ProgressCallback = nobody) -> Pair:
        """Return the stored pair, or align two maps, compare their spaces, and store both."""
        if (stored := self.stored(workspace)) is not None:
            return stored
        self.validate(workspace)
        first, second = (plane.make(workspace) for plane in self.planes(workspace))
        workspace.store.refuse_writing()
        facts = Facts()
        report = {} if self.is_quick else measure(workspace, self, facts, tick)
        for key, side in zip(self.keys(workspace), (first, _onto(second, first)), strict=True):
            own = [column for column in side.columns if column.key in KEPT]
            info = side.info | {
                "columns": [vars(column) for column in [*facts.columns, *own]],
                "regions": [vars(region) for region in side.regions],
                "spaces": report,
            }
            values = {column.key: side.values[column.key] for column in own}
            arrays = {"points": side.points, **values, **facts.arrays}
            workspace.store.derived.put(key, maps.KIND, info, arrays)
        if (result := self.stored(workspace)) is None:
            raise UserError(
                "The collection changed during the comparison.", "Compare again.", code="stale"
            )
        return result


def _onto(second: StoredMap, first: StoredMap) -> StoredMap:
    """Align the second map with the first by Procrustes, rescaled to its width; with its regions.

    Procrustes alone would shrink a map the more, the less it has in common with the other.
    """
    from theodolite.engine.space.projection import procrustes

    middle, width = first.points.mean(axis=0), float(first.points.std())
    points = procrustes(second.points, first.points) - middle
    points = (middle + points * (width / (float(points.std()) or 1.0))).astype(np.float32)
    ones = np.ones((len(points), 1))
    # The alignment is affine: fitted to the moved points, it moves the regions likewise.
    moved, *_ = np.linalg.lstsq(np.hstack([second.points, ones]), points, rcond=None)

    def move(region: Region) -> Region:
        x, y = np.array([region.x, region.y, 1.0]) @ moved
        return replace(region, x=float(x), y=float(y))

    return replace(second, points=points, regions=[move(region) for region in second.regions])


def measure(
    workspace: Workspace, spec: SpacesSpec, facts: Facts, tick: ProgressCallback = nobody
) -> dict[str, Any]:
    """Compare the two spaces in their full dimensions.

    Args:
        workspace: store and data.
        spec: what is compared.
        facts: columns of both maps are added here: how much each point changed, its group in
            either space.
        tick: called with the share done.

    Returns:
        `n`, `k`, `looked_at`; `rows`: figures of the two spaces, of each against itself (the noise
        floor) and of chance; `changed`: the sentences that changed most, with both neighbour
        lists; `clusters`: sizes, names, flow, agreement. JSON-serialisable.
    """
    sentences = spec.sentences(workspace)
    first, second = (maps.vectors(workspace, name, spec.data) for name in spec.encoders)
    k = min(spec.k, len(sentences) - 1)
    change = compare.change(first, second, k, tick=lambda share: tick(0.5 * share))
    spread = np.full(len(sentences), np.nan)
    spread[change.looked_at] = 1 - change.overlap
    facts.number("change", f"How much its {k} nearest changed", spread)

    def row(
        kind: str, name: str, how: str, a: np.ndarray, b: np.ndarray, of: compare.Change
    ) -> Any:
        figures = compare.figures(a, b, of)
        numbers = {key: value if math.isfinite(value) else None for key, value in figures.items()}
        return {"kind": kind, "name": name, "how": how, "n": len(of.looked_at), **numbers}

    rows = [row("between", " and ".join(spec.encoders), "", first, second, change)]
    references = _references(workspace, spec, first, second)
    for place, (kind, name, how, a, b) in enumerate(references, 1):
        of = compare.change(a, b, k, sample=FLOOR_SAMPLE)
        rows.append(row(kind, name, how, a, b, of))
        tick(0.5 + 0.3 * place / len(references))
    report = {
        "encoders": list(spec.encoders),
        "dataset": spec.data,
        "n": len(sentences),
        "k": k,
        "looked_at": len(change.looked_at),
        "rows": rows,
        "changed": _most_changed(change, first, second),
        "clusters": _clusters(workspace, spec, first, second, sentences, facts),
    }
    tick(1.0)
    return report


def _references(
    workspace: Workspace, spec: SpacesSpec, first: np.ndarray, second: np.ndarray
) -> list[tuple[str, str, str, np.ndarray, np.ndarray]]:
    """Each encoder against itself, and chance: kind, name, how, and the two spaces."""
    pairs = []
    for name, vectors in zip(spec.encoders, (first, second), strict=True):
        how = "with another seed"
        twins: Any = (vectors, _again(workspace, name, spec.data))
        if twins[1] is None:
            how = f"through two random projections to {vectors.shape[1]} dimensions"
            twins = compare.twins(vectors)
        pairs.append(("floor", name, how, *twins))
    how = "the second's sentences shuffled: what is shared by chance"
    return [*pairs, ("chance", "Chance", how, first, compare.shuffle(second))]


def _again(workspace: Workspace, encoder: str, dataset: str) -> np.ndarray | None:
    """The vectors of the same encoder with another seed; None if it uses no random numbers."""
    from theodolite.engine import encoders

    def other(seed: int) -> int:
        return (seed + 1) % 2**32

    def reseeded(source: SourceSpec) -> SourceSpec:
        seed = str(other(int(source.option("seed") or 0)))
        options = [(name, value) for name, value in source.options if name != "seed"]
        return replace(source, options=(*options, ("seed", seed)))

    spec = encoders.parse(encoder)
    sources = tuple(reseeded(one) if one.kind == "borep" else one for one in spec.sources)
    steps = tuple(s if s.seed is None else replace(s, seed=other(s.seed)) for s in spec.steps)
    twin = replace(spec, sources=sources, steps=steps)
    if str(twin) == str(spec):
        return None
    data = workspace.catalog.load(dataset)
    sentences, _ = workspace.catalog.sentences(dataset)
    loaded = encoders.load(
        str(twin),
        cache=workspace.store.vectors.of(encoder),
        datasets=workspace.catalog.every_sentence,
    )
    task = encoders.PromptTask(dataset, "Retrieval")
    return encoders.bind_task(loaded, data.sentences, data.hash, task).encode(sentences)


def _most_changed(
    change: compare.Change, first: np.ndarray, second: np.ndarray
) -> list[dict[str, Any]]:
    """The sentences whose neighbourhoods changed most, with (id, cosine) of their neighbours."""
    from theodolite.engine.space.geometry import cosine

    def near(vectors: np.ndarray, i: int, ids: np.ndarray) -> list[list[float]]:
        values = cosine(np.broadcast_to(vectors[i], (len(ids), vectors.shape[1])), vectors[ids])
        return [[int(j), round(float(c), 4)] for j, c in zip(ids, values, strict=True)]

    return [
        {
            "id": (i := int(change.looked_at[row])),
            "jaccard": float(change.jaccard[row]),
            "overlap": float(change.overlap[row]),
            "first": near(first, i, change.first[row]),
            "second": near(second, i, change.second[row]),
        }
        for row in change.most(CHANGED)
    ]


def _clusters(
    workspace: Workspace,
    spec: SpacesSpec,
    first: np.ndarray,
    second: np.ndarray,
    sentences: Sequence[str],
    facts: Facts,
) -> dict[str, Any]:
    """Cluster both spaces and match the groups; adds the group numbers as columns of both maps."""
    from theodolite.engine.datasets.types import LabelledSentences
    from theodolite.engine.space.topics import RegionWords, distinct

    method: Any = spec.clustering
    before = clusters.cluster(first, method, spec.size)
    after = clusters.renumber(before, clusters.cluster(second, method, spec.size))
    flow, words, sides = clusters.flow(before, after), RegionWords(sentences), (before, after)

    def named(side: clusters.Clusters) -> list[str]:
        of, count = side.of, len(side.sizes)
        return distinct(words.names(of, count, words.everywhere(of, count))) if count else []

    names = [named(side) for side in sides]
    names[1] = [  # a number that is empty in the second keeps its name from the first
        name if size else names[0][i]
        for i, (name, size) in enumerate(zip(names[1], after.sizes, strict=True))
    ]
    for letter, encoder, side, own in zip("ab", spec.encoders, sides, names, strict=True):
        groups = [*own, "in no group"] if side.noise else own
        numbers = np.where(side.of < 0, len(own), side.of)
        facts.label(f"cluster_{letter}", f"Clusters of {encoder}", groups, numbers)
    data, agreement = workspace.catalog.load(spec.data), None
    if isinstance(data, LabelledSentences):  # a sentence has the label of its first occurrence
        labels = dict(zip(reversed(data.sentences), map(str, reversed(data.labels)), strict=True))
        known = np.array([labels[sentence] for sentence in sentences])
        agreement = [clusters.agreement(known, side.of) for side in sides]
    return {
        "method": method,
        "how": [side.how for side in sides],
        "names": names,
        "sizes": [side.sizes.tolist() for side in sides],
        "noise": [side.noise for side in sides],
        "counts": flow.counts.tolist(),
        "pairs": [list(pair) for pair in flow.pairs],
        "kept": flow.kept,
        "between": clusters.agreement(before.of, after.of),
        "labels": agreement,
    }
