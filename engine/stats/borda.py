"""Ranks many encoders on many tasks: means over available scores, and the Borda count.

Pure functions from a table of scores to numbers; nan is a missing score, and is never counted as
zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.stats.bootstrap import ranks


def means(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each row over its available scores, nan where there are none, and their number.

    Args:
        scores: float64 (encoders, tasks).
    """
    known = ~np.isnan(scores)
    counts = known.sum(axis=1)
    sums = np.where(known, scores, 0.0).sum(axis=1)
    return np.divide(sums, counts, out=np.full(len(scores), np.nan), where=counts > 0), counts


def by_group(scores: np.ndarray, groups: Sequence[str]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Groups in the order of their first column, each row's mean in each, and number of scores.

    Args:
        scores: float64 (encoders, tasks).
        groups: of every column, such as the type of the task.
    """
    names = list(dict.fromkeys(groups))
    of = np.array(groups)
    parts = [means(scores[:, of == name]) for name in names]
    if not parts:
        return names, np.empty((len(scores), 0)), np.empty((len(scores), 0), int)
    return names, np.stack([m for m, _ in parts], 1), np.stack([n for _, n in parts], 1)


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
