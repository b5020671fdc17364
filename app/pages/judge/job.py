"""The jobs of a session: *judge* starts it, and its second judge, a model, marks its documents.

Each answer of the model is stored at once under a hash of the request, so an interrupted run
resumes and nothing is asked twice. Documents of the largest weight come first, in an order
independent of the person's marks.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from theodolite.app import endpoints, formats, sending
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.jobs.submit import queue_unless_stored
from theodolite.app.pages.judge.session import (
    JudgeSpec,
    begin,
    check_allowed,
    is_begun,
    open_session,
    queries_of,
    retrieve,
)
from theodolite.app.workspace import Workspace
from theodolite.engine import chat
from theodolite.engine.datasets import chunks
from theodolite.engine.endpoints import Unacceptable
from theodolite.engine.errors import UserError
from theodolite.engine.judging import second as judges
from theodolite.store.judgements import new_id
from theodolite.store.run_rows import LIVE, RunRow

AT_ONCE = 4
"""Concurrent requests."""
MAX_REFUSED = 5
"""Documents that a model may refuse before it accepts one."""


@dataclass(frozen=True)
class JudgeJob(JudgeSpec, Job):
    """Starts a session, even if the spec is that of an earlier one; made with `of`."""

    kind = "judge"
    priority = -1
    interactive = True

    session: str = ""

    @classmethod
    def of(cls, spec: JudgeSpec) -> JudgeJob:
        """The job of a new session."""
        return cls(**vars(spec) | {"session": new_id()})

    @property
    def title(self) -> str:
        """`Ask minilm and wordllama 100 queries on starter-topics`."""
        many = formats.plural(len(self.queries) or self.draw, "query", "queries")
        return f"Ask {formats.listed(self.encoders)} {many} on {self.collection}"

    def notices(self, workspace: Workspace) -> Iterator[str]:
        """The texts that endpoints would get."""
        rankers = [chunks.split_name(name)[0] for name in self.encoders]
        for _, sent in sending.announcements(workspace, rankers, self.collection):
            yield sent
        if self.second:
            yield sent_by(self)

    def validate(self, workspace: Workspace) -> None:
        """Refuse a collection too small to search, and a second judge without permission."""
        queries_of(workspace, self)
        check_allowed(workspace, self.second)

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the session has started."""
        return is_begun(workspace, self.session)

    def units(self) -> list[str]:
        """One unit per encoder, whose vectors are then cached, and one that starts the session."""
        return [*(f"{self.collection} · {name}" for name in self.encoders), "The first question"]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Ask an encoder; or start the session, and queue its second judge."""
        if position < len(self.encoders):
            queries = queries_of(workspace, self)
            retrieve(workspace, self.encoders[position], self, queries, reporter)
            return
        begin(workspace, self, self.session)
        if self.second:
            ask_second(workspace, self.session)


def sent_by(spec: JudgeSpec) -> str:
    """The texts that the second judge of a planned session would get, in words."""
    to = chat.address(spec.second)
    many = (len(spec.queries) or spec.draw) * len(spec.encoders) * spec.k
    return (
        f"Up to {many:,} documents, each with its query, are sent to "
        f"{to.host}{', on this machine' if to.is_here else ''}, each in a separate request."
    )


@dataclass(frozen=True)
class SecondJudgeJob(Job):
    """Marks the documents of a session by a model; made with `of`.

    Attributes:
        session: id of the session.
        second: spec of the model.
    """

    kind = "second-judge"

    session: str
    second: str

    @classmethod
    def of(cls, workspace: Workspace, session: str) -> SecondJudgeJob:
        """The job of a session's second judge."""
        second = open_session(workspace, session).spec.second
        if not second:
            raise UserError(
                "This session has no second judge.",
                "Start one with --second api:URL#MODEL.",
                code="missing",
            )
        return cls(session, second)

    @property
    def title(self) -> str:
        """`api:https://api.example.com/v1#model marks session 36e4305ecb44`."""
        return f"{self.second} marks session {self.session}"

    def notices(self, workspace: Workspace) -> Iterator[str]:
        """The texts that the missing marks would send."""
        state = open_session(workspace, self.session)
        pairs = [state.keys[unit] for unit in state.unasked]
        messages = [judges.messages(state.queries[q], state.documents[d]) for q, d in pairs]
        yield f"Sends {chat.amount_sent(self.second, messages)}: documents, each with its query."

    def validate(self, workspace: Workspace) -> None:
        """Refuse an address to which sending texts is not allowed."""
        check_allowed(workspace, self.second)

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether every document has an answer."""
        return not open_session(workspace, self.session).unasked

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Ask for the missing marks, and store each answer as it comes."""
        state, stop = open_session(workspace, self.session), threading.Event()
        judge = chat.Chat(self.second, endpoints.allowed_urls(workspace.store), stop.wait)
        units, total, store = state.unasked, len(state.keys), workspace.store.judgements

        def mark(unit: int) -> None:
            query, document = state.keys[unit]
            answer = judges.mark(judge, state.queries[query], state.documents[document])
            store.add_second_mark(state.second_keys[unit], answer)

        refused: list[int] = []
        accepts = len(units) < total
        threads = ThreadPoolExecutor(AT_ONCE)
        try:
            futures: dict[Future[None], int] = {threads.submit(mark, unit): unit for unit in units}
            for done, one in enumerate(as_completed(futures), total - len(units) + 1):
                error = one.exception()
                accepts = accepts or error is None
                if isinstance(error, Unacceptable):
                    refused.append(futures[one])
                many = not accepts and len(refused) >= min(MAX_REFUSED, len(units))
                if error is not None and (many or not isinstance(error, Unacceptable)):
                    raise error
                reporter(done, total)
            for unit in refused:
                store.add_second_mark(state.second_keys[unit], None)
        finally:
            stop.set()  # threads waiting to retry make their last attempt at once
            threads.shutdown(cancel_futures=True)


def ask_second(workspace: Workspace, session: str) -> str:
    """Queue the second judge for the missing marks; return the run's id, or an empty one."""
    return queue_unless_stored(workspace, SecondJudgeJob.of(workspace, session))


def run_of(workspace: Workspace, session: str) -> RunRow | None:
    """The run that a session waits for, or that failed: of its start, or of its second judge."""
    begun = is_begun(workspace, session)
    kind = SecondJudgeJob.kind if begun else JudgeJob.kind
    runs = workspace.store.runs.list((*LIVE, "failed"), kinds=[kind])
    run = next((run for run in runs if run["spec"]["session"] == session), None)
    if begun and run and run["state"] not in LIVE and not open_session(workspace, session).unasked:
        return None  # another run has marked the rest since
    return run
