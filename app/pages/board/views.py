"""Views of the page Board: the finding, and the table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from app import formats
from app.components.board import Cell, Head, Line, value
from app.pages.board import ranks, service
from app.web import parts
from engine.mteb.theirs import PREFIX
from engine.protocols.published import beside
from engine.stats.borda import by_group, means

if TYPE_CHECKING:
    from app.pages.board.published import Reference
    from app.pages.board.service import Standings
    from app.pages.compare.service import Ranking

TASKS, TYPES, LANGUAGES = "tasks", "types", "languages"
COLUMNS = (("Tasks", TASKS), ("Types", TYPES), ("Languages", LANGUAGES))
SUITES = {
    service.ALL: "All evaluated",
    "starter": "Starter set",
    "sts": "STS, the seven",
    "transfer": "Transfer, the seven",
    "senteval": "SentEval",
    "probing": "Probing",
    service.UPLOADS: "Your uploads",
}
OF_OTHERS = "Published by others"
"""Label of the protocol PUBLISHED."""
NOTHING: Cell = (formats.MISSING, "t-muted", "not evaluated", False)
MOST_NAMED = 3
READING = (
    "Encoders with a score on every task come first, ordered by their mean. Each mean states "
    "its number of tasks: a missing score is left out, never counted as zero, so only means "
    "over the same tasks can be compared. Borda, as MTEB counts it: on every task an encoder "
    "gets a point for each one that it beats and half a point for each that it equals; a "
    "task that it was not evaluated on gives no points, so a rank with a task missing is the "
    "lowest it can have. The rank interval holds 95 % of 2,000 resamples of the examples, by "
    "the mean, of those with every task; bold scores tie with the best of their column. "
    "Point at a cell for more."
)
PRESSING = "Click a score for the examples behind it."

OTHERS_READING = (
    "Models with a score on every task come first, ordered by their mean. Each mean states "
    "its number of tasks: a missing score is left out, never counted as zero, so only means "
    "over the same tasks can be compared. Point at a name for its revision and size, at a "
    "score for the versions of mteb and of the data."
)


def suites(names: Sequence[str]) -> list[tuple[str, str]]:
    """Choices of suites as (label, name)."""
    return [(SUITES.get(name, name), name) for name in names]


def protocols(names: Sequence[str]) -> list[tuple[str, str]]:
    """Choices of protocols as (label, name)."""
    return [(OF_OTHERS if name == service.PUBLISHED else name, name) for name in names]


def finding(
    board: Standings, ranked: Ranking | None, imported: Sequence[Reference] = (), elsewhere: int = 0
) -> str:
    """The leading encoders by mean and by Borda count, and the ties with them.

    Args:
        board: the standings.
        ranked: uncertainty of the ranks, if known.
        imported: models with published scores on the board.
        elsewhere: number of models without a score on the board.
    """
    number = len(board.columns)
    if not board.encoders:
        return _finding_of_others(board, imported)
    where = (
        f"over {formats.plural(number, 'task')}" if number > 1 else f"on {board.columns[0].task}"
    )
    first = [n for n, rank in zip(board.encoders, board.ranks, strict=True) if rank == 1]
    if len(board.encoders) == 1:
        title = f"{board.encoders[0]} is the only encoder evaluated {where}"
    elif not board.complete:
        title = (
            f"{formats.listed(first, MOST_NAMED)} leads by Borda count; no encoder has every task"
        )
    elif first == board.complete[:1]:
        title = f"{first[0]} leads {len(board.encoders)} encoders {where}, by mean and Borda count"
    else:
        title = (
            f"{board.complete[0]} has the highest mean {where}, "
            f"{formats.listed(first, MOST_NAMED)} the highest Borda count"
        )
    beside = _beside(board, ranked)
    if elsewhere:
        models = formats.plural(elsewhere, "published model")
        beside.append(f"{models} are on other tasks: the protocol {OF_OTHERS!r} shows them.")
    return parts.heading(title, " ".join(beside))


def _finding_of_others(board: Standings, imported: Sequence[Reference]) -> str:
    """The finding of a board with published results only."""
    number = len(board.columns)
    whole = [one for one in imported if len(one.scores) == number]
    title = (
        f"{formats.plural(len(imported), 'published model')} on "
        f"{formats.plural(number, 'task')}; none of them was evaluated here"
    )
    lead = ["These were evaluated by others: they are references, without rank, interval or test."]
    if len(whole) > 1:
        lead.insert(
            0, f"{whole[0].model} has the highest mean of the {len(whole)} with every task."
        )
    return f'<div class="t-references">{parts.heading(title, " ".join(lead))}</div>'


def _beside(board: Standings, ranked: Ranking | None) -> list[str]:
    """Notes on the ranking: ties, missing scores, the protocol, filters."""
    notes = []
    if ranked and ranked.groups and board.complete:
        best = board.complete[0]
        tied = [n for n, letter in ranked.groups.items() if letter == "a" and n != best]
        notes.append(
            f"{formats.listed(tied, MOST_NAMED)} {'ties' if len(tied) == 1 else 'tie'} with {best} "
            "by the mean."
            if tied
            else f"No encoder ties with {best} by the mean."
        )
    if short := len(board.encoders) - len(board.complete):
        notes.append(
            f"{short} of {len(board.encoders)} lack a task: their means are listed separately."
        )
    under = {column.protocol for column in board.columns}
    if len(under) == 1:
        notes.append(f"Protocol {under.pop()}.")
    if board.left_out:
        notes.append(f"{formats.plural(board.left_out, 'encoder')} left out by the filters.")
    return notes


def table(
    board: Standings,
    ranked: Ranking | None,
    by: str = TASKS,
    published: bool = True,
    more: Mapping[str, Sequence[Cell]] | None = None,
    more_heads: Sequence[Head] = (),
    trained: Mapping[str, Mapping[str, str] | None] = MappingProxyType({}),
    imported: Sequence[Reference] = (),
) -> str:
    """The table, as a value of `app.components.board`.

    Args:
        board: the standings.
        ranked: uncertainty of the ranks, if known.
        by: kind of columns, one of COLUMNS.
        published: whether to add rows of published scores.
        more: encoder -> cells after those of the tasks.
        more_heads: their heads.
        trained: the result of `service.trained_on`.
        imported: imported results, shown beside those of papers.
    """
    leaks = any(found is not None for found in trained.values())
    own = bool(board.encoders)  # else nobody has a rank or points
    heads: list[Head] = [
        ("Encoder", ""),
        *([("Rank", "95 % interval", True)] if own else []),
        ("Mean (task)", formats.plural(len(board.columns), "task")),
        ("Mean (type)", formats.plural(len(board.types), "type")),
        *([("Borda", "points, rank")] if own else []),
        *([("Trained on", "of these tasks", True)] if leaks else []),
        *_heads(board, by),
        *more_heads,
    ]
    intervals = {row.name: row for row in ranked.ranks} if ranked else {}
    groups = ranked.groups if ranked else {}
    cells = _cells(board, ranked, by)
    rows: list[Line] = []
    for i, name in enumerate(board.encoders):
        found = intervals.get(name)
        rank: Cell = (formats.MISSING, "t-muted", _unranked(board, i), False)
        if found:
            detail = f"95 % of the resamples; first in {found.first:.0%} of them"
            rank = (f"{found.rank}", "", detail, False, f"{found.low} to {found.high}")
        kinds = int((board.type_counts[i] > 0).sum())
        borda = (formats.brief(board.points[i]), "", _missed(board, i), False, f"{board.ranks[i]}.")
        known = list(more.get(name, [NOTHING] * len(more_heads))) if more else []
        rows.append((name, about(board.facts.get(name, {})), [
            rank,
            _mean(board.mean[i], int(board.counts[i]), len(board.columns), groups.get(name) == "a"),
            _mean(board.type_mean[i], kinds, len(board.types)),
            borda,
            *([_trained(trained.get(name), len(board.columns))] if leaks else []),
            *cells[i],
            *known,
        ]))  # fmt: skip
    if published:
        rows += [
            (name, about, [*cells, *[("", "", "", False)] * len(more_heads)])
            for name, about, cells in _published(board, by, leaks, imported)
        ]
    if own and len(board.complete) < 2:  # no ranks: the finding says what is missing
        del heads[1]
        rows = [(name, about, cells[1:]) for name, about, cells in rows]
    reading, pressing = (READING, PRESSING) if own else (OTHERS_READING, "")
    return value("Encoders by tasks", heads, rows, reading, "theodolite-board.csv", pressing)


def about(facts: Mapping[str, Any]) -> str:
    """Size and dimension, shown beside the name of an encoder."""
    size, dim = facts.get("parameters"), facts.get("dim")
    known = [f"{formats.compact(size)}" if size else "", f"{dim} d" if dim else ""]
    return ", ".join(filter(None, known))


def _unranked(board: Standings, place: int) -> str:
    if board.counts[place] < len(board.columns):
        return "not every task was evaluated"
    return f"only the best {ranks.MOST_RANKED} with every task are resampled"


def _missed(board: Standings, place: int) -> str:
    lacking = len(board.columns) - int(board.counts[place])
    return f"no points for {formats.plural(lacking, 'missing task')}" if lacking else ""


def _mean(score: float, over: int, of: int, bold: bool = False, css: str = "") -> Cell:
    """A mean with its number of tasks, set off from the others if some are missing."""
    if np.isnan(score):
        return (formats.MISSING, "t-muted", "", False, f"{over} of {of}")
    css = css or ("" if over == of else "t-part")
    return formats.score(score), css, "", bold, f"{over} of {of}"


def _heads(board: Standings, by: str) -> list[Head]:
    if by == TYPES:
        number = [sum(c.type == name for c in board.columns) for name in board.types]
        return [(name, formats.plural(n, "task"))
                for name, n in zip(board.types, number, strict=True)]  # fmt: skip
    if by == LANGUAGES:
        spoken = by_language(board)
        return [(name, formats.plural(len(of), "task")) for name, of in spoken.items()]
    several = len({c.protocol for c in board.columns}) > 1  # else the finding names it
    return [
        (c.task.removeprefix(PREFIX), f"{c.type}, {c.protocol}" if several else c.type, False, True,
         c.task)
        for c in board.columns
    ]  # fmt: skip


def by_language(board: Standings) -> dict[str, list[int]]:
    """Language -> column positions of its tasks; tasks of unknown language are left out."""
    spoken: dict[str, list[int]] = {}
    for place, column in enumerate(board.columns):
        for language in column.languages:
            spoken.setdefault(language, []).append(place)
    return dict(sorted(spoken.items()))


def _cells(board: Standings, ranked: Ranking | None, by: str) -> list[list[Cell]]:
    """Cells of each encoder in the columns of tasks, types or languages."""
    if by == TASKS:
        groups = ranked.task_groups if ranked else {}
        best = [groups.get(column.task, {}) for column in board.columns]
        return [
            [_score(score, of.get(name) == "a") for of, score in zip(best, row, strict=True)]
            for name, row in zip(board.encoders, board.scores.tolist(), strict=True)
        ]
    return _means(board, board.scores, by)


def _means(board: Standings, scores: np.ndarray, by: str, css: str = "") -> list[list[Cell]]:
    """Means by type or by language, for each row of scores."""
    if by == TYPES:
        groups = [[i for i, c in enumerate(board.columns) if c.type == name]
                  for name in board.types]  # fmt: skip
    else:
        groups = list(by_language(board).values())
    found = [means(scores[:, places]) for places in groups]
    return [
        [_mean(mean[i], int(counts[i]), len(of), css=css)
         for (mean, counts), of in zip(found, groups, strict=True)]
        for i in range(len(scores))
    ]  # fmt: skip


def _trained(tasks: Mapping[str, str] | None, of: int) -> Cell:
    """The number of tasks on whose data an encoder was trained, and the sources."""
    if tasks is None:
        return formats.MISSING, "t-muted", "training data unknown", False
    by = {
        who: [task for task, sources in tasks.items() if sources == who] for who in tasks.values()
    }
    tooltip = "; ".join(f"{who} names {', '.join(some)}" for who, some in by.items())
    return (
        f"{len(tasks)} of {of}",
        "t-bad" if tasks else "",
        tooltip or "by the names of its training data",
        False,
    )


def _score(score: float, best: bool) -> Cell:
    if math.isnan(score):
        return NOTHING
    return formats.score(score), "", "ties with the best" if best else "", best


def _published(board: Standings, by: str, leaks: bool, imported: Sequence[Reference]) -> list[Line]:
    """Rows of papers' and imported scores: references, without rank, points or test."""
    lines: list[Line] = []

    def add(model: str, about: str, cells: Sequence[Cell], mean: float | None) -> None:
        blank: Cell = ("", "", "", False)
        over = blank if mean is None else (formats.score(mean), "t-printed", "", False)
        shown = cells if by == TASKS else [blank] * len(_heads(board, by))
        lines.append((model, about, [blank, over, blank, blank, *[blank] * leaks, *shown]))

    for row, scores in beside([(c.task, c.protocol) for c in board.columns]).items():
        printed: list[Cell] = [(formats.score(s), "t-printed", row.table, False) for s in scores]
        mean = None if row.aggregation == "wmean" else _whole(scores)
        add(row.model, f"published, {row.training}", printed, mean)
    return lines + _imported(board, by, leaks, imported)


