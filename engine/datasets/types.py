"""The types of data sets. Knows neither files nor encoders."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

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
HOLDS: dict[Kind, str] = {
    "pairs": "scored pairs",
    "labels": "labelled sentences",
    "sentences": "sentences",
    "triplets": "triplets",
    "labelled-pairs": "labelled pairs",
    "captions": "captioned images",
    "retrieval": "queries and documents",
    "parallel": "parallel sentences",
    "summaries": "rated summaries",
    "mteb": "a task of MTEB's",
}
"""What a data set of a kind holds, in words."""

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
        no_task: whether it measures nothing: each of its sentences has a label of its own, or its
            documents have no queries.
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
            object.__setattr__(self, "task", None)
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


@dataclass(frozen=True, eq=False)
class PairPart:
    """Sentence pairs with a gold score each: one subset of a year, or one split.

    Attributes:
        left, right: n sentences each, as read from the file.
        gold: float64 (n,).
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    gold: np.ndarray


@dataclass(frozen=True, eq=False)
class ScoredPairs(Clustered):
    """Pairs in named parts.

    Attributes:
        parts: name -> part, in the order of the source.
        parts_are: `subsets` (aggregated: all, mean, wmean) or `splits` (train, dev, test: scored
            separately).
        scale: (lowest, highest) possible gold score.
    """

    name: str
    parts: dict[str, PairPart]
    parts_are: Literal["subsets", "splits"]
    scale: tuple[float, float] = (0.0, 5.0)
    kind: Kind = field(default="pairs", init=False)

    @property
    def sentences(self) -> list[str]:
        """Left then right of every part, duplicates kept."""
        return [s for p in self.parts.values() for side in (p.left, p.right) for s in side]

    @cached_property
    def hash(self) -> str:
        """Content hash: names, sentences and scores."""
        return content_hash(
            [
                *(
                    f"{n}\0{a}\0{b}\0{g!r}"
                    for n, p in self.parts.items()
                    for a, b, g in zip(p.left, p.right, p.gold.tolist(), strict=True)
                ),
                *self._cluster_lines(),
            ]
        )


@dataclass(frozen=True)
class LineRange:
    """Consecutive lines of a file, one per row of a data set.

    Attributes:
        file: the file's name for messages.
        rows: number of rows.
        line: line number of the first row, from 1.
    """

    file: str
    rows: int
    line: int = 1


class _FromFiles:
    """Rows that were read from files."""

    name: str
    files: tuple[LineRange, ...]

    def place(self, row: int) -> str:
        """Return the place of a row for messages: file and line if known."""
        before = row
        for extent in self.files:
            if before < extent.rows:
                return f"{extent.file}, line {extent.line + before}"
            before -= extent.rows
        return f"{self.name}, row {row + 1}"

    @property
    def title(self) -> str:
        """The name, with its files if known."""
        return f"{self.name} ({', '.join(e.file for e in self.files)})" if self.files else self.name


@dataclass(frozen=True, eq=False)
class LabelledSentences(Clustered, _FromFiles):
    """Sentences with one label each.

    Attributes:
        splits: the split of each sentence; empty if the source has none.
        files: the extents that the rows come from, in order; empty if unknown.
    """

    name: str
    sentences: list[str]
    labels: list[str]
    splits: list[str] = field(default_factory=list)
    kind: Kind = field(default="labels", init=False)
    files: tuple[LineRange, ...] = ()

    @cached_property
    def hash(self) -> str:
        """Content hash: splits, labels and sentences."""
        splits = self.splits or [""] * len(self.sentences)
        return content_hash(
            [
                *map("\0".join, zip(splits, self.labels, self.sentences, strict=True)),
                *self._cluster_lines(),
            ]
        )


@dataclass(frozen=True, eq=False)
class LabelledPairs(Clustered, _FromFiles):
    """Sentence pairs with one label each, such as entailment.

    Sentences are stored once and pairs index them: SNLI has 550,000 pairs, with each premise in
    three.

    Attributes:
        sentences: distinct, in the order of their first appearance.
        left, right: int32 (n,), positions in `sentences`.
        labels: n labels.
        splits: n names of splits.
        files: the extents that the pairs come from, in order; empty if unknown.
    """

    name: str
    sentences: list[str]
    left: np.ndarray
    right: np.ndarray
    labels: list[str]
    splits: list[str]
    kind: Kind = field(default="labelled-pairs", init=False)
    files: tuple[LineRange, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        left: list[str],
        right: list[str],
        labels: list[str],
        splits: list[str],
        files: tuple[LineRange, ...] = (),
    ) -> LabelledPairs:
        """Build from two columns of sentences."""
        place: dict[str, int] = {}
        sides = [
            np.array([place.setdefault(s, len(place)) for s in side], dtype=np.int32)
            for side in (left, right)
        ]
        return cls(name, list(place), sides[0], sides[1], labels, splits, files=files)

    @cached_property
    def hash(self) -> str:
        """Content hash: sentences, then splits, labels and positions."""
        rows = zip(self.splits, self.labels, self.left.tolist(), self.right.tolist(), strict=True)
        return content_hash(
            [
                *self.sentences,
                *(f"{p}\0{y}\0{a}\0{b}" for p, y, a, b in rows),
                *self._cluster_lines(),
            ]
        )


