"""An evaluation: what can be evaluated, which results are stored, and its run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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


def possible(workspace: Workspace, job: EvaluateJob) -> EvaluateJob:
    """The same without the tasks that the protocol does not say how to score."""
    left_out = suites.uncovered(workspace, job.tasks, job.protocol or "")
    return replace(job, tasks=tuple(task for task in job.tasks if task not in left_out))


def ready(workspace: Workspace, job: EvaluateJob) -> EvaluateJob:
    """What can be measured of it.

    Raises:
        UserError: no encoder, no task, or none that the protocol covers.
    """
    if not job.encoders:
        raise UserError("No encoder chosen.", "Choose at least one.")
    if not job.tasks:
        raise UserError("No task chosen.", "Choose a suite or single tasks.")
    made = possible(workspace, job)
    if not made.tasks:
        raise UserError("The protocol covers none of these tasks.", "Choose another protocol.")
    return made


def warnings(specs: Sequence[str]) -> list[str]:
    """What a person should read before a run: settings that the files of a model deny."""
    from engine.encoders import warnings_of

    return [f"{spec}: {warning}" for spec in specs for warning in warnings_of(spec)]


def rows(workspace: Workspace, job: EvaluateJob) -> list[Mapping[str, Any]]:
    """What the store has of these encoders and tasks under the job's protocols, any seed."""
    found = workspace.store.results.table(encoders=job.encoders, tasks=job.tasks)
    names = {task: job.protocol_of(task, workspace.catalog).name for task in job.tasks}
    return [row for row in found if row["protocol"] == names[row["task"]]]


def start(workspace: Workspace, job: EvaluateJob) -> str:
    """Queue what can be measured of it; return the run's id.

    Raises:
        UserError: for visitors, or when there is nothing to do.
    """
    made = ready(workspace, job)
    return queue_evaluation(
        workspace, made.encoders, made.tasks, made.protocol, made.seed, seeds=made.seeds
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
    questions, reported = job.questions(), 0

    def measured_before(end: int) -> list[Row]:
        """What a run that was broken off had done already."""
        return [
            measured(workspace, encoder, task, job.protocol, seed)
            for encoder, task, seed in questions[reported:end]
        ]

    for _, position, happening in perform(workspace, job, move=move):
        if isinstance(happening, dict):
            yield from measured_before(position)
            reported = position + 1
            yield happening
    yield from measured_before(len(questions))


def asked_of(workspace: Workspace, run: str) -> EvaluateJob | None:
    """What an evaluation was asked to do; None for a run of another kind."""
    job = job_of(workspace.store.runs.get(run))
    return job if isinstance(job, EvaluateJob) else None


def whole_number(value: Any) -> int | None:
    """A whole number that somebody wrote, not below zero; None for anything else."""
    text = "" if value is None else str(value)
    return int(float(text)) if text.replace(".", "", 1).isdecimal() else None


def seeds_within(value: Any) -> int:
    """How many seeds, as near as can be to what was written."""
    return min(max(whole_number(value) or 1, 1), MOST_SEEDS)


def command(job: EvaluateJob, *, listed: bool = True) -> str:
    """`theodolite evaluate …`, to be pasted into a terminal; what is usual is left out."""
    words = ["theodolite", "evaluate", *job.encoders, "--tasks", ",".join(job.tasks)]
    if job.protocol:
        words += ["--protocol", job.protocol]
    if job.seed is not None:
        words += ["--seed", str(job.seed)]
    if job.seeds > 1:
        words += ["--seeds", str(job.seeds)]
    if not listed:
        words.append("--unlisted")
    return shlex.join(words)