def _imported(board: Standings, by: str, leaks: bool, imported: Sequence[Reference]) -> list[Line]:
    """Rows of imported results, with means over their published scores."""
    tasks = [column.task for column in board.columns]
    scores = np.array([[one.scores.get(task, np.nan) for task in tasks] for one in imported])
    scores = scores.reshape(len(imported), len(tasks))
    mean, counts = means(scores)
    _, by_type, _ = by_group(scores, [column.type for column in board.columns])
    type_mean, kinds = by_type.mean(axis=1), (~np.isnan(by_type)).sum(axis=1)
    shown = [] if by == TASKS else _means(board, scores, by, "t-printed")
    blank: Cell = ("", "", "", False)
    lines: list[Line] = []
    for i, one in enumerate(imported):
        revision = f", revision {one.revision[:8]}" if one.revision else ""
        known = about(one.facts)
        rank = [blank] if board.encoders else []
        cells = [_reference(one, task) for task in tasks] if by == TASKS else shown[i]
        lines.append((one.model, f"published{known and ', '}{known}{revision}", [
            *rank,
            _mean(mean[i], int(counts[i]), len(tasks), css="t-printed"),
            _mean(type_mean[i], int(kinds[i]), len(board.types), css="t-printed"),
            *rank,
            *[blank] * leaks,
            *cells,
        ]))  # fmt: skip
    return lines


def _whole(scores: Sequence[float | None]) -> float | None:
    """The mean of scores; None if one is missing."""
    there = [score for score in scores if score is not None]
    return sum(there) / len(there) if len(there) == len(scores) else None


def _reference(one: Reference, task: str) -> Cell:
    if task not in one.scores:
        return (formats.MISSING, "t-muted", "not published", False)
    note = "other data" if task in one.other else ""
    return formats.score(one.scores[task]), "t-printed", one.told[task], False, note
