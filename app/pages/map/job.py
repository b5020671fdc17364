"""A map: what determines it, and how it is computed, measured and stored.

It is stored under a hash of everything that determines it. Pages draw the first two principal
components while it is computed.
"""

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, NamedTuple

import numpy as np

from theodolite.app import formats
from theodolite.app.blocks import Block, Nothing, Problem
from theodolite.app.components.map import NEIGHBOURS, Facts, Region
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.pages.map import service
from theodolite.app.pages.map.service import NAMES, QUICK_POINTS, StoredMap
from theodolite.app.pages.search.service import attributes
from theodolite.app.question import Answer, Working
from theodolite.app.spec import Field, Spec
from theodolite.app.vectors import TooSlow, encode_missing, missing
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.types import Dataset, LabelledPairs
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback, nobody
from theodolite.engine.space.projection import TSNE_POINTS, Plane, distinct
from theodolite.store.errors import StoreClosed
from theodolite.store.hashing import hash_of, to_json
from theodolite.store.run_rows import LIVE

WATCHED_POINTS = 50_000
"""Larger maps are not shown during the projection: each update would be megabytes."""
TRUSTED_WHOLE = 5000
"""Up to this size, trust is measured at every point; above it, at a fixed sample of 2,000."""
_CELLS = 256


class Method(NamedTuple):
    """A method of projection.

    Attributes:
        share: approximate share of the computing time that the projection takes.
        libraries: what it is computed with, the library whose version determines it first.
        format: increased whenever its map of the same question would change.
    """

    share: float
    libraries: Sequence[str]
    format: int = 1


METHODS = {
    "umap": Method(0.6, ("numpy", "scipy", "faiss-cpu"), 4),
    "umap-learn": Method(0.8, ("umap-learn", "numba", "faiss-cpu"), 3),
    "tsne": Method(0.8, ("scikit-learn", "faiss-cpu")),
    "pacmap": Method(0.6, ("pacmap", "numba", "faiss-cpu")),
    "pca": Method(0.1, ("numpy",)),
    "quick": Method(1.0, ("numpy",)),
}


