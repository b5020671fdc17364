"""Stored results: the table of scores, one result in full, and removal."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from theodolite.app import formats
from theodolite.app.components.heatmap import Cell, HeatmapColumn, HeatmapRow
from theodolite.app.examples import results
from theodolite.app.metrics import AGGREGATIONS, metric
from theodolite.app.pages.evaluate import job
from theodolite.app.results import under_own_protocol
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.protocols.published import (
    TABLE_B3,
    TABLE_E1,
    TABLE_INFERSENT,
    TABLE_MAIN,
    Published,
)
from theodolite.engine.stats import spread
from theodolite.engine.stats.agreement import shared
from theodolite.engine.stats.bootstrap import average, main_sample, resample_all
from theodolite.engine.tasks import SUITES, in_order
from theodolite.store import StoreError
from theodolite.store.results import REPAIR

MAX_FIRST = 3
"""Most encoders named as the best; if more are tied, none is named."""
SUITE_LABELS = {"starter": "starter", "sts": "STS", "transfer": "transfer"}


def table(workspace: Workspace) -> tuple[list[HeatmapColumn], list[HeatmapRow]]:
    """Columns and rows of the overview: listed encoders, then published ones."""
    from theodolite.engine import tasks

    listed = workspace.store.encoders.list()
    stored = workspace.store.results.table(encoders=[row["name"] for row in listed])
    found, moved = under_own_protocol(stored), spread.spreads(stored)
    lost = workspace.store.results.missing(found.values())
    waiting = job.waiting(workspace)
    ships = results.scores(workspace, {owner for owner, _ in waiting})
    shown = {task for _, task in (*found, *waiting)}
    columns = [_column(name) for name in in_order(sorted(shown))]
    # Only suites of one metric: `senteval` scores STS-B by a trained regressor, not the cosine.
    suites = {suite: [n for n in tasks.SUITES[suite] if n in shown] for suite in SUITE_LABELS}
    suites = {suite: names for suite, names in suites.items() if len(names) > 1}
    columns += [
        HeatmapColumn(
            f"average:{suite}",
            f"Mean, {SUITE_LABELS[suite]}",
            f"Plain mean over those of {', '.join(tasks.SUITES[suite])} that the encoders with a "
            f"mean share{', whose metrics differ' if suite == 'starter' else ''}. "
            "Compared only with means over the same tasks.",
            "average",
        )
        for suite in suites
    ]
    rows = []
    for encoder in listed:
        name = encoder["name"]
        cells = {
            task: _cell(row, moved.get((name, task, row["protocol"])), row["id"] in lost)
            for (owner, task), row in found.items()
            if owner == name
        }
        for owner, task in waiting:
            if owner == name and (task not in cells or cells[task].score is None):
                cells[task] = _awaited(ships.get((owner, task)))
        rows.append(HeatmapRow(name, cells, note=_note(encoder["info"])))
    for suite, names in suites.items():
        _add_means(rows, suite, names)
    return columns, rows + _published(shown)


def finding(columns: Sequence[HeatmapColumn], rows: Sequence[HeatmapRow]) -> str:
    """Name the encoders with the highest score on most of the tasks that they share.

    Empty if too many are tied, or no two share a task. Published rows do not count.
    """
    rows = [row for row in rows if not row.published]
    tasks = [column.key for column in columns if column.kind == "task"]
    scores = _scores(rows, tasks)
    names, over = shared(scores)
    if len(names) < 2:
        return ""
    best = {task: max(scores[name][task] for name in names) for task in over}
    wins = {name: sum(scores[name][task] == best[task] for task in over) for name in names}
    most = max(wins.values())
    first = [name for name, number in wins.items() if number == most]
    if len(first) > MAX_FIRST:
        return ""
    where = formats.plural(len(over), "task")
    if len(over) > 1:
        where = f"{'all' if most == len(over) else f'{most} of'} {where}"
    if len(over) < len({task for row in rows for task in tasks if task in row.cells}):
        where += " that they share" if len(over) > 1 else ", the one that they share"
    has = "has" if len(first) == 1 else "each have"
    return f"{formats.listed(first)} {has} the highest score on {where}"


def _column(name: str) -> HeatmapColumn:
    from theodolite.engine import tasks

    task = tasks.TASKS.get(name)
    about = task.description if task else ""
    if name in tasks.STARTER:
        about += " Written for this app."
    short = {"STSBenchmark": "STS-B", "SICKRelatedness": "SICK-R"}
    return HeatmapColumn(name, short.get(name, name), about)


def _note(info: dict[str, Any]) -> str:
    facts = []
    if info.get("dim"):
        facts.append(f"{formats.count(info['dim'])} dimensions")
    if info.get("parameters"):
        facts.append(f"{formats.compact(info['parameters'])} parameters")
    return ", ".join(facts)


def _cell(row: Mapping[str, Any], over: spread.Spread | None, lost: bool) -> Cell:
    when = ("evaluated", formats.ago(row["created"]))
    if row["error"] is not None:
        facts = [("error", row["error"]), ("what to do", row["hint"]), when]
        return Cell(result=row["id"], facts=tuple(f for f in facts if f[1]), state="error")
    facts = [
        ("metric", metric(row)),
        *((("seeds", spread.words(over)),) if over else ()),
        *((("unreadable", f"its values per example are lost. {REPAIR}"),) if lost else ()),
        ("examples", formats.count(row["n"])),
        ("protocol", row["protocol"]),
        ("time", formats.duration(row["seconds"])),
        when,
    ]
    score = None if row["score"] != row["score"] else row["score"]  # nan: shown as missing
    text = spread.words(over) if over else ""
    note = "unreadable" if lost else ""
    return Cell(score=score, result=row["id"], facts=tuple(facts), note=note, spread=text)


def _awaited(shipped: float | None) -> Cell:
    """A cell that is waiting for its result, with the shipped score if there is one."""
    facts = (("shipped example", "ships with Theodolite"), ("here", "waiting"))
    return Cell(shipped, facts=facts if shipped is not None else (), state="waiting")


def _scores(rows: Sequence[HeatmapRow], tasks: Sequence[str]) -> dict[str, dict[str, float]]:
    """Encoder -> task -> score, of the encoders that are not waiting for one of these tasks."""
    found = {}
    for row in rows:
        cells = {task: row.cells[task] for task in tasks if task in row.cells}
        if not any(cell.state == "waiting" and cell.score is None for cell in cells.values()):
            found[row.name] = {t: c.score for t, c in cells.items() if c.score is not None}
    return found


def _add_means(rows: Sequence[HeatmapRow], suite: str, tasks: Sequence[str]) -> None:
    """Add the means over the tasks of a suite that the encoders which get one share."""
    scores = _scores(rows, tasks)
    names, over = shared(scores)
    for row in rows:
        if row.name in names:
            mean = average({task: scores[row.name][task] for task in over}, SUITES[suite])
            facts = (("mean of", ", ".join(mean.tasks)), ("tasks", mean.label))
            waits = any(row.cells[task].state == "waiting" for task in over)
            row.cells[f"average:{suite}"] = Cell(
                mean.score,
                facts=facts,
                note=mean.label,
                over=",".join(mean.tasks),
                state="waiting" if waits else "",
            )


def _published(shown: set[str]) -> list[HeatmapRow]:
    """Rows of published tables with a score in one of the shown columns."""
    printed = (*TABLE_MAIN, *TABLE_B3, *TABLE_E1, *TABLE_INFERSENT)
    return [_published_row(row) for row in printed if shown & set(row.scores)]


def _published_row(row: Published) -> HeatmapRow:
    weighted = row.aggregation == "wmean"
    facts = (
        ("printed in", row.table),
        *((("aggregation", AGGREGATIONS[row.aggregation]),) if row.aggregation else ()),
        ("training", row.training),
        *((("taken there from", row.origin),) if row.origin else ()),
        ("evaluated here", "no"),
    )
    # STS-B and SICK-R have no subsets, so both tables print the same kind of number for them.
    cells = {
        task: Cell(score, facts=facts, over="wmean" if weighted and task.startswith("STS1") else "")
        for task, score in row.scores.items()
    }
    over = ",".join(row.scores) + ("; wmean" if weighted else "")
    if row.average is not None:
        suite = "sts" if row.aggregation else "transfer"
        cells[f"average:{suite}"] = Cell(row.average, facts=facts, note="7 of 7 tasks", over=over)
    where = "weighted means" if weighted else row.table.partition(" (")[0]
    return HeatmapRow(row.model, cells, note=f"{row.training}, {where}", published=True)


RESAMPLES = 500


def stored(
    workspace: Workspace,
    encoders: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    protocols: Sequence[str] | None = None,
    ids: Collection[int] | None = None,
) -> list[dict[str, Any]]:
    """All results that match the filters, older versions included."""
    from theodolite.engine.encoders import parse

    names = [str(parse(spec)) for spec in encoders] if encoders else None
    rows = workspace.store.results.table(
        encoders=names, tasks=tasks or None, protocols=protocols or None, all_versions=True
    )
    if not ids:
        return rows
    if unknown := sorted(set(ids) - {row["id"] for row in rows}):
        raise UserError(
            f"There is no such result: {unknown[0]}.", "`results list` shows all.", code="unknown"
        )
    return [row for row in rows if row["id"] in ids]


def remove(workspace: Workspace, rows: Sequence[dict[str, Any]]) -> int:
    """Remove results permanently; return the bytes of their values per example."""
    workspace.refuse_visitors()
    size = sum(workspace.store.results.sizes(rows).values())
    workspace.store.results.remove([row["id"] for row in rows])
    return size


@lru_cache(maxsize=4096)
def _interval(workspace: Workspace, result_id: int) -> tuple[float, float] | None:
    from theodolite.engine.stats.intervals import interval

    details = workspace.store.results.by_id(result_id)["details"]
    examples = workspace.store.results.examples(result_id)
    try:
        sample = main_sample(examples, details)
    except (ValueError, LookupError):
        return None
    (drawn,) = resample_all([sample], RESAMPLES)
    low, high = interval(drawn.draws[None], [drawn.units])
    return float(low[0]), float(high[0])


def interval(workspace: Workspace, result_id: int) -> list[float] | None:
    """95 % bootstrap interval of a main score, in points; cached, since results never change.

    None if there is none, or its values cannot be read; the latter is not cached, as they may be
    restored.
    """
    try:
        found = _interval(workspace, int(result_id))
    except StoreError:
        return None
    return None if found is None else list(found)
