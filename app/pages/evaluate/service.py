"""Evaluations: what a protocol covers, stored results, runs, and repair of lost values."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from theodolite.app import beforehand
from theodolite.app.jobs.submit import Move, perform
from theodolite.app.pages.encoders.service import ensure_listed
from theodolite.app.pages.evaluate import suites
from theodolite.app.pages.evaluate.job import EvaluateJob, queue_evaluation
from theodolite.app.pages.evaluate.results import Row, evaluated
from theodolite.app.workspace import Workspace
from theodolite.engine import tasks as registry
from theodolite.engine.errors import UserError
from theodolite.engine.protocols.vec2sent import VEC2SENT as DIAGNOSIS


def covered(workspace: Workspace, job: EvaluateJob) -> EvaluateJob:
    """The job without the tasks that its protocol does not score."""
    left_out = suites.uncovered(workspace, job.tasks, job.protocol or "")
    return replace(job, tasks=tuple(task for task in job.tasks if task not in left_out))


def ready(workspace: Workspace, job: EvaluateJob) -> EvaluateJob:
    """The job that a page asks for, if it has an encoder and a task that the protocol scores."""
    if not job.tasks:
        raise UserError("No task chosen.", "Choose a suite or single tasks.", code="missing")
    known = covered(workspace, job)
    if not known.tasks:
        raise UserError(
            "The protocol covers none of these tasks.",
            "Choose another protocol.",
            code="unsupported",
        )
    return known.resolve(workspace)


def warnings(
    workspace: Workspace,
    specs: Sequence[str],
    tasks: Iterable[str] = (),
    most_bytes: float = math.inf,
) -> list[str]:
    """Warnings to show before a run.

    Args:
        workspace: holds the data.
        specs: of the encoders.
        tasks: names of tasks, whose texts may be longer than a model takes.
        most_bytes: of their data, the first to be read.

    Returns:
        Settings that contradict a model's files, and texts that it will cut.
    """
    names = dict.fromkeys(registry.get(task, workspace.catalog).dataset for task in tasks)
    return [
        f"{spec}: {warning}"
        for spec in specs
        for warning in beforehand.of(workspace, spec, names, most_bytes)
    ]


def rows(workspace: Workspace, job: EvaluateJob) -> list[Mapping[str, Any]]:
    """Stored results of these encoders and tasks under the job's protocols, with any seed."""
    found = workspace.store.results.table(encoders=job.encoders, tasks=job.tasks)
    names = {task: job.protocol_of(task, workspace.catalog).name for task in job.tasks}
    return [row for row in found if row["protocol"] == names[row["task"]]]


def evaluate(
    workspace: Workspace, job: EvaluateJob, move: Move | None = None, *, listed: bool = True
) -> Iterator[Row]:
    """Yield the results in order, each as soon as it is stored; starts no run if all are."""
    if listed:
        ensure_listed(workspace, job.encoders)
    stored = job.stored(workspace)
    if stored is not None:
        yield from stored
        return
    questions, reported = job.questions(), 0

    def evaluated_before(end: int) -> list[Row]:
        """Results that an interrupted run had already computed."""
        return [
            evaluated(workspace, encoder, task, job.protocol, seed)
            for encoder, task, seed in questions[reported:end]
        ]

    for _, position, happening in perform(workspace, job, move=move):
        if isinstance(happening, dict):
            yield from evaluated_before(position)
            reported = position + 1
            yield happening
    yield from evaluated_before(len(questions))


def command(job: EvaluateJob, *, listed: bool = True) -> str:
    """The command `theodolite evaluate …` of a job, to paste into a terminal, without defaults."""
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


@dataclass(frozen=True)
class Repair:
    """The repair of results whose per-example values cannot be read.

    Attributes:
        runs: ids of the runs that compute them again.
        left: sentences on those that cannot be repaired.
    """

    runs: tuple[str, ...]
    left: tuple[str, ...]


def repair(workspace: Workspace) -> Repair:
    """Queue every current result again whose per-example values cannot be read.

    A diagnosis is queued with the settings of its run, or, if the run was removed, by the name of
    its text.

    Its scores are kept until the new result is stored; superseded results are left alone.
    """
    from theodolite.app.pages.diagnose import service as diagnosing

    workspace.refuse_visitors()
    results = workspace.store.results
    lost: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in results.table():
        if row["error"] is None and not results.is_readable(row):
            alone = row["task"] if row["protocol"] == DIAGNOSIS.name else None
            lost.setdefault((row["encoder"], row["protocol"], row["seed"], alone), []).append(row)
    runs: list[str] = []
    left: list[str] = []
    for (encoder, protocol, seed, alone), found in lost.items():
        tasks = [row["task"] for row in found]
        try:
            if alone is None:
                run = queue_evaluation(workspace, [encoder], tasks, protocol, seed, listed=False)
            else:
                run = diagnosing.queue_again(workspace, found[0])
        except UserError as error:  # a decoder or a data set that no longer exists
            left.append(f"{encoder} on {', '.join(tasks)} cannot be queued: {error}")
        else:
            runs.append(run)
    return Repair(tuple(runs), tuple(left))
