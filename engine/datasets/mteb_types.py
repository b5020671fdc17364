"""The data types of retrieval, bitext mining and summarization, following MTEB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from theodolite.engine.datasets.info import Clustered, Kind, content_hash


@dataclass(frozen=True, eq=False)
class Retrieval(Clustered):
    """Queries, documents, and graded relevance judgements.

    Attributes:
        queries, documents: id -> text; a document's title is joined to its body.
        judgements: split -> query id -> document id -> grade (0: judged not relevant). Every query
            is one of `queries`, judged at least once. Documents that are not in `documents` count
            as not found, as in trec_eval; the notes say so.
        candidates: query id -> the documents to rerank; None for retrieval from all documents.
        notes: caveats about the rows, such as what was left out.
    """

    name: str
    queries: dict[str, str]
    documents: dict[str, str]
    judgements: dict[str, dict[str, dict[str, int]]]
    candidates: dict[str, tuple[str, ...]] | None = None
    notes: tuple[str, ...] = ()
    kind: Kind = field(default="retrieval", init=False)

    @property
    def sentences(self) -> list[str]:
        """Queries, then documents, duplicates kept."""
        return [*self.queries.values(), *self.documents.values()]

    @cached_property
    def hash(self) -> str:
        """Content hash: ids, texts, judgements and candidates."""
        return content_hash(self._lines())

    def _lines(self) -> Iterator[str]:
        for texts in (self.queries, self.documents):
            yield str(len(texts))
            yield from (f"{key}\0{text}" for key, text in texts.items())
        for split, judged in self.judgements.items():
            for query, grades in judged.items():
                yield from (f"{split}\0{query}\0{key}\0{n}" for key, n in grades.items())
        for query, keys in (self.candidates or {}).items():
            yield "\0".join((query, *keys))
        yield from self._cluster_lines()


@dataclass(frozen=True, eq=False)
class ParallelPart:
    """One split of sentences in two languages, with the pairs that are translations.

    Attributes:
        left, right: sentences, not necessarily equally many.
        gold: int64 (n, 2), positions in `left` and `right` of n translation pairs.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    gold: np.ndarray

    @classmethod
    def aligned(cls, left: Sequence[str], right: Sequence[str]) -> ParallelPart:
        """Build a part from two sides whose rows translate one another."""
        return cls(tuple(left), tuple(right), np.repeat(np.arange(len(left))[:, None], 2, axis=1))


@dataclass(frozen=True, eq=False)
class Parallel(Clustered):
    """Sentences in two languages, in named splits.

    Attributes:
        languages: codes of left and right; empty strings if unknown.
        notes: see `Retrieval`.
    """

    name: str
    parts: dict[str, ParallelPart]
    languages: tuple[str, str]
    notes: tuple[str, ...] = ()
    kind: Kind = field(default="parallel", init=False)

    @property
    def sentences(self) -> list[str]:
        """Left then right of every part, duplicates kept."""
        return [s for p in self.parts.values() for side in (p.left, p.right) for s in side]

    @cached_property
    def hash(self) -> str:
        """Content hash: splits, sentences and translations."""
        lines = []
        for name, part in self.parts.items():
            lines += [f"{name}\0{len(part.left)}\0{len(part.right)}", *part.left, *part.right]
            lines += [f"{a}\0{b}" for a, b in part.gold.tolist()]
        return content_hash([*lines, *self._cluster_lines()])


@dataclass(frozen=True, eq=False)
class MtebTask:
    """One of MTEB's own tasks, before mteb loads its data.

    Attributes:
        name: the name used here, with subsets and splits.
        task, type: MTEB's names of the task and its type.
        hash: hash of the data's location and revision, the subsets and splits.
        texts: number of texts by MTEB's statistics; 0 if unknown.
    """

    name: str
    task: str
    type: str
    hash: str
    texts: int = 0
    kind: Kind = field(default="mteb", init=False)

    @property
    def sentences(self) -> list[str]:
        """Empty: mteb's code chooses the texts to encode."""
        return []


@dataclass(frozen=True, eq=False)
class Summaries:
    """Documents with human and machine summaries, and expert ratings of the latter.

    Attributes:
        documents: n texts.
        human, machine: the summaries of each document.
        ratings: aspect (`coherence`, `consistency`, `fluency`, `relevance`) -> per document,
            float64 (number of machine summaries,). MTEB uses `relevance`.
        scale: (lowest, highest) possible rating.
    """

    name: str
    documents: tuple[str, ...]
    human: tuple[tuple[str, ...], ...]
    machine: tuple[tuple[str, ...], ...]
    ratings: dict[str, tuple[np.ndarray, ...]]
    scale: tuple[float, float] = (1.0, 5.0)
    kind: Kind = field(default="summaries", init=False)

    @property
    def sentences(self) -> list[str]:
        """Documents, then human, then machine summaries, duplicates kept."""
        summaries = [s for by in (self.human, self.machine) for texts in by for s in texts]
        return [*self.documents, *summaries]

    @cached_property
    def hash(self) -> str:
        """Content hash: texts and ratings."""
        counts = [f"{len(a)}\0{len(b)}" for a, b in zip(self.human, self.machine, strict=True)]
        ratings = [f"{n}\0{of.tolist()!r}" for n, by in self.ratings.items() for of in by]
        return content_hash([*counts, *ratings, *self.sentences])
