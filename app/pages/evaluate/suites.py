"""Suites of tasks as people choose them, and the tasks at hand by kind. For the page Evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from app.web import parts
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
    "all": "Everything at hand",
    OWN: "My own choice",
}
_ABOUT = {
    "starter": "Written by us, small, ships with the app.",
    "sts": "Spearman of the cosine and the gold score; nothing is trained.",
    "transfer": "A classifier is trained on the vectors, as in SimCSE's table of transfer tasks.",
    "senteval": "Every task of SentEval that trains something. STS-B and SICK-R are the trained "
    "regressor here, not the cosine.",
    "probing": "What can be read off the vectors about the form of a sentence.",
    "others": "Your uploads, and every other set here that holds scored pairs or a probing task.",
    "all": "Every task whose data is here.",
    OWN: "Tick single tasks below.",
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


def shown(suite: str, here: dict[str, list[str]], ticked: Sequence[str]) -> str:
    """What a suite is, and its members: those without files greyed, and where files belong."""
    present = {task for names in here.values() for task in names}
    names = members(suite, here) or list(ticked)
    chips = "".join(
        f"<li>{escape(name)}</li>"
        if name in present
        else f'<li class="t-absent">{escape(name)} <small>no files</small></li>'
        for name in names
    )
    lacking = [name for name in names if name not in present]
    where = ""
    if lacking:
        where = (
            '<p class="t-small t-muted">What has no files here belongs in the data folder that '
            "--data or THEODOLITE_DATA names, in SentEval's layout"
            + (
                "; COCO comes with <code>theodolite data import-coco</code>"
                if "ImageCaptionRetrieval" in lacking
                else ""
            )
            + ".</p>"
        )
    if not names and suite == "others":
        where = parts.say("No other data is here yet. Data has a form for files of your own.")
    about = f'<p class="t-muted">{escape(_ABOUT[suite])}</p>'
    listed = f'<ul class="t-members" aria-label="Tasks chosen">{chips}</ul>' if chips else ""
    return f'<div class="t-suite">{about}{listed}{where}</div>'
