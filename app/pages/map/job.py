"""The job *project*: a map of a collection, stored under a hash of everything that determines it.

Only the first two principal components are also computed outside the job, by the pages.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal, get_args

from theodolite.app.jobs.job import Job
from theodolite.app.pages.map import making, service
from theodolite.app.pages.map.making import LIBRARIES
from theodolite.app.pages.map.service import NAMES, StoredMap
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback, nobody
from theodolite.store.hashing import hash_of, to_json

if TYPE_CHECKING:
    from theodolite.app.jobs.reporter import Reporter
    from theodolite.app.workspace import Workspace

Method = Literal["umap", "umap-learn", "tsne", "pacmap", "pca", "quick"]
"""`quick` is `pca` without the slow measurements: trust, clusters, names."""

FORMATS = dict.fromkeys(get_args(Method), 1) | {"umap": 4, "umap-learn": 3}
"""Increased whenever a method's map of the same question would change."""
MAX_NEIGHBOURS = 200
ANY_SEED = "any"


@dataclass(frozen=True)
class MapJob(Job):
    """The specification of a map; create it with `of`.

    Attributes:
        encoder: canonical spec.
        dataset: name in the catalog.
        method: projection method.
        neighbours: n_neighbors of UMAP and PaCMAP; the perplexity of t-SNE.
        min_dist: min_dist of UMAP.
        seed: random seed; None for a map that is not reproducible.
        initial: key of a stored map of the same collection to start from (UMAP), for two spaces
            side by side.
    """

    kind = "project"
    interactive = True

    encoder: str
    dataset: str
    method: Method = "umap"
    neighbours: int = 15
    min_dist: float = 0.1
    seed: int | None = 0
    initial: str | None = None

    @classmethod
    def of(cls, encoder: str, dataset: str, **how: Any) -> MapJob:
        """Validate and normalise the arguments, so that equivalent jobs are equal."""
        from theodolite.engine import encoders

        job = cls(str(encoders.parse(encoder)), dataset, **how)
        if job.method not in get_args(Method):
            raise UserError(
                f"There is no method {job.method!r}.",
                "Choose one of umap, umap-learn, tsne, pacmap and pca.",
                code="unknown",
            )
        if not 2 <= job.neighbours <= MAX_NEIGHBOURS:
            raise UserError(
                f"{job.neighbours} cannot be n_neighbors.",
                f"Choose from 2 to {MAX_NEIGHBOURS}; 15 is usual.",
            )
        if not 0 <= job.min_dist < 1:
            raise UserError(
                f"{job.min_dist} cannot be min_dist.",
                "Choose from 0 (tight clusters) to 0.99 (evenly spread).",
            )
        if job.seed is not None and not 0 <= job.seed < 2**32:
            raise UserError(f"{job.seed} cannot be a random seed.", "Choose from 0 to 4294967295.")
        if job.method in ("pca", "quick"):  # the other parameters have no effect
            return cls(job.encoder, job.dataset, job.method)
        if job.method in ("tsne", "pacmap"):
            return cls(job.encoder, job.dataset, job.method, job.neighbours, seed=job.seed)
        if job.method == "umap-learn":
            return replace(job, initial=None)
        return job

    @property
    def title(self) -> str:
        """`UMAP of starter-topics with minilm`."""
        return f"{NAMES[self.method]} of {self.dataset} with {self.encoder}"

    def validate(self, workspace: Workspace) -> None:
        """Raise if the method's package is missing, or t-SNE has too many points."""
        self._library()
        if self.method != "tsne":
            return
        from theodolite.engine.space.projection import TSNE_POINTS

        sentences, _ = workspace.catalog.sentences(self.dataset)
        if len(sentences) > TSNE_POINTS:
            raise UserError(
                f"t-SNE was asked for {len(sentences):,} sentences; it takes up to "
                f"{TSNE_POINTS:,}.",
                "Choose UMAP, which is much quicker, or a smaller collection.",
                code="too-large",
            )

    def _library(self) -> str:
        package = LIBRARIES[self.method]
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
        return asdict(self) | {
            "format": FORMATS[self.method],
            "data": workspace.catalog.load(self.dataset).hash,
            "fingerprint": workspace.bound(self.encoder, self.dataset).fingerprint,
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
            f"Encoding {self.dataset} with {self.encoder}",
            f"{NAMES[self.method]} of {self.dataset}, its topics and how far it can be trusted",
        ]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Do the unit at a position of `units`."""
        if position == 0:
            service.vectors(workspace, self.encoder, self.dataset, reporter)
        else:
            self.make(workspace, reporter.tick)

    def make(self, workspace: Workspace, tick: ProgressCallback = nobody) -> StoredMap:
        """Return the stored map, or compute and store it."""
        key = self.key(workspace)
        found = service.stored(workspace, key)
        if found is not None:
            return found
        self.validate(workspace)
        making.make(workspace, self, key, tick)
        kept = service.stored(workspace, key)
        if kept is None:
            raise UserError(
                "The collection changed while its map was computed.",
                "Compute the map again.",
                code="stale",
            )
        return kept


def seed_of(text: str | None) -> int | None:
    """Parse a random seed; None for `any` or no text."""
    written = (text or ANY_SEED).strip()
    if written == ANY_SEED:
        return None
    if not (written.isascii() and written.isdigit()):
        raise UserError(
            f"{written[:20]!r} is not a random seed.", f"Give a whole number, or {ANY_SEED!r}."
        )
    return int(written)


def quick(workspace: Workspace, encoder: str, dataset: str) -> StoredMap | None:
    """The map of the first two principal components; None for more than `QUICK_POINTS` points.

    Encodes sentences that are not cached: pages do so before, with `background_call.encode`.
    """
    sentences, _ = workspace.catalog.sentences(dataset)
    if not 0 < len(sentences) <= service.QUICK_POINTS:
        return None
    return MapJob.of(encoder, dataset, method="quick").make(workspace)
