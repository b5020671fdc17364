"""Judging sessions: start, next question, marks.

The whole state of a session is in the store and read from there each time. Questions name no
encoder; `answer.py` has the findings so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np

from theodolite.app import endpoints, formats
from theodolite.app.pages.judge.second import check_allowed
from theodolite.app.pages.judge.session import (
    MARKS,
    SETTLED,
    Question,
    Session,
    opened,
    pool_of,
    shown,
)
from theodolite.app.pages.judge.spec import JudgeSpec
from theodolite.app.pages.search.service import Limits, nearest
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.types import Retrieval
from theodolite.engine.errors import UserError
from theodolite.engine.judging import sampling
from theodolite.engine.progress import Progress


def begin(
    workspace: Workspace,
    plan: JudgeSpec,
    title: str = "",
    progress: Progress | None = None,
    session: str = "",
) -> str:
    """Store the documents that every encoder returns for every query; return the session's id.

    The second judge, if any, is not asked yet: see `app.pages.judge.second`.

    Args:
        workspace: stores the session.
        plan: of the session.
        title: for people.
        progress: of encoding.
        session: id of the session; empty for a new one.
    """
    workspace.refuse_visitors()
    if plan.second:
        check_allowed(workspace, plan.second)
    queries = queries_of(workspace, plan)
    place: dict[str, int] = {}
    rankings = {
        encoder: [
            [place.setdefault(text, len(place)) for text in texts]
            for texts in returned(workspace, encoder, plan, queries, _share(progress, plan, at))
        ]
        for at, encoder in enumerate(plan.encoders)
    }
    kept = {"queries": queries, "documents": list(place), "rankings": rankings}
    if not pool_of(kept, plan).keys:
        raise UserError(
            "These encoders return the same documents for every query: there is nothing to judge.",
            "Choose others, more queries or a larger top k.",
            code="too-few",
        )
    name = title.strip() or f"{plan.collection}: {', '.join(plan.encoders)}"
    return workspace.store.judgements.begin(name[:200], asdict(plan), kept, session)


def _share(progress: Progress | None, plan: JudgeSpec, at: int) -> Progress | None:
    """A progress callback of one encoder that reports to that of all."""
    if progress is None:
        return None
    return lambda done, total: progress(at * total + done, len(plan.encoders) * total)


def queries_of(workspace: Workspace, plan: JudgeSpec) -> list[str]:
    """The queries of a session, given or drawn."""
    documents, offered = _material(workspace, plan.collection)
    rng = np.random.default_rng(plan.seed)
    drawn = rng.permutation(len(offered))[: plan.draw].tolist()
    queries = list(plan.queries) or [offered[i] for i in drawn]
    if not queries or len(documents) < 2:
        raise UserError(
            f"{plan.collection} has {formats.plural(len(documents), 'document')} and "
            f"{formats.plural(len(queries), 'query', 'queries')}: too few to search in.",
            "Choose a larger collection, or give your own queries.",
            code="too-few",
        )
    return queries


def returned(
    workspace: Workspace,
    encoder: str,
    plan: JudgeSpec,
    queries: Sequence[str],
    progress: Progress | None = None,
) -> list[list[str]]:
    """The top k documents of each query, without the query itself."""
    sentences, _ = workspace.catalog.sentences(plan.collection)
    documents = set(_material(workspace, plan.collection)[0])
    among = np.array([i for i, text in enumerate(sentences) if text in documents])
    limits = Limits(plan.k + 1, among=among)
    found = nearest(workspace, encoder, plan.collection, queries, limits, progress)
    return [
        [hit.sentence for hit in hits if hit.sentence != query][: plan.k]
        for query, hits in zip(queries, found, strict=True)
    ]


def _material(workspace: Workspace, collection: str) -> tuple[list[str], list[str]]:
    """Distinct documents of a collection, and the texts that queries are drawn from."""
    data = workspace.catalog.load(collection)
    if isinstance(data, Retrieval):
        return list(dict.fromkeys(data.documents.values())), list(
            dict.fromkeys(data.queries.values())
        )
    sentences, _ = workspace.catalog.sentences(collection)
    return sentences, sentences


def question(workspace: Workspace, session: str, judge: str = "me") -> Question | None:
    """The next question of a judge, drawn now if need be; None once everything is judged.

    Every judge is shown the same questions in the same order; the one in the lead draws new ones.
    """
    workspace.refuse_visitors()
    found = opened(workspace, session)
    position = next(
        (i for i in range(len(found.draws)) if judge not in found.marks.get(i, ())),
        len(found.draws),
    )
    if position == len(found.draws):
        _draw(workspace, found)
        found = opened(workspace, session)
    return shown(found, position) if position < len(found.draws) else None


def _draw(workspace: Workspace, found: Session) -> None:
    # A single pair is drawn even once it is decided: there is no other.
    several = len(found.pairs) > 1
    undecided = [not several or not found.verdict(i) for i in range(len(found.pairs))]
    rng = np.random.default_rng([found.spec.seed, len(found.draws)])
    drawn = [one.unit for one in found.draws]
    one = sampling.draw(found.pool.units, drawn, found.values, undecided, rng, found.second)
    if one is not None:
        workspace.store.judgements.add_draw(found.id, len(drawn), asdict(one))


def mark(
    workspace: Workspace, session: str, answer: str, judge: str = "me", position: int | None = None
) -> Question | None:
    """Store a mark, and return the next question.

    Args:
        workspace: stores the session.
        session: id of the session.
        answer: one of `MARKS`.
        judge: name of the judge.
        position: of the question; None for the next one. A second mark there changes nothing.
    """
    workspace.refuse_visitors()
    _check_judge(judge)
    if position is None:
        current = question(workspace, session, judge)
        if current is None:
            raise UserError(
                "Everything is judged here.", "Undo a mark to change it.", code="missing"
            )
        position = current.position
    value = _value(opened(workspace, session), answer, position)
    workspace.store.judgements.add_mark(session, position, judge, value)
    return question(workspace, session, judge)


def _check_judge(judge: str) -> None:
    if not judge.strip() or len(judge) > 80:
        raise UserError(f"{judge[:20]!r} cannot name a judge.", "Give 1 to 80 characters.")


def _value(found: Session, answer: str, position: int) -> float:
    known = MARKS[found.spec.mode]
    if answer not in known:
        raise UserError(f"{answer!r} is not a mark here.", f"Say {' or '.join(known)}.")
    if not 0 <= position < len(found.draws):
        raise UserError(
            f"There is no question {position}.", "Ask for the next one.", code="unknown"
        )
    turned = found.spec.mode == "preference" and found.swapped(position)
    return -known[answer] if turned else known[answer]


def undo(workspace: Workspace, session: str, judge: str = "me") -> Question | None:
    """Take back a judge's last mark, and return its question."""
    workspace.refuse_visitors()
    mine = [at for at, by in opened(workspace, session).marks.items() if judge in by]
    if not mine:
        raise UserError("There is no mark to undo.", code="missing")
    workspace.store.judgements.add_mark(session, max(mine), judge, None)
    return question(workspace, session, judge)


def settle(workspace: Workspace, session: str, position: int, answer: str) -> None:
    """Settle a disagreement between judges by the mark that counts, or settle it again."""
    workspace.refuse_visitors()
    value = _value(opened(workspace, session), answer, position)
    workspace.store.judgements.add_mark(session, position, SETTLED, None)
    workspace.store.judgements.add_mark(session, position, SETTLED, value)


def play(
    workspace: Workspace,
    session: str,
    answer: Callable[[Question], str],
    judge: str = "script",
    most: int | None = None,
) -> int:
    """Let a function judge until enough is judged or `most` marks are made; return their number."""
    made, current = 0, question(workspace, session, judge)
    while current and made != most and not opened(workspace, session).enough:
        current = mark(workspace, session, answer(current), judge, current.position)
        made += 1
    return made


def remove(workspace: Workspace, session: str) -> None:
    """Delete a session with its marks, and the permission to send texts to its second judge."""
    workspace.refuse_visitors()
    workspace.store.judgements.get(session)
    workspace.store.judgements.remove(session)
    endpoints.forbid_unlisted(workspace.store)
