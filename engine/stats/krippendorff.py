"""Agreement of judges beyond chance. Knows marks, not the units marked."""

from __future__ import annotations

import math

import numpy as np


def alpha(marks: np.ndarray) -> float:
    """Krippendorff's alpha of nominal marks: 1 for full agreement, 0 for that of chance.

    Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, section C.

    Args:
        marks: float (judges, units), NaN where a judge did not mark a unit.

    Returns:
        nan where no unit has two marks, or all marks that can be compared are the same.
    """
    values = np.unique(marks[~np.isnan(marks)])
    counts = (marks == values[:, None, None]).sum(axis=1)
    many = counts.sum(axis=0)
    counts, many = counts[:, many > 1], many[many > 1]
    n, totals = many.sum(), counts.sum(axis=1)
    by_chance = (n**2 - (totals**2).sum()) / max(n - 1, 1)
    if by_chance <= 0.0:
        return math.nan
    observed = ((many**2 - (counts**2).sum(axis=0)) / (many - 1)).sum()
    return float(1.0 - observed / by_chance)
