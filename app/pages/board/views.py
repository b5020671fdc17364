"""What the page Board shows of encoders in their order: the finding, and the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from app import formats
from app.components.board import Cell, Head, Line, value
from app.pages.board import service
from app.web import parts
from engine.protocols.published import beside
from engine.stats.borda import means

if TYPE_CHECKING:
    from app.pages.board.service import Standings
    from app.pages.compare.service import Ranking

TASKS, TYPES, LANGUAGES = "tasks", "types", "languages"
COLUMNS = (("Tasks", TASKS), ("Types", TYPES), ("Languages", LANGUAGES))
SUITES = {
    service.ALL: "All measured",
    "starter": "Starter set",
    "sts": "STS, the seven",
    "transfer": "Transfer, the seven",
    "senteval": "SentEval",
    "probing": "Probing",
}
NOTHING: Cell = (formats.MISSING, "t-muted", "not measured", False)
MOST_NAMED = 3
READING = (
    "Encoders with a score on every task come first, by their mean. Behind each mean stands over "
    "how many tasks it is: one that is missing is left out, never counted as zero, so only means "
    "over the same tasks can be compared. Borda, as MTEB counts it: on every task an encoder gets "
    "a point for each one that it beats and half a point for each that it equals; a task that it "
    "was not measured on gives no points, so a rank with a task missing is the lowest it can have. "
    "The rank interval holds 95 % of 2,000 resamples of the examples, by the mean, of those with "
    "every task; bold scores tie with the best of their column. Point at a cell for more, press a "
    "score for the examples behind it."
)


def suites(names: Sequence[str]) -> list[tuple[str, str]]:
    """Suites to choose from, as people call them."""
    return [(SUITES.get(name, name), name) for name in names]


def finding(board: Standings, ranked: Ranking | None) -> str:
    """Who leads, by the mean and by Borda count, and who ties with whoever does."""
    number = len(board.columns)
    where = (
        f"over {formats.plural(number, 'task')}" if number > 1 else f"on {board.columns[0].task}"
    )
    first = [n for n, rank in zip(board.encoders, board.ranks, strict=True) if rank == 1]
    if len(board.encoders) == 1:
        said = f"{board.encoders[0]} alone was measured {where}"
    elif not board.complete:
        said = f"{formats.listed(first, MOST_NAMED)} leads by Borda count; nobody has every task"
    elif first == board.complete[:1]:
        said = f"{first[0]} leads {len(board.encoders)} encoders {where}, by mean and Borda count"
    else:
        said = (
            f"{board.complete[0]} has the highest mean {where}, "
            f"{formats.listed(first, MOST_NAMED)} the highest Borda count"
        )
    return parts.heading(said, " ".join(_beside(board, ranked)))


def _beside(board: Standings, ranked: Ranking | None) -> list[str]:
    """What has to be known of the order: ties, what is missing, under which protocol."""
    said = []
    if ranked and ranked.groups and board.complete:
        best = board.complete[0]
        tied = [n for n, letter in ranked.groups.items() if letter == "a" and n != best]
        said.append(
            f"{formats.listed(tied, MOST_NAMED)} {'ties' if len(tied) == 1 else 'tie'} with {best} "
            "by the mean."
            if tied
            else f"Nobody ties with {best} by the mean."
        )
    if short := len(board.encoders) - len(board.complete):
        said.append(f"{short} of {len(board.encoders)} miss a task: their means stand apart.")
    under = {column.protocol for column in board.columns}
    if len(under) == 1:
        said.append(f"Protocol {under.pop()}.")
    if board.left_out:
        said.append(f"{formats.plural(board.left_out, 'encoder')} left out by the filters.")
    return said


def table(
    board: Standings,
    ranked: Ranking | None,
    by: str = TASKS,
    published: bool = True,
    more: Mapping[str, Sequence[Cell]] | None = None,
    more_heads: Sequence[Head] = (),
) -> str:
    """The whole table, drawn as it is scrolled to.

    Args:
        board: what to show.
        ranked: what the ranks are worth, where that is known.
        by: what the columns are, one of COLUMNS.
        published: whether numbers from papers stand below.
        more: of each encoder, cells before those of the tasks.
        more_heads: their heads.
    """
    trained = {name: service.trained_on(board, name) for name in board.encoders}
    leaks = any(found is not None for found in trained.values())
    heads: list[Head] = [
        ("Encoder", ""),
        ("Rank", "95 % interval", True),
        ("Mean (task)", formats.plural(len(board.columns), "task")),
        ("Mean (type)", formats.plural(len(board.types), "type")),
        ("Borda", "points, rank"),
        *more_heads,
        *([("Trained on", "of these tasks", True)] if leaks else []),
        *_heads(board, by),
    ]
    intervals = {row.name: row for row in ranked.ranks} if ranked else {}
    groups = ranked.groups if ranked else {}
    cells = _cells(board, ranked, by)
    rows: list[Line] = []
    for i, name in enumerate(board.encoders):
        found = intervals.get(name)
        rank: Cell = (formats.MISSING, "t-muted", _unranked(board, i), False)
        if found:
            told = f"95 % of the resamples; first in {found.first:.0%} of them"
            rank = (f"{found.rank}", "", told, False, f"{found.low} to {found.high}")
        kinds = int((board.type_counts[i] > 0).sum())
        borda = (formats.brief(board.points[i]), "", _missed(board, i), False, f"{board.ranks[i]}.")
        known = list(more.get(name, [NOTHING] * len(more_heads))) if more else []
        rows.append((name, about(board.facts.get(name, {})), [
            rank,
            _mean(board.mean[i], int(board.counts[i]), len(board.columns), groups.get(name) == "a"),
            _mean(board.type_mean[i], kinds, len(board.types)),
            borda,
            *known,
            *([_trained(trained[name], len(board.columns))] if leaks else []),
            *cells[i],
        ]))  # fmt: skip
    if published:
        rows += _published(board, by, len(more_heads) + leaks)
    return value("Encoders by tasks", heads, rows, READING, "theodolite-board.csv")


def about(facts: Mapping[str, Any]) -> str:
    """What stands beside the name of an encoder."""
    size, dim = facts.get("parameters"), facts.get("dim")
    known = [f"{formats.compact(size)}" if size else "", f"{dim} d" if dim else ""]
    return ", ".join(filter(None, known))


def _unranked(board: Standings, place: int) -> str:
    if board.counts[place] < len(board.columns):
        return "not every task was measured"
    return f"resampled are the best {service.MOST_RANKED} with every task"


def _missed(board: Standings, place: int) -> str:
    lacking = len(board.columns) - int(board.counts[place])
    return f"no points for {formats.plural(lacking, 'missing task')}" if lacking else ""


def _mean(score: float, over: int, of: int, bold: bool = False) -> Cell:
    """A mean, and over how many tasks it is; apart from the others where some are missing."""
    if np.isnan(score):
        return (formats.MISSING, "t-muted", "", False, f"{over} of {of}")
    css = "" if over == of else "t-part"
    return formats.score(score), css, "", bold, f"{over} of {of}"


def _heads(board: Standings, by: str) -> list[Head]:
    if by == TYPES:
        number = [sum(c.type == name for c in board.columns) for name in board.types]
        return [(name, formats.plural(n, "task"))
                for name, n in zip(board.types, number, strict=True)]  # fmt: skip
    if by == LANGUAGES:
        spoken = by_language(board)
        return [(name, formats.plural(len(of), "task")) for name, of in spoken.items()]
    return [(c.task, f"{c.type}, {c.protocol}", False, True) for c in board.columns]


def by_language(board: Standings) -> dict[str, list[int]]:
    """Language -> positions of its tasks; those of no known language are left out."""
    spoken: dict[str, list[int]] = {}
    for place, column in enumerate(board.columns):
        for language in column.languages:
            spoken.setdefault(language, []).append(place)
    return dict(sorted(spoken.items()))


def _cells(board: Standings, ranked: Ranking | None, by: str) -> list[list[Cell]]:
    """Of each encoder, what stands in the columns of tasks, types or languages."""
    if by == TASKS:
        best = ranked.task_groups if ranked else {}
        return [
            [_score(score, best.get(c.task, {}).get(name) == "a")
             for c, score in zip(board.columns, board.scores[i], strict=True)]
            for i, name in enumerate(board.encoders)
        ]  # fmt: skip
    if by == TYPES:
        sizes = [sum(c.type == name for c in board.columns) for name in board.types]
        found = [(board.by_type[:, j], board.type_counts[:, j]) for j in range(len(sizes))]
    else:
        spoken = by_language(board)
        sizes = [len(places) for places in spoken.values()]
        found = [means(board.scores[:, places]) for places in spoken.values()]
    return [
        [_mean(mean[i], int(counts[i]), of)
         for (mean, counts), of in zip(found, sizes, strict=True)]
        for i in range(len(board.encoders))
    ]  # fmt: skip


def _trained(tasks: list[str] | None, of: int) -> Cell:
    """On the data of how many of the tasks an encoder says that it was trained."""
    if tasks is None:
        return formats.MISSING, "t-muted", "its card names no training data", False
    told = f"its card names the data of {', '.join(tasks)}" if tasks else "by the names on its card"
    return f"{len(tasks)} of {of}", "t-bad" if tasks else "", told, False


def _score(score: float, best: bool) -> Cell:
    if np.isnan(score):
        return NOTHING
    return formats.score(score), "", "ties with the best" if best else "", best


def _published(board: Standings, by: str, skipped: int) -> list[Line]:
    """Numbers from papers: references, without rank, points or test."""
    blank: Cell = ("", "", "", False)
    lines: list[Line] = []
    rows = beside([(c.task, c.protocol) for c in board.columns])
    for row, scores in rows.items():
        there = [score for score in scores if score is not None]
        mean = blank
        if len(there) == len(scores) and row.aggregation != "wmean":
            mean = (formats.score(sum(there) / len(there)), "t-printed", "", False)
        cells: list[Cell] = [
            (formats.score(score), "t-printed", row.table, False) for score in scores
        ]
        if by != TASKS:
            cells = [blank] * len(_heads(board, by))
        lines.append(
            (row.model, f"published, {row.training}",
             [blank, mean, blank, blank, *[blank] * skipped, *cells])
        )  # fmt: skip
    return lines
