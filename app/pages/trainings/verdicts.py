"""Whether an ablation at another scale agrees with the paper's table.

Each row is compared with the paper's best row. Only the signs of the differences are compared:
their size depends on the scale.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Literal

from theodolite.engine.training.ablations import ABLATIONS, Ablation, AblationRow
from theodolite.engine.training.sweeps import without_seed

Verdict = Literal["reference", "agrees", "disagrees", "within the spread", ""]


@dataclass(frozen=True)
class Judged:
    """A row of a table with our results.

    Attributes:
        row: of the paper.
        scores: our dev scores, one per finished seed.
        paper: its difference to the reference in the paper, points.
        ours: the same of our means; None until both have a score.
        spread: standard deviation of such a difference between two single seeds; None with fewer
            than two seeds per row.
        verdict: empty until there is a difference.
    """

    row: AblationRow
    scores: tuple[float, ...]
    paper: float
    ours: float | None
    spread: float | None
    verdict: Verdict


def recognised(labels: Sequence[str], objectives: Sequence[str]) -> Ablation | None:
    """The ablation whose rows these children are; None for none."""
    mine = {without_seed(label) for label in labels}
    return next(
        (
            ablation
            for ablation in ABLATIONS.values()
            if mine == {row.label for row in ablation.rows} and ablation.objective in objectives
        ),
        None,
    )


def judged(ablation: Ablation, scores: Mapping[str, Sequence[float]]) -> list[Judged]:
    """Compare each row with the paper's best one.

    Args:
        ablation: the paper's table.
        scores: row label -> our dev scores, one per seed.
    """
    reference = max(ablation.rows, key=lambda row: row.score)  # the first of equals
    ours = tuple(scores.get(reference.label, ()))
    return [_judge(row, reference, tuple(scores.get(row.label, ())), ours) for row in ablation.rows]


def _judge(
    row: AblationRow, reference: AblationRow, scores: tuple[float, ...], others: tuple[float, ...]
) -> Judged:
    paper = row.score - reference.score
    if row is reference:
        return Judged(row, scores, paper, None, None, "reference")
    if not scores or not others:
        return Judged(row, scores, paper, None, None, "")
    difference, spread = mean(scores) - mean(others), None
    if len(scores) > 1 and len(others) > 1:
        spread = math.hypot(stdev(scores), stdev(others))
    return Judged(row, scores, paper, difference, spread, _verdict(paper, difference, spread))


def _verdict(paper: float, ours: float, spread: float | None) -> Verdict:
    """If the paper prints equal scores, our difference must lie within the spread, if known."""
    if paper == 0:
        return "" if spread is None else "agrees" if abs(ours) <= spread else "disagrees"
    if spread is not None and abs(ours) <= spread:
        return "within the spread"
    return "agrees" if paper * ours > 0 else "disagrees"
