"""The job *judge*: starts a session by retrieving what its encoders return for every query."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from app import formats
from app.jobs.job import Job
from app.pages.judge import second, service
from app.pages.judge.session import JudgeSpec
from store.errors import StoreError
from store.judgements import new_id
from store.run_rows import LIVE

if TYPE_CHECKING:
    from app.jobs.reporter import Reporter
    from app.workspace import Workspace
    from store.run_rows import RunRow


@dataclass(frozen=True)
class JudgeJob(JudgeSpec, Job):
    """A session that is to be begun; made with `of`.

    Attributes:
        session: its id.
        named: its title; empty for the usual one.
    """

    kind = "judge"
    priority = -1
    interactive = True

    session: str = ""
    named: str = ""

    @classmethod
    def of(cls, spec: JudgeSpec, title: str = "") -> JudgeJob:
        """A session of its own, also where the same was asked before."""
        return cls(**vars(spec), session=new_id(), named=title.strip())

    @property
    def asked(self) -> JudgeSpec:
        """What is judged in it."""
        return JudgeSpec(**{field.name: getattr(self, field.name) for field in fields(JudgeSpec)})

    @property
    def title(self) -> str:
        """`Ask minilm and wordllama 100 queries on starter-topics`."""
        many = formats.plural(len(self.queries) or self.draw, "query", "queries")
        return f"Ask {formats.listed(self.encoders)} {many} on {self.collection}"

    def validate(self, workspace: Workspace) -> None:
        """Refuse a collection in which nothing can be found, and a judge that may not be asked."""
        service.asked_of(workspace, self.asked)
        if self.second:
            second.check_allowed(workspace, self.second)

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the session was begun."""
        return is_begun(workspace, self.session)

    def units(self) -> list[str]:
        """One: what was encoded is not encoded again."""
        return [f"{self.collection} · {formats.listed(self.encoders)}"]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Begin the session, and have its second judge asked."""
        service.begin(workspace, self.asked, self.named, reporter, self.session)
        if self.second:
            second.ask(workspace, self.session)


def is_begun(workspace: Workspace, session: str) -> bool:
    """Whether there is such a session."""
    try:
        workspace.store.judgements.get(session)
    except StoreError:
        return False
    return True


def preparing(workspace: Workspace, session: str) -> RunRow | None:
    """The run that is to begin a session, or was and did not; None once it is there."""
    runs = [] if is_begun(workspace, session) else workspace.store.runs.list(kinds=[JudgeJob.kind])
    return next((run for run in runs if run["spec"]["session"] == session), None)


def followed(workspace: Workspace, session: str) -> RunRow | None:
    """The run that whoever looks at a session waits for, or that did not do what it should.

    It begins the session, or has its second judge marking.
    """
    if not is_begun(workspace, session):
        return preparing(workspace, session)
    marking = second.SecondJudgeJob.kind
    runs = workspace.store.runs.list((*LIVE, "failed"), kinds=[marking])
    run = next((run for run in runs if run["spec"]["session"] == session), None)
    if run is None or run["state"] in LIVE or second.left(service.opened(workspace, session)):
        return run
    return None
