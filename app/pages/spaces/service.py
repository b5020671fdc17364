"""The job *spaces*: two encoders over one collection, as an aligned pair of maps and figures.

A pair is two maps of the same points, the second started from the first and aligned with it, and
the measurements of the full spaces. It is stored as two projections, so that the browser reads it
like any map.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, get_args

from theodolite.app import formats
from theodolite.app.jobs.job import Job
from theodolite.app.pages.map import job as map_job
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapJob
from theodolite.app.pages.map.service import StoredMap
from theodolite.app.pages.spaces import making
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback, nobody
from theodolite.store.hashing import hash_of, to_json

if TYPE_CHECKING:
    from theodolite.app.jobs.reporter import Reporter
    from theodolite.app.workspace import Workspace

FORMAT = 1
"""Increased whenever the result of the same comparison would change."""
MAX_NEIGHBOURS = 100
CLUSTERINGS = ("k-means", "hdbscan")
Method = Literal["umap", "pca", "quick"]
MAX_GROUPS = 500

Part = Callable[["Workspace", "Reporter"], object]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two aligned maps of one collection.

    Attributes:
        first, second: the maps; the second is aligned with the first.
        report: measurements, see `app.pages.spaces.making.measure`; empty for a quick pair.
    """

    first: StoredMap
    second: StoredMap
    report: dict[str, Any]


@dataclass(frozen=True)
class SpacesJob(Job):
    """A comparison of two spaces; create it with `of`.

    Attributes:
        first, second: canonical specs.
        dataset: name in the catalog.
        k: number of neighbours compared per sentence.
        clustering: one of `CLUSTERINGS`.
        size: number of groups for k-means, minimum group size for HDBSCAN; None for the default.
        method: projection of the maps: `umap`, `pca`, or `quick`, which is `pca` without
            measurements.
    """

    kind = "spaces"
    interactive = True

    first: str
    second: str
    dataset: str
    k: int = 10
    clustering: str = "k-means"
    size: int | None = None
    method: Method = "umap"

    @classmethod
    def of(cls, first: str, second: str, dataset: str, **how: Any) -> SpacesJob:
        """Validate and normalise the arguments, so that equivalent jobs are equal."""
        from theodolite.engine import encoders

        job = cls(str(encoders.parse(first)), str(encoders.parse(second)), dataset, **how)
        if job.first == job.second:
            raise UserError(
                "Both encoders are the same.",
                "Choose two different ones; each is also compared with itself.",
                code="conflict",
            )
        if not 1 <= job.k <= MAX_NEIGHBOURS:
            raise UserError(
                f"{job.k} neighbours cannot be compared.",
                f"Choose from 1 to {MAX_NEIGHBOURS}; 10 is usual.",
            )
        if job.clustering not in CLUSTERINGS:
            raise UserError(
                f"There is no clustering {job.clustering!r}.",
                f"Choose {' or '.join(CLUSTERINGS)}.",
                code="unknown",
            )
        if job.size is not None and not 2 <= job.size <= MAX_GROUPS:
            raise UserError(
                f"{job.size} cannot be the size for {job.clustering}.",
                f"Choose from 2 to {MAX_GROUPS}, or leave it empty for the default.",
            )
        if job.method not in get_args(Method):
            raise UserError(
                f"There is no method {job.method!r}.", "Choose umap or pca.", code="unknown"
            )
        return cls(job.first, job.second, dataset, method="quick") if job.is_quick else job

    @property
    def is_quick(self) -> bool:
        """Whether the job only makes the maps, by principal components."""
        return self.method == "quick"

    @property
    def title(self) -> str:
        """`Two spaces: minilm and wordllama on starter-topics`."""
        return f"Two spaces: {self.first} and {self.second} on {self.dataset}"

    def validate(self, workspace: Workspace) -> None:
        """Raise for a collection that is too small."""
        self.sentences(workspace)

    def sentences(self, workspace: Workspace) -> list[str]:
        """The distinct sentences of the collection."""
        sentences, _ = workspace.catalog.sentences(self.dataset)
        if len(sentences) < 3:
            count = formats.plural(len(sentences), "distinct sentence")
            raise UserError(
                f"{self.dataset} has {count}: too few to compare neighbourhoods.",
                "Choose a collection of at least three.",
                code="too-few",
            )
        return sentences

    def planes(self, workspace: Workspace) -> tuple[MapJob, MapJob]:
        """The two maps of the pair before alignment; the second UMAP starts from the first."""
        first = MapJob.of(self.first, self.dataset, method=self.method)
        how: dict[str, str] = {"method": self.method}
        if self.method == "umap":
            how["initial"] = MapJob.of(self.first, self.dataset).key(workspace)
        return first, MapJob.of(self.second, self.dataset, **how)

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
            "names": [self.first, self.second],
        }
        return hash_of(to_json(facts | {"side": 0})), hash_of(to_json(facts | {"side": 1}))

    def stored(self, workspace: Workspace) -> Pair | None:
        """The stored or shipped pair; None for neither."""
        made = _pair(*(maps.stored(workspace, key) for key in self.keys(workspace)))
        return made or _pair(*(maps.shipped(workspace, q) for q in self.questions(workspace)))

    def questions(self, workspace: Workspace) -> list[dict[str, Any]]:
        """Everything that determines the two sides, except the libraries; keys of shipped pairs."""
        planes = [plane.question(workspace) | {"initial": None} for plane in self.planes(workspace)]
        facts = {"spaces": asdict(self), "format": FORMAT, "maps": planes}
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
        encoders, dataset = (self.first, self.second), self.dataset
        name = maps.NAMES[self.method]
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
        making.make(workspace, self, (first, second), self.keys(workspace), tick)
        kept = self.stored(workspace)
        if kept is None:
            raise UserError(
                "The collection changed during the comparison.", "Compare again.", code="stale"
            )
        return kept


def _pair(first: StoredMap | None, second: StoredMap | None) -> Pair | None:
    return Pair(first, second, first.info["spaces"]) if first and second else None


def quick(workspace: Workspace, job: SpacesJob) -> Pair | None:
    """The aligned principal components of both spaces; None for more than `QUICK_POINTS` points."""
    plain = SpacesJob.of(job.first, job.second, job.dataset, method="quick")
    for encoder in (plain.first, plain.second):
        if map_job.quick(workspace, encoder, plain.dataset) is None:
            return None
    return plain.make(workspace)
