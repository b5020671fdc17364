"""A few examples of a data set for comparing settings: scored pairs, or judged queries.

Knows vectors and gold; neither encoders nor settings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from theodolite.engine.encoders.prompts import PromptTask
from theodolite.engine.errors import UserError
from theodolite.engine.stats.bootstrap import Sample
from theodolite.engine.stats.clusters import sharing
from theodolite.engine.stats.ranking import at_cutoffs, order

if TYPE_CHECKING:
    from theodolite.engine.datasets.types import Dataset, PairPart, Retrieval, ScoredPairs

PAIRS = 200
QUERIES = 50
DOCUMENTS = 400
"""Some hundreds of texts: a pass of MiniLM through them takes about a second."""
_NOT_TO_REPORT = ("dev", "validation", "train", "test")
"""Splits by preference: settings are chosen on one, and reported on another."""


@dataclass(frozen=True, eq=False)
class Examples(ABC):
    """Texts whose similarities are known.

    Attributes:
        name: of the data set, and of the split if it has any.
        task: for models that name prompts by tasks.
    """

    name: str
    task: PromptTask

    metric = ""

    @property
    @abstractmethod
    def queries(self) -> Sequence[str]:
        """Texts of the query side."""

    @property
    @abstractmethod
    def documents(self) -> Sequence[str]:
        """Texts of the document side; all texts, where there are no queries."""

    @abstractmethod
    def sample(self, queries: np.ndarray, documents: np.ndarray) -> Sample:
        """The values that the score is computed from, one per example.

        Args:
            queries: (len(queries), d), compared with the documents by dot product.
            documents: (len(documents), d).
        """

    @property
    def n(self) -> int:
        """Number of pairs or queries."""
        return len(self.queries) or len(self.documents) // 2


@dataclass(frozen=True, eq=False)
class PairExamples(Examples):
    """Pairs with a gold score each."""

    part: PairPart
    metric = "Spearman"

    @property
    def queries(self) -> Sequence[str]:
        """See `Examples`: pairs have no query side."""
        return ()

    @property
    def documents(self) -> Sequence[str]:
        """See `Examples`: left, then right."""
        return [*self.part.left, *self.part.right]

    def sample(self, queries: np.ndarray, documents: np.ndarray) -> Sample:
        """See `Examples`."""
        left, right = np.split(documents.astype(np.float64), 2)
        return Sample((left * right).sum(1), self.part.gold, clusters=self._clusters)

    @cached_property
    def _clusters(self) -> np.ndarray:
        return sharing(list(zip(self.part.left, self.part.right, strict=True)))


@dataclass(frozen=True, eq=False)
class QueryExamples(Examples):
    """Queries with judged documents, among others."""

    data: Retrieval
    judged: dict[str, dict[str, int]]
    metric = "nDCG@10"

    @property
    def queries(self) -> Sequence[str]:
        """See `Examples`."""
        return [self.data.queries[key] for key in self.judged]

    @property
    def documents(self) -> Sequence[str]:
        """See `Examples`."""
        return list(self.data.documents.values())

    def sample(self, queries: np.ndarray, documents: np.ndarray) -> Sample:
        """See `Examples`."""
        names = np.array(list(self.data.documents), object)
        place = {name: i for i, name in enumerate(names)}
        scores = queries.astype(np.float64) @ documents.astype(np.float64).T
        values = []
        for row, grades in zip(scores, self.judged.values(), strict=True):
            rank = np.empty(len(names), np.int64)
            rank[order(row, names)] = np.arange(1, len(names) + 1)
            known = np.array(list(grades.values()))
            ranks = rank[[place[name] for name in grades]]
            values.append(at_cutoffs(ranks, known, known, (10,))["ndcg"][0])
        return Sample(np.array(values, np.float64), clusters=self._clusters)

    @cached_property
    def _clusters(self) -> np.ndarray:
        best = [max(grades, key=lambda name: grades[name]) for grades in self.judged.values()]
        return sharing([(self.data.documents.get(name, ""),) for name in best])


def some_of(data: Dataset, most: int | None = None) -> Examples:
    """A few examples of a data set, the same ones at every call.

    Args:
        data: scored pairs, or queries with documents and judgements.
        most: pairs or queries; by default few enough for seconds.
    """
    match data.kind:
        case "pairs":
            return _pairs(data, most or PAIRS)  # type: ignore[arg-type]
        case "retrieval":
            return _queries(data, most or QUERIES)  # type: ignore[arg-type]
    raise UserError(
        f"{data.name} holds {data.kind}; settings are told apart on scored pairs, or on queries "
        "with documents and judgements.",
        "Name such a data set; `theodolite data list` shows the kind of each.",
    )


def _pairs(data: ScoredPairs, most: int) -> Examples:
    from theodolite.engine.datasets.types import PairPart

    parts = data.parts
    name = data.name
    if data.parts_are == "splits":
        split = _preferred(list(parts))
        parts, name = {split: parts[split]}, f"{name} {split}"
    left = [s for part in parts.values() for s in part.left]
    right = [s for part in parts.values() for s in part.right]
    gold = np.concatenate([part.gold for part in parts.values()])
    if len(gold) < 2:
        raise UserError(f"{name} has {len(gold)} pairs.", "Name a data set with more.")
    chosen = _some(len(gold), most)
    part = PairPart(tuple(left[i] for i in chosen), tuple(right[i] for i in chosen), gold[chosen])
    return PairExamples(name, PromptTask(data.name, "STS"), part)


def _queries(data: Retrieval, most: int) -> Examples:
    judged = {name: rows for name, rows in data.judgements.items() if any(rows.values())}
    if not judged:
        raise UserError(f"{data.name} has no judgements.", "Name a data set that has.")
    split = _preferred(list(judged))
    keys = [key for key, grades in judged[split].items() if max(grades.values(), default=0) > 0]
    chosen = {keys[i]: judged[split][keys[i]] for i in _some(len(keys), most)}
    wanted = {name for grades in chosen.values() for name in grades}
    others = [name for name in data.documents if name not in wanted]
    wanted |= {others[i] for i in _some(len(others), max(0, DOCUMENTS - len(wanted)))}
    few = {name: text for name, text in data.documents.items() if name in wanted}
    task = PromptTask(data.name, "Reranking" if data.candidates else "Retrieval")
    return QueryExamples(f"{data.name} {split}", task, replace(data, documents=few), chosen)


def _preferred(splits: Sequence[str]) -> str:
    return next((split for split in _NOT_TO_REPORT if split in splits), splits[0])


def _some(n: int, most: int) -> list[int]:
    """At most `most` positions of n, drawn alike at every call."""
    drawn = np.random.default_rng(0).permutation(n)[:most]
    return sorted(drawn.tolist())