@dataclass(frozen=True, eq=False)
class Sentences:
    """A plain collection of texts."""

    name: str
    sentences: list[str]
    kind: Kind = field(default="sentences", init=False)

    @cached_property
    def hash(self) -> str:
        """Content hash of the sentences in order."""
        return content_hash(self.sentences)


@dataclass(frozen=True, eq=False)
class Triplets:
    """Anchor, positive and hard negative."""

    name: str
    anchors: list[str]
    positives: list[str]
    negatives: list[str]
    kind: Kind = field(default="triplets", init=False)

    @property
    def sentences(self) -> list[str]:
        """Anchors, positives, then negatives."""
        return [*self.anchors, *self.positives, *self.negatives]

    @cached_property
    def hash(self) -> str:
        """Content hash of the three columns."""
        return content_hash(self.sentences)


CAPTIONS = 5
"""Captions per image."""


@dataclass(frozen=True, eq=False)
class CaptionPart:
    """One split of images with their captions.

    Attributes:
        captions: five per image, grouped by image.
        images: float32 (images, dim) features; may be memory-mapped.
    """

    captions: tuple[str, ...]
    images: np.ndarray


@dataclass(frozen=True, eq=False)
class Captions:
    """Captioned images in the splits train, dev and test."""

    name: str
    parts: dict[str, CaptionPart]
    kind: Kind = field(default="captions", init=False)

    @property
    def sentences(self) -> list[str]:
        """The captions of every split, duplicates kept."""
        return [caption for part in self.parts.values() for caption in part.captions]

    @cached_property
    def hash(self) -> str:
        """Content hash: splits, captions and features (a gigabyte for COCO, hence in chunks)."""
        lines = []
        for name, part in self.parts.items():
            features = hashlib.blake2b(str(part.images.shape).encode(), digest_size=16)
            for start in range(0, len(part.images), 4096):
                features.update(np.ascontiguousarray(part.images[start : start + 4096]).data)
            lines += [name, features.hexdigest(), *part.captions]
        return content_hash(lines)


class Place(NamedTuple):
    """Where a text is in a document: characters from `start` to before `stop`."""

    document: str
    start: int
    stop: int


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
        answers: query id -> the passages that answer it; empty if only documents were judged.
        places: of documents cut into chunks, which are then the `documents`: id of a chunk -> its
            place. Judgements and answers stay those of whole documents.
        whole: the same data before its documents were cut; None if they are whole.
        late: whether chunks get their vectors from the tokens of whole documents.
    """

    name: str
    queries: dict[str, str]
    documents: dict[str, str]
    judgements: dict[str, dict[str, dict[str, int]]]
    candidates: dict[str, tuple[str, ...]] | None = None
    notes: tuple[str, ...] = ()
    answers: dict[str, tuple[Place, ...]] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    whole: Retrieval | None = None
    late: bool = False
    kind: Kind = field(default="retrieval", init=False)

    @property
    def sentences(self) -> list[str]:
        """Queries, then documents, duplicates kept."""
        return [*self.queries.values(), *self.documents.values()]

    def place_of(self, name: str) -> Place:
        """Return where a chunk is, or all of a document."""
        return self.places.get(name) or Place(name, 0, len(self.documents[name]))

    @cached_property
    def hash(self) -> str:
        """Content hash: ids, texts, judgements and candidates."""
        return content_hash(self._lines())

    @cached_property
    def texts_hash(self) -> str:
        """Content hash of whole documents and of their cuts: marks of a person leave it alone."""
        documents = (f"{key}\0{text}" for key, text in (self.whole or self).documents.items())
        return content_hash([*documents, *map(str, self.places.values())])

    def _lines(self) -> Iterator[str]:
        for texts in (self.queries, self.documents):
            yield str(len(texts))
            yield from (f"{key}\0{text}" for key, text in texts.items())
        for split, judged in self.judgements.items():
            for query, grades in judged.items():
                yield from (f"{split}\0{query}\0{key}\0{n}" for key, n in grades.items())
        for query, keys in (self.candidates or {}).items():
            yield "\0".join((query, *keys))
        for query, places in self.answers.items():
            yield "\0".join((query, *map(str, places)))
        yield from ["late"] * self.late
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


Dataset = (
    ScoredPairs
    | LabelledSentences
    | LabelledPairs
    | Sentences
    | Triplets
    | Captions
    | Retrieval
    | Parallel
    | Summaries
    | MtebTask
)
