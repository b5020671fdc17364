"""The outcome of a sweep: the score of every run, compared with the paper's table if any."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, Literal

from theodolite.app import formats
from theodolite.app.pages.trainings.row import opens, tag, toggle
from theodolite.app.web import parts
from theodolite.engine.training.ablations import ABLATIONS, Ablation, AblationRow
from theodolite.engine.training.sweeps import without_seed

if TYPE_CHECKING:
    from theodolite.app.pages.trainings.service import TrainingRun
    from theodolite.app.workspace import Workspace

KINDS = {"agrees": "good", "disagrees": "bad", "within the spread": "warn", "reference": ""}
SAYS = (
    "Each row is compared with the best one in the paper. Agrees: the difference has the "
    "same sign as in the paper. Within the spread: it is no larger than one standard "
    "deviation of such a difference between single seeds, so it cannot be resolved at this "
    "scale and with these seeds."
)


def outcome(workspace: Workspace, rows: Sequence[TrainingRun], chosen: Sequence[str]) -> str:
    """Our scores beside the paper's table, if the sweep reproduces one; then every run."""
    objectives = [str(row.settings.get("objective")) for row in rows]
    ablation = recognised([row.label for row in rows], objectives)
    if ablation is None:
        return _runs(rows, chosen)
    name = f"ablation-{ablation.name}-{rows[0].run}"
    scores: dict[str, list[float]] = {}
    for row in rows:
        if row.state == "done" and row.score is not None:
            scores.setdefault(without_seed(row.label), []).append(row.score)
    compared = judged(ablation, scores)
    return f"{_against(compared, name)}{_runs(rows, chosen)}"


def _against(judged: Sequence[Judged], name: str) -> str:
    heads = ("Row", "Paper", "Difference", "Here", "Difference", "Verdict")
    body = [
        (
            escape(one.row.label),
            f"{one.row.score:.1f}",
            formats.signed(one.paper) if one.verdict != "reference" else formats.MISSING,
            _mean(one.scores),
            _difference(one),
            parts.tag(one.verdict, KINDS[one.verdict]) if one.verdict else formats.MISSING,
        )
        for one in judged
    ]
    table = parts.table(heads, body, "Comparison with the paper", (1, 2, 3, 4), stacked=True)
    save = parts.csv_button("The paper's table as CSV", f"{name}.csv", _against_rows(judged))
    return (
        f'<p class="t-said-small">{_tally(judged)}</p>{table}<p class="t-small">{save}</p>'
        f'<p class="t-small t-muted">{SAYS}</p>'
    )


def _against_rows(judged: Sequence[Judged]) -> list[list[Any]]:
    """The comparison for a CSV file, header first, at full precision."""
    heads = [
        "row",
        "paper",
        "paper_difference",
        "seeds",
        "mean",
        "deviation",
        "difference",
        "difference_deviation",
        "verdict",
    ]
    rows = [
        [
            one.row.label,
            one.row.score,
            one.paper,
            len(one.scores),
            mean(one.scores) if one.scores else None,
            stdev(one.scores) if len(one.scores) > 1 else None,
            one.ours,
            one.spread,
            one.verdict,
        ]
        for one in judged
    ]
    return [heads, *rows]


def _tally(judged: Sequence[Judged]) -> str:
    """How many of the differences have the sign of the paper's."""
    decided = [one.verdict for one in judged if one.verdict not in ("", "reference")]
    if not decided:
        return "No two rows of the table have a score yet."
    single = all(one.spread is None for one in judged)
    counts = ", ".join(
        f"{decided.count(verdict)} {words}"  # type: ignore[arg-type]
        for verdict, words in (
            ("agrees", "as in the paper"),
            ("disagrees", "the other way"),
            ("within the spread", "within the spread"),
        )
        if decided.count(verdict)  # type: ignore[arg-type]
    )
    alone = " One seed per row: the effect of chance is unknown." if single else ""
    return f"Of {formats.plural(len(decided), 'difference')}: {counts}.{alone}"


def _mean(scores: Sequence[float]) -> str:
    if not scores:
        return formats.MISSING
    spread = f" ± {stdev(scores):.2f}" if len(scores) > 1 else ""
    return f"{formats.score(mean(scores))}{spread}"


def _difference(one: Judged) -> str:
    if one.ours is None:
        return formats.MISSING
    spread = f" ± {one.spread:.2f}" if one.spread is not None else ""
    return f"{formats.signed(one.ours)}{spread}"


def _runs(rows: Sequence[TrainingRun], chosen: Sequence[str]) -> str:
    best = max((row.score for row in rows if row.score is not None), default=None)
    body = [
        (
            toggle(row, chosen) + _failed(row),
            tag(row),
            _score(row, best),
            formats.count(row.best_step),
            opens(row),
        )
        for row in rows
    ]
    heads = ("Run", "State", "Best dev score", "At step", "Open")
    table = parts.table(heads, body, "Runs of the sweep", (2, 3))
    columns = ["run", "label", "state", "score", "best_step", "encoder", "error"]
    data = [[row.key, *(getattr(row, name) for name in columns[1:])] for row in rows]
    save = parts.csv_button("Runs as CSV", f"sweep-{rows[0].run}.csv", [columns, *data])
    return f'{table}<p class="t-small">{save}</p>'


def _score(row: TrainingRun, best: float | None) -> str:
    shown = formats.score(row.score)
    return f"<strong>{shown}</strong>" if row.score is not None and row.score == best else shown


def _failed(row: TrainingRun) -> str:
    return f'<br><small class="t-run-error">{escape(row.error)}</small>' if row.error else ""


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
