"""Names, kinds and list entries of data sets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "pairs",
    "labels",
    "labelled-pairs",
    "sentences",
    "triplets",
    "captions",
    "retrieval",
    "parallel",
    "summaries",
    "mteb",
]

TaskType = Literal[
    "BitextMining",
    "Classification",
    "Clustering",
    "PairClassification",
    "Reranking",
    "Retrieval",
    "STS",
    "Summarization",
]
"""Types of task, as MTEB spells them."""


@dataclass(frozen=True)
class DatasetInfo:
    """A data set's entry in lists, available before its rows are read.

    Attributes:
        name: its name in spec strings, pages, command line and Python.
        kind: the kind of data set that `Catalog.load(name)` returns; None if unknown.
        origin: `starter`, `folder`, `hub`, `upload` or `corpus`.
        description: one sentence for people.
        licence: the licence; empty if unknown.
        task: name of the task that measures it by default, or None.
        tasks: names of all tasks that measure it; those of its kind are added.
        type: MTEB's type of the task it was made for; by default the kind's usual type, or None.
        languages: ISO 639-3 codes, if known.
        splits: names of splits, if known without reading the rows.
        bytes: size of its files; None if unknown.
        problem: why it cannot be read, or None.
        no_task: whether it measures nothing, since each of its sentences has a label of its own.
    """

    name: str
    kind: Kind | None
    origin: Literal["starter", "folder", "hub", "upload", "corpus"]
    description: str
    licence: str = ""
    task: str | None = None
    tasks: tuple[str, ...] = ()
    type: TaskType | None = None
    languages: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    bytes: int | None = None
    problem: str | None = None
    no_task: bool = False

    def __post_init__(self) -> None:
        """Fill in the type and tasks that follow from the kind."""
        kind, own = self.kind, self.tasks or ((self.task,) if self.task else ())
        endings = [f"{self.name}/{ending}" for ending in ENDINGS] if kind == "labels" else ()
        if self.problem or self.no_task:
            own, endings = (), ()
        object.__setattr__(
            self, "type", self.type or (TYPES[kind][0] if kind and kind in TYPES else None)
        )
        object.__setattr__(self, "tasks", tuple(dict.fromkeys((*own, *endings))))


TYPES: dict[Kind, tuple[TaskType, ...]] = {
    "pairs": ("STS",),
    "labels": ("Classification", "Clustering"),
    "labelled-pairs": ("PairClassification",),
    "retrieval": ("Retrieval", "Reranking"),
    "parallel": ("BitextMining",),
    "summaries": ("Summarization",),
}
"""Task types of each kind, the usual one first."""
ENDINGS = ("classify", "search", "few-shot", "cluster")
"""Endings that turn the name of labelled sentences into that of a task on them."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Clustered:
    """Examples of which some may belong together, such as questions on one paragraph.

    Attributes:
        clusters: the texts of an example -> the name of its cluster, from a column of the data;
            empty if unknown.
    """

    clusters: Mapping[tuple[str, ...], str] = field(default_factory=dict)

    def _cluster_lines(self) -> Iterator[str]:
        """Lines for the content hash."""
        return ("\0".join((*texts, name)) for texts, name in self.clusters.items())


def content_hash(lines: Iterable[str]) -> str:
    """Return a digest of a sequence of lines, sensitive to their boundaries."""
    digest = hashlib.blake2b(digest_size=16)
    for line in lines:
        raw = line.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.hexdigest()
