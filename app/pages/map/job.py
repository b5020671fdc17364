"""A map: what determines it, and how it is computed, measured and stored.

It is stored under a hash of everything that determines it. Only the first two principal components
are also computed outside the job, by the pages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Any

from theodolite.app.jobs.job import Job
from theodolite.app.pages.map import service
from theodolite.app.pages.map.service import NAMES, StoredMap
from theodolite.app.spec import Field, Spec
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback, nobody
from theodolite.store.hashing import hash_of, to_json

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.jobs.reporter import Reporter
    from theodolite.app.workspace import Workspace

FORMATS = dict.fromkeys(NAMES, 1) | {"umap": 4, "umap-learn": 3}
"""Increased whenever a method's map of the same question would change."""
PARTS = {"pca": 0.1, "quick": 1.0, "umap": 0.6, "umap-learn": 0.8, "tsne": 0.8, "pacmap": 0.6}
"""Approximate share of the computing time that the projection takes, by method."""
WATCHED_POINTS = 50_000
"""Larger maps are not shown during the projection: each update would be megabytes."""
LIBRARIES = {
    "umap": ("numpy", "scipy", "faiss-cpu"),
    "umap-learn": ("umap-learn", "numba", "faiss-cpu"),
    "tsne": ("scikit-learn", "faiss-cpu"),
    "pacmap": ("pacmap", "numba", "faiss-cpu"),
    "pca": ("numpy",),
    "quick": ("numpy",),
}
"""Method -> what it is computed with, the library whose version determines it first."""


