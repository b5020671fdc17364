"""The job *evaluate*: encoders on tasks, one unit for each combination and seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar

from app.fleet import parcels
from app.jobs.job import Job, Spec, Upgrades
from app.jobs.submit import queue
from app.pages.encoders.service import ensure_listed
from app.pages.evaluate import travel
from app.pages.evaluate.results import known, measured
from engine.errors import UserError

if TYPE_CHECKING:
    from app.fleet.needs import Needs
    from app.jobs.reporter import Reporter
    from app.workspace import Workspace
    from engine.datasets import Catalog
    from engine.protocols.protocol import Protocol
    from store import Store

Key = tuple[str, str, int]
"""Encoder, task, seed."""
FIRST_LOOKS = {
    "First look: the starter set": ("StarterSTS", "StarterTopics", "StarterSearch"),
    "First look: STS-B and SICK": ("STSBenchmark", "SICKRelatedness"),
}
"""The small tasks of every encoder come before the large ones of the first."""

_READ_SECONDS = 0.05
"""For a result that is there already."""


def _with_one_seed(spec: Spec) -> Spec:
    return {**spec, "seeds": 1}


@dataclass(frozen=True)
class EvaluateJob(Job):
    """An evaluation.

    Attributes:
        encoders: canonical specs.
        tasks: by name.
        protocol: for all tasks; None is each task's own.
        seed: the first; None is the protocol's own.
        seeds: how many in a row; a task that draws nothing is measured once all the same.
    """

    kind = "evaluate"
    version = 2
    upgrades: ClassVar[Upgrades] = {1: _with_one_seed}
    continue_on_failure = True

    encoders: tuple[str, ...]
    tasks: tuple[str, ...]
    protocol: str | None = None
    seed: int | None = None
    seeds: int = 1

    @classmethod
    def of(
        cls,
        workspace: Workspace,
        encoders: Sequence[str],
        tasks: str | Sequence[str] | None = None,
        protocol: str | None = None,
        seed: int | None = None,
        seeds: int = 1,
    ) -> EvaluateJob:
        """Check what is asked; tasks may be names and suites, as for `engine.tasks.expand`.

        Raises:
            UserError: a spec, task, protocol or seed that cannot be used.
        """
        from engine import encoders as engine_encoders
        from engine import protocols
        from engine.tasks import expand

        names = dict.fromkeys(str(engine_encoders.parse(encoder)) for encoder in encoders)
        if not names:
            raise UserError("No encoder chosen.", "Choose at least one.")
        if protocol is not None:
            protocols.get(protocol)
        protocols.check_seed(seed, seeds)
        found = expand(tasks, workspace.catalog, protocol)
        return cls(tuple(names), tuple(found), protocol, seed, seeds)

    @property
    def title(self) -> str:
        """`3 encoders on MR, TREC under senteval, 5 seeds`."""
        who = f"{len(self.encoders)} encoders" if len(self.encoders) > 1 else self.encoders[0]
        what = ", ".join(self.tasks) if len(self.tasks) < 4 else f"{len(self.tasks)} tasks"
        how = f" under {self.protocol}" if self.protocol else ""
        return f"{who} on {what}{how}" + (f", {self.seeds} seeds" if self.seeds > 1 else "")

    def questions(self) -> list[tuple[str, str, int | None]]:
        """(encoder, task, seed) of each unit."""
        from engine.tasks import seeds_of

        return [
            (encoder, task, seed)
            for encoder in self.encoders
            for task in self.tasks
            for seed in seeds_of(task, self.protocol, self.seed, self.seeds)
        ]

    def keys(self, catalog: Catalog | None = None) -> list[Key]:
        """The same, with the seed that counts where none is named."""
        return [
            (encoder, task, self.protocol_of(task, catalog).seed if seed is None else seed)
            for encoder, task, seed in self.questions()
        ]

    def protocol_of(self, task: str, catalog: Catalog | None = None) -> Protocol:
        """The protocol that a task is measured under.

        Args:
            task: its name.
            catalog: which knows the shape of its data; without one the name has to say it.
        """
        from engine import protocols
        from engine.tasks import get, named

        if self.protocol:
            return protocols.get(self.protocol)
        try:
            return protocols.get(get(task, catalog).protocol)
        except UserError:  # its data is not known here
            return protocols.get(named(task).protocol)

    def units(self) -> list[str]:
        """`MR · minilm · seed 1111`."""
        several = self.seeds > 1
        return [
            f"{task} · {encoder}" + (f" · seed {seed}" if several and seed is not None else "")
            for encoder, task, seed in self.questions()
        ]

    def part(self, position: int) -> EvaluateJob | None:
        """One encoder on one task, with its seed."""
        if not 0 <= position < len(self.questions()):
            return None
        encoder, task, seed = self.questions()[position]
        return EvaluateJob((encoder,), (task,), self.protocol, seed)

    def work(
        self, workspace: Workspace, position: int, reporter: Reporter
    ) -> Iterator[dict[str, Any]]:
        """Measure one encoder on one task, unless it was; yields the row of the result."""
        encoder, task, seed = self.questions()[position]
        row = measured(workspace, encoder, task, self.protocol, seed, reporter)
        yield row
        if row["error"] is not None:
            raise UserError(row["error"], row["hint"] or "")

    def stays(self, catalog: Catalog) -> str:
        """Because of an encoder or data that only this machine may use."""
        return travel.stays(self.encoders, self.tasks, catalog)

    def needs(self, catalog: Catalog, position: int) -> Needs:
        """The same data, and the packages of the encoder."""
        encoder, task, _ = self.questions()[position]
        return travel.needs(encoder, task, catalog)

    def files(self) -> list[str]:
        """Those that its encoders name."""
        return [path for encoder in self.encoders for path in parcels.paths_of(encoder)]

    def moved(self, places: Mapping[str, str]) -> EvaluateJob:
        """With encoders that name others."""
        encoders = tuple(parcels.moved(encoder, places) for encoder in self.encoders)
        return replace(self, encoders=encoders)

    def made(self, happened: object) -> list[int]:
        """The result whose row was yielded."""
        return [int(happened["id"])] if isinstance(happened, dict) else []

    def weights(self, store: Store) -> list[float]:
        """Seconds that each unit will take, as far as others like it took some before.

        The same encoder counts first, then any other on the same task under the same protocol. What
        is measured already takes next to nothing; what was never measured is taken for average.
        """
        from engine.protocols import get
        from engine.tasks import defaults

        there: set[tuple[str, str, int | None]] = set()
        took: dict[tuple[str, ...], list[float]] = {}
        for row in store.results.table(tasks=self.tasks):
            own = (self.protocol,) if self.protocol else defaults(row["task"])
            if row["error"] is None and row["protocol"] in own:
                encoder, task, seed = row["encoder"], row["task"], row["seed"]
                there.add((encoder, task, seed))
                if seed == get(row["protocol"]).seed:
                    there.add((encoder, task, None))
                for key in ((task,), (encoder, task)):
                    took.setdefault(key, []).append(row["seconds"])
        weights: list[float | None] = []
        for encoder, task, one_seed in self.questions():
            past = took.get((encoder, task)) or took.get((task,))
            read = (encoder, task, one_seed) in there
            weights.append(_READ_SECONDS if read else max(median(past), 0.1) if past else None)
        measured = [w for w in weights if w is not None and w != _READ_SECONDS]
        usual = sum(measured) / len(measured) if measured else 1.0
        return [usual if weight is None else weight for weight in weights]

    def stored(self, workspace: Workspace) -> list[dict[str, Any]] | None:
        """Every result that is asked for; None when one is yet to be measured."""
        rows = []
        for encoder, task, seed in self.questions():
            try:
                row = known(workspace, workspace.load(encoder), task, self.protocol, seed)
            except UserError:  # the evaluation will say it
                return None
            if row is None:
                return None
            rows.append(row)
        return rows


def queue_evaluation(
    workspace: Workspace,
    encoders: Sequence[str],
    tasks: str | Sequence[str] | None = None,
    protocol: str | None = None,
    seed: int | None = None,
    *,
    seeds: int = 1,
    listed: bool = True,
    title: str | None = None,
    priority: int = 0,
) -> str:
    """Queue an evaluation for the worker and return the run's id.

    Args:
        workspace: which is to keep the results.
        encoders: spec strings.
        tasks: names and suites, as for `engine.tasks.expand`.
        protocol: for all tasks; None is each task's own.
        seed: the first; None is the protocol's own.
        seeds: how many in a row; a task that draws nothing is measured once all the same.
        listed: False to leave the encoders out of the list that the pages offer.
        title: for people; None for one made of the rest.
        priority: lower runs earlier; 0 is usual.

    Raises:
        UserError: for visitors, or a spec, task, protocol or seed that cannot be used.
    """
    workspace.refuse_visitors()
    job = EvaluateJob.of(workspace, encoders, tasks, protocol, seed, seeds)
    if listed:
        ensure_listed(workspace, job.encoders)
    return queue(workspace, job, title=title, priority=priority)


def welcome(workspace: Workspace) -> list[str]:
    """Queue the first runs of a new store, once, whoever looks at it; return their ids."""
    from app.workspace import STARTER_ENCODERS
    from engine import tasks

    if workspace.store.settings.get("welcomed"):
        return []
    here = {task.name for task in tasks.available(workspace.catalog)}
    runs = []
    for title, names in FIRST_LOOKS.items():
        if here.issuperset(names):
            ensure_listed(workspace, STARTER_ENCODERS[::-1])  # pages begin with the best
            # A run each, behind all others: what is asked for meanwhile waits for one encoder only.
            for encoder in STARTER_ENCODERS:
                job = EvaluateJob.of(workspace, [encoder], names)
                runs.append(
                    workspace.store.runs.create(
                        job.kind, job.to_spec(), f"{title}, {encoder}", priority=1
                    )
                )
    workspace.store.settings.set("welcomed", True)
    return runs
