"""The second judge of a session: a model that marks its documents in the background.

Each answer is stored at once under a hash of the request, so an interrupted run resumes and nothing
is asked twice. Documents of the largest weight come first, in an order independent of the person's
marks.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from theodolite.app import endpoints, formats
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.jobs.submit import queue_unless_stored
from theodolite.app.pages.judge.session import Session, opened
from theodolite.app.pages.judge.spec import JudgeSpec
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders.endpoint import Sending
from theodolite.engine.endpoints import Unacceptable
from theodolite.engine.errors import UserError
from theodolite.engine.judging import second as judges
from theodolite.engine.judging.second import SecondJudge

AT_ONCE = 4
"""Concurrent requests."""
MAX_REFUSED = 5
"""Documents that a model may refuse before it accepts one."""


@dataclass(frozen=True)
class SecondJudgeJob(Job):
    """Marks the documents of a session by a model; made with `job_of`.

    Attributes:
        session: id of the session.
        second: spec of the model.
    """

    kind = "second-judge"

    session: str
    second: str

    @property
    def title(self) -> str:
        """`api:https://api.example.com/v1#model marks session 36e4305ecb44`."""
        return f"{self.second} marks session {self.session}"

    def units(self) -> list[str]:
        """One unit of all documents: each answer is stored as it comes."""
        return [f"Marking with {self.second}"]

    def validate(self, workspace: Workspace) -> None:
        """Refuse an address to which sending texts is not allowed."""
        check_allowed(workspace, self.second)

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether every document has an answer."""
        return not left(opened(workspace, self.session))

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Ask for every missing mark."""
        stop = threading.Event()

        def wait(seconds: float) -> None:
            stop.wait(seconds)

        judge = SecondJudge(self.second, endpoints.allowed(workspace.store), wait)
        _mark_all(workspace, opened(workspace, self.session), judge, reporter, stop)


def _mark_all(
    workspace: Workspace,
    found: Session,
    judge: SecondJudge,
    reporter: Reporter,
    stop: threading.Event,
) -> None:
    """Ask for the missing marks, and store each answer as it comes."""
    kept, pool, units = workspace.store.judgements, found.pool, left(found)
    refused: dict[int, Unacceptable] = {}
    taken = len(units) < len(pool.keys)

    def mark(unit: int) -> None:
        query, document = pool.keys[unit]
        answer = judge.mark(pool.queries[query], pool.documents[document])
        kept.add_second_mark(pool.second_keys[unit], answer)

    threads = ThreadPoolExecutor(AT_ONCE)
    try:
        working = {threads.submit(mark, unit): unit for unit in units}
        for done, one in enumerate(as_completed(working), len(pool.keys) - len(units) + 1):
            error = one.exception()
            if isinstance(error, Unacceptable):
                refused[working[one]] = error
                if not taken and len(refused) >= MAX_REFUSED:
                    raise error
            elif error is not None:
                raise error
            taken = taken or error is None
            reporter(done, len(pool.keys))
        for unit, error in refused.items():
            if not taken:
                raise error
            kept.add_second_mark(pool.second_keys[unit], None)
    finally:
        stop.set()  # threads waiting to retry make their last attempt at once
        threads.shutdown(cancel_futures=True)


def left(found: Session) -> list[int]:
    """Units without an answer of the second judge, those of the largest weight first."""
    if found.second is None:
        return []
    size = np.square(found.pool.units.weights).sum(axis=1)
    order = np.argsort(-size, kind="stable")
    return [int(unit) for unit in order if not found.second.ids[unit]]


def job_of(found: Session) -> SecondJudgeJob:
    """The job of a session's second judge."""
    if not found.spec.second:
        raise UserError(
            "This session has no second judge.",
            "Start one with --second api:URL#MODEL.",
            code="missing",
        )
    return SecondJudgeJob(found.id, found.spec.second)


def ask(workspace: Workspace, session: str) -> str:
    """Queue the second judge for the missing marks; return the run's id, or an empty one."""
    return queue_unless_stored(workspace, job_of(opened(workspace, session)))


def consent(workspace: Workspace, second: str, send_texts: bool) -> None:
    """Allow texts to be sent to a second judge from now on if `send_texts`, else require that."""
    if send_texts:
        workspace.refuse_visitors()
        endpoints.allow(workspace.store, second)
    check_allowed(workspace, second)


def check_allowed(workspace: Workspace, second: str) -> None:
    """Raise a UserError for an address to which sending texts is not allowed."""
    for address in endpoints.unallowed(workspace.store, second):
        raise UserError(
            f"Nothing leaves this machine without permission, and {address.host} would "
            "receive documents with their queries.",
            "Allow it with --send-texts, or with the checkbox on the page Judge.",
            code="denied",
        )


def sending(found: Session) -> Sending:
    """The texts that the missing marks would send."""
    pool = found.pool
    pairs = [pool.keys[unit] for unit in left(found)]
    texts = [(pool.queries[q], pool.documents[d]) for q, d in pairs]
    return judges.sending(found.spec.second, texts)


def at_most(workspace: Workspace, plan: JudgeSpec) -> tuple[str, str]:
    """The texts that a planned session would send, in words, and the host that needs permission."""
    if not plan.second:
        return "", ""
    to = judges.address(plan.second)
    many = (len(plan.queries) or plan.draw) * len(plan.encoders) * plan.k
    words = (
        f"Up to {many:,} documents, each with its query, are sent to "
        f"{to.host}{', on this machine' if to.is_here else ''}, each in a separate request."
    )
    return words, ", ".join(one.host for one in endpoints.unallowed(workspace.store, plan.second))


def status(found: Session) -> dict[str, Any] | None:
    """Progress and agreement of the second judge as JSON; None without one."""
    if found.second is None:
        return None
    drawn = [one.unit for one in found.draws[: len(found.values)]]
    agreed = judges.agreement(found.values, found.second.grades[drawn])
    facts = asdict(agreed) if agreed else None
    known = facts and {k: None if math.isnan(v) else v for k, v in facts.items()}
    marked = int((found.second.grades > 0).sum())
    answered = int((found.second.ids > 0).sum())
    return {
        "model": found.spec.second,
        "marked": marked,
        "unmarked": answered - marked,
        "left": len(found.pool.keys) - answered,
        "agreement": known,
    }


def in_words(facts: Mapping[str, Any], *, marking: bool = False) -> Iterator[str]:
    """The status as sentences, without the progress while the judge is marking."""
    marked, unmarked, rest = facts["marked"], facts["unmarked"], facts["left"]
    unread = f", {unmarked:,} could not be read" if unmarked else ""
    waits = f", {rest:,} are left" if rest else ""
    if marking:
        yield "It is marking."
    else:
        yield f"It has marked {marked:,} of {marked + unmarked + rest:,} documents{unread}{waits}."
    agreed = facts["agreement"]
    if agreed:
        low, high = 100 * agreed["low"], 100 * agreed["high"]
        parts = ", ".join(
            f"{name} {'–' if agreed[name] is None else format(agreed[name], '.2f')}"
            for name in ("kappa", "sensitivity", "specificity")
        ).replace("-", "−")
        yield (
            f"On {formats.plural(agreed['documents'], 'document')} marked by both, it agrees with "
            f"the person in {100 * agreed['share']:.0f} % ({low:.0f} to {high:.0f} %); Cohen's "
            f"{parts}."
        )
