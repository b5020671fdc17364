"""The jobs *encode* and *index*: a whole collection made ready to be searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.jobs.job import Job
from app.pages.search import indexes, searchable
from app.vectors import SMALL, vectors

if TYPE_CHECKING:
    from app.jobs.reporter import Reporter
    from app.workspace import Workspace


@dataclass(frozen=True)
class EncodeJob(Job):
    """Bring the vectors of a collection into the cache, for search to find them there.

    Attributes:
        encoder: canonical spec.
        dataset: name in the catalog.
    """

    kind = "encode"
    priority = -1

    encoder: str
    dataset: str

    @property
    def title(self) -> str:
        """`Encode starter-topics with minilm`."""
        return f"Encode {self.dataset} with {self.encoder}"

    def units(self) -> list[str]:
        """One: it goes on where it was."""
        return [f"{self.dataset} · {self.encoder}"]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Encode; what is in the cache is not encoded again."""
        sentences, _ = workspace.catalog.sentences(self.dataset)
        workspace.bound(self.encoder, self.dataset).encode(sentences, reporter)


@dataclass(frozen=True)
class IndexJob(Job):
    """Make the index of a large collection.

    Attributes:
        encoder: canonical spec.
        dataset: name in the catalog.
    """

    kind = "index"
    priority = -1

    encoder: str
    dataset: str

    @property
    def title(self) -> str:
        """`Index flickr30k with minilm`."""
        return f"Index {self.dataset} with {self.encoder}"

    def units(self) -> list[str]:
        """Encoding and indexing."""
        return [
            f"Encoding {self.dataset} with {self.encoder}",
            f"Index of {self.dataset}, and its recall",
        ]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Do one of `units`."""
        if position == 0:
            vectors(workspace, self.encoder, self.dataset, reporter)
        else:
            indexes.make(workspace, self.encoder, self.dataset, reporter)


def needed(
    workspace: Workspace, encoder: str, dataset: str, *, index: bool = False
) -> EncodeJob | IndexJob | None:
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