@dataclass(frozen=True)
class MapSpec(Spec, Job):
    """Put the sentences of a collection on a plane, and say how far to trust it.

    A map made before is read, not made again; the page Map shows it. A file of its points has a row
    for every sentence of the collection, in its order and as often as it occurs: of pairs, all left
    ones, then all right ones. It can also be .parquet, or .npy with the points alone.
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
        unused = {"neighbours": is_pca, "seed": is_pca, "min_dist": "umap" not in self.method}
        usual = {name: getattr(type(self), name) for name, is_so in unused.items() if is_so}
        vars(self).update(usual, encoder=str(encoders.parse(self.encoder)))

    @property
    def title(self) -> str:
        """`UMAP of starter-topics with minilm`."""
        return f"{NAMES[self.method]} of {self.data} with {self.encoder}"

    def validate(self, workspace: Workspace) -> None:
        """Raise if the method's package is missing, or t-SNE has too many points."""
        self._library()
        sentences, _ = workspace.catalog.sentences(self.data)
        if self.method == "tsne" and len(sentences) > TSNE_POINTS:
            raise UserError(
                f"These are {len(sentences):,} sentences; t-SNE takes up to {TSNE_POINTS:,}.",
                "Choose UMAP, which is much quicker, or a smaller collection.",
                code="too-large",
            )

    def _library(self) -> str:
        package, *_ = METHODS[self.method].libraries
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
        facts = {
            **self._how(),
            "format": METHODS[self.method].format,
            "data": workspace.catalog.load(self.data).hash,
            "fingerprint": workspace.bound(self.encoder, self.data).fingerprint,
            "library": "" if workspace.ships else self._library(),
        }
        return hash_of(to_json(facts))

    def _how(self) -> dict[str, Any]:
        """The values under the names that a stored map has them by."""
        how = {name: value for name, value in asdict(self).items() if name != "data"}
        return {"initial": None, "dataset": self.data} | how

    def stored(self, workspace: Workspace) -> StoredMap | None:
        """The stored or shipped map; None for neither."""
        if is_unknown(workspace, self.data, [self.encoder]):
            return None
        keys = (self.key(place) for place in (workspace, workspace.shipped))
        return next(filter(None, (service.stored(workspace, key) for key in keys)), None)

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
        if (before := service.stored(workspace, key)) is not None:
            return before
        self.validate(workspace)
        workspace.store.refuse_writing()
        self._compute(workspace, key, tick)
        return _if_unchanged(service.stored(workspace, key))

    def _compute(self, workspace: Workspace, key: str, tick: ProgressCallback) -> None:
        """Project, measure, and store under a key."""
        data = workspace.catalog.load(self.data)
        sentences, data_hash = workspace.catalog.sentences(self.data)
        vectors = service.vectors(workspace, self.encoder, self.data)
        began, method, is_quick = time.perf_counter(), METHODS[self.method], self.method == "quick"
        # A first view has no neighbours that equal vectors could make arbitrary.
        most = len(vectors) if is_quick else min(self.neighbours, NEIGHBOURS)
        rows, which = distinct(vectors, most)
        derived, first = workspace.store.derived, getattr(self, "initial", None)
        try:
            plane = self._project(
                vectors[rows] if len(rows) < len(vectors) else vectors,
                _if_unchanged(service.stored(workspace, first)).points[rows] if first else None,
                lambda done: tick(method.share * done),
                (lambda points: derived.put_unfinished(key, points[which]))
                if len(vectors) <= WATCHED_POINTS
                else None,
            )
        finally:
            derived.end_unfinished(key)
        points, projected = plane.points[which], time.perf_counter()
        facts = quick_facts(data, sentences, points)
        trust: dict[str, Any] = {}
        if not is_quick:
            trust = measure(
                facts,
                vectors,
                sentences,
                points,
                (rows, which),
                lambda done: tick(method.share + (1 - method.share) * done),
            )
        info = self._how() | {
            "fingerprint": workspace.bound(self.encoder, self.data).fingerprint,
            "data_hash": data_hash,
            "n": len(points),
            "vectors": len(rows),
            "dim": int(vectors.shape[1]),
            "explained": plane.explained,
            "trust": trust,
            "seconds": {
                "projection": projected - began,
                "measuring": time.perf_counter() - projected,
            },
            "versions": {
                package: version(package)
                for package in sorted({"numpy", "scikit-learn", *method.libraries})
            },
            "columns": [vars(column) for column in facts.columns],
            "regions": [vars(region) for region in facts.regions],
        }
        derived.put(key, service.KIND, info, {"points": points, **facts.arrays})

    def _project(
        self,
        vectors: np.ndarray,
        initial: np.ndarray | None,
        tick: ProgressCallback,
        watch: Callable[[np.ndarray], None] | None,
    ) -> Plane:
        """Project vectors to the plane.

        A collection too small for its method is projected by PCA; a single vector is put at the
        origin.
        """
        from theodolite.engine.space import projection

        if len(vectors) < 2:
            return projection.Plane(np.zeros((len(vectors), 2), np.float32))
        if self.method in ("pca", "quick") or len(vectors) < 4:
            return projection.pca(vectors)
        how: dict[str, Any] = {"neighbours": self.neighbours, "seed": self.seed, "tick": tick}
        match self.method:
            case "tsne":
                return projection.tsne(vectors, **how)
            case "pacmap":
                return projection.pacmap(vectors, **how)
            case "umap-learn":
                return projection.umap_learn(vectors, min_dist=self.min_dist, **how)
        how["min_dist"] = self.min_dist
        return projection.umap(vectors, initial=initial, watch=watch, **how)


