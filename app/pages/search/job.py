"""The jobs *encode* and *index*: prepare a whole collection for search."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.jobs.job import Job
from app.jobs.kinds import job_of
from app.jobs.submit import queue
from app.pages.search import indexes, searchable
from app.vectors import SMALL, encode, missing
from store.run_rows import LIVE

if TYPE_CHECKING:
    from app.jobs.reporter import Reporter
    from app.pages.search.searchable import Searchable
    from app.workspace import Workspace
    from store.run_rows import RunRow


OFTEN = 3
"""A large collection that was searched so often gets an index."""
_searches: Counter[tuple[Path, str, str]] = Counter()
"""Of large collections, by (store, encoder, collection)."""


@dataclass(frozen=True)
class CollectionJob(Job):
    """Make a collection ready to be searched.

    Attributes:
        encoder: canonical spec.
        dataset: name in the catalog.
    """

    priority = -1
    interactive = True

    encoder: str
    dataset: str

    @property
    def title(self) -> str:
        """`Encode starter-topics with minilm`."""
        return f"{self.kind.capitalize()} {self.dataset} with {self.encoder}"


@dataclass(frozen=True)
class EncodeJob(CollectionJob):
    """Bring the vectors of a collection into the cache, for search to find them there."""

    kind = "encode"

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether no vector is lacking."""
        return not missing(workspace, self.encoder, self.dataset)

    def units(self) -> list[str]:
        """One: it goes on where it was."""
        return [f"{self.dataset} · {self.encoder}"]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Encode; what is in the cache is not encoded again."""
        encode(workspace, self.encoder, self.dataset, reporter)


@dataclass(frozen=True)
class IndexJob(CollectionJob):
    """Make the index of a large collection."""

    kind = "index"

    def units(self) -> list[str]:
        """Encoding and indexing."""
        return [
            f"Encoding {self.dataset} with {self.encoder}",
            f"Index of {self.dataset}, and its recall",
        ]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Do one of `units`."""
        if position == 0:
            encode(workspace, self.encoder, self.dataset, reporter)
        else:
            indexes.make(workspace, self.encoder, self.dataset, reporter)


def needed(
    workspace: Workspace, encoder: str, dataset: str, *, index: bool = False
) -> CollectionJob | None:
    """What has to be done before a whole collection is searched, if it takes a job's worth.

    Args:
        workspace: where everything is.
        encoder: a spec.
        dataset: the collection.
        index: whether a large collection is to get an index in any case.

    Raises:
        UserError: an encoder or a collection that cannot be used.
    """
    from engine import encoders

    name = str(encoders.parse(encoder))
    opened = searchable.so_far(workspace, name, dataset)
    wished = index and opened.is_exact and indexes.is_large(len(opened.sentences))
    if wished or opened.needs_index:
        return IndexJob(name, dataset)
    return EncodeJob(name, dataset) if opened.lacking > SMALL else None


def runs(workspace: Workspace, collection: str) -> list[RunRow]:
    """Encodings and indexings of a collection, the newest first."""
    every = workspace.store.runs.list(kinds=[EncodeJob.kind, IndexJob.kind])
    return [run for run in every if run["spec"]["dataset"] == collection]


def readied(
    workspace: Workspace, encoder: str, dataset: str, opened: Searchable, *, start: bool
) -> RunRow | None:
    """The last run of what an encoder has yet to do before all of a collection is searched.

    Args:
        workspace: where everything is.
        encoder: canonical spec.
        dataset: the collection.
        opened: the same, as far as it can be searched.
        start: begin one when none is alive; visitors never do.
    """
    job = (IndexJob if opened.needs_index else EncodeJob)(encoder, dataset)

    def last() -> RunRow | None:
        return next((run for run in runs(workspace, dataset) if job_of(run) == job), None)

    found = last()
    if start and not workspace.read_only and (found is None or found["state"] not in LIVE):
        queue(workspace, job)
        found = last()
    return found


def searched(workspace: Workspace, encoder: str, dataset: str, opened: Searchable) -> None:
    """Have an index made for a large collection that is searched often, but not by visitors."""
    if workspace.read_only or not opened.is_exact or not indexes.is_large(len(opened.sentences)):
        return
    key = (workspace.store.folder, encoder, dataset)
    _searches[key] += 1
    if _searches[key] == OFTEN:
        queue(workspace, IndexJob(encoder, dataset))
