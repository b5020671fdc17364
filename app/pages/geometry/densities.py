"""How an encoder distributes its cosines over pairs of known similarity.

The cosines are those of a stored evaluation or of a stored geometry; nothing is encoded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from theodolite.app.pages.geometry import service
from theodolite.app.pages.geometry.service import Geometry
from theodolite.app.web import figures
from theodolite.engine.errors import UserError
from theodolite.store import StoreError

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.workspace import Workspace

GRID_STEP = 0.005


@dataclass(frozen=True, eq=False)
class Distribution:
    """One encoder's cosines on pairs.

    Attributes:
        panel: densities by gold-score group, on `grid()`, and the mean cosine of random pairs.
        n: number of pairs.
        score: main score of the task; None if it was not evaluated.
        alignment, uniformity: of all sentences; None if the task does not define them.
    """

    panel: figures.Panel
    n: int
    score: float | None = None
    alignment: float | None = None
    uniformity: float | None = None

    @property
    def overlap(self) -> float | None:
        """Area shared by the lowest and the highest group; None if one is empty."""
        return figures.panel_overlap(self.panel, grid())

    @property
    def means(self) -> list[float | None]:
        """Mean cosine of each group."""
        return [ridge.mean for ridge in self.panel.ridges]


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
    """The default task: STS-B if an encoder was evaluated on it, else StarterSTS."""
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
    known: dict[str, Distribution] = {}
    for name in encoders:
        with contextlib.suppress(StoreError, UserError):
            if name in newest:
                known[name] = _of_result(workspace, newest[name])
            elif one := _of_data(workspace, name, task):
                known[name] = one
    return known


def unreadable(
    workspace: Workspace, encoders: Sequence[str], task: str, known: Mapping[str, Distribution]
) -> list[str]:
    """Encoders with a result on the task whose values per example cannot be read."""
    newest = _newest(workspace, encoders, task)
    return [name for name in encoders if name in newest and name not in known]


def _newest(workspace: Workspace, encoders: Sequence[str], task: str) -> dict[str, int]:
    rows = workspace.store.results.table(encoders=list(encoders), tasks=[task])
    return {row["encoder"]: row["id"] for row in rows if row["error"] is None}


@lru_cache(maxsize=256)
def _of_result(workspace: Workspace, result: int) -> Distribution:
    """The distribution of a result; cached, since results never change."""
    row = workspace.store.results.by_id(result)
    examples = workspace.store.results.examples(result)
    numbers = {
        score["metric"]: score["score"]
        for score in workspace.store.results.scores(result)
        if score["unit"]
    }
    labels = row["details"]["histogram"]["groups"]  # `0–1` … `4–5`
    scale = float(labels[0].split("–")[0]), float(labels[-1].split("–")[1])
    ridges = _ridges(examples["cosine"], examples["gold"], scale)
    panel = figures.Panel(row["encoder"], ridges, numbers.get("random_cosine"))
    known = (numbers.get("alignment"), numbers.get("uniformity"))
    return Distribution(panel, len(examples["gold"]), row["score"], *known)


def _of_data(workspace: Workspace, encoder: str, task: str) -> Distribution | None:
    """The distribution from the geometry of the task's data; None if it was not measured."""
    from theodolite.engine import tasks

    known = service.found(workspace, encoder, tasks.get(task, workspace.catalog).dataset)
    return of_geometry(known) if known else None


def of_geometry(geometry: Geometry) -> Distribution | None:
    """The distribution of a geometry's pairs; None for pairs without scores."""
    info = geometry.info
    if not len(geometry.gold) or info["labels"]:
        return None
    ridges = _ridges(geometry.cosine, geometry.gold, tuple(info["scale"]))
    panel = figures.Panel(geometry.encoder, ridges, info["mean_cosine"])
    known = (info["alignment_over"], info["uniformity"])
    return Distribution(panel, len(geometry.gold), None, *known)


def _ridges(cosines: np.ndarray, gold: np.ndarray, scale: Any) -> list[figures.Ridge]:
    from theodolite.engine.space.geometry import densities, gold_groups

    groups = gold_groups(gold, scale)
    return [
        figures.Ridge(
            label, n, density, float(cosines[groups.index == place].mean()) if n else None
        )
        for place, (label, n, density) in enumerate(densities(cosines, groups, grid()))
    ]
