"""Views of the page Board: the finding, the table, and the examples behind a difference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Any

import numpy as np

from theodolite.app import formats
from theodolite.app.components.board import Cell, Head, Line, value
from theodolite.app.pages.board import published as published_results
from theodolite.app.pages.board import service
from theodolite.app.pages.board.examples import Disagreement, Example
from theodolite.app.pages.board.published import Reference
from theodolite.app.pages.board.service import Standings
from theodolite.app.pages.compare.service import Ranking
from theodolite.app.web import parts
from theodolite.engine.errors import UserError
from theodolite.engine.mteb.own_tasks import PREFIX
from theodolite.engine.protocols.published import beside

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
MAX_NAMED = 3
READING = (
    "Means, Borda counts and ranks are over the tasks that the ranked encoders share; an encoder "
    "that lacks some of them, or is still being evaluated, stands below without a rank. Borda, as "
    "MTEB counts it: on every task an encoder gets a point for each one that it beats and half a "
    "point for each that it equals. The rank interval holds 95 % of 2,000 resamples of the "
    "examples, by the mean; bold scores tie with the best of their column. Point at a cell for "
    "more."
)
PRESSING = "Click a score for the examples behind it."
OTHERS_READING = (
    "Means are over the tasks that the models which have one share; those that lack some of them "
    "stand below. Point at a name for its revision and size, at a "
    "score for the versions of mteb and of the data."
)
PARTING_LEAD = (
    "What a difference between two encoders is made of. Of a task that is scored by a correlation, "
    "how right an example is: how near its rank by the encoder is to its rank by the grade. Of one "
    "that is a mean over examples: what the example adds to it."
)
MAX_CHARACTERS = 280
"""Of a text on the page; the CSV has the full text."""


def suites(names: Sequence[str]) -> list[tuple[str, str]]:
    """Choices of suites as (label, name)."""
    return [(SUITES.get(name, name), name) for name in names]


def protocols(names: Sequence[str]) -> list[tuple[str, str]]:
    """Choices of protocols as (label, name)."""
    return [(OF_OTHERS if name == service.PUBLISHED else name, name) for name in names]


def finding(
    board: Standings, ranked: Ranking | None, imported: Sequence[Reference] = (), elsewhere: int = 0
) -> str:
    """The leading encoders by mean and by Borda count, and the ties with them."""
    if not board.encoders:
        return _finding_of_others(board, imported)
    several = len(board.shared) > 1
    where = f"over {formats.plural(len(board.shared), 'task')}" if several else "on one task"
    if len(board.shared) == 1:
        where = f"on {board.shared[0]}"
    if len(board.shared) < len(board.columns):
        where += " that they share" if several else ", the one that they share"
    number = len(board.ranked)
    first = [n for n, rank in zip(board.encoders, board.ranks, strict=True) if rank == 1]
    if board.running:
        there, more = int(board.counts.sum()), len(set(board.running) - set(board.encoders))
        title = (
            f"{there} of {(len(board.encoders) + more) * len(board.columns)} scores are there: "
            f"{formats.listed(board.running, MAX_NAMED)} "
            f"{'is' if len(board.running) == 1 else 'are'} still being evaluated"
        )
    elif len(board.encoders) == 1:
        title = f"{board.encoders[0]} is the only encoder evaluated {where}"
    elif number < 2:
        title = "No two encoders share a task, so none leads"
    elif first == [board.ranked[0]]:
        title = f"{first[0]} leads {number} encoders {where}, by mean and Borda count"
    else:
        title = (
            f"{board.ranked[0]} has the highest mean {where}, "
            f"{formats.listed(first, MAX_NAMED)} the highest Borda count"
        )
    beside = _beside(board, ranked)
    if elsewhere:
        models = formats.plural(elsewhere, "published model")
        beside.append(f"{models} are on other tasks: the protocol {OF_OTHERS!r} shows them.")
    return parts.heading(title, " ".join(beside))


def _finding_of_others(board: Standings, imported: Sequence[Reference]) -> str:
    """The finding of a board with published results only."""
    number = len(board.columns)
    over = published_results.compared(board, imported)
    whole = [one for one in imported if one.mean(over) is not None]
    title = (
        f"{formats.plural(len(imported), 'published model')} on "
        f"{formats.plural(number, 'task')}; none of them was evaluated here"
    )
    lead = ["These were evaluated by others: they are references, without rank, interval or test."]
    if len(whole) > 1:
        lead.insert(
            0,
            f"{whole[0].model} has the highest mean of the {len(whole)} that share "
            f"{formats.plural(len(over), 'task')}.",
        )
    return f'<div class="t-references">{parts.heading(title, " ".join(lead))}</div>'


def _beside(board: Standings, ranked: Ranking | None) -> list[str]:
    """Notes on the ranking: ties, missing scores, the protocol, filters."""
    notes = []
    if ranked and ranked.groups and not board.running:
        best = board.ranked[0]
        tied = [n for n, letter in ranked.groups.items() if letter == "a" and n != best]
        notes.append(
            f"{formats.listed(tied, MAX_NAMED)} {'ties' if len(tied) == 1 else 'tie'} with {best} "
            "by the mean."
            if tied
            else f"No encoder ties with {best} by the mean."
        )
    lacking = [name for name in board.encoders if name not in (*board.ranked, *board.running)]
    if lacking:
        notes.append(
            f"{formats.listed(lacking, MAX_NAMED)} {'lacks' if len(lacking) == 1 else 'lack'} some"
            " of these tasks and so has no rank."
            if len(lacking) == 1
            else f"{len(lacking)} of {len(board.encoders)} lack some of these tasks and so have no"
            " rank."
        )
    if more := len(board.columns) - len(board.shared):
        notes.append(f"{formats.plural(more, 'task')} not shared: in no mean and no rank.")
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
    over = published_results.compared(board, imported)
    heads: list[Head] = [
        ("Encoder", ""),
        *([("Rank", "95 % interval", True)] if own else []),
        ("Mean (task)", formats.plural(len(over), "task")),
        ("Mean (type)", formats.plural(len(_groups(board, TYPES, over)), "type")),
        *([("Borda", "points, rank")] if own else []),
        *([("Trained on", "of these tasks", True)] if leaks else []),
        *_heads(board, by, over),
        *more_heads,
    ]
    intervals = {row.name: row for row in ranked.ranks} if ranked else {}
    groups = ranked.groups if ranked else {}
    cells = _cells(board, ranked, by, over)
    number = len(over), len(board.columns)
    rows: list[Line] = []
    for i, name in enumerate(board.encoders):
        found = intervals.get(name)
        rank: Cell = (formats.MISSING, "t-muted", _unranked(board, name), False)
        if found:
            detail = f"95 % of the resamples; first in {found.first:.0%} of them"
            rank = (f"{found.rank}", "", detail, False, f"{found.low} to {found.high}")
        borda: Cell = (formats.MISSING, "t-muted", "", False)
        if not math.isnan(board.points[i]):
            borda = (formats.brief(board.points[i]), "", "", False, f"{board.ranks[i]:.0f}.")
        known = list(more.get(name, [NOTHING] * len(more_heads))) if more else []
        rows.append(
            (
                name,
                about(board.facts.get(name, {})),
                [
                    rank,
                    _mean(board.mean[i], *number, bold=groups.get(name) == "a"),
                    _mean(board.type_mean[i], len(board.by_type), len(board.types)),
                    borda,
                    *([_trained(trained.get(name), len(board.columns))] if leaks else []),
                    *cells[i],
                    *known,
                ],
            )
        )
    if published:
        rows += [
            (name, about, [*cells, *[("", "", "", False)] * len(more_heads)])
            for name, about, cells in _published(board, by, leaks, imported, over)
        ]
    if own and len(board.ranked) < 2:  # no ranks: the finding says what is missing
        del heads[1]
        rows = [(name, about, cells[1:]) for name, about, cells in rows]
    reading, pressing = (READING, PRESSING) if own else (OTHERS_READING, "")
    return value("Encoders by tasks", heads, rows, reading, "theodolite-board.csv", pressing)


def about(facts: Mapping[str, Any]) -> str:
    """Size and dimension, shown beside the name of an encoder."""
    size, dim = facts.get("parameters"), facts.get("dim")
    known = [f"{formats.compact(size)}" if size else "", f"{dim} d" if dim else ""]
    return ", ".join(filter(None, known))


def _unranked(board: Standings, name: str) -> str:
    if name in board.running:
        return "still being evaluated"
    if name not in board.ranked:
        return "lacks some of the tasks that the others share"
    return f"only the best {service.MAX_RANKED} are resampled"


def _mean(score: float, over: int, of: int, css: str = "", *, bold: bool = False) -> Cell:
    """A mean with its number of tasks, or types; none where a score is missing."""
    if np.isnan(score):
        return formats.MISSING, "t-muted", "", False
    return formats.score(score), css, "", bold, f"{over} of {of}"


def _heads(board: Standings, by: str, over: Sequence[str]) -> list[Head]:
    if by != TASKS:
        groups = _groups(board, by, over)
        return [(name, formats.plural(len(of), "task")) for name, of in groups.items()]
    several = len({c.protocol for c in board.columns}) > 1  # else the finding names it
    return [
        (
            c.task.removeprefix(PREFIX),
            f"{c.type}, {c.protocol}" if several else c.type,
            False,
            True,
            c.task,
        )
        for c in board.columns
    ]


def _groups(board: Standings, by: str, over: Sequence[str]) -> dict[str, list[int]]:
    """Type, or language -> positions of its tasks among `over`; those of none are left out."""
    found: dict[str, list[int]] = {}
    for place, column in enumerate(board.columns):
        for name in (column.type,) if by == TYPES else column.languages:
            if column.task in over:
                found.setdefault(name, []).append(place)
    return found if by == TYPES else dict(sorted(found.items()))


def _cells(
    board: Standings, ranked: Ranking | None, by: str, over: Sequence[str]
) -> list[list[Cell]]:
    """Cells of each encoder in the columns of tasks, types or languages."""
    if by == TASKS:
        groups = ranked.task_groups if ranked else {}
        best = [groups.get(column.task, {}) for column in board.columns]
        return [
            [_score(score, of.get(name) == "a") for of, score in zip(best, row, strict=True)]
            for name, row in zip(board.encoders, board.scores.tolist(), strict=True)
        ]
    return _means(board.scores, _groups(board, by, over))


def _means(scores: np.ndarray, groups: Mapping[str, list[int]], css: str = "") -> list[list[Cell]]:
    """Each row's means over groups of columns."""
    return [
        [_mean(row[at].mean(), len(at), len(at), css) for at in groups.values()] for row in scores
    ]


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


