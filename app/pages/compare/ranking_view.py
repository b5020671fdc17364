"""Below the table of the page Compare: uncertainty of the ranks, and stability of the ranking."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from html import escape
from typing import Any

from theodolite.app import formats
from theodolite.app.components.chart import drawing
from theodolite.app.pages.compare import figures as rank_figures
from theodolite.app.pages.compare import stability
from theodolite.app.pages.compare.cautions import Caution
from theodolite.app.pages.compare.service import Comparison
from theodolite.app.pages.compare.stability import KINDS
from theodolite.app.web import address, parts
from theodolite.app.workspace import Workspace
from theodolite.engine.stats.ranks import RankInterval

FEW_TASKS = 5
MAX_NAMED = 12
"""Most tasks named individually."""
DRAWS = (("Resample examples", "within"), ("Resample examples and tasks", "over"))
RANKS_LEAD = (
    "Each encoder's rank by its mean over the tasks that all share, and the ranks that hold 95 % "
    "of 2,000 resamples. Resample the examples alone if these tasks are what you care about, the "
    "tasks too if they are a sample of what you care about."
)
STABILITY_LEAD = (
    "The same encoders and tasks, ranked again with another classifier, another normalisation, "
    "another size of vectors or another seed. Crossing lines are encoders that swap ranks."
)


@lru_cache(maxsize=16)
def ranks(report: Comparison, drawn: str) -> tuple[str, Any]:
    """Text and chart of the ranks; `drawn` is `within` or `over`."""
    if not report.ranks:
        return parts.say("No task is shared by all of them, so there is no ranking."), None
    rows = report.ranks_over_tasks if drawn == "over" else report.ranks
    if not rows:
        return parts.say("Resampling tasks needs at least two that all of them share."), None
    title = rank_figures.headline(rows)
    number = len(report.common)
    note = f"By the mean over {formats.plural(number, 'task')}"
    note += "." if number > MAX_NAMED else f": {', '.join(report.common)}."
    if drawn == "over" and number < FEW_TASKS:
        note += f" {number} tasks are few to resample: these intervals are a rough guide."
    html = f'<p class="t-said">{escape(title)}.</p><p class="t-small t-muted">{escape(note)}</p>'
    return html, _rank_picture(rows, title)


def _rank_picture(rows: tuple[RankInterval, ...], title: str) -> Any:
    columns = ["encoder", "mean", "rank", "rank_low", "rank_high", "share_first"]
    return drawing(
        rank_figures.intervals(rows),
        f"Rank of each encoder with its 95 % interval. {title}.",
        name="theodolite-ranks",
        columns=columns,
        rows=[[r.name, r.score, r.rank, r.low, r.high, r.first] for r in rows],
    )


def stable(
    workspace: Workspace, report: Comparison, kind: str, protocol: str | None
) -> tuple[str, Any, str]:
    """Text, chart, and below it the agreement of the orders and the missing results."""
    return _stable(workspace, report, kind, protocol, workspace.store.results.edition())


@lru_cache(maxsize=16)
def _stable(
    workspace: Workspace,
    report: Comparison,
    kind: str,
    protocol: str | None,
    _edition: tuple[int, int],
) -> tuple[str, Any, str]:
    found = stability.stability(workspace, kind, report.encoders, report.tasks, protocol)
    lines = stability.sentences(found, report.groups)
    text = "".join(f"<p>{escape(line)}</p>" for line in lines)
    below = _agreements(found) + gaps(found.missing)
    if not found.ranks:
        nothing = f"Nothing to compare by {KINDS[kind].lower()} yet"
        if not found.missing:
            return parts.empty(nothing, "Choose other encoders or tasks."), None, ""
        first, *others = found.missing
        way = (first.label, address.link(first.path, **first.state)) if first.label else None
        return parts.empty(nothing, first.text, way), None, gaps(others)
    over = f"{len(found.encoders)} encoders on {', '.join(found.tasks)}"
    html = f'<div class="t-said">{text}</div><p class="t-small t-muted">{escape(over)}.</p>'
    rows = [
        [c, name, found.ranks[c][name], found.means[c][name]]
        for c in found.ranks
        for name in found.encoders
    ]
    picture = drawing(
        rank_figures.bump(found.ranks, found.means),
        f"Ranks of the encoders by {KINDS[kind].lower()}. {' '.join(lines)}",
        name=f"theodolite-stability-{kind}",
        columns=[kind, "encoder", "rank", "mean"],
        rows=rows,
    )
    return html, picture, below


def _agreements(found: stability.Stability) -> str:
    if not found.agreements:
        return ""
    rows = [
        (
            escape(f"{a} and {b}"),
            _correlation(agreement.spearman),
            _correlation(agreement.kendall),
            escape("; ".join(f"{x}, {y}" for x, y in agreement.swapped) or "none"),
        )
        for (a, b), agreement in found.agreements.items()
    ]
    heads = ("Orders of the means", "Spearman", "Kendall", "Pairs that swap ranks")
    small = ""
    if len(found.encoders) < 6:
        small = (
            f'<p class="t-small t-muted">Over {len(found.encoders)} encoders a rank correlation '
            "takes few values; read the pairs.</p>"
        )
    return parts.table(heads, rows, "How far the orders agree", (1, 2)) + small


def _correlation(value: float) -> str:
    return formats.MISSING if value != value else f"{value:.2f}"


def gaps(missing: Iterable[Caution]) -> str:
    """The results missing from the store, each with a link to compute it."""
    items = "".join(f"<li>{linked(caution)}</li>" for caution in missing)
    return f'<ul class="t-small t-gaps">{items}</ul>' if items else ""


def linked(caution: Caution) -> str:
    """A caution as HTML, with its link."""
    text = escape(caution.text)
    if not caution.label:
        return text
    href = escape(address.link(caution.path, **caution.state))
    return f'{text} <a href="{href}">{escape(caution.label)}</a>'


def panel(cautions: Iterable[Caution]) -> str:
    """All cautions of a comparison as HTML; empty without any."""
    items = "".join(f"<li>{linked(caution)}</li>" for caution in cautions)
    if not items:
        return ""
    return (
        '<section class="t-notice t-warn" role="note" aria-labelledby="unfair">'
        f'<h2 id="unfair">What is unfair in this comparison</h2><ul>{items}</ul></section>'
    )
