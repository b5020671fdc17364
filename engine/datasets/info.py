"""The name and kind of a data set, and what a list shows of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
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
    """What a list of data sets shows before anything is read.

    Attributes:
        name: the one name used in spec strings, pages, command line and Python.
        kind: the shape `Catalog.load(name)` returns; None when that is unknown.
        origin: `starter`, `folder`, `hub`, `upload` or `corpus`.
        description: one sentence for people.
        licence: terms as far as known; empty when unknown.
        task: name of the task that measures it by default, or None.
        tasks: names of all tasks that measure it; those that its kind brings are added.
        type: MTEB's type of the task that it was made for; by default as its kind says, or None.
        languages: ISO 639-3 codes, as far as known.
        splits: as far as known without reading the rows.
        bytes: of its files; None when unknown.
        problem: why it cannot be read, or None.
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

    def __post_init__(self) -> None:
        """Fill in what follows from the kind."""
        kind, own = self.kind, self.tasks or ((self.task,) if self.task else ())
        endings = [f"{self.name}/{ending}" for ending in ENDINGS] if kind == "labels" else ()
        if self.problem:
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
"""Types of task that each kind is made for, the usual one first."""
ENDINGS = ("classify", "search", "few-shot", "cluster")
"""What follows the name of labelled sentences in that of a task on them."""


def content_hash(lines: Iterable[str]) -> str:
    """Return the digest of some lines: equal exactly where all of them are."""
    digest = hashlib.blake2b(digest_size=16)
    for line in lines:
        raw = line.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.hexdigest()
