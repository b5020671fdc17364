"""Suites of tasks to choose from, and the available tasks by family."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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
