"""Evaluations: suites of tasks, what protocols cover, stored results, repair of lost values."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from theodolite.app import beforehand
from theodolite.app.jobs.submit import Move, perform
from theodolite.app.pages.encoders.service import ensure_listed
from theodolite.app.pages.evaluate.job import EvaluateJob, queue_evaluation
from theodolite.app.pages.evaluate.results import Row, evaluated
from theodolite.app.workspace import Workspace
from theodolite.engine import protocols
from theodolite.engine.errors import UserError
from theodolite.engine.protocols.vec2sent import VEC2SENT as DIAGNOSIS
from theodolite.engine.tasks import (
    MTEB_HERE,
    PROBING,
    SEVEN,
    STARTER,
    SUITES,
    TASKS,
    Task,
    available,
    get,
    in_order,
)


def covered(workspace: Workspace, job: EvaluateJob) -> EvaluateJob:
    """The job without the tasks that its protocol does not score."""
    left_out = uncovered(workspace, job.tasks, job.protocol or "")
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
    names = dict.fromkeys(get(task, workspace.catalog).dataset for task in tasks)
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


OWN = "own"
LABELS = {
    "starter": "Starter set",
    "sts": "The 7 STS tasks",
    "transfer": "The 7 transfer tasks of SimCSE's table 7",
    "senteval": "SentEval, the full list",
    "probing": "The 10 probing tasks",
    MTEB_HERE: "All MTEB-type data on this machine",
    "others": "Other data",
    "all": "All available",
    OWN: "My own choice",
}
ABOUT = {
    "starter": "Small, written for this app and included in it.",
    "sts": "Spearman of the cosine and the gold score; nothing is trained.",
    "transfer": "A classifier is trained on the vectors, as in SimCSE's table of transfer tasks.",
    "senteval": "Every task of SentEval that trains a model. STS-B and SICK-R are the trained "
    "regressor here, not the cosine.",
    "probing": "What can be predicted from the vectors about the form of a sentence.",
    MTEB_HERE: "All sets in the data folder except scored pairs, each scored as MTEB scores its "
    "type, by our own code.",
    "others": "Your uploads, and all other available sets of scored pairs or for probing.",
    "all": "Every task whose data is available.",
    OWN: "Choose single tasks below.",
}
OTHERS = "Other data"
_BUILT_IN = (
    (STARTER, "Starter set"),
    (SEVEN, "Similarity"),
    (PROBING, "Probing"),
    (TASKS, "Transfer"),
)
_BY_TYPE = {
    "few-shot": "Few-shot classification",
    "clustering": "Clustering",
    "pair-classification": "Pair classification",
    "document-retrieval": "Retrieval",
    "reranking": "Reranking",
    "bitext": "Bitext mining",
    "summarization": "Summarization",
}
FAMILIES = ("Starter set", "Similarity", "Transfer", "Probing", *_BY_TYPE.values(), OTHERS)


def tasks_here(workspace: Workspace, wanted: Iterable[str] = ()) -> dict[str, str]:
    """Tasks with available data -> the family of each, family by family.

    Args:
        workspace: its catalog has the data.
        wanted: further tasks to offer, such as one on a hub file; invalid names are left out.
    """
    tasks = {task.name: task for task in available(workspace.catalog)}
    for name in wanted:
        if name not in tasks and name not in TASKS and nameable(workspace, name):
            tasks[name] = get(name, workspace.catalog)
    families = {name: _family(tasks[name]) for name in in_order(tasks)}
    return dict(sorted(families.items(), key=lambda item: FAMILIES.index(item[1])))


def _family(task: Task) -> str:
    own = task.dataset.startswith(("upload:", "hub:"))
    built_in = next((family for names, family in _BUILT_IN if task.name in names), None)
    return built_in or (OTHERS if own else _BY_TYPE.get(task.type, OTHERS))


def nameable(workspace: Workspace, task: str) -> bool:
    """Whether a name, as from an address, is a valid task."""
    try:
        get(task, workspace.catalog)
    except UserError:
        return False
    return True


def members(suite: str, here: Mapping[str, str]) -> list[str]:
    """All tasks of a suite, including those without data; empty for `own`."""
    families = {"others": {OTHERS}, MTEB_HERE: {*_BY_TYPE.values()}, "all": {*FAMILIES}}
    if suite in families:
        return [task for task, family in here.items() if family in families[suite]]
    return list(SUITES.get(suite, ()))


def matching(here: Mapping[str, str], tasks: Sequence[str], protocol: str) -> str:
    """The suite that has exactly these of the available tasks; else `own`.

    SentEval's suite matches only under one of SentEval's protocols.
    """
    for suite in LABELS:
        present = {task for task in members(suite, here) if task in here}
        if suite == "senteval" and not protocol.startswith("senteval"):
            continue
        if present and present == set(tasks):
            return suite
    return OWN


def protocol_for(workspace: Workspace, suite: str, tasks: Sequence[str], now: str) -> str:
    """The protocol for a suite: the present one if it covers the tasks, else each task's own.

    SentEval's suite scores STS-B and SICK-R with a trained regressor, which is not their own
    protocol.
    """
    if (now or suite != "senteval") and not uncovered(workspace, tasks, now):
        return now
    return "senteval" if suite == "senteval" else ""


def uncovered(workspace: Workspace, tasks: Sequence[str], protocol: str) -> list[str]:
    """Tasks that a protocol does not score; none when each task uses its own."""
    if not protocol:
        return []
    types = protocols.get(protocol).types
    return [task for task in tasks if get(task, workspace.catalog).type_under(types) is None]
