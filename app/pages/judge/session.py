"""A stored judging session: the pool, the draws, and the marks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from theodolite.app.pages.judge.spec import JudgeSpec
from theodolite.app.workspace import Workspace
from theodolite.engine.judging import pool, sampling
from theodolite.engine.judging import second as judges
from theodolite.engine.judging.sampling import Draw, Estimate, SecondMarks, Units
from theodolite.store.hashing import hash_of, to_json

MARKS: dict[str, dict[str, float]] = {
    "relevance": {"relevant": 1.0, "not": 0.0},
    "preference": {"left": 1.0, "right": -1.0, "neither": 0.0},
}
"""Mode -> mark -> value; left is the first encoder unless the sides are swapped."""
SETTLED = ""
"""Name of the judge of a mark that settles a disagreement."""
ALPHA = 0.05


@dataclass(frozen=True)
class Question:
    """A question to a judge.

    Attributes:
        position: of the draw, passed along with the mark.
        texts: the document, or the documents of the left and of the right list.
    """

    position: int
    query: str
    texts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Pool:
    """The units that can be judged in a session.

    Attributes:
        queries, documents: texts.
        rankings: encoder -> for each query, positions of documents.
        keys: (query, document) of each unit, or (query, pair).
        second_keys: of each unit, the key of the second judge's stored answer.
    """

    queries: list[str]
    documents: list[str]
    rankings: dict[str, list[list[int]]]
    keys: list[tuple[int, int]]
    units: Units
    second_keys: list[str]


@dataclass(frozen=True, eq=False)
class Session:
    """The current state of a session.

    Attributes:
        marks: position -> judge -> mark.
        second: the second judge's marks so far; None without one.
    """

    id: str
    title: str
    spec: JudgeSpec
    pool: Pool
    draws: list[Draw]
    marks: dict[int, dict[str, float]]
    second: SecondMarks | None = None

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of encoders compared."""
        return pool.pairs_of(self.pool.rankings)

    @cached_property
    def values(self) -> np.ndarray:
        """Value of each draw up to the first unmarked one: settled, or the mean of the judges."""
        found = []
        for position in range(len(self.draws)):
            at = self.marks.get(position)
            if not at:
                break
            found.append(at.get(SETTLED, sum(at.values()) / len(at)))
        return np.array(found, float)

    @cached_property
    def estimates(self) -> list[Estimate]:
        """Estimate of each pair from the person's marks, with the second judge's as predictions."""
        return self._estimates(heard=True)

    @cached_property
    def unaided(self) -> list[Estimate]:
        """Estimate of each pair without the second judge's marks."""
        return self._estimates(heard=False)

    def _estimates(self, *, heard: bool) -> list[Estimate]:
        judged = self.draws[: len(self.values)]
        return sampling.estimates(
            self.pool.units, judged, self.values, ALPHA, self.second, heard=heard
        )

    @property
    def left(self) -> int:
        """Number of unmarked units."""
        return len(self.pool.keys) - len(self.values)

    def verdict(self, pair: int) -> str:
        """The better encoder, `alike`, or empty while undecided."""
        found = self.estimates[pair]
        if found.separated:
            return self.pairs[pair][0 if found.low > 0 else 1]
        return "alike" if found.alike(self.spec.margin / 100.0) or not self.left else ""

    @property
    def enough(self) -> bool:
        """Whether every pair is decided, or nothing is left."""
        return not self.left or all(self.verdict(pair) for pair in range(len(self.pairs)))

    def swapped(self, position: int) -> bool:
        """Whether the left list is that of the second encoder."""
        return bool(np.random.default_rng([self.spec.seed, position, 1]).integers(2))


def pool_of(kept: dict[str, Any], spec: JudgeSpec) -> Pool:
    """The units that can be judged among the documents returned."""
    rankings = {name: kept["rankings"][name] for name in spec.encoders}  # JSON has no order
    if spec.mode == "preference":
        keys, units = pool.preferences(rankings, spec.k)
    else:
        measure: Any = spec.measure
        keys, units = pool.documents(rankings, spec.k, measure)
    second_keys = []
    if spec.second:
        where = str(judges.address(spec.second))
        second_keys = [
            hash_of(where, to_json(judges.messages(kept["queries"][q], kept["documents"][d])))
            for q, d in keys
        ]
    return Pool(kept["queries"], kept["documents"], rankings, keys, units, second_keys)


@lru_cache(maxsize=8)
def _opened(workspace: Workspace, session: str) -> tuple[str, JudgeSpec, Pool]:
    """Title, spec and pool of a session, which never change."""
    row = workspace.store.judgements.get(session)
    spec = JudgeSpec(**row["spec"])
    return row["title"], spec, pool_of(workspace.store.judgements.pool(session), spec)


def opened(workspace: Workspace, session: str) -> Session:
    """The current state of a session."""
    workspace.store.judgements.get(session)  # it may have been removed since
    title, spec, pool = _opened(workspace, session)
    draws = [
        Draw(one["unit"], tuple(one["rates"]), tuple(one["undecided"]), one["seen"])
        for one in workspace.store.judgements.draws(session)
    ]
    marks = workspace.store.judgements.marks(session)
    second = _second_marks(workspace, pool) if spec.second else None
    return Session(session, title, spec, pool, draws, marks, second)


def _second_marks(workspace: Workspace, pool: Pool) -> SecondMarks:
    """The second judge's marks so far."""
    kept = workspace.store.judgements.second_marks(pool.second_keys)
    rows = [kept.get(key, (0, 0)) for key in pool.second_keys]
    return SecondMarks(
        np.array([mark or 0 for _, mark in rows], np.int64),
        np.array([number for number, _ in rows], np.int64),
    )


def shown(found: Session, position: int) -> Question:
    """The question drawn at a position, without names of encoders."""
    pool = found.pool
    query, at = pool.keys[found.draws[position].unit]
    if found.spec.mode == "relevance":
        return Question(position, pool.queries[query], ((pool.documents[at],),))
    sides = found.pairs[at][::-1] if found.swapped(position) else found.pairs[at]
    lists = [pool.rankings[name][query][: found.spec.k] for name in sides]
    texts = tuple(tuple(pool.documents[i] for i in one) for one in lists)
    return Question(position, pool.queries[query], texts)
