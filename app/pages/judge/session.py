"""A session of judging: what it is about, its state, and how it goes on.

The whole state is in the store and read from there each time. Questions name no encoder.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Annotated, Any

import numpy as np

from theodolite.app import endpoints, formats
from theodolite.app.pages.judge import retrieval
from theodolite.app.pages.search.service import Limits, nearest
from theodolite.app.spec import Encoders, Field, Spec
from theodolite.app.workspace import Workspace
from theodolite.engine import chat
from theodolite.engine.datasets import by_rule
from theodolite.engine.datasets.types import Retrieval
from theodolite.engine.errors import UserError
from theodolite.engine.judging import pool, sampling, second as judges, surrogate
from theodolite.engine.judging.pool import Measure
from theodolite.engine.judging.sampling import Draw, Estimate, SecondMarks, Units
from theodolite.engine.progress import Progress
from theodolite.store.hashing import hash_of, to_json

MAX_ENCODERS, MAX_QUERIES = 4, 1000
MAX_NAME = 80
"""Characters of a judge's name."""
MODES = {"relevance": "Documents: relevant or not", "preference": "Lists: left or right"}
MARKS: dict[str, dict[str, float]] = {
    "relevance": {"relevant": 1.0, "not": 0.0},
    "preference": {"left": 1.0, "neither": 0.0, "right": -1.0},
}
"""Mode -> mark -> value; left is the first encoder unless the sides are swapped."""
MEASURES = {
    "dcg": "Lower ranks count less (DCG)",
    "precision": "All ranks count the same (precision)",
}
SETTLED = ""
"""Name of the judge of a mark that settles a disagreement."""
ALPHA = 0.05


