"""How an encoder distributes its cosines over pairs of known similarity, from stored results.

Reads results of evaluations on scored pairs, or of the page Geometry; encodes nothing. Used by the
page Distributions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from theodolite.app.pages.evaluate.job import queue_evaluation
from theodolite.app.pages.geometry import service
from theodolite.app.web import figures
from theodolite.engine.errors import UserError
from theodolite.store import StoreError

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.workspace import Workspace

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
        overlap: area shared by the lowest and the highest group; None if one is empty.
        spearman: main score of the task; None if it was not evaluated.
        random: mean cosine of random pairs of sentences; None if the task does not define it.
        alignment, uniformity: of all sentences; None if the task does not define them.
        n: number of pairs.
    """

    panel: figures.Panel
    overlap: float | None
    spearman: float | None
    random: float | None
    alignment: float | None
    uniformity: float | None
    n: int


def grid() -> np.ndarray:
    """The cosines at which densities are evaluated, slightly past 1 so that curves reach zero."""
    import numpy as np

    return np.arange(-1.0, 1.0 + 10 * GRID_STEP, GRID_STEP)


def pair_tasks(workspace: Workspace) -> list[str]:
    """Tasks on scored pairs: those with available data, then others with results."""
    from theodolite.engine.tasks import available

    here = [task.name for task in available(workspace.catalog) if task.type == "sts"]
    rows = workspace.store.results.table()
    evaluated = {row["task"] for row in rows if row["metric"] == "spearman"}
    return [*here, *sorted(evaluated - set(here))]


def opening(workspace: Workspace, tasks: Sequence[str]) -> str:
    """The page's default task: STS-B if an encoder was evaluated on it, else StarterSTS."""
    if not tasks:
        raise UserError(
            "No scored pairs are available.", "Add some on the page Data.", code="missing"
        )
    if "STSBenchmark" in tasks and workspace.store.results.table(tasks=["STSBenchmark"]):
        return "STSBenchmark"
    return "StarterSTS" if "StarterSTS" in tasks else tasks[0]


def distributions(
    workspace: Workspace, encoders: Sequence[str], task: str
) -> dict[str, Distribution]:
    """Distributions by encoder, from the newest result on the task.

    Without a result, the geometry of the task's data provides the same cosines. Encoders whose
    values per example cannot be read are left out: see `unreadable`.
    """
    newest = _newest(workspace, encoders, task)
    found: dict[str, Distribution] = {}
    for name in encoders:
        with contextlib.suppress(StoreError, UserError):
            one = (
                _distribution(workspace, newest[name])
                if name in newest
                else _of_geometry(workspace, name, task)
            )
            found |= {name: one} if one else {}
    return found


def _of_geometry(workspace: Workspace, encoder: str, task: str) -> Distribution | None:
    """The distribution from the geometry of the task's data; None if it was not measured."""
    from theodolite.engine import tasks

    known = service.found(workspace, encoder, tasks.get(task, workspace.catalog).dataset)
    if known is None or not len(known.gold) or known.info["labels"]:
        return None
    info = known.info
    one = of(encoder, known.cosine, known.gold, tuple(info["scale"]), info["mean_cosine"])
    return replace(one, alignment=info["alignment_over"], uniformity=info["uniformity"])


def unreadable(
    workspace: Workspace, encoders: Sequence[str], task: str, found: Mapping[str, Distribution]
) -> list[str]:
    """Encoders with a result on the task whose values per example cannot be read."""
    newest = _newest(workspace, encoders, task)
    return [name for name in encoders if name in newest and name not in found]


def measure(workspace: Workspace, encoders: Sequence[str], task: str) -> str:
    """Queue an evaluation of the encoders without a distribution, and return the run's id."""
    found = distributions(workspace, encoders, task)
    return queue_evaluation(workspace, [name for name in encoders if name not in found], [task])


def _newest(workspace: Workspace, encoders: Sequence[str], task: str) -> dict[str, int]:
    rows = workspace.store.results.table(encoders=list(encoders), tasks=[task])
    return {row["encoder"]: row["id"] for row in rows if row["error"] is None}


@lru_cache(maxsize=256)
def _distribution(workspace: Workspace, result: int) -> Distribution:
    """The distribution of a result; cached, since results never change."""
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
    """The distribution of given cosines, without a stored result."""
    import numpy as np

    panel = figures.Panel(encoder, _ridges(np.asarray(cosines), np.asarray(gold), scale), random)
    overlap = figures.panel_overlap(panel, grid())
    return Distribution(panel, overlap, None, random, None, None, len(gold))


def _ridges(
    cosines: np.ndarray, gold: np.ndarray, scale: tuple[float, float]
) -> list[figures.Ridge]:
    from theodolite.engine.space.geometry import densities, gold_groups

    groups = gold_groups(gold, scale)
    return [
        figures.Ridge(
            label, n, density, float(cosines[groups.index == place].mean()) if n else None
        )
        for place, (label, n, density) in enumerate(densities(cosines, groups, grid()))
    ]


def _scale(details: dict[str, Any]) -> tuple[float, float]:
    """The ends of the gold scale, from the group names of the result's histogram: `0–1` … `4–5`."""
    labels = details["histogram"]["groups"]
    return float(labels[0].split("–")[0]), float(labels[-1].split("–")[1])


def reading(found: Distribution) -> str:
    """Describe the distribution of one encoder in words."""
    lowest, highest = found.panel.ridges[0], found.panel.ridges[-1]
    sentences = []
    if found.overlap is not None and lowest.mean is not None and highest.mean is not None:
        much = (
            "hardly overlap"
            if found.overlap < LITTLE_OVERLAP
            else "overlap somewhat"
            if found.overlap < MUCH_OVERLAP
            else "overlap much"
        )
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
            "directions are used evenly"
            if abs(found.random) < SPREAD
            else "vectors lean in one direction"
            if found.random < CROWDED
            else "all vectors lie in a narrow cone"
        )
        sentences.append(f"Two random sentences have cosine {number(found.random)}: {crowd}.")
    return " ".join(sentences)


def number(value: float | None) -> str:
    """A cosine or another raw number with three decimals."""
    return "–" if value is None else f"{value:.3f}".replace("-", "−")