@dataclass(frozen=True)
class SecondMap(MapSpec):
    """A UMAP that starts from another map of the same sentences, for two spaces side by side.

    Attributes:
        initial: key of the stored map.
    """

    initial: str = ""


def _if_unchanged(stored: StoredMap | None) -> StoredMap:
    """A map that has just been made, whose collection may have changed meanwhile."""
    if stored is None:
        raise UserError(
            "The collection changed while its map was computed.",
            "Compute the map again.",
            code="stale",
        )
    return stored


@dataclass(frozen=True, repr=False)
class Unmade(Answer):
    """What a page says in place of what it cannot draw at once.

    Attributes:
        what: that is not there yet.
        n: sentences of the collection.
        button: what has it computed; empty for none.
        hint: what to do.
    """

    what: str
    n: int
    button: str
    hint: str

    @property
    def lack(self) -> str:
        """The button that has it computed."""
        return self.button

    def rows(self) -> list[dict[str, Any]]:
        """None."""
        return []

    def problems(self) -> list[Problem]:
        """That it has not been computed."""
        text = f"{self.what} has not been computed yet."
        return [Problem(UserError(text, "Compute it first.", code="no-result"))]

    def blocks(self) -> list[Block]:
        """How many sentences there are, and what to do."""
        return [Nothing(f"{formats.plural(self.n, 'sentence')}, not on a map yet", self.hint)]


def preview(
    workspace: Workspace, job: Any, encoders: Sequence[str], button: str
) -> Generator[Working, None, Any]:
    """Encode what is lacking while a person waits, and draw the principal components.

    Args:
        workspace: store and data.
        job: a `MapSpec` or a `SpacesSpec` that is not stored.
        encoders: by which the collection must be encoded.
        button: what has the job done.

    Returns:
        What was drawn, or `Unmade`.
    """
    sentences, _ = workspace.catalog.sentences(job.data)
    running, time_left = is_running(workspace, job), ""
    waits = running and any(missing(workspace, encoder, job.data) for encoder in encoders)
    try:
        if 0 < len(sentences) <= QUICK_POINTS and not waits:
            for encoder in () if workspace.demo else encoders:
                for step in encode_missing(workspace, encoder, job.data):
                    yield Working(*step)
            return job.stored(workspace) or replace(job, method="quick").make(workspace)
    except TooSlow as slow:
        time_left = f" That takes {formats.time_left(slow.left).removesuffix(' left')}."
    except StoreClosed:
        pass
    hint = f"Press {button}: they are encoded in the background, once.{time_left}"
    if running:
        hint = "They are being encoded, and appear here as soon as possible."
    elif not sentences:
        hint = "This collection is empty. Choose another."
    elif workspace.read_only:
        hint = "This demonstration does not start runs: choose another collection or encoder."
    return Unmade(job.title, len(sentences), "" if running else button, hint)


def is_running(workspace: Workspace, job: Job) -> bool:
    """Whether a run of a job is queued or at work."""
    runs = workspace.store.runs.list(LIVE, kinds=[job.kind])
    return any(type(job).from_spec(run["spec"]) == job for run in runs)


def is_unknown(workspace: Workspace, data: str, encoders: Sequence[str]) -> bool:
    """Whether an encoder is fitted on a collection that is not encoded, which identifies it."""
    return any("@task" in encoder and missing(workspace, encoder, data) for encoder in encoders)


def quick_facts(dataset: Dataset, sentences: Sequence[str], points: np.ndarray) -> Facts:
    """The facts that are fast to compute: labels of the data set, length, density."""
    facts = Facts()
    # The sentences of labelled pairs have no labels of their own.
    known = {} if isinstance(dataset, LabelledPairs) else attributes(dataset)
    for key, (texts, values) in known.items():
        # The point of a sentence that occurs twice has its first label.
        of = dict(zip(reversed(texts), reversed(values), strict=True))
        first: dict[str, int] = {}
        numbers = np.array([first.setdefault(of[s], len(first)) for s in sentences])
        if len(first) > 1 or key == "label":
            facts.label(key, key.capitalize(), list(first), numbers)
    facts.number("length", "Length in characters", np.array([len(s) for s in sentences], float))
    facts.number("density", "Density on the map", density(points))
    return facts


