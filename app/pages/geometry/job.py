"""The job *geometry*: the geometry of several encoders' spaces on one data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from theodolite.app.jobs.job import Job
from theodolite.app.pages.geometry import service

if TYPE_CHECKING:
    from theodolite.app.jobs.reporter import Reporter
    from theodolite.app.workspace import Workspace


@dataclass(frozen=True)
class GeometryJob(Job):
    """A measurement of geometry.

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

    @property
    def title(self) -> str:
        """`Geometry of 3 encoders on STSBenchmark`."""
        of = self.encoders[0] if len(self.encoders) == 1 else f"{len(self.encoders)} encoders"
        return f"Geometry of {of} on {self.dataset}"

    def validate(self, workspace: Workspace) -> None:
        """Raise for an unknown data set or split, or too few sentences."""
        service.take(workspace.catalog.load(self.dataset), self.split)

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
