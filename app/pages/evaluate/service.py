"""An evaluation before it is started: encoders on tasks, what the store has of it, and its run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from app.jobs.kinds import job_of
from app.jobs.submit import perform
from app.pages.encoders.service import ensure_listed
from app.pages.evaluate import suites
from app.pages.evaluate.job import EvaluateJob, queue_evaluation
from app.pages.evaluate.results import Row, measured
from engine.errors import UserError
from engine.protocols import MOST_SEEDS

if TYPE_CHECKING:
    from app.jobs.submit import Move
    from app.workspace import Workspace
    from engine.protocols.protocol import Protocol

Key = tuple[str, str, int]
"""Encoder, task, seed."""


@dataclass(frozen=True)
class Plan:
    """Encoders on tasks.

    Attributes:
        encoders: specs.
        tasks: names.
        seed: the first one; None is each protocol's own.
        protocol: for all tasks; empty is each task's own.
        seeds: how many in a row; what draws nothing is measured once.
    """

    encoders: tuple[str, ...]
    tasks: tuple[str, ...]
    seed: int | None = None
    protocol: str = ""
    seeds: int = 1

    @property
    def command(self) -> str:
        """The same on the command line."""
        return command(self.encoders, self.tasks, self.protocol, self.seed, self.seeds)

    def possible(self, workspace: Workspace) -> Plan:
        """The same without the tasks that the protocol does not say how to score."""
        left_out = suites.uncovered(workspace, self.tasks, self.protocol)
        return self.on([task for task in self.tasks if task not in left_out])

    def on(self, tasks: Sequence[str]) -> Plan:
        """The same on other tasks."""
        return replace(self, tasks=tuple(tasks))

    def keys(self) -> list[Key]:
        """Every result that is asked for, task by task."""
        from engine.tasks import seeds_of

        return [
            (name, task, self._own(task).seed if seed is None else seed)
            for task in self.tasks
            for name in self.encoders
            for seed in seeds_of(task, self.protocol or None, self.seed, self.seeds)
        ]

    def _own(self, task: str) -> Protocol:
        """The protocol that a task is measured under."""
        from engine import protocols
        from engine.tasks import named

        return protocols.get(self.protocol or named(task).protocol)

    def rows(self, workspace: Workspace) -> list[Mapping[str, Any]]:
        """What the store has of these encoders and tasks under the plan's protocols, any seed."""
        found = workspace.store.results.table(encoders=self.encoders, tasks=self.tasks)
        names = {task: self._own(task).name for task in self.tasks}
        return [row for row in found if row["protocol"] == names[row["task"]]]

    def protocols(self) -> dict[str, list[str]]:
        """Protocol -> the tasks measured under it."""
        used: dict[str, list[str]] = {}
        for task in self.tasks:
            used.setdefault(self._own(task).name, []).append(task)
        return used

    def ready(self, workspace: Workspace) -> Plan:
        """What can be measured of it.

        Raises:
            UserError: no encoder, no task, or none that the protocol covers.
        """
        if not self.encoders:
            raise UserError("No encoder was chosen.", "Choose at least one.")
        if not self.tasks:
            raise UserError("No task was chosen.", "Choose a suite, or tick single tasks.")
        made = self.possible(workspace)
        if not made.tasks:
            raise UserError("The protocol covers none of these tasks.", "Choose another protocol.")
        return made


def start(workspace: Workspace, asked: Plan) -> str:
    """Queue what can be measured of a plan; return the run's id.

    Raises:
        UserError: for visitors, or when there is nothing to do.
    """
    made = asked.ready(workspace)
    return queue_evaluation(
        workspace, made.encoders, made.tasks, made.protocol or None, made.seed, seeds=made.seeds
    )


def evaluate(
    workspace: Workspace, job: EvaluateJob, move: Move | None = None, *, listed: bool = True
) -> Iterator[Row]:
    """The results in order, each as soon as it is there; without a run when all of them are.

    Args:
        workspace: which keeps them.
        job: what is asked.
        move: told how far the whole is, for a bar.
        listed: False to leave the encoders out of the list that the pages offer.

    Raises:
        UserError: for visitors. What goes wrong with a task is in its row.
        StoreError: it was cancelled from elsewhere.
    """
    if listed:
        ensure_listed(workspace, job.encoders)
    stored = job.stored(workspace)
    if stored is not None:
        yield from stored
        return
    questions, told = job.questions(), 0

    def measured_before(end: int) -> list[Row]:
        """What a run that was broken off had done already."""
        return [
            measured(workspace, encoder, task, job.protocol, seed)
            for encoder, task, seed in questions[told:end]
        ]

    for _, position, happening in perform(workspace, job, move=move):
        if isinstance(happening, dict):
            yield from measured_before(position)
            told = position + 1
            yield happening
    yield from measured_before(len(questions))


def plan_of(workspace: Workspace, run: str) -> Plan | None:
    """What an evaluation was asked to do; None for a run of another kind."""
    job = job_of(workspace.store.runs.get(run))
    if not isinstance(job, EvaluateJob):
        return None
    return Plan(job.encoders, job.tasks, job.seed, job.protocol or "", job.seeds)


def whole_number(value: Any) -> int | None:
    """A whole number that somebody wrote, not below zero; None for anything else."""
    text = "" if value is None else str(value)
    return int(float(text)) if text.replace(".", "", 1).isdecimal() else None


def seeds_within(value: Any) -> int:
    """How many seeds, as near as can be to what was written."""
    return min(max(whole_number(value) or 1, 1), MOST_SEEDS)


def command(
    encoders: Sequence[str],
    tasks: Sequence[str],
    protocol: str | None = None,
    seed: int | None = None,
    seeds: int = 1,
    *,
    listed: bool = True,
) -> str:
    """`theodolite evaluate …`, to be pasted into a terminal; what is usual is left out."""
    words = ["theodolite", "evaluate", *encoders, "--tasks", ",".join(tasks)]
    if protocol:
        words += ["--protocol", protocol]
    if seed is not None:
        words += ["--seed", str(seed)]
    if seeds > 1:
        words += ["--seeds", str(seeds)]
    if not listed:
        words.append("--unlisted")
    return shlex.join(words)