def _published(
    board: Standings, by: str, leaks: bool, imported: Sequence[Reference], over: Sequence[str]
) -> list[Line]:
    """Rows of papers' and imported scores: references, without rank, points or test."""
    lines: list[Line] = []
    tasks = [column.task for column in board.columns]
    blank: Cell = ("", "", "", False)
    rank = [blank] if board.encoders else []
    shared = [place for place, task in enumerate(tasks) if task in over]

    for row, scores in beside([(c.task, c.protocol) for c in board.columns]).items():
        printed: list[Cell] = [(formats.score(s), "t-printed", row.table, False) for s in scores]
        there = [scores[place] for place in shared]
        mean = None if row.aggregation == "wmean" else _whole(there)
        said = blank if mean is None else (formats.score(mean), "t-printed", "", False)
        shown = printed if by == TASKS else [blank] * len(_heads(board, by, over))
        about = f"published, {row.training}"
        lines.append((row.model, about, [*rank, said, blank, *rank, *[blank] * leaks, *shown]))
    return lines + [
        (one.model, _about(one), [*rank, mean, kinds, *rank, *[blank] * leaks, *cells])
        for one, mean, kinds, cells in _imported(board, by, imported, over)
    ]


def _about(one: Reference) -> str:
    known = about(one.facts)
    revision = f", revision {one.revision[:8]}" if one.revision else ""
    return f"published{known and ', '}{known}{revision}"


