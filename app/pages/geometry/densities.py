"""How an encoder distributes its cosines over pairs of known similarity, from stored results.

Reads what an evaluation of scored pairs left behind, or the page Geometry; nothing is encoded here.
Used by the page Distributions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from app.pages.evaluate.job import queue_evaluation
from app.pages.geometry import service
from app.web import figures
from engine.errors import UserError
from store import StoreError

if TYPE_CHECKING:
    import numpy as np

    from app.workspace import Workspace

GRID_STEP = 0.005
LITTLE_OVERLAP, MUCH_OVERLAP = 0.10, 0.35
SPREAD, CROWDED = 0.10, 0.40
"""Mean cosine of random pairs: below the first, directions are used evenly; above the second, all
vectors lie in a narrow cone (anisotropy, Ethayarajh 2019)."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """One encoder's cosines on one task's pairs.

    Attributes:
        panel: densities by gold-score group, on `grid()`.
        overlap: area shared by the lowest and the highest group; None when one is empty.
        spearman: main score of the task; None where it was not evaluated.
        random, alignment, uniformity: of all sentences; None where the task does not define them.
        n: pairs.
    """

    panel: figures.Panel
    overlap: float | None
    spearman: float | None
    random: float | None
    alignment: float | None
    uniformity: float | None
    n: int


def grid() -> np.ndarray:
    """The cosines at which densities are taken, a little past 1 so that curves come down."""
    import numpy as np

    return np.arange(-1.0, 1.0 + 10 * GRID_STEP, GRID_STEP)


def pair_tasks(workspace: Workspace) -> list[str]:
    """Tasks on scored pairs: those whose data is here, then those that have results."""
    from engine.tasks import available

    here = [task.name for task in available(workspace.catalog) if task.type == "sts"]
    rows = workspace.store.results.table()
    measured = {row["task"] for row in rows if row["metric"] == "spearman"}
    return [*here, *sorted(measured - set(here))]


def opening(workspace: Workspace, tasks: Sequence[str]) -> str:
    """What the page begins with: STS-B once an encoder was measured on it, else the starter's.

    Raises:
        UserError: there are none, as in a store of chosen results.
    """
    if not tasks:
        raise UserError("No scored pairs are available.", "Add some on the page Data.")
    if "STSBenchmark" in tasks and workspace.store.results.table(tasks=["STSBenchmark"]):
        return "STSBenchmark"
    return "StarterSTS" if "StarterSTS" in tasks else tasks[0]


def distributions(
    workspace: Workspace, encoders: Sequence[str], task: str
) -> dict[str, Distribution]:
    """By encoder, for those that were measured on the task; the newest result counts.

    Where there is none, the geometry of the task's data has the same cosines. Those whose values
    per example cannot be read are left out: see `unreadable`.
    """
    newest = _newest(workspace, encoders, task)
    found: dict[str, Distribution] = {}
    for name in encoders:
        with contextlib.suppress(StoreError, UserError):
            one = (_distribution(workspace, newest[name]) if name in newest
                   else _of_geometry(workspace, name, task))  # fmt: skip
            found |= {name: one} if one else {}
    return found


def _of_geometry(workspace: Workspace, encoder: str, task: str) -> Distribution | None:
    """What the geometry of the task's data says of its pairs, where that was measured."""
    from engine import tasks

    known = service.found(workspace, encoder, tasks.get(task, workspace.catalog).dataset)
    if known is None or not len(known.gold) or known.info["labels"]:
        return None
    info = known.info
    one = of(encoder, known.cosine, known.gold, tuple(info["scale"]), info["mean_cosine"])
    return replace(one, alignment=info["alignment_over"], uniformity=info["uniformity"])


def unreadable(
    workspace: Workspace, encoders: Sequence[str], task: str, found: Mapping[str, Distribution]
) -> list[str]:
    """Those that were measured on the task, and of which `distributions` found nothing to read."""
    newest = _newest(workspace, encoders, task)
    return [name for name in encoders if name in newest and name not in found]


