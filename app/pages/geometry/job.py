"""The job *geometry*: the geometry of several encoders' spaces on one data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from theodolite.app.jobs.job import Job
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.geometry import service
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.jobs.reporter import Reporter
    from theodolite.app.workspace import Workspace


@dataclass(frozen=True)
class GeometryJob(Job):
    """A measurement of geometry; create it with `of`.

    Attributes:
        encoders: canonical specs.
        dataset: name in the catalog.
        split: one of its splits, or `all`.
    """

    kind = "geometry"
    interactive = True

    encoders: tuple[str, ...]
    dataset: str
    split: str = service.ALL

    @classmethod
    def of(cls, encoders: Sequence[str], dataset: str, split: str = service.ALL) -> GeometryJob:
        """Validate and normalise the arguments, so that equivalent jobs are equal."""
        from theodolite.engine.encoders import parse

        names = dict.fromkeys(str(parse(encoder)) for encoder in encoders)
        if not names:
            raise UserError("No encoder chosen.", "Choose at least one.", code="missing")
        return cls(tuple(names), dataset, split)

    @property
    def title(self) -> str:
        """`Geometry of 3 encoders on STSBenchmark`."""
        of = self.encoders[0] if len(self.encoders) == 1 else f"{len(self.encoders)} encoders"
        return f"Geometry of {of} on {self.dataset}"

    def validate(self, workspace: Workspace) -> None:
        """Raise for an unknown data set or split."""
        if self.split not in service.splits(workspace, self.dataset):
            service.take(workspace.catalog.load(self.dataset), self.split)  # raises with a hint

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the geometry of every encoder is stored or ships."""
        return all(
            service.found(workspace, encoder, self.dataset, self.split) is not None
            for encoder in self.encoders
        )

    def units(self) -> list[str]:
        """Two units per encoder: encoding and geometry."""
        return [
            label
            for encoder in self.encoders
            for label in (f"Encoding {self.dataset} with {encoder}", f"Geometry of {encoder}")
        ]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Do the unit at a position of `units`."""
        encoder = self.encoders[position // 2]
        if position % 2:
            service.measure(workspace, encoder, self.dataset, self.split, reporter)
        elif service.found(workspace, encoder, self.dataset, self.split) is None:
            service.encode(workspace, encoder, self.dataset, self.split, reporter)


def start(workspace: Workspace, encoders: Sequence[str], dataset: str, split: str) -> str:
    """Queue the encoders that are not measured at once; return the run's id, or "" for none."""
    workspace.refuse_visitors()
    job = GeometryJob.of(encoders, dataset, split)
    left = service.lacking(workspace, job.encoders, dataset, split)
    return queue(workspace, GeometryJob.of(left, dataset, split)) if left else ""