def _imported(
    board: Standings, by: str, imported: Sequence[Reference], over: Sequence[str]
) -> Iterator[tuple[Reference, Cell, Cell, list[Cell]]]:
    """Each imported model with its mean, its mean by type, and its cells."""
    tasks = [column.task for column in board.columns]
    types, groups = _groups(board, TYPES, over), _groups(board, by, over)
    for one in imported:
        scores = np.array([[one.scores.get(task, np.nan) for task in tasks]])
        kinds = np.array([scores[0, places].mean() for places in types.values()])
        mean = one.mean(over)
        cells = (
            [_reference(one, task) for task in tasks]
            if by == TASKS
            else _means(scores, groups, "t-printed")[0]
        )
        yield (
            one,
            _mean(np.nan if mean is None else mean, len(over), len(tasks), "t-printed"),
            _mean(kinds.mean() if types else np.nan, len(types), len(board.types), "t-printed"),
            cells,
        )


def _whole(scores: Sequence[float | None]) -> float | None:
    """The mean of scores; None if one is missing."""
    there = [score for score in scores if score is not None]
    return sum(there) / len(there) if len(there) == len(scores) else None


def _reference(one: Reference, task: str) -> Cell:
    if task not in one.scores:
        return (formats.MISSING, "t-muted", "not published", False)
    note = "other data" if task in one.other else ""
    return formats.score(one.scores[task]), "t-printed", one.told[task], False, note


