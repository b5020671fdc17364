"""What a ranker is. Knows positions and scores; neither files nor judgements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from theodolite.engine.encoders.prompts import PromptTask
from theodolite.engine.encoders.sides import bind_task
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress, ProgressCallback, nobody

Ranked: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Positions of documents, int64, and their scores: the best first, ties by position."""
Among: TypeAlias = Sequence[np.ndarray] | None
"""For each query the positions of the documents to order; None for all documents."""


class Index(ABC):
    """Documents that can be ranked.

    Attributes:
        bytes: size of the index in memory.
        notes: sentences that a person should read beside a score.
    """

    bytes: int
    notes: tuple[str, ...] = ()

    @abstractmethod
    def search(
        self,
        queries: Sequence[str],
        depth: int,
        among: Among = None,
        tick: ProgressCallback = nobody,
    ) -> list[Ranked]:
        """Return for each query its first documents, at most `depth`.

        A ranker by words leaves out documents that share none with the query, but not of `among`.
        """


class ScoredIndex(Index):
    """An index which gives every document a score for a query.

    Attributes:
        name: of the ranker, for messages.
        size: number of documents.
        by_words: whether a score of 0 means that a document shares no word with the query.
    """

    name: str
    size: int
    by_words = False

    @abstractmethod
    def read(self, queries: Sequence[str]) -> Iterable[Any]:
        """Return each query as `score` takes it."""

    @abstractmethod
    def score(self, query: Any, at: np.ndarray | None) -> np.ndarray:
        """Return the scores of the documents at some positions; None for all."""

    def search(
        self,
        queries: Sequence[str],
        depth: int,
        among: Among = None,
        tick: ProgressCallback = nobody,
    ) -> list[Ranked]:
        """See `Index.search`."""
        results = []
        for i, query in enumerate(self.read(queries) if self.size else queries):
            at = np.arange(self.size) if among is None else among[i]
            subset = None if among is None else at
            scores = check_scores(self.score(query, subset), self.name) if len(at) else np.empty(0)
            if self.by_words and among is None:
                at = np.flatnonzero(scores > 0)
                scores = scores[at]
            results.append(best(at, scores, depth))
            tick((i + 1) / len(queries))
        return results


class Ranker(ABC):
    """Orders documents for queries.

    Attributes:
        name: the canonical spec; `load(name)` gives the same ranker.
        fingerprint: as of an encoder, over everything that determines the order.
        parts: the rankers or the encoder that it is made of.
        dim: 0, since it has no vectors.
    """

    name: str
    fingerprint: str
    parts: Sequence[Any] = ()
    dim = 0

    def __repr__(self) -> str:
        return f"<ranker {self.name!r}>"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of its parts."""
        return tuple(dict.fromkeys(text for part in self.parts for text in part.warnings))

    @property
    def needs_task(self) -> bool:
        """Whether `@task` in it is not bound yet."""
        return any(getattr(part, "needs_task", False) for part in self.parts)

    def bind(self, sentences: Sequence[str], data_hash: str, task: PromptTask | None) -> Ranker:
        """The ranker with its encoders bound to a task, see `engine.encoders.bind_task`."""
        return self.with_parts([bind_task(part, sentences, data_hash, task) for part in self.parts])

    def with_parts(self, parts: Sequence[Any]) -> Ranker:
        """The same ranker of other parts."""
        return self

    def spans(self, query: str, text: str) -> tuple[tuple[int, int], ...]:
        """Where words of a query stand in a text, of a ranker by words or a part that is one."""
        parts = (part for part in self.parts if isinstance(part, Ranker))
        return next((places for part in parts if (places := part.spans(query, text))), ())

    @abstractmethod
    def index(self, documents: Sequence[str], progress: Progress | None = None) -> Index:
        """Return documents that can be ranked."""


def best(positions: np.ndarray, scores: np.ndarray, depth: int) -> Ranked:
    """The best of some documents, in order.

    Args:
        positions: int64 (n,), distinct.
        scores: (n,), finite.
        depth: most documents.
    """
    if len(scores) > depth:
        candidates = scores >= np.partition(scores, -depth)[-depth]
        positions, scores = positions[candidates], scores[candidates]
    order = np.lexsort((positions, -scores))[:depth]
    return positions[order], scores[order]


def check_scores(scores: np.ndarray, name: str) -> np.ndarray:
    """Refuse scores that are NaN or infinite."""
    faulty = np.count_nonzero(~np.isfinite(scores))
    if faulty:
        raise UserError(
            f"{name} gave NaN or infinity for {faulty:,} of {scores.size:,} pairs of query and "
            "document.",
            "Nothing is ranked by such scores: its weights may be damaged.",
            code="not-finite",
        )
    return scores
