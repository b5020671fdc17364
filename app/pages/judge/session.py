"""A stored judging session: the pool, the draws, and the marks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from store.hashing import hash_of, to_json

if TYPE_CHECKING:
    import numpy as np

    from app.workspace import Workspace
    from engine.judging.sampling import Draw, Estimate, SecondMarks, Units

MARKS: dict[str, dict[str, float]] = {
    "relevance": {"relevant": 1.0, "not": 0.0},
    "preference": {"left": 1.0, "right": -1.0, "neither": 0.0},
}
"""Mode -> what is said, and what it counts; left is the first encoder until sides are changed."""
SETTLED = ""
"""Stands in the place of a judge where a disagreement was settled."""
ALPHA = 0.05


@dataclass(frozen=True)
class JudgeSpec:
    """What is judged; made with `spec`.

    Attributes:
        collection: a data set, whose documents are returned.
        encoders: at least two.
        queries: one's own; none to draw some of the collection's.
        draw: so many.
        k: how many documents of each encoder count.
        mode: whether documents are judged or lists preferred.
        measure: how much each rank counts, of documents.
        margin: points by which encoders must differ to matter.
        seed: of queries and of the choice of documents.
        second: a model that marks all documents besides, `api:URL#MODEL`; empty for none.
    """

    collection: str
    encoders: tuple[str, ...]
    queries: tuple[str, ...] = ()
    draw: int = 100
    k: int = 5
    mode: str = "relevance"
    measure: str = "dcg"
    margin: float = 2.0
    seed: int = 0
    second: str = ""


@dataclass(frozen=True)
class Question:
    """What a person is shown.

    Attributes:
        position: of the draw, to be given back with the mark.
        texts: the document, or the documents of the left and of the right list.
    """

    position: int
    query: str
    texts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Pool:
    """What can be judged in a session.

    Attributes:
        queries, documents: texts.
        rankings: encoder -> for each query, positions of documents.
        keys: (query, document) of each unit, or (query, pair).
        second_keys: of each unit, under which what the second judge answers is kept.
    """

    queries: list[str]
    documents: list[str]
    rankings: dict[str, list[list[int]]]
    keys: list[tuple[int, int]]
    units: Units
    second_keys: list[str]


@dataclass(frozen=True, eq=False)
class Session:
    """A session as it stands.

    Attributes:
        marks: position -> judge -> mark.
        second: what the second judge has said by now; None without one.
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
        """Encoders that are compared."""
        from engine.judging.pool import pairs_of

        return pairs_of(self.pool.rankings)

    @cached_property
    def values(self) -> np.ndarray:
        """What each draw was found to be, as far as all before are marked: a mean of the judges."""
        import numpy as np

        found = []
        for position in range(len(self.draws)):
            at = self.marks.get(position)
            if not at:
                break
            found.append(at.get(SETTLED, sum(at.values()) / len(at)))
        return np.array(found, float)

    @cached_property
    def estimates(self) -> list[Estimate]:
        """Of each pair, from the marks of the person as those of the second judge predict them."""
        return self._estimates(heard=True)

    @cached_property
    def unaided(self) -> list[Estimate]:
        """Of each pair, as if the second judge had said nothing."""
        return self._estimates(heard=False)

    def _estimates(self, *, heard: bool) -> list[Estimate]:
        from engine.judging import sampling

        judged = self.draws[: len(self.values)]
        return sampling.estimates(
            self.pool.units, judged, self.values, ALPHA, self.second, heard=heard
        )

    @property
    def left(self) -> int:
        """How many units are not marked."""
        return len(self.pool.keys) - len(self.values)

    def verdict(self, pair: int) -> str:
        """The encoder that is better, `alike`, or nothing as long as that is open."""
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
        import numpy as np

        return bool(np.random.default_rng([self.spec.seed, position, 1]).integers(2))


def pool_of(kept: dict[str, Any], spec: JudgeSpec) -> Pool:
    """What can be judged of what the encoders returned."""
    from engine.judging import pool

    rankings = {name: kept["rankings"][name] for name in spec.encoders}  # JSON has no order
    if spec.mode == "preference":
        keys, units = pool.preferences(rankings, spec.k)
    else:
        measure: Any = spec.measure
        keys, units = pool.documents(rankings, spec.k, measure)
    second_keys = []
    if spec.second:
        from engine.judging import second

        where = str(second.address(spec.second))
        second_keys = [
            hash_of(where, to_json(second.messages(kept["queries"][q], kept["documents"][d])))
            for q, d in keys
        ]
    return Pool(kept["queries"], kept["documents"], rankings, keys, units, second_keys)


@lru_cache(maxsize=8)
def _opened(workspace: Workspace, session: str) -> tuple[str, JudgeSpec, Pool]:
    """What never changes of a session."""
    row = workspace.store.judgements.get(session)
    given = row["spec"] | {name: tuple(row["spec"][name]) for name in ("encoders", "queries")}
    spec = JudgeSpec(**given)
    return row["title"], spec, pool_of(workspace.store.judgements.pool(session), spec)


def opened(workspace: Workspace, session: str) -> Session:
    """A session as it stands now.

    Raises:
        StoreError: there is none of that id.
    """
    from engine.judging.sampling import Draw

    workspace.store.judgements.get(session)  # it may have been removed since
    title, spec, pool = _opened(workspace, session)
    draws = [
        Draw(one["unit"], tuple(one["rates"]), tuple(one["undecided"]), one.get("seen", 0))
        for one in workspace.store.judgements.draws(session)
    ]
    marks = workspace.store.judgements.marks(session)
    second = _second_marks(workspace, pool) if spec.second else None
    return Session(session, title, spec, pool, draws, marks, second)


def _second_marks(workspace: Workspace, pool: Pool) -> SecondMarks:
    """What the second judge has said by now."""
    import numpy as np

    from engine.judging.sampling import SecondMarks

    kept = workspace.store.judgements.second_marks(pool.second_keys)
    rows = [kept.get(key, (0, 0)) for key in pool.second_keys]
    return SecondMarks(
        np.array([mark or 0 for _, mark in rows], np.int64),
        np.array([number for number, _ in rows], np.int64),
    )


def shown(found: Session, position: int) -> Question:
    """What was drawn at a position, without names."""
    pool = found.pool
    query, at = pool.keys[found.draws[position].unit]
    if found.spec.mode == "relevance":
        return Question(position, pool.queries[query], ((pool.documents[at],),))
    sides = found.pairs[at][::-1] if found.swapped(position) else found.pairs[at]
    lists = [pool.rankings[name][query][: found.spec.k] for name in sides]
    texts = tuple(tuple(pool.documents[i] for i in one) for one in lists)
    return Question(position, pool.queries[query], texts)
