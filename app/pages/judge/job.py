"""The job *judge*: starts a session by retrieving the documents of its encoders per query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from theodolite.app import formats, sending
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.pages.judge import second, service
from theodolite.app.pages.judge.session import opened
from theodolite.app.pages.judge.spec import JudgeSpec
from theodolite.app.workspace import Workspace
from theodolite.store.judgements import new_id
from theodolite.store.run_rows import LIVE, RunRow


@dataclass(frozen=True)
class JudgeJob(JudgeSpec, Job):
    """Starts a session; made with `of`.

    Attributes:
        session: id of the session.
        named: title of the session; empty for the default one.
    """

    kind = "judge"
    priority = -1
    interactive = True

    session: str = ""
    named: str = ""

    @classmethod
    def of(cls, spec: JudgeSpec, title: str = "") -> JudgeJob:
        """The job of a new session, even if the spec is that of an earlier one."""
        return cls(**vars(spec), session=new_id(), named=title.strip())

    @property
    def plan(self) -> JudgeSpec:
        """The spec of the session."""
        return JudgeSpec(**{field.name: getattr(self, field.name) for field in fields(JudgeSpec)})

    @property
    def title(self) -> str:
        """`Ask minilm and wordllama 100 queries on starter-topics`."""
        many = formats.plural(len(self.queries) or self.draw, "query", "queries")
        return f"Ask {formats.listed(self.encoders)} {many} on {self.collection}"

    def notices(self, workspace: Workspace) -> Iterator[str]:
        """The texts that endpoints would get."""
        for _, sent in sending.announced(workspace, self.encoders, self.collection):
            yield sent

    def validate(self, workspace: Workspace) -> None:
        """Refuse a collection too small to search, and a second judge without permission."""
        service.queries_of(workspace, self.plan)
        if self.second:
            second.check_allowed(workspace, self.second)

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the session has started."""
        return is_begun(workspace, self.session)

    def units(self) -> list[str]:
        """One unit: encoded vectors are cached."""
        return [f"{self.collection} · {formats.listed(self.encoders)}"]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Start the session, and queue its second judge."""
        service.begin(workspace, self.plan, self.named, reporter, self.session)
        if self.second:
            second.ask(workspace, self.session)


def is_begun(workspace: Workspace, session: str) -> bool:
    """Whether the session exists."""
    return any(row["id"] == session for row in workspace.store.judgements.list())


def followed(workspace: Workspace, session: str) -> RunRow | None:
    """The run that a session waits for, or that failed.

    It starts the session, or lets its second judge mark.
    """
    begun = is_begun(workspace, session)
    kind = second.SecondJudgeJob.kind if begun else JudgeJob.kind
    runs = workspace.store.runs.list((*LIVE, "failed"), kinds=[kind])
    run = next((run for run in runs if run["spec"]["session"] == session), None)
    if begun and run and run["state"] not in LIVE and not second.left(opened(workspace, session)):
        return None  # another run has marked the rest since
    return run
