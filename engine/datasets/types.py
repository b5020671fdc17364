"""The types of data sets. Knows neither files nor encoders."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from theodolite.engine.datasets.info import Clustered, DatasetInfo, Kind, TaskType, content_hash
from theodolite.engine.datasets.mteb_types import (
    MtebTask,
    Parallel,
    ParallelPart,
    Retrieval,
    Summaries,
)

__all__ = [
    "CAPTIONS",
    "CaptionPart",
    "Captions",
    "Dataset",
    "DatasetInfo",
    "Extent",
    "Kind",
    "LabelledPairs",
    "LabelledSentences",
    "MtebTask",
    "PairPart",
    "Parallel",
    "ParallelPart",
    "Retrieval",
    "ScoredPairs",
    "Sentences",
    "Summaries",
    "TaskType",
    "Triplets",
]


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
class Extent:
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
    files: tuple[Extent, ...]

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
    files: tuple[Extent, ...] = ()

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
    files: tuple[Extent, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        left: list[str],
        right: list[str],
        labels: list[str],
        splits: list[str],
        files: tuple[Extent, ...] = (),
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
