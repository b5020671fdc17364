"""The jobs *encode* and *index*: prepare a whole collection for search."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from theodolite.app import formats
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.kinds import job_of
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.search import indexes, searchable
from theodolite.app.vectors import SMALL, encode, missing
from theodolite.engine.encoders.spec import parse
from theodolite.store.run_rows import LIVE

if TYPE_CHECKING:
    from theodolite.app.jobs.reporter import Reporter
    from theodolite.app.pages.search.searchable import Searchable
    from theodolite.app.workspace import Workspace
    from theodolite.store.run_rows import RunRow


MAX_SHORT = 10_000
"""Sentences that are encoded for an agent."""
OFTEN = 3
"""A large collection gets an index at this number of searches."""
_searches: Counter[tuple[Path, str, str]] = Counter()
"""Searches of large collections, by (store, encoder, collection)."""


@dataclass(frozen=True)
class CollectionJob(Job):
    """Prepare a collection for search.

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
    """Encode a collection into the vector cache."""

    kind = "encode"

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether all vectors are cached."""
        return not missing(workspace, self.encoder, self.dataset)

    def is_short(self, workspace: Workspace) -> bool:
        """Whether few sentences are left."""
        return missing(workspace, self.encoder, self.dataset) <= MAX_SHORT

    def units(self) -> list[str]:
        """One unit: a restarted run continues from the cache."""
        return [f"{self.dataset} · {self.encoder}"]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Encode the sentences that are not cached."""
        encode(workspace, self.encoder, self.dataset, reporter)


@dataclass(frozen=True)
class IndexJob(CollectionJob):
    """Encode a large collection, and build its index."""

    kind = "index"

    def units(self) -> list[str]:
        """Encoding and indexing."""
        return [
            f"Encoding {self.dataset} with {self.encoder}",
            f"Index of {self.dataset}, and its recall",
        ]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Do the unit at a position of `units`."""
        if position == 0:
            encode(workspace, self.encoder, self.dataset, reporter)
        else:
            indexes.make(workspace, self.encoder, self.dataset, reporter)


def needed(
    encoder: str, dataset: str, opened: Searchable, *, index: bool = False
) -> CollectionJob | None:
    """Return the job that must run before the whole collection can be searched; None for none.

    `index` asks for the index of a large collection even where exact search would do.
    """
    name = str(parse(encoder))
    wished = index and opened.is_exact and indexes.is_large(len(opened.sentences))
    if wished or opened.needs_index:
        return IndexJob(name, dataset)
    return EncodeJob(name, dataset) if opened.lacking > SMALL else None


def lacking(workspace: Workspace, encoder: str, collection: str) -> str:
    """Why a collection cannot be searched completely yet, in words; empty if it can."""
    opened = searchable.so_far(workspace, encoder, collection)
    return "" if needed(encoder, collection, opened) is None else undone(opened, collection)


def undone(opened: Searchable, collection: str) -> str:
    """What is left to do before an opened collection can be searched completely, in words."""
    if opened.needs_index:
        n = len(opened.sentences)
        return f"{collection} has {n:,} sentences, and no index for this encoder yet."
    sentences = formats.plural(opened.lacking, "sentence")
    return f"{sentences} of {collection} are not yet encoded by it."


def runs(workspace: Workspace, collection: str) -> list[RunRow]:
    """Encoding and indexing runs of a collection, newest first."""
    every = workspace.store.runs.list(kinds=[EncodeJob.kind, IndexJob.kind])
    return [run for run in every if run["spec"]["dataset"] == collection]


def last_run(workspace: Workspace, job: CollectionJob) -> RunRow | None:
    """The last run that prepares a collection for search."""
    return next((run for run in runs(workspace, job.dataset) if job_of(run) == job), None)


def start(workspace: Workspace, job: CollectionJob) -> None:
    """Queue the job unless it is live; visitors start nothing."""
    last = last_run(workspace, job)
    if not workspace.read_only and (last is None or last["state"] not in LIVE):
        queue(workspace, job)


def count_search(workspace: Workspace, encoder: str, dataset: str) -> None:
    """Count a search of a large collection, and queue its index at `OFTEN`; ignores visitors."""
    opened = searchable.so_far(workspace, encoder, dataset)
    if workspace.read_only or not opened.is_exact or not indexes.is_large(len(opened.sentences)):
        return
    key = (workspace.store.folder, encoder, dataset)
    _searches[key] += 1
    if _searches[key] == OFTEN:
        queue(workspace, IndexJob(encoder, dataset))