def density(points: np.ndarray) -> np.ndarray:
    """Density at each point: log10 of the smoothed count per cell, on a 256 x 256 grid.

    Args:
        points: (n, 2).

    Returns:
        float32 (n,).
    """
    from scipy.ndimage import gaussian_filter

    low = points.min(axis=0)
    side = float((points.max(axis=0) - low).max()) or 1.0
    cells = np.minimum(((points - low) / side * _CELLS).astype(int), _CELLS - 1)
    table = np.zeros((_CELLS, _CELLS))
    np.add.at(table, (cells[:, 0], cells[:, 1]), 1)
    smooth = gaussian_filter(table, 2.5, mode="constant")
    return np.log10(np.maximum(smooth[cells[:, 0], cells[:, 1]], 1e-6)).astype(np.float32)


def measure(
    facts: Facts,
    vectors: np.ndarray,
    sentences: Sequence[str],
    points: np.ndarray,
    distinct: tuple[np.ndarray, np.ndarray],
    tick: ProgressCallback,
) -> dict[str, float | int]:
    """Add clusters of the full space, named topics of the plane, and trust.

    Args:
        facts: the columns are added here.
        vectors: float32 (n, dim).
        sentences: their texts.
        points: float32 (n, 2).
        distinct: as `engine.space.projection.distinct` has it; trust is of these points.
        tick: called with the share of trust measured.

    Returns:
        The means of the trust measures, `k` and `looked_at` (points measured); empty for too few
        points.
    """
    from theodolite.engine.space.trust import trust

    rows, which = distinct
    n, k = len(rows), min(NEIGHBOURS, (len(rows) - 1) // 2)
    some = vectors[rows] if n < len(vectors) else vectors
    with ThreadPoolExecutor(1) as pool:  # words are counted by one core, distances by all
        named = pool.submit(_add_groups, facts, vectors, sentences, points)
        sample = n if n <= TRUSTED_WHOLE else 2000
        measured = trust(some, points[rows], k, sample=sample, tick=tick) if k else None
        named.result()
    if measured is None:
        return {}
    means: dict[str, float | int] = {"k": k, "looked_at": len(measured.looked_at)}
    for key, name in (
        ("trustworthiness", "Trustworthiness"),
        ("continuity", "Continuity"),
        ("recall", f"Share of its {k} nearest kept"),
    ):
        values, column = getattr(measured, key), np.full(n, np.nan)
        column[measured.looked_at] = values
        facts.number(key, name, column[which])
        means[key] = float(values.mean())
    return means


def _add_groups(
    facts: Facts, vectors: np.ndarray, sentences: Sequence[str], points: np.ndarray
) -> None:
    """Add clusters of the full space and named topics of the plane."""
    from theodolite.engine.space.topics import RegionWords, distinct, groups, regions

    n = len(points)
    if not np.ptp(points, axis=0).any():
        return
    words = RegionWords(sentences)
    k = int(np.clip(round(np.sqrt(n / 2)), 2, 30))
    if n > 2 * k:
        clusters = groups(vectors, k)
        count = int(clusters.max()) + 1
        names = distinct(words.names(clusters, count, words.everywhere(clusters, count)))
        facts.label("cluster", "Cluster, k-means of the vectors", names, clusters)
    if n < 10:
        return
    for depth, level in enumerate(regions(points, words)):
        facts.regions += [
            Region(float(x), float(y), name, depth, int(size))
            for (x, y), name, size in zip(level.centres, level.names, level.sizes, strict=True)
        ]
        if len(level.names) > 1:
            name = f"Topic, {len(level.names)} regions of the map"
            facts.label(f"topic{depth}", name, level.names, level.of)