@dataclass(frozen=True)
class MapSpec(Spec, Job):
    """Put the sentences of a collection on a plane, and say how far to trust it.

    A map made before is read, not made again; the page Map shows it.
    """

    kind = "project"
    interactive = True

    encoder: Annotated[str, Field("Encoder", "As in minilm | normalise.", names="encoder")]
    data: Annotated[
        str,
        Field(
            "Collection",
            "What is drawn; see `theodolite data`.",
            names="dataset",
            key="in",
            argument=True,
        ),
    ] = "starter-topics"
    method: Annotated[str, Field("Method", "Method of projection.", choices=NAMES)] = "umap"
    neighbours: Annotated[
        int,
        Field(
            "n_neighbors",
            "Few show detail, many the overall structure; for t-SNE the perplexity.",
            ge=2,
            le=200,
        ),
    ] = 15
    min_dist: Annotated[
        float,
        Field(
            "min_dist",
            "Minimum distance between points (UMAP): 0 packs them tightly.",
            key="distance",
            ge=0,
            le=0.99,
        ),
    ] = 0.1
    seed: Annotated[
        int | None,
        Field("Random seed", "Or any: different every time.", ge=0, le=2**32 - 1, none="any"),
    ] = 0

    def check(self) -> None:
        """Write equivalent questions in the same way, so that they are one map."""
        from theodolite.engine import encoders

        is_pca = self.method in ("pca", "quick")
        same = {"encoder": str(encoders.parse(self.encoder))}
        usual = {"neighbours": is_pca, "seed": is_pca, "min_dist": "umap" not in self.method}
        same |= {name: getattr(type(self), name) for name, unused in usual.items() if unused}
        for name, value in same.items():
            object.__setattr__(self, name, value)

    @property
    def title(self) -> str:
        """`UMAP of starter-topics with minilm`."""
        return f"{NAMES[self.method]} of {self.data} with {self.encoder}"

    def validate(self, workspace: Workspace) -> None:
        """Raise if the method's package is missing, or t-SNE has too many points."""
        self._library()
        if self.method != "tsne":
            return
        from theodolite.engine.space.projection import TSNE_POINTS

        sentences, _ = workspace.catalog.sentences(self.data)
        if len(sentences) > TSNE_POINTS:
            raise UserError(
                f"t-SNE was asked for {len(sentences):,} sentences; it takes up to "
                f"{TSNE_POINTS:,}.",
                "Choose UMAP, which is much quicker, or a smaller collection.",
                code="too-large",
            )

    def _library(self) -> str:
        package, *_ = LIBRARIES[self.method]
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            raise UserError(
                f"{NAMES[self.method]} needs the package {package}, which is not installed here.",
                "Install it with `pip install 'theodolite[maps]'`, or choose UMAP.",
                code="unsupported",
            ) from None

    def key(self, workspace: Workspace) -> str:
        """The store key of the map: 32 hexadecimal digits.

        It covers the name and the labels of the data set: a map's columns contain the labels, and
        a map opens its data set by name.
        """
        return hash_of(to_json(self.question(workspace) | {"library": self._library()}))

    def question(self, workspace: Workspace) -> dict[str, Any]:
        """Everything that determines the map, except the projection library."""
        return {
            **self._how(),
            "format": FORMATS[self.method],
            "data": workspace.catalog.load(self.data).hash,
            "fingerprint": workspace.bound(self.encoder, self.data).fingerprint,
        }

    def _how(self) -> dict[str, Any]:
        """The values under the names that a stored map has them by."""
        return {"initial": None, "dataset": self.data} | {
            name: value for name, value in asdict(self).items() if name != "data"
        }

    def stored(self, workspace: Workspace) -> StoredMap | None:
        """The stored or shipped map; None for neither."""
        made = service.stored(workspace, self.key(workspace))
        return made or service.shipped(workspace, self.question(workspace))

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the map is stored or ships."""
        return self.stored(workspace) is not None

    def units(self) -> list[str]:
        """Two units: encoding, and the map."""
        return [
            f"Encoding {self.data} with {self.encoder}",
            f"{NAMES[self.method]} of {self.data}, its topics and how far it can be trusted",
        ]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Do the unit at a position of `units`."""
        if position == 0:
            service.vectors(workspace, self.encoder, self.data, reporter)
        else:
            self.make(workspace, reporter.tick)

    def make(self, workspace: Workspace, tick: ProgressCallback = nobody) -> StoredMap:
        """Return the stored map, or compute and store it."""
        key = self.key(workspace)
        before = service.stored(workspace, key)
        if before is not None:
            return before
        self.validate(workspace)
        self._compute(workspace, key, tick)
        made = service.stored(workspace, key)
        if made is None:
            raise UserError(
                "The collection changed while its map was computed.",
                "Compute the map again.",
                code="stale",
            )
        return made

    def _compute(self, workspace: Workspace, key: str, tick: ProgressCallback) -> None:
        """Project, measure, and store under a key."""
        from theodolite.app.pages.map import facts as map_facts
        from theodolite.engine.space.projection import distinct

        workspace.store.refuse_writing()
        sentences, data_hash = workspace.catalog.sentences(self.data)
        vectors = service.vectors(workspace, self.encoder, self.data)
        began, share, is_quick = time.perf_counter(), PARTS[self.method], self.method == "quick"
        # A first view has no neighbours that equal vectors could make arbitrary.
        most = len(vectors) if is_quick else min(self.neighbours, map_facts.NEIGHBOURS)
        kept, which = distinct(vectors, most)
        projections = workspace.store.projections

        def watch(plane: np.ndarray) -> None:
            projections.put_unfinished(key, plane[which])

        try:
            plane, explained = self._project(
                workspace,
                vectors[kept] if len(kept) < len(vectors) else vectors,
                lambda initial: initial.points[kept],
                lambda done: tick(share * done),
                watch if len(vectors) <= WATCHED_POINTS else None,
            )
        finally:
            projections.end_unfinished(key)
        points, projected = plane[which], time.perf_counter()
        facts = map_facts.quick_facts(workspace.catalog.load(self.data), sentences, points)
        trust: Mapping[str, Any] = {}
        if not is_quick:
            trust = map_facts.measure(
                facts,
                vectors,
                sentences,
                points,
                (kept, which),
                lambda done: tick(share + (1 - share) * done),
            )
        info = self._how() | {
            "fingerprint": workspace.bound(self.encoder, self.data).fingerprint,
            "data_hash": data_hash,
            "n": len(points),
            "vectors": len(kept),
            "dim": int(vectors.shape[1]),
            "explained": explained,
            "trust": trust,
            "seconds": {
                "projection": projected - began,
                "measuring": time.perf_counter() - projected,
            },
            "versions": {
                package: version(package)
                for package in sorted({"numpy", "scikit-learn", *LIBRARIES[self.method]})
            },
            "columns": [vars(column) for column in facts.columns],
            "regions": [vars(region) for region in facts.regions],
        }
        projections.put(key, {"points": points, **facts.arrays}, info)

    def _project(
        self,
        workspace: Workspace,
        vectors: np.ndarray,
        initial: Callable[[StoredMap], np.ndarray],
        tick: ProgressCallback,
        watch: Callable[[np.ndarray], None] | None,
    ) -> tuple[np.ndarray, float | None]:
        """Project vectors to points, float32 (m, 2); also the share of variance, if by PCA.

        A collection too small for its method is projected by PCA; a single vector is put at the
        origin.
        """
        import numpy as np

        from theodolite.engine.space import projection

        if len(vectors) < 2:
            return np.zeros((len(vectors), 2), np.float32), None
        how: dict[str, Any] = {"seed": self.seed, "tick": tick}
        if self.method in ("pca", "quick") or len(vectors) < 4:
            plane = projection.pca(vectors)
        elif self.method == "pacmap":
            plane = projection.pacmap(vectors, neighbours=self.neighbours, **how)
        elif self.method == "tsne":
            plane = projection.tsne(vectors, perplexity=self.neighbours, **how)
        else:
            how |= {"neighbours": self.neighbours, "min_dist": self.min_dist}
            if self.method == "umap-learn":
                plane = projection.umap_learn(vectors, **how)
            else:
                first = self._first(workspace)
                begin = None if first is None else initial(first)
                plane = projection.umap(vectors, initial=begin, watch=watch, **how)
        return plane.points, plane.explained

    def _first(self, workspace: Workspace) -> StoredMap | None:
        """The map whose points UMAP starts from; None for none."""
        return None


@dataclass(frozen=True)
class SecondMap(MapSpec):
    """A UMAP that starts from another map of the same sentences, for two spaces side by side.

    Attributes:
        initial: key of the stored map.
    """

    initial: str = ""

    def _how(self) -> dict[str, Any]:
        return super()._how() | {"initial": self.initial}

    def _first(self, workspace: Workspace) -> StoredMap:
        first = service.stored(workspace, self.initial)
        sentences, _ = workspace.catalog.sentences(self.data)
        if first is None or len(first.points) != len(sentences):
            raise UserError(
                "The map to start from does not exist, or is of another collection.",
                "Compute that map first.",
                code="no-result",
            )
        return first


def quick(workspace: Workspace, encoder: str, dataset: str) -> StoredMap | None:
    """The map of the first two principal components; None for more than `QUICK_POINTS` points.

    Encodes sentences that are not cached: pages do so before, with `background_call.encode`.
    """
    sentences, _ = workspace.catalog.sentences(dataset)
    if not 0 < len(sentences) <= service.QUICK_POINTS:
        return None
    return MapSpec(encoder, dataset, "quick").make(workspace)
