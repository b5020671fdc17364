"""The job *evaluate*: encoders on tasks, one unit for each combination and seed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Annotated, Any

from theodolite.app import beforehand
from theodolite.app.fleet.needs import Resources
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.kinds import spec_of
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.jobs.submit import Move, perform, queue
from theodolite.app.pages.encoders.service import ensure_listed, list_shipped
from theodolite.app.pages.evaluate.results import Row, evaluate_one, known
from theodolite.app.results import has_own_seed, is_under
from theodolite.app.spec import Field, Spec, words
from theodolite.app.workspace import STARTER_ENCODERS, Workspace
from theodolite.engine import protocols
from theodolite.engine.datasets import Catalog
from theodolite.engine.errors import UserError
from theodolite.engine.protocols import MAX_SEEDS
from theodolite.engine.protocols.protocol import Protocol
from theodolite.engine.protocols.vec2sent import VEC2SENT
from theodolite.engine.tasks import (
    SUITES,
    TASKS,
    available,
    by_name,
    defaults,
    expand,
    get,
    seeds_of,
)
from theodolite.store import Store
from theodolite.store.run_rows import LIVE

Key = tuple[str, str, int]
"""Encoder, task, seed."""
FIRST_LOOKS = {
    "First look: the starter set": ("StarterSTS", "StarterTopics", "StarterSearch"),
    "First look: STS-B and SICK": ("STSBenchmark", "SICKRelatedness"),
}
"""Title -> tasks of the first runs: every encoder's small tasks come before any larger ones."""

_READ_SECONDS = 0.05
"""Time of reading a stored result."""


