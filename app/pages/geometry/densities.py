"""How encoders distribute their cosines over graded pairs, by their results or their geometry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from theodolite.app import formats
from theodolite.app.blocks import Problem
from theodolite.app.pages.geometry import service
from theodolite.app.web import figures
from theodolite.app.web.figures import percent
from theodolite.app.workspace import Workspace
from theodolite.engine import tasks
from theodolite.engine.errors import UserError
from theodolite.store import StoreError

GRID_STEP = 0.005
GRID = np.arange(-1.0, 1.0 + 10 * GRID_STEP, GRID_STEP)
"""The cosines at which densities are evaluated, slightly past 1 so that curves reach zero."""
LITTLE_OVERLAP, MUCH_OVERLAP = 0.10, 0.35
SPREAD, CROWDED = 0.10, 0.40
"""Mean cosine of random pairs: below the first, directions are used evenly; above the second, all
vectors lie in a narrow cone (anisotropy, Ethayarajh 2019)."""


COLUMNS: Mapping[str, Any] = {
    "encoder": str,
    "task": str,
    "pairs": int,
    "mean_lowest": float | None,
    "mean_highest": float | None,
    "overlap": float | None,
    "random_cosine": float | None,
    "alignment": float | None,
    "uniformity": float | None,
    "score": float | None,
}
"""The numbers of a distribution, and their types."""


class Distribution(NamedTuple):
    """One encoder's cosines on pairs.

    Attributes:
        panel: densities by group of grades, the lowest first, and the mean cosine of random pairs.
        row: its numbers, by the names of `COLUMNS`; an empty group has no mean and no
            overlap, and what the task does not define is None.
    """

    panel: figures.Panel
    row: dict[str, Any]

    def words(self) -> str:
        """What it says of the encoder."""
        low, high, row = self.panel.ridges[0], self.panel.ridges[-1], self.row
        sentences = []
        if row["overlap"] is not None:
            much = (
                "hardly overlap"
                if row["overlap"] < LITTLE_OVERLAP
                else "overlap somewhat"
                if row["overlap"] < MUCH_OVERLAP
                else "overlap strongly"
            )
            sentences.append(
                f"Pairs graded {low.label} and {high.label} {much}: they share "
                f"{percent(row['overlap'])} of their area, and the mean cosine goes from "
                f"{formats.cosine(row['mean_lowest'])} to {formats.cosine(row['mean_highest'])}."
            )
        means = [ridge.mean for ridge in self.panel.ridges if ridge.mean is not None]
        if means != sorted(means):
            sentences.append("The mean cosine does not rise from group to group.")
        if row["random_cosine"] is not None:
            sentences.append(f"Two {random_words(row['random_cosine'])}")
        return " ".join(sentences)


def read(
    workspace: Workspace, encoders: Sequence[str], task: str
) -> tuple[dict[str, Distribution], list[Problem]]:
    """Distributions by encoder, and why others cannot be read.

    They are of the newest result on the task; without one, the geometry of the task's data has the
    same cosines.
    """
    rows = workspace.store.results.table(encoders=list(encoders), tasks=[task])
    newest = {row["encoder"]: row["id"] for row in rows if row["error"] is None}
    known, failures = dict[str, Distribution](), []
    for name in encoders:
        try:
            if name in newest:
                known[name] = _of_result(workspace, newest[name])
                continue
            data = tasks.get(task, workspace.catalog).dataset
            measured = service.found(workspace, name, data)
            if measured and (one := of_geometry(measured, task)):
                known[name] = one
        except (StoreError, UserError):
            if name in newest:
                text = f"The values per example of {name} on {task} cannot be read."
                hint = "Evaluate it again to restore them."
                failures.append(Problem(UserError(text, hint, code="damaged")))
    return known, failures


@lru_cache(maxsize=256)
def _of_result(workspace: Workspace, result: int) -> Distribution:
    """The distribution of a result; cached, since results never change."""
    results = workspace.store.results
    row, examples = results.by_id(result), results.examples(result)
    numbers = {one["metric"]: one["score"] for one in results.scores(result) if one["unit"]}
    labels = row["details"]["histogram"]["groups"]  # `0–1` … `4–5`
    scale = float(labels[0].split("–")[0]), float(labels[-1].split("–")[1])
    pairs = examples["cosine"], examples["gold"]
    return _distribution(
        row["encoder"], row["task"], *pairs, scale, numbers | {"score": row["score"]}
    )


def of_geometry(geometry: service.Geometry, task: str) -> Distribution | None:
    """The distribution of a geometry's pairs; None for pairs without scores."""
    info, pairs = geometry.info, (geometry.cosine, geometry.gold)
    if not len(geometry.gold) or info["labels"]:
        return None
    numbers = {
        "random_cosine": info["mean_cosine"],
        "alignment": info["alignment_over"],
        "uniformity": info["uniformity"],
    }
    return _distribution(geometry.encoder, task, *pairs, tuple(info["scale"]), numbers)


def _distribution(
    encoder: str,
    task: str,
    cosine: np.ndarray,
    gold: np.ndarray,
    scale: Any,
    numbers: dict[str, Any],
) -> Distribution:
    from theodolite.engine.space.geometry import densities, gold_groups

    groups = gold_groups(gold, scale)
    ridges = [
        figures.Ridge(label, n, density, float(cosine[groups.index == place].mean()) if n else None)
        for place, (label, n, density) in enumerate(densities(cosine, groups, GRID))
    ]
    panel = figures.Panel(encoder, ridges, numbers.get("random_cosine"))
    facts = {
        "encoder": encoder,
        "task": task,
        "pairs": len(gold),
        "mean_lowest": ridges[0].mean,
        "mean_highest": ridges[-1].mean,
        "overlap": figures.panel_overlap(panel, GRID),
    }
    return Distribution(panel, {name: (numbers | facts).get(name) for name in COLUMNS})


def random_words(cosine: float) -> str:
    """What the mean cosine of random pairs says."""
    crowd = (
        "directions are used evenly"
        if abs(cosine) < SPREAD
        else "vectors lean in one direction"
        if cosine < CROWDED
        else "all vectors lie in a narrow cone"
    )
    return f"random sentences have cosine {formats.cosine(cosine)}: {crowd}."
