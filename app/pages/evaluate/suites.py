"""Suites of tasks as people choose them, and the available tasks by kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.errors import UserError
from engine.tasks import in_order

if TYPE_CHECKING:
    from app.workspace import Workspace

OWN = "own"
LABELS = {
    "starter": "Starter set",
    "sts": "STS, the seven",
    "transfer": "Transfer, the seven of SimCSE's table 7",
    "senteval": "SentEval, the full list",
    "probing": "Probing, the ten",
    "others": "Other data",
    "all": "All available",
    OWN: "My own choice",
}
GROUPS = {
    "starter": ("Starter set", "Written by us, small, ships with the app."),
    "sts": ("Similarity", "The seven of SimCSE's tables."),
    "transfer": ("Transfer", "Something is trained on the vectors."),
    "probing": ("Probing", "What can be read off the vectors."),
    "others": ("Other data", "Your uploads, and other scored pairs here."),
}


def groups(workspace: Workspace, wanted: Sequence[str] = ()) -> dict[str, list[str]]:
    """Tasks whose data is here, by the names of `GROUPS`.

    Args:
        workspace: whose catalog is asked.
        wanted: tasks to offer beside them when they can be named, such as one on a hub file.
    """
    from engine.tasks import PROBING, SEVEN, STARTER, TASKS, available

    here = [task.name for task in available(workspace.catalog)]
    here += [t for t in wanted if t not in here and t not in TASKS and nameable(workspace, t)]
    found: dict[str, list[str]] = {name: [] for name in GROUPS}
    kinds = ((STARTER, "starter"), (SEVEN, "sts"), (PROBING, "probing"), (TASKS, "transfer"))
    for name in here:
        found[next((kind for names, kind in kinds if name in names), "others")].append(name)
    return {kind: in_order(names) for kind, names in found.items()}


def nameable(workspace: Workspace, task: str) -> bool:
    """Whether a name from an address is a task at all."""
    from engine.tasks import get

    try:
        get(task, workspace.catalog)
    except UserError:
        return False
    return True


def members(suite: str, here: dict[str, list[str]]) -> list[str]:
    """All tasks of a suite, those without data included; `own` has none."""
    from engine.tasks import SUITES

    if suite == "others":
        return here["others"]
    if suite == "all":
        return [task for names in here.values() for task in names]
    return list(SUITES.get(suite, ()))


def matching(
    here: dict[str, list[str]], ticked: Sequence[str], protocol: str, chosen: str = OWN
) -> str:
    """The suite that is ticked, the one chosen before if it still is; else `own`.

    SentEval's list is that under one of SentEval's protocols only.
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
    """The protocol to go on with: the present one where it fits, else each task's own.

    In SentEval's list STS-B and SICK-R are a trained regressor, which is not their own protocol.
    """
    if (now or suite != "senteval") and not uncovered(workspace, tasks, now):
        return now
    return "senteval" if suite == "senteval" else ""


def uncovered(workspace: Workspace, tasks: Sequence[str], protocol: str) -> list[str]:
    """Tasks that a protocol does not say how to score; none when each has its own."""
    from engine import protocols
    from engine.tasks import get

    if not protocol:
        return []
    types = protocols.get(protocol).types
    return [task for task in tasks if get(task, workspace.catalog).type_under(types) is None]
