"""Suites of tasks as presets, and the available tasks by kind."""

from __future__ import annotations

from collections.abc import Sequence

from theodolite.app.workspace import Workspace
from theodolite.engine import protocols
from theodolite.engine.errors import UserError
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

OWN = "own"
LABELS = {
    "starter": "Starter set",
    "sts": "STS, the seven",
    "transfer": "Transfer, the seven of SimCSE's table 7",
    "senteval": "SentEval, the full list",
    "probing": "Probing, the ten",
    MTEB_HERE: "MTEB's types, all data here",
    "others": "Other data",
    "all": "All available",
    OWN: "My own choice",
}
GROUPS = {
    "starter": ("Starter set", "Small, written for this app and included in it."),
    "sts": ("Similarity", "The seven of SimCSE's tables."),
    "transfer": ("Transfer", "A model is trained on the vectors."),
    "probing": ("Probing", "What can be predicted from the vectors."),
    "few_shot": ("Few-shot classification", "A classifier learns from a few sentences per label."),
    "clustering": ("Clustering", "How well k-means finds the labels."),
    "pair_classification": ("Pair classification", "Which pairs have the same meaning."),
    "retrieval": ("Retrieval and reranking", "Which documents answer a query."),
    "bitext": ("Bitext mining", "Which sentences are translations of each other."),
    "summarization": ("Summarization", "Which summaries people prefer."),
    "others": ("Other data", "Your uploads, and other scored pairs here."),
}
_BY_TYPE = {
    "few-shot": "few_shot",
    "clustering": "clustering",
    "pair-classification": "pair_classification",
    "document-retrieval": "retrieval",
    "reranking": "retrieval",
    "bitext": "bitext",
    "summarization": "summarization",
}


def groups(workspace: Workspace, wanted: Sequence[str] = ()) -> dict[str, list[str]]:
    """Tasks with available data, by the names of `GROUPS`.

    Args:
        workspace: its catalog has the data.
        wanted: further valid tasks to offer, such as one on a hub file.
    """
    here = {task.name: task for task in available(workspace.catalog)}
    for name in wanted:
        if name not in here and name not in TASKS and nameable(workspace, name):
            here[name] = get(name, workspace.catalog)
    found: dict[str, list[str]] = {name: [] for name in GROUPS}
    for task in here.values():
        found[_group(task)].append(task.name)
    return {kind: in_order(names) for kind, names in found.items()}


def _group(task: Task) -> str:
    kinds = ((STARTER, "starter"), (SEVEN, "sts"), (PROBING, "probing"), (TASKS, "transfer"))
    built_in = next((kind for names, kind in kinds if task.name in names), None)
    own = task.dataset.startswith(("upload:", "hub:"))
    return built_in or ("others" if own else _BY_TYPE.get(task.type, "others"))


def nameable(workspace: Workspace, task: str) -> bool:
    """Whether a name, as from an address, is a valid task."""
    try:
        get(task, workspace.catalog)
    except UserError:
        return False
    return True


def members(suite: str, here: dict[str, list[str]]) -> list[str]:
    """All tasks of a suite, including those without data; empty for `own`."""
    if suite == "others":
        return here["others"]
    if suite == MTEB_HERE:
        return [task for kind in dict.fromkeys(_BY_TYPE.values()) for task in here[kind]]
    if suite == "all":
        return [task for names in here.values() for task in names]
    return list(SUITES.get(suite, ()))


def matching(
    here: dict[str, list[str]], ticked: Sequence[str], protocol: str, chosen: str = OWN
) -> str:
    """The suite that matches the ticked tasks, preferably the one chosen before; else `own`.

    SentEval's suite matches only under one of SentEval's protocols.
    """
    present = {task for names in here.values() for task in names}
    for suite in (chosen, *LABELS):
        if suite == "senteval" and not protocol.startswith("senteval"):
            continue
        wanted = {task for task in members(suite, here) if task in present}
        if wanted and wanted == set(ticked):
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
