"""A sweep over the rows of a table of the paper, beside that table."""

import math
from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from theodolite.app import formats
from theodolite.app.blocks import Block, Finding, Table
from theodolite.app.pages.trainings.service import TrainingRun
from theodolite.engine.training.ablations import ABLATIONS, Ablation
from theodolite.engine.training.sweeps import without_seed

VERDICTS = {
    "agrees": "as in the paper",
    "disagrees": "the other way",
    "within the spread": "within the spread",
}
SAYS = (
    "Each row is compared with the best one in the paper. Agrees: the difference has the "
    "same sign as in the paper. Within the spread: it is no larger than one standard "
    "deviation of such a difference between single seeds, so it cannot be resolved at this "
    "scale and with these seeds."
)


def comparison(rows: Sequence[TrainingRun]) -> list[Block]:
    """Our scores beside the paper's table, if these are the trainings of its rows."""
    objectives = [str(row.settings.get("objective")) for row in rows]
    ablation = recognise([row.label for row in rows], objectives)
    if ablation is None:
        return []
    scores: dict[str, list[float]] = {}
    for row in rows:
        if row.state == "done" and row.score is not None:
            scores.setdefault(without_seed(row.label), []).append(row.score)
    judgements = compare_rows(ablation, scores)
    cells = [list(judgement.values()) for judgement in judgements]
    table = Table(f"ablation-{ablation.name}", list(judgements[0]), cells, note=SAYS)
    return [Finding(_tally(judgements), f"Table {ablation.table} of the paper"), table]


def recognise(labels: Sequence[str], objectives: Sequence[str]) -> Ablation | None:
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


def compare_rows(ablation: Ablation, scores: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    """Compare each row with the paper's best one.

    Args:
        ablation: the paper's table.
        scores: row label -> our dev scores, one per seed.

    Returns:
        Of each row the paper's score and its difference to the best, points; the number of our
        seeds, their mean and standard deviation; the difference of our means, with the standard
        deviation of such a difference between two single seeds; and a verdict. None and empty
        until there are enough scores.
    """
    reference = max(ablation.rows, key=lambda row: row.score)  # the first of equals
    others, rows = scores.get(reference.label, ()), []
    for row in ablation.rows:
        ours, paper = scores.get(row.label, ()), row.score - reference.score
        difference = spread = None
        verdict = "reference" if row is reference else ""
        if not verdict and ours and others:
            difference = mean(ours) - mean(others)
            if min(len(ours), len(others)) > 1:
                spread = math.hypot(stdev(ours), stdev(others))
            verdict = _verdict(paper, difference, spread)
        rows.append(
            {
                "row": row.label,
                "paper": row.score,
                "paper_difference": paper,
                "seeds": len(ours),
                "mean": mean(ours) if ours else None,
                "deviation": stdev(ours) if len(ours) > 1 else None,
                "difference": difference,
                "difference_deviation": spread,
                "verdict": verdict,
            }
        )
    return rows


def _verdict(paper: float, ours: float, spread: float | None) -> str:
    """If the paper prints equal scores, our difference must lie within the spread, if known."""
    if paper == 0:
        return "" if spread is None else "agrees" if abs(ours) <= spread else "disagrees"
    if spread is not None and abs(ours) <= spread:
        return "within the spread"
    return "agrees" if paper * ours > 0 else "disagrees"


def _tally(judgements: Sequence[Mapping[str, Any]]) -> str:
    """How many of the differences have the sign of the paper's."""
    decided = [
        judgement["verdict"]
        for judgement in judgements
        if judgement["verdict"] not in ("", "reference")
    ]
    if not decided:
        return "No two rows of the table have a score yet."
    counts = [f"{decided.count(verdict)} {words}" for verdict, words in VERDICTS.items()]
    single = all(judgement["difference_deviation"] is None for judgement in judgements)
    alone = " One seed per row: the effect of chance is unknown." if single else ""
    return f"Of {formats.plural(len(decided), 'difference')}: {', '.join(counts)}.{alone}"
