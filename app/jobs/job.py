"""A job: one piece of background work, its specification and how it is executed.

A kind of job is a frozen dataclass beside the service that it belongs to, and a line in `JOBS` of
its page's `__init__.py`. What a worker does of it and what a terminal does is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from engine.errors import UserError

if TYPE_CHECKING:
    from app.fleet.needs import Needs
    from app.jobs.reporter import Reporter
    from app.workspace import Workspace
    from engine.datasets import Catalog
    from store import Store

Spec = Mapping[str, Any]
Upgrades = Mapping[int, Callable[[Spec], Spec]]
"""A version -> what makes a spec of the next version of one of this."""


class LeftOut(UserError):
    """A unit is not begun, because its run was asked to stop before: that is no failure."""


@dataclass(frozen=True)
class Job:
    """What is asked: the fields of a subclass. Equal jobs are the same work, and one run.

    Attributes:
        kind: the name of the kind, as `JOBS` of its page has it.
        version: of the specs that are written now. Raise it with every change of the fields, and
            add to `upgrades` what makes a spec of this version of one of the last.
        upgrades: how specs of earlier versions are read.
        priority: of runs that are given none; lower runs earlier.
        interactive: a person waits for it on a page, so it does not wait behind evaluations and
            trainings: it has a queue and a process of its own.
        continue_on_crash: a unit over which one process after the other crashes fails alone, and
            the rest is done.
        continue_on_failure: a terminal goes on when a unit fails, as a worker always does: no unit
            needs those before it.
        transient: what a part leaves is large and soon made again, so a worker of a fleet keeps
            none of it once it is on its way home.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    upgrades: ClassVar[Upgrades] = {}
    priority: ClassVar[int] = 0
    interactive: ClassVar[bool] = False
    continue_on_crash: ClassVar[bool] = False
    continue_on_failure: ClassVar[bool] = False
    transient: ClassVar[bool] = False

    @property
    def title(self) -> str:
        """For people."""
        return self.kind

    def units(self) -> list[str]:
        """A label for people for each unit, in the order they are done.

        A unit is what may be lost and done again: it must leave the same in the store however often
        it is begun.
        """
        raise NotImplementedError

    def work(
        self, workspace: Workspace, position: int, reporter: Reporter
    ) -> Iterable[object] | None:
        """Do the unit at a position.

        Yields:
            What happens meanwhile and what comes of it, for a terminal that does it; None or
            nothing where all of it is in the store.

        Raises:
            UserError: the unit failed, for a reason that a person can mend.
        """
        raise NotImplementedError

    def part(self, position: int) -> Job | None:
        """The unit at a position as a job of its own; None where it cannot stand by itself."""
        return None

    def stays(self, catalog: Catalog) -> str:
        """Why its parts cannot be done by other machines, in words; empty where they can."""
        return f"Work of the kind {self.kind} cannot be sent to a fleet."

    def needs(self, catalog: Catalog, position: int) -> Needs:
        """What another machine needs to do the unit at a position, of a job that does not stay.

        Raises:
            UserError: it cannot be done here either.
        """
        raise NotImplementedError

    def files(self) -> list[str]:
        """Files and folders of this machine that a part reads, as its spec names them.

        Raises:
            UserError: the spec cannot be read.
        """
        return []

    def leaves(self) -> str:
        """The folder, or the address, that a part leaves; empty where it leaves results alone."""
        return ""

    def moved(self, places: Mapping[str, str]) -> Self:
        """The same part with other paths in place of those of `files` and `leaves`."""
        return self

    def as_of_home(self, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """An event of a part that was done under other paths, with the paths of this part."""
        return dict(data)

    def settle(self, folder: Path) -> None:
        """Have what a part left in a folder, done under other paths, say what this part asked."""

    def arrived(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """List what a part left that was done elsewhere, given its event `finished`."""

    def made(self, happened: object) -> list[int]:
        """Ids of the results that what `work` yielded tells of: they are what a part comes to."""
        return []

    def validate(self, workspace: Workspace) -> None:
        """Raise a UserError for what cannot be done; called before anything is begun."""

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the answer is in the store, so that there is nothing to do."""
        return False

    def happened(self, kind: str, data: Mapping[str, Any]) -> object:
        """What `work` yielded when it reported an event; None for what nobody needs to be told."""
        return None

    def weights(self, store: Store) -> list[float] | None:
        """How long each unit will take beside the others; None for all alike."""
        return None

    def ending(self, store: Store, run_id: str) -> str:
        """What to say at the end of a run; nothing for how many units failed."""
        return ""

    def to_spec(self) -> dict[str, Any]:
        """Every field and the version, JSON-able."""
        return {**asdict(self), "version": self.version}

    @classmethod
    def from_spec(cls, spec: Spec) -> Self:
        """The job of a spec of today's version; what it lacks is as usual."""
        given = {field.name: spec[field.name] for field in fields(cls) if field.name in spec}
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in given.items()})