def measure(workspace: Workspace, encoders: Sequence[str], task: str) -> str:
    """Queue those that were not measured on the task, or cannot be read; return the run's id.

    Raises:
        UserError: for visitors, or when nothing is left to measure.
    """
    found = distributions(workspace, encoders, task)
    return queue_evaluation(workspace, [name for name in encoders if name not in found], [task])


def _newest(workspace: Workspace, encoders: Sequence[str], task: str) -> dict[str, int]:
    rows = workspace.store.results.table(encoders=list(encoders), tasks=[task])
    return {row["encoder"]: row["id"] for row in rows if row["error"] is None}


@lru_cache(maxsize=256)
def _distribution(workspace: Workspace, result: int) -> Distribution:
    """Results never change, so what is made of one is kept."""
    row = workspace.store.results.by_id(result)
    examples = workspace.store.results.examples(result)
    numbers = {
        score["metric"]: score["score"]
        for score in workspace.store.results.scores(result)
        if score["unit"]
    }
    random = numbers.get("random_cosine")
    ridges = _ridges(examples["cosine"], examples["gold"], _scale(row["details"]))
    panel = figures.Panel(row["encoder"], ridges, random)
    return Distribution(
        panel,
        figures.panel_overlap(panel, grid()),
        row["score"],
        random,
        numbers.get("alignment"),
        numbers.get("uniformity"),
        len(examples["gold"]),
    )


def of(
    encoder: str, cosines: np.ndarray, gold: np.ndarray, scale: tuple[float, float], random: float
) -> Distribution:
    """That of pairs that are at hand: no result of an evaluation is needed."""
    import numpy as np

    panel = figures.Panel(encoder, _ridges(np.asarray(cosines), np.asarray(gold), scale), random)
    overlap = figures.panel_overlap(panel, grid())
    return Distribution(panel, overlap, None, random, None, None, len(gold))


def _ridges(
    cosines: np.ndarray, gold: np.ndarray, scale: tuple[float, float]
) -> list[figures.Ridge]:
    from engine.space.geometry import densities, gold_groups

    groups = gold_groups(gold, scale)
    return [
        figures.Ridge(
            label, n, density, float(cosines[groups.index == place].mean()) if n else None
        )
        for place, (label, n, density) in enumerate(densities(cosines, groups, grid()))
    ]


def _scale(details: dict[str, Any]) -> tuple[float, float]:
    """The ends of the gold scale, as the result's own histogram names them: `0–1` … `4–5`."""
    labels = details["histogram"]["groups"]
    return float(labels[0].split("–")[0]), float(labels[-1].split("–")[1])


def reading(found: Distribution) -> str:
    """What the picture of one encoder says, in words."""
    lowest, highest = found.panel.ridges[0], found.panel.ridges[-1]
    sentences = []
    if found.overlap is not None and lowest.mean is not None and highest.mean is not None:
        much = (
            "hardly overlap" if found.overlap < LITTLE_OVERLAP
            else "overlap somewhat" if found.overlap < MUCH_OVERLAP
            else "overlap much"
        )  # fmt: skip
        sentences.append(
            f"Pairs graded {lowest.label} and {highest.label} {much}: they share "
            f"{figures.percent(found.overlap)} of their area, and the mean cosine goes from "
            f"{number(lowest.mean)} to {number(highest.mean)}."
        )
    means = [ridge.mean for ridge in found.panel.ridges if ridge.mean is not None]
    if means != sorted(means):
        sentences.append("The mean cosine does not rise from group to group.")
    if found.random is not None:
        crowd = (
            "directions are used evenly" if abs(found.random) < SPREAD
            else "vectors lean in one direction" if found.random < CROWDED
            else "all vectors lie in a narrow cone"
        )  # fmt: skip
        sentences.append(f"Two random sentences have cosine {number(found.random)}: {crowd}.")
    return " ".join(sentences)


def number(value: float | None) -> str:
    """A cosine or another raw number with three decimals."""
    return "–" if value is None else f"{value:.3f}".replace("-", "−")