@dataclass(frozen=True)
class JudgeSpec(Spec):
    """Settings of a session, in which two to four encoders are asked the same queries.

    Rankers may be compared as well, and set-ups of Choose: `bm25`, `minilm|chunk:recursive,800`.
    """

    collection: Annotated[
        str, Field("Collection", "The collection to search.", names="dataset", key="in")
    ]
    encoders: Encoders = ()
    queries: Annotated[
        Sequence[str],
        Field("Query", "A query of your own; else they are drawn.", flags=("--query",)),
    ] = ()
    draw: Annotated[int, Field("Queries to draw", "From the collection.", ge=1, le=MAX_QUERIES)] = (
        100
    )
    k: Annotated[int, Field("Top k", "Of each encoder.", flags=("-k",), ge=1, le=50)] = 5
    mode: Annotated[str, Field("Mark", "What is judged.", choices=MODES)] = "relevance"
    measure: Annotated[Measure, Field("Ranks", "How they are weighted.", choices=MEASURES)] = "dcg"
    margin: Annotated[
        float, Field("Smallest difference that matters", "In points.", ge=0, le=100)
    ] = 2.0
    seed: Annotated[
        int, Field("Random seed", "Of queries and of the choice of documents.", ge=0)
    ] = 0
    second: Annotated[
        str, Field("Second judge", "A model that also marks the documents: api:URL#MODEL.")
    ] = ""
    name: Annotated[str, Field("Title", "Of the session.", flags=("--title",))] = ""

    def check(self) -> None:
        """Bring names to their canonical form."""
        encoders = tuple(dict.fromkeys(map(retrieval.canonical, self.encoders)))
        queries = tuple(dict.fromkeys(text.strip() for text in self.queries if text.strip()))
        second = chat.canonical(self.second)
        if not 2 <= len(encoders) <= MAX_ENCODERS:
            raise UserError(
                f"Judging compares 2 to {MAX_ENCODERS} different encoders, not {len(encoders)}.",
                "Choose others.",
            )
        if len(queries) > MAX_QUERIES:
            raise UserError(
                f"{len(queries)} queries cannot be judged.", f"Give at most {MAX_QUERIES:,}."
            )
        if second and self.mode != "relevance":
            raise UserError(
                "A second judge marks documents; it does not compare lists.",
                "Leave out one of them.",
                code="conflict",
            )
        vars(self).update(encoders=encoders, queries=queries, second=second)


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
class Session:
    """The current state of a session.

    Attributes:
        queries, documents: texts.
        rankings: encoder -> for each query, positions of documents.
        keys: (query, document) of each unit that can be judged, or (query, pair).
        second_keys: of each unit, the key of the second judge's stored answer.
        marks: position -> judge -> mark.
        second: the second judge's marks so far; None without one.
    """

    id: str
    title: str
    spec: JudgeSpec
    queries: list[str]
    documents: list[str]
    rankings: dict[str, list[list[int]]]
    keys: list[tuple[int, int]]
    units: Units
    second_keys: list[str]
    draws: list[Draw] = field(default_factory=list)
    marks: dict[int, dict[str, float]] = field(default_factory=dict)
    second: SecondMarks | None = None

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of encoders compared."""
        return pool.pairs_of(self.rankings)

    @cached_property
    def values(self) -> np.ndarray:
        """Value of each draw up to the first unmarked one: settled, or the mean of the judges."""
        marked = takewhile(bool, map(self.marks.get, range(len(self.draws))))
        return np.array([at.get(SETTLED, sum(at.values()) / len(at)) for at in marked if at], float)

    @property
    def is_by_rule(self) -> bool:
        """Whether marks are predicted from queries by rule."""
        return self.units.expected is not None

    @property
    def is_own(self) -> bool:
        """Whether a person wrote the queries."""
        return bool(self.spec.queries)

    def at_one_look(self) -> list[tuple[float, float, float]]:
        """Difference, low and high of each pair, as if it were tested now for the first time."""
        judged = self.draws[: len(self.values)]
        return sampling.single_look(self.units, judged, self.values, ALPHA)

    @property
    def left(self) -> int:
        """Number of unmarked units."""
        return len(self.keys) - len(self.values)

    @property
    def judges(self) -> dict[str, int]:
        """Judge -> number of their marks."""
        names = sorted({name for at in self.marks.values() for name in at if name != SETTLED})
        return {name: sum(name in at for at in self.marks.values()) for name in names}

    @property
    def disagreements(self) -> list[int]:
        """Positions of unsettled disagreements between judges."""
        return [
            position
            for position, at in self.marks.items()
            if SETTLED not in at and len(set(at.values())) > 1
        ]

    def estimate(self, *, heard: bool = True) -> list[Estimate]:
        """Estimate each pair from the person's marks, with the second judge's if it is `heard`."""
        judged = self.draws[: len(self.values)]
        return sampling.estimates(self.units, judged, self.values, ALPHA, self.second, heard=heard)

    @cached_property
    def estimates(self) -> list[Estimate]:
        """Estimate of each pair."""
        return self.estimate()

    @property
    def verdicts(self) -> list[str]:
        """The better encoder of each pair, `alike`, or empty while undecided."""
        margin = self.spec.margin / 100.0
        return [
            (pair[0 if one.low > 0 else 1])
            if one.separated
            else "alike" * (one.alike(margin) or not self.left)
            for pair, one in zip(self.pairs, self.estimates, strict=True)
        ]

    @property
    def unasked(self) -> list[int]:
        """Units without an answer of the second judge, those of the largest weight first."""
        if self.second is None:
            return []
        order = np.argsort(-np.square(self.units.weights).sum(axis=1), kind="stable")
        return [unit for unit in order.tolist() if not self.second.ids[unit]]

    def swapped(self, position: int) -> bool:
        """Whether the left list is that of the second encoder."""
        rng = np.random.default_rng([self.spec.seed, position, 1])
        return self.spec.mode == "preference" and bool(rng.integers(2))

    def question(self, position: int) -> Question:
        """The question drawn at a position, without names of encoders."""
        query, at = self.keys[self.draws[position].unit]
        if self.spec.mode == "relevance":
            return Question(position, self.queries[query], ((self.documents[at],),))
        sides = self.pairs[at][::-1] if self.swapped(position) else self.pairs[at]
        texts = (
            tuple(self.documents[i] for i in self.rankings[name][query][: self.spec.k])
            for name in sides
        )
        return Question(position, self.queries[query], tuple(texts))

    def value(self, answer: str, position: int) -> float:
        """The value of an answer to a question."""
        known = MARKS[self.spec.mode]
        if answer not in known:
            raise UserError(f"{answer!r} is not a mark here.", f"Say {' or '.join(known)}.")
        if not 0 <= position < len(self.draws):
            raise UserError(
                f"There is no question {position}.", "Ask for the next one.", code="unknown"
            )
        return -known[answer] if self.swapped(position) else known[answer]


def begin(workspace: Workspace, spec: JudgeSpec, session: str = "") -> str:
    """Store the documents that every encoder returns for every query; return the session's id.

    The second judge, if any, is not asked yet: see `app.pages.judge.job`.
    """
    workspace.refuse_visitors()
    check_allowed(workspace, spec.second)
    queries = queries_of(workspace, spec)
    place: dict[str, int] = {}
    rankings = {
        encoder: [
            [place.setdefault(text, len(place)) for text in texts]
            for texts in retrieve(workspace, encoder, spec, queries)
        ]
        for encoder in spec.encoders
    }
    content: dict[str, Any] = {"queries": queries, "documents": list(place), "rankings": rankings}
    if not (keys := _session("", "", spec, content).keys):
        raise UserError(
            "These encoders return the same documents for every query: there is nothing to judge.",
            "Choose others, more queries or a larger top k.",
            code="too-few",
        )
    if by_rule.split_name(spec.collection)[1] and spec.mode == "relevance" and not spec.second:
        pairs = [(queries[query], content["documents"][document]) for query, document in keys]
        names = (workspace, spec.collection, spec.encoders, spec.k)
        content["predicted"] = retrieval.predict(*names, pairs).round(4).tolist()
    title = spec.name.strip() or f"{spec.collection}: {', '.join(spec.encoders)}"
    values = {field.name: getattr(spec, field.name) for field in fields(JudgeSpec)}
    return workspace.store.judgements.begin(title[:200], values, content, session)


def check_allowed(workspace: Workspace, second: str, *, allow: bool = False) -> None:
    """Raise a UserError for a second judge to which sending texts is not allowed, or `allow` it."""
    if second and allow:
        workspace.refuse_visitors()
        endpoints.allow(workspace.store, second)
    for address in endpoints.unallowed(workspace.store, second) if second else ():
        raise UserError(
            f"Nothing leaves this machine without permission, and {address.host} would "
            "receive documents with their queries.",
            "Allow it with --send-texts, or with the checkbox on the page Judge.",
            code="denied",
        )


def queries_of(workspace: Workspace, spec: JudgeSpec) -> list[str]:
    """The queries of a session, given or drawn."""
    documents, offered = _material(workspace, spec.collection)
    order = np.random.default_rng(spec.seed).permutation(len(offered))
    queries = list(spec.queries) or [offered[i] for i in order[: spec.draw]]
    if not queries or len(documents) < 2:
        raise UserError(
            f"{spec.collection} has {formats.plural(len(documents), 'document')} and "
            f"{formats.plural(len(queries), 'query', 'queries')}: too few to search in.",
            "Choose a larger collection, or give your own queries.",
            code="too-few",
        )
    return queries


def retrieve(
    workspace: Workspace,
    encoder: str,
    spec: JudgeSpec,
    queries: Sequence[str],
    progress: Progress | None = None,
) -> list[list[str]]:
    """The top k documents of each query, without the query itself."""
    if by_rule.split_name(spec.collection)[1] or not retrieval.is_encoder(encoder):
        texts = retrieval.texts_of(workspace, spec.collection)
        lists = retrieval.rank(workspace, encoder, spec.collection, queries, progress)
        return [
            [text for text in dict.fromkeys(texts[i] for i in at) if text != query][: spec.k]
            for query, (at, _) in zip(queries, lists, strict=True)
        ]
    documents, _ = workspace.catalog.sentences(spec.collection, queries=False)
    everywhere = np.arange(len(documents))  # exact, also where there is an index
    limits = Limits(spec.k + 1, among=everywhere)
    hits = nearest(workspace, encoder, spec.collection, queries, limits, progress)
    return [
        [hit.sentence for hit in some if hit.sentence != query][: spec.k]
        for query, some in zip(queries, hits, strict=True)
    ]


def _material(workspace: Workspace, collection: str) -> tuple[list[str], list[str]]:
    """Distinct documents of a collection, and the texts that queries are drawn from."""
    data = workspace.catalog.load(collection)
    if isinstance(data, Retrieval):
        return list({*data.documents.values()}), list(dict.fromkeys(data.queries.values()))
    sentences, _ = workspace.catalog.sentences(collection)
    return sentences, sentences


def _session(session: str, title: str, spec: JudgeSpec, content: Mapping[str, Any]) -> Session:
    """A session without marks, of the documents that were returned."""
    queries, documents = content["queries"], content["documents"]
    rankings = {name: content["rankings"][name] for name in spec.encoders}  # JSON has no order
    if spec.mode == "preference":
        keys, units = pool.preferences(rankings, spec.k)
    else:
        keys, units = pool.documents(rankings, spec.k, spec.measure)
    if predicted := content.get("predicted"):
        units = surrogate.bin_by_prediction(units, np.array(predicted))
    to = spec.second and str(chat.address(spec.second))
    messages = [judges.messages(queries[q], documents[d]) for q, d in keys] if to else []
    second_keys = [hash_of(to, to_json(message)) for message in messages]
    return Session(session, title, spec, queries, documents, rankings, keys, units, second_keys)


@lru_cache(maxsize=8)
def _without_marks(workspace: Workspace, session: str) -> Session:
    """What never changes of a stored session."""
    row = workspace.store.judgements.get(session)
    pool = workspace.store.judgements.pool(session)
    return _session(session, row["title"], JudgeSpec(**row["spec"]), pool)


def open_session(workspace: Workspace, session: str) -> Session:
    """The current state of a session."""
    judgements = workspace.store.judgements
    judgements.get(session)  # it may have been removed since
    base, second = _without_marks(workspace, session), None
    if base.spec.second:
        known = judgements.second_marks(base.second_keys)
        rows = [known.get(key, (0, 0)) for key in base.second_keys]
        grades = np.array([mark or 0 for _, mark in rows], np.int64)
        second = SecondMarks(grades, np.array([number for number, _ in rows], np.int64))
    draws = [
        Draw(draw["unit"], tuple(draw["rates"]), tuple(draw["undecided"]), draw["seen"])
        for draw in judgements.draws(session)
    ]
    return replace(base, draws=draws, marks=judgements.marks(session), second=second)


def is_begun(workspace: Workspace, session: str) -> bool:
    """Whether the session exists."""
    return any(row["id"] == session for row in workspace.store.judgements.list())


def ask(workspace: Workspace, session: str, judge: str = "me") -> Question | None:
    """The next question of a judge, drawn now if need be; None once everything is judged.

    Every judge is shown the same questions in the same order; the one in the lead draws new ones.
    """
    workspace.refuse_visitors()
    state = open_session(workspace, session)
    end = len(state.draws)
    position = next((i for i in range(end) if judge not in state.marks.get(i, ())), end)
    if position == end:
        # A single pair is drawn even once it is decided: there is no other.
        undecided = [len(state.pairs) == 1 or not verdict for verdict in state.verdicts]
        rng = np.random.default_rng([state.spec.seed, end])
        units = [one.unit for one in state.draws]
        draw = sampling.draw(state.units, units, state.values, undecided, rng, state.second)
        if draw is None:
            return None
        workspace.store.judgements.add_draw(session, end, asdict(draw))
        state = open_session(workspace, session)
    return state.question(position)


def mark(
    workspace: Workspace, session: str, answer: str, judge: str = "me", position: int | None = None
) -> Question | None:
    """Store a mark, and return the next question.

    Args:
        workspace: stores the session.
        session: id of the session.
        answer: one of `MARKS`; or `undo`, which takes back the judge's last mark and returns its
            question.
        judge: name of the judge.
        position: of the question; None for the next one. A second mark there changes nothing.
    """
    workspace.refuse_visitors()
    if not judge.strip() or len(judge) > MAX_NAME:
        raise UserError(f"{judge[:20]!r} cannot name a judge.", f"Give 1 to {MAX_NAME} characters.")
    state = open_session(workspace, session)
    if answer == "undo":
        mine = [at for at, by in state.marks.items() if judge in by]
        if not mine:
            raise UserError("There is no mark to undo.", code="missing")
        workspace.store.judgements.add_mark(session, max(mine), judge, None)
        return ask(workspace, session, judge)
    if position is None:
        question = ask(workspace, session, judge)
        if question is None:
            raise UserError(
                "Everything is judged here.", "Undo a mark to change it.", code="missing"
            )
        position, state = question.position, open_session(workspace, session)
    value = state.value(answer, position)
    workspace.store.judgements.add_mark(session, position, judge, value)
    return ask(workspace, session, judge)


def settle(workspace: Workspace, session: str, position: int, answer: str) -> None:
    """Settle a disagreement between judges by the mark that counts, or settle it again."""
    workspace.refuse_visitors()
    value = open_session(workspace, session).value(answer, position)
    for one in (None, value):
        workspace.store.judgements.add_mark(session, position, SETTLED, one)


def play(
    workspace: Workspace,
    session: str,
    answer: Callable[[Question], str],
    judge: str = "script",
    most: int | None = None,
) -> int:
    """Let a function judge until enough is judged or `most` marks are made; return their number."""
    count, question = 0, ask(workspace, session, judge)
    while question and count != most and not all(open_session(workspace, session).verdicts):
        question = mark(workspace, session, answer(question), judge, question.position)
        count += 1
    return count


def remove(workspace: Workspace, session: str) -> None:
    """Delete a session with its marks, and the permission to send texts to its second judge."""
    workspace.refuse_visitors()
    workspace.store.judgements.get(session)
    workspace.store.judgements.remove(session)
    endpoints.forbid_unlisted(workspace.store)