def examples(found: Disagreement) -> str:
    """A sentence, the examples furthest apart, and a button to save them."""
    does = "is right" if found.whole else "is nearer the grade" if found.graded else "does better"
    than = f"that {found.worse} gets wrong" if found.whole else f"than {found.worse}"
    text = (
        f"{found.better} {does} on {formats.plural(found.ahead, 'example')} of {found.task} "
        f"{than}, the other way round on {formats.count(found.behind)}, of "
        f"{formats.count(found.of)}."
    )
    said = f'<p class="t-said">{escape(text)}</p>'
    if not found.examples:
        return said
    heads = ("Example", "Expected", found.better, found.worse)
    rows = [
        (_example(one), cut(one.label), _quality(one.right, found), _quality(one.wrong, found))
        for one in found.examples
    ]
    table = parts.table(heads, rows, f"Where {found.better} does better", (2, 3), stacked=True)
    data: list[list[Any]] = [
        ["example", "text", "second text", "expected", found.better, found.worse],
        *(
            [one.place, *(*one.texts, "", "")[:2], one.label, one.right, one.wrong]
            for one in found.examples
        ),
    ]
    return said + table + parts.csv_button("Download CSV", "theodolite-examples.csv", data)


def no_examples(error: UserError) -> str:
    """The reason why there are no examples to show."""
    return f'<p class="t-said">{escape(error.message)} {escape(error.hint)}</p>'


def _example(one: Example) -> str:
    if not one.texts:
        return f'<span class="t-muted">number {one.place}: its text is not at hand</span>'
    return "<br>".join(map(cut, one.texts))


def cut(text: str, most: int = MAX_CHARACTERS) -> str:
    """A text of a data set as HTML, with an ellipsis where it is longer."""
    first = text if len(text) <= most else f"{text[:most].rstrip()}…"
    return f'<span dir="auto">{escape(first)}</span>'


def _quality(value: float, found: Disagreement) -> str:
    if found.whole:
        return "right" if value else "wrong"
    return f"{value:.2f}"
