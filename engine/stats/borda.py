"""Ranks many encoders on many tasks: means by group of tasks, and the Borda count.

Pure functions from a table of scores to numbers; nan is a missing score, and is never counted as
zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theodolite.engine.stats.bootstrap import ranks


def by_group(scores: np.ndarray, groups: Sequence[str]) -> dict[str, np.ndarray]:
    """Mean of each row in each group, nan where a score is missing: group -> float64 (encoders,).

    Args:
        scores: float64 (encoders, tasks).
        groups: of every column, such as the type of the task.
    """
    of = np.array(groups)
    return {name: scores[:, of == name].mean(axis=1) for name in dict.fromkeys(groups)}


def borda(scores: np.ndarray) -> np.ndarray:
    """Points of each row, float64 (encoders,): n - rank on every task, n being all encoders.

    As in MTEB (Colombo et al. 2022): equal scores share their mean rank, and a missing score gives
    no points, so that an encoder with missing scores can only rank too low.

    Args:
        scores: float64 (encoders, tasks).
    """
    points = np.zeros(len(scores))
    for column in scores.T:
        known = ~np.isnan(column)
        points[known] += len(scores) - ranks(-column[known])
    return points


def placed(points: np.ndarray) -> np.ndarray:
    """Ranks from 1, the most points first; equal ones share the better rank: int (n,)."""
    order = np.sort(-points)
    return 1 + np.searchsorted(order, -points, side="left")