@dataclass(frozen=True)
class EvaluateJob(Spec, Job):
    """Evaluate encoders on tasks; stored results are read, not computed again.

    On retrieval and reranking also rankers, such as bm25 or 'fuse(bm25, minilm)'.

    With --json every number is one object; `main` is true on the one a table shows. With --seeds,
    deterministic tasks are evaluated once, and the others end with one line on their spread.
    """

    kind = "evaluate"
    pauses = True
    continue_on_failure = True

    encoders: Annotated[
        Sequence[str], Field("Encoders", "Spec strings.", names="encoder", key="encoder")
    ]
    tasks: Annotated[
        Sequence[str],
        Field(
            "Tasks",
            "Comma-separated tasks or suites; default: the starter set and STS, or with --protocol "
            "all it covers.",
            key="task",
            flags=("--tasks",),
        ),
    ] = ()
    protocol: Annotated[
        str | None, Field("Protocol", "A protocol's name; default: each task's own.")
    ] = None
    seed: Annotated[int | None, Field("Seed", "Default: the protocol's own seed.", ge=0)] = None
    seeds: Annotated[
        int,
        Field(
            "Seeds",
            "Number of consecutive seeds, starting at --seed: they show how far a score varies by "
            "chance.",
            ge=1,
            le=MAX_SEEDS,
        ),
    ] = 1

    def resolve(self, workspace: Workspace) -> EvaluateJob:
        """The job with canonical encoders, and with the tasks of suites."""
        from theodolite.engine.rankers import canonical

        try:
            names = canonical(self.encoders)
        except UserError as error:
            if tasks := [name for name in self.encoders if name in TASKS or name in SUITES]:
                hint = f"Write --tasks {','.join(tasks)}, or choose it among the tasks."
                raise UserError(f"{tasks[0]} is not an encoder.", hint, code="unknown") from error
            raise
        if not names:
            raise UserError("No encoder chosen.", "Choose at least one.", code="missing")
        if self.protocol is not None:
            protocols.get(self.protocol)
        protocols.check_seed(self.seed, self.seeds)
        # A single text may name several, with commas.
        given = self.tasks[0] if len(self.tasks) == 1 else self.tasks or None
        tasks = expand(given, workspace.catalog, self.protocol)
        return replace(self, encoders=names, tasks=tuple(tasks))

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
        """The job of encoders on tasks and suites."""
        names = () if tasks is None else tasks or ""  # that of nothing is refused
        return cls(encoders, names, protocol, seed, seeds).resolve(workspace)

    def covered(self, workspace: Workspace) -> EvaluateJob:
        """The job without the tasks that its protocol does not score."""
        types = protocols.get(self.protocol).types if self.protocol else ()
        tasks = [
            task
            for task in self.tasks
            if not types or get(task, workspace.catalog).type_under(types) is not None
        ]
        return replace(self, tasks=tuple(tasks))

    @property
    def title(self) -> str:
        """`3 encoders on MR, TREC under senteval, 5 seeds`."""
        who = f"{len(self.encoders)} encoders" if len(self.encoders) > 1 else self.encoders[0]
        what = ", ".join(self.tasks) if len(self.tasks) < 4 else f"{len(self.tasks)} tasks"
        how = f" under {self.protocol}" if self.protocol else ""
        return f"{who} on {what}{how}" + (f", {self.seeds} seeds" if self.seeds > 1 else "")

    def questions(self) -> list[tuple[str, str, int | None]]:
        """(encoder, task, seed) of each unit."""
        return [
            (encoder, task, seed)
            for encoder in self.encoders
            for task in self.tasks
            for seed in seeds_of(task, self.protocol, self.seed, self.seeds)
        ]

    def keys(self, catalog: Catalog | None = None) -> list[Key]:
        """(encoder, task, seed) of each unit, with the protocol's seed in place of None."""
        return [
            (encoder, task, self.protocol_of(task, catalog).seed if seed is None else seed)
            for encoder, task, seed in self.questions()
        ]

    def protocol_of(self, task: str, catalog: Catalog | None = None) -> Protocol:
        """The protocol of a task, whose type its data set tells, or without one its name."""
        try:
            return protocols.get(self.protocol or get(task, catalog).protocol)
        except UserError:  # its data is not available
            return protocols.get(self.protocol or by_name(task).protocol)

    def warnings(self, workspace: Workspace, most_bytes: float = math.inf) -> list[str]:
        """Settings that contradict a model's files, and texts that it will cut.

        Args:
            workspace: holds the data.
            most_bytes: of the data of the tasks, the first to be read.
        """
        names = dict.fromkeys(get(task, workspace.catalog).dataset for task in self.tasks)
        return [
            f"{encoder}: {warning}"
            for encoder in self.encoders
            for warning in beforehand.of(workspace, encoder, names, most_bytes)
        ]

    def command(self, *, listed: bool = True) -> list[str]:
        """The words of the command `theodolite evaluate …`, without defaults."""
        options = words(replace(self, tasks=(",".join(self.tasks),)))
        return ["theodolite", "evaluate", *options, *([] if listed else ["--unlisted"])]

    def units(self) -> list[str]:
        """`MR · minilm · seed 1111`."""
        return [
            f"{task} · {encoder}"
            + (f" · seed {seed}" if self.seeds > 1 and seed is not None else "")
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
        """Evaluate one encoder on one task, unless stored; yield the row of the result."""
        encoder, task, seed = self.questions()[position]
        row = evaluate_one(workspace, encoder, task, self.protocol, seed, reporter)
        yield row
        if row["error"] is not None:
            raise UserError(row["error"], row["hint"] or "", code="failed")

    def resources(self, catalog: Catalog) -> Resources:
        """Its encoders, and the data of its tasks."""
        return Resources(self.encoders, [get(task, catalog).dataset for task in self.tasks])

    def weights(self, store: Store) -> list[float]:
        """Estimated seconds of each unit, from the times of earlier results.

        Times of the same encoder are preferred, then those of any other on the same task under the
        same protocol. Stored results take next to nothing; units without precedent are taken as
        average.
        """
        there: set[tuple[str, str, int | None]] = set()
        took: dict[tuple[str, ...], list[float]] = defaultdict(list)
        for row in store.results.table(tasks=self.tasks):
            if row["error"] is None and is_under(row, self.protocol):
                encoder, task, seed = row["encoder"], row["task"], row["seed"]
                there |= {(encoder, task, seed)}
                there |= {(encoder, task, None)} if has_own_seed(row) else set()
                took[task,].append(row["seconds"])
                took[encoder, task].append(row["seconds"])
        past = [took.get((e, task)) or took.get((task,)) for e, task, _ in self.questions()]
        known = [max(median(times), 0.1) if times else None for times in past]
        usual = fmean([time for time in known if time is not None] or [1.0])
        return [
            _READ_SECONDS if unit in there else usual if time is None else time
            for unit, time in zip(self.questions(), known, strict=True)
        ]

    def stored(self, workspace: Workspace) -> list[Row] | None:
        """All results of the job; None if one is missing."""
        rows = []
        try:
            for encoder, task, seed in self.questions():
                row = known(workspace, workspace.ranker(encoder), task, self.protocol, seed)
                if row is None:
                    return None
                rows.append(row)
        except UserError:  # the evaluation will report it
            return None
        return rows


def evaluate(
    workspace: Workspace, job: EvaluateJob, move: Move | None = None, *, listed: bool = True
) -> Iterator[Row]:
    """Yield the results in order, each as soon as it is stored; starts no run if all are.

    An encoder is listed once it was loaded.
    """
    for row in _results(workspace, job, move):
        if listed and row["fingerprint"]:
            ensure_listed(workspace, [row["encoder"]])
        yield row


def _results(workspace: Workspace, job: EvaluateJob, move: Move | None) -> Iterator[Row]:
    stored = job.stored(workspace)
    if stored is not None:
        yield from stored
        return
    questions, reported = job.questions(), 0

    def evaluated_before(end: int) -> list[Row]:
        """Results that an interrupted run had already computed."""
        return [
            evaluate_one(workspace, encoder, task, job.protocol, seed)
            for encoder, task, seed in questions[reported:end]
        ]

    for _, position, happening in perform(workspace, job, move=move):
        if isinstance(happening, dict):
            yield from evaluated_before(position)
            reported = position + 1
            yield happening
    yield from evaluated_before(len(questions))


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
) -> str:
    """As `start`, of encoders on tasks and suites."""
    job = EvaluateJob.of(workspace, encoders, tasks, protocol, seed, seeds)
    return start(workspace, job, listed=listed, title=title)


