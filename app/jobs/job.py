"""A job: one piece of background work, its specification and how it is executed.

A kind of job is a frozen dataclass beside the service that it belongs to, and a line in `JOBS` of
its page's `__init__.py`. Workers and terminals execute it in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from theodolite.app.fleet.needs import Resources
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import Catalog
from theodolite.engine.errors import UserError
from theodolite.store import Store

Spec = Mapping[str, Any]


class LeftOut(UserError):
    """A unit was not begun because its run was asked to stop, which is no failure."""


@dataclass(frozen=True)
class Job:
    """A request, in the fields of a subclass. Equal jobs are the same work, and one run.

    Attributes:
        kind: the name of the kind, as `JOBS` of its page has it.
        version: of its specs; increment it when the same fields come to mean something else.
        priority: default for its runs; lower runs earlier.
        interactive: a person waits for it on a page, so it does not wait behind evaluations and
            trainings: it has a queue and a process of its own.
        pauses: while an interactive run of the same worker is at its beginning.
        continue_on_crash: a unit that keeps crashing its process fails alone, and the rest is done.
        continue_on_failure: a terminal goes on when a unit fails, as a worker always does: no unit
            needs those before it.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    priority: ClassVar[int] = 0
    interactive: ClassVar[bool] = False
    pauses: ClassVar[bool] = False
    continue_on_crash: ClassVar[bool] = False
    continue_on_failure: ClassVar[bool] = False

    @property
    def title(self) -> str:
        """The job's name for people."""
        return self.kind

    def units(self) -> list[str]:
        """Labels of the units for people, in the order they are done; by default, there is one.

        A unit may be lost and done again: it must leave the same data in the store however often it
        is begun. Work that is long keeps its progress in caches or checkpoints.
        """
        return [self.title]

    def work(
        self, workspace: Workspace, position: int, reporter: Reporter
    ) -> Iterable[object] | None:
        """Execute the unit at a position.

        Yields:
            Events and rows of results, for a terminal that executes it; None or nothing where all
            of it is in the store.
        """
        raise NotImplementedError

    def part(self, position: int) -> Job | None:
        """The unit at a position as a job of its own; None where it cannot stand by itself."""
        return None

    def resources(self, catalog: Catalog) -> Resources:
        """What it reads and writes, for a job whose parts other machines can do."""
        raise NotImplementedError

    def makes(self) -> Sequence[str]:
        """Folders that it makes, for which runs wait that were queued later and name them."""
        return ()

    def validate(self, workspace: Workspace) -> None:
        """Raise a UserError if the job cannot be done; called before anything is begun."""

    def notices(self, workspace: Workspace) -> Iterable[str]:
        """What to know before it is begun, such as the texts that it would send to a server."""
        return ()

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the answer is in the store, so that there is nothing to do."""
        return False

    def is_short(self, workspace: Workspace) -> bool:
        """Whether it takes a minute at most, so that an agent may have it done."""
        return False

    def event_result(self, kind: str, data: Mapping[str, Any]) -> object:
        """The object that `work` yielded when it reported an event; None for other events."""
        return None

    def weights(self, store: Store) -> list[float] | None:
        """Relative lengths of the units; None for equal ones."""
        return None

    def ending(self, store: Store, run_id: str) -> str:
        """Message for the end of a run; empty for the number of units that failed."""
        return ""

    def to_spec(self) -> dict[str, Any]:
        """Every field and the version, JSON-able."""
        return {**asdict(self), "version": self.version}

    @classmethod
    def from_spec(cls, spec: Spec) -> Self:
        """The job of a spec of the current version; missing fields have their defaults."""
        values = {field.name: spec[field.name] for field in fields(cls) if field.name in spec}
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