def start(
    workspace: Workspace,
    job: EvaluateJob,
    *,
    listed: bool = True,
    title: str | None = None,
    priority: int = 0,
) -> str:
    """Queue an evaluation for the worker and return the run's id.

    Args:
        workspace: its store keeps the results.
        job: as `resolve` returns it.
        listed: False to leave the encoders out of the list on the pages.
        title: title of the run; None for the job's own.
        priority: lower runs earlier; the default is 0.
    """
    workspace.refuse_visitors()
    if listed:
        ensure_listed(workspace, job.encoders)
    return queue(workspace, job, title=title, priority=priority)


def waiting(workspace: Workspace) -> frozenset[tuple[str, str]]:
    """(encoder, task) of the results that queued or running evaluations will produce."""
    specs = map(spec_of, workspace.store.runs.list(LIVE, kinds=["evaluate"]))
    return frozenset(
        (encoder, task)
        for spec in specs
        for encoder in spec["encoders"]
        for task in spec["tasks"]
        if spec["protocol"] in (None, *defaults(task))
    )


def welcome(workspace: Workspace) -> list[str]:
    """Queue the first runs of a new store, once per store; return their ids."""
    if workspace.store.settings.get("welcomed"):
        return []
    here = {task.name for task in available(workspace.catalog)}
    runs = []
    for title, names in FIRST_LOOKS.items():
        if here.issuperset(names):
            list_shipped(workspace)
            # A run per encoder, after all others: a new run then waits for one encoder only.
            for encoder in STARTER_ENCODERS:
                job = EvaluateJob.of(workspace, [encoder], names)
                run = f"{title}, {encoder}"
                runs.append(workspace.store.runs.create(job.kind, job.to_spec(), run, priority=1))
    workspace.store.settings.set("welcomed", True)
    return runs


def repair(workspace: Workspace) -> tuple[list[str], list[str]]:
    """Queue every current result again whose per-example values cannot be read.

    A diagnosis is queued with the settings of its run, or, if the run was removed, by the name of
    its text. Scores are kept until the new result is stored; superseded results are left alone.

    Returns:
        Ids of the runs, and sentences on the results that cannot be repaired.
    """
    from theodolite.app.pages.diagnose import service as diagnosing

    workspace.refuse_visitors()
    results = workspace.store.results
    lost: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in results.table():
        if row["error"] is None and not results.is_readable(row):
            alone = row["task"] if row["protocol"] == VEC2SENT.name else None
            lost[row["encoder"], row["protocol"], row["seed"], alone].append(row)
    runs: list[str] = []
    left: list[str] = []
    for (encoder, protocol, seed, alone), rows in lost.items():
        tasks = [row["task"] for row in rows]
        try:
            if alone is not None:
                runs.append(diagnosing.queue_again(workspace, rows[0]))
            else:
                arguments = workspace, [encoder], tasks, protocol, seed
                runs.append(queue_evaluation(*arguments, listed=False))
        except UserError as error:  # a decoder or a data set that no longer exists
            left.append(f"{encoder} on {', '.join(tasks)} cannot be queued: {error}")
    return runs, left
