"""Every evaluated encoder in order, with how certain each rank is, and published scores beside."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from theodolite.app import formats
from theodolite.app.blocks import Block, Filters, Finding, Grid, GridCell, GridHead
from theodolite.app.pages.board import cost, cost_answer, published, service, trained
from theodolite.app.pages.board.published import Reference
from theodolite.app.pages.board.service import Standings
from theodolite.app.pages.board.spec import PUBLISHED, TASKS, TYPES, BoardSpec
from theodolite.app.question import Answer, Do, Question
from theodolite.engine.mteb.own_tasks import PREFIX

if TYPE_CHECKING:
    from theodolite.app.pages.compare.service import Ranking
    from theodolite.app.workspace import Workspace
    from theodolite.engine.stats.ranks import RankInterval

OF_OTHERS = "Published by others"
"""Label of the protocol PUBLISHED."""
MAX_NAMED = 3
BLANK = GridCell("")
NOT_EVALUATED = GridCell(formats.MISSING, "muted", "not evaluated")
NOT_MEASURED = GridCell(formats.MISSING, "muted", "not measured")
READING = (
    "Means, Borda counts and ranks are over the tasks that the ranked encoders share; an encoder "
    "that lacks some of them, or is still being evaluated, stands below without a rank. Borda, as "
    "MTEB counts it: on every task an encoder gets a point for each one that it beats and half a "
    "point for each that it equals. The rank interval holds 95 % of 2,000 resamples of the "
    "examples, by the mean; bold scores tie with the best of their column. Point at a cell for "
    "more."
)
OTHERS_READING = (
    "Means are over the tasks that the models which have one share; those that lack some of them "
    "stand below. Point at a name for its revision and size, at a score for the versions of mteb "
    "and of the data."
)
Line = tuple[str, str, Sequence[GridCell]]


@dataclass(frozen=True, eq=False, repr=False)
class BoardAnswer(Answer):
    """The order of the encoders.

    Attributes:
        spec: what was asked.
        standings: means, points and ranks.
        ranking: how certain the ranks are; None while that is not known.
        trained_on: encoder -> {task on whose data it was trained: who says so}; None where nobody
            says what it was trained on.
        references: scores of papers, and imported results.
        elsewhere: number of imported models if none of them has a score on these tasks.
        costs: encoder -> what it costs on this machine.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "encoder": str,
        "rank": int | None,
        "borda": float | None,
        "mean": float | None,
        "mean_over": int,
        "tasks": int,
        "of": int,
        "mean_by_type": float | None,
        "rank_low": int | None,
        "rank_high": int | None,
        "tie_group": str | None,
        "trained_on": list[str] | None,
    }

    spec: BoardSpec
    standings: Standings
    ranking: Ranking | None = None
    trained_on: Mapping[str, Mapping[str, str] | None] = field(default_factory=dict)
    references: Sequence[Reference] = ()
    elsewhere: int = 0
    costs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def _shows_published(self) -> bool:
        return self.spec.published or self.standings.spec.protocol == PUBLISHED

    @cached_property
    def _over(self) -> tuple[str, ...]:
        """The tasks of the means."""
        return published.compared(self.standings, self.references)

    @cached_property
    def _types(self) -> dict[str, list[int]]:
        return self._groups(TYPES)

    @cached_property
    def _shown_groups(self) -> dict[str, list[int]]:
        """The types or languages that are the columns, if not tasks."""
        return {} if self.spec.columns == TASKS else self._groups(self.spec.columns)

    @cached_property
    def _intervals(self) -> dict[str, RankInterval]:
        return {row.name: row for row in self.ranking.ranks} if self.ranking else {}

    @property
    def _tie_groups(self) -> Mapping[str, str]:
        return self.ranking.groups if self.ranking else {}

    def rows(self) -> list[dict[str, Any]]:
        """A row per encoder with all its scores, then published ones if they were asked for."""
        standings, groups = self.standings, self._tie_groups
        tasks = [column.task for column in standings.columns]
        kinds = Counter(c.type for c in standings.columns if c.task in standings.shared)
        rows = []
        for i, name in enumerate(standings.encoders):
            interval, seen = self._intervals.get(name), self.trained_on.get(name)
            has_mean = not np.isnan(standings.mean[i])
            rows.append(
                {
                    "encoder": name,
                    "rank": None if np.isnan(standings.ranks[i]) else int(standings.ranks[i]),
                    "borda": _number(standings.points[i]),
                    "mean": _number(standings.mean[i]),
                    "mean_over": len(standings.shared),
                    "tasks": int(standings.counts[i]),
                    "of": len(tasks),
                    "mean_by_type": _number(standings.type_mean[i]),
                    "rank_by_mean": interval and interval.rank,
                    "rank_low": interval and interval.low,
                    "rank_high": interval and interval.high,
                    "tie_group": groups.get(name),
                    "trained_on": seen if seen is None else list(seen),
                    "types": {
                        kind: {"mean": _number(mean[i]), "tasks": kinds[kind] if has_mean else 0}
                        for kind, mean in standings.by_type.items()
                    },
                    "scores": dict(zip(tasks, map(_number, standings.scores[i]), strict=True)),
                }
            )
        for one in self.references if self._shows_published else ():
            rows.append(dict.fromkeys(self.columns) | one.row(tasks, self._over))
        return rows

    def table_columns(self) -> list[str]:
        """Without the number of an encoder's own tasks."""
        return [name for name in super().table_columns() if name != "tasks"]

    def blocks(self) -> list[Block]:
        """The leaders, the filters, and the table."""
        filters = list(self.spec.filters())
        blocks: list[Block] = [self._finding(), self._grid()]
        return [*blocks[:1], *([Filters(filters)] if filters else []), *blocks[1:]]

    def _finding(self) -> Finding:
        """The leading encoders by mean and by Borda count, and the ties with them."""
        board, over = self.standings, len(self.standings.shared)
        if not board.encoders:
            return self._finding_of_others()
        where = f"over {formats.plural(over, 'task')}" if over > 1 else "on one task"
        if over == 1:
            where = f"on {board.shared[0]}"
        if over < len(board.columns):
            where += " that they share" if over > 1 else ", the one that they share"
        number = len(board.ranked)
        first = [n for n, rank in zip(board.encoders, board.ranks, strict=True) if rank == 1]
        if board.running:
            there, more = int(board.counts.sum()), len(set(board.running) - set(board.encoders))
            text = (
                f"{there} of {(len(board.encoders) + more) * len(board.columns)} scores are there: "
                f"{formats.listed(board.running, MAX_NAMED)} "
                f"{'is' if len(board.running) == 1 else 'are'} still being evaluated"
            )
        elif len(board.encoders) == 1:
            text = f"{board.encoders[0]} is the only encoder evaluated {where}"
        elif number < 2:
            text = "No two encoders share a task, so none leads"
        elif first == [board.ranked[0]]:
            text = f"{first[0]} leads {number} encoders {where}, by mean and Borda count"
        else:
            text = (
                f"{board.ranked[0]} has the highest mean {where}, "
                f"{formats.listed(first, MAX_NAMED)} the highest Borda count"
            )
        return Finding(text, " ".join(self._remarks()))

    def _finding_of_others(self) -> Finding:
        """The finding of a board with published results only."""
        models, over = self.references, self._over
        whole = [one for one in models if one.mean(over) is not None]
        detail = "These were evaluated by others: they are references, without rank or test."
        if len(whole) > 1:
            detail = (
                f"{whole[0].model} has the highest mean of the {len(whole)} that share "
                f"{formats.plural(len(over), 'task')}. {detail}"
            )
        return Finding(
            f"{formats.plural(len(models), 'published model')} on "
            f"{formats.plural(len(self.standings.columns), 'task')}; none of them was evaluated "
            "here",
            detail,
        )

    def _remarks(self) -> Iterator[str]:
        """What to know of the ranking: ties, missing scores, the protocol, filters."""
        board, groups = self.standings, self._tie_groups
        if groups and not board.running:
            best = board.ranked[0]
            tied = [n for n, letter in groups.items() if letter == "a" and n != best]
            verb = "ties" if len(tied) == 1 else "tie"
            who = f"{formats.listed(tied, MAX_NAMED)} {verb}" if tied else "No encoder ties"
            yield f"{who} with {best} by the mean."
        lacking = [name for name in board.encoders if name not in (*board.ranked, *board.running)]
        if len(lacking) == 1:
            yield f"{lacking[0]} lacks some of these tasks and so has no rank."
        elif lacking:
            yield (
                f"{len(lacking)} of {len(board.encoders)} lack some of these tasks and so have no "
                "rank."
            )
        if more := len(board.columns) - len(board.shared):
            yield f"{formats.plural(more, 'task')} not shared: in no mean and no rank."
        under = {column.protocol for column in board.columns}
        if len(under) == 1:
            yield f"Protocol {under.pop()}."
        if board.left_out:
            yield f"{formats.plural(board.left_out, 'encoder')} left out by the filters."
        if self.elsewhere:
            models = formats.plural(self.elsewhere, "published model")
            yield f"{models} are on other tasks: the protocol {OF_OTHERS!r} shows them."

    def _grid(self) -> Grid:
        """The encoders by tasks, types or languages."""
        board, over = self.standings, self._over
        own, ranks = bool(board.encoders), len(board.ranked) > 1
        knows = any(seen is not None for seen in self.trained_on.values())
        costs = cost_answer.ON_THE_BOARD if self.costs else ()
        heads = [
            GridHead("Encoder"),
            *([GridHead("Rank", "95 % interval", ascending=True)] if ranks else []),
            GridHead("Mean (task)", formats.plural(len(over), "task")),
            GridHead("Mean (type)", formats.plural(len(self._types), "type")),
            *([GridHead("Borda", "points, rank")] if own else []),
            *([GridHead("Trained on", "of these tasks", ascending=True)] if knows else []),
            *self._heads(),
            *cost_answer.heads(*costs),
        ]
        scores = self._cells()
        rows: list[Line] = []
        for i, name in enumerate(board.encoders):
            price = self.costs.get(name)
            cells = [
                *([self._rank(name)] if ranks else []),
                *self._means(i),
                *([self._trained(name)] if knows else []),
                *scores[i],
                *(cost_answer.cells(price, *costs) if price else [NOT_MEASURED] * len(costs)),
            ]
            rows.append((name, about(board.facts.get(name, {})), cells))
        if self._shows_published:
            shape = [BLANK] * ranks, [BLANK] * (own + knows), [BLANK] * len(costs)
            for model, small, (mean, by_type, *rest) in map(self._reference, self.references):
                before, between, after = shape
                rows.append((model, small, [*before, mean, by_type, *between, *rest, *after]))
        return Grid(
            "Encoders by tasks",
            "theodolite-board",
            heads,
            rows,
            READING if own else OTHERS_READING,
            "Click a score for the examples behind it." if own else "",
            1 + ranks,
        )

    def _rank(self, name: str) -> GridCell:
        row = self._intervals.get(name)
        if row is not None:
            detail = f"95 % of the resamples; first in {row.first:.0%} of them"
            return GridCell(f"{row.rank}", "", detail, note=f"{row.low} to {row.high}")
        why = f"only the best {service.MAX_RANKED} are resampled"
        if name in self.standings.running:
            why = "still being evaluated"
        elif name not in self.standings.ranked:
            why = "lacks some of the tasks that the others share"
        return GridCell(formats.MISSING, "muted", why)

    def _means(self, i: int) -> list[GridCell]:
        """Both means of an encoder, and its points."""
        board, groups = self.standings, self._tie_groups
        borda = GridCell(formats.MISSING, "muted")
        if not math.isnan(board.points[i]):
            borda = GridCell(
                formats.brief(board.points[i]), note=f"({formats.ordinal(int(board.ranks[i]))})"
            )
        is_best = groups.get(board.encoders[i]) == "a"
        return [
            _mean(board.mean[i], len(self._over), len(board.columns), is_best=is_best),
            _mean(board.type_mean[i], len(board.by_type), len(board.types)),
            borda,
        ]

    def _trained(self, name: str) -> GridCell:
        """On the data of how many of the tasks an encoder was trained, and who says so."""
        tasks = self.trained_on.get(name)
        if tasks is None:
            return GridCell(formats.MISSING, "muted", "training data unknown")
        by = {who: [task for task in tasks if tasks[task] == who] for who in tasks.values()}
        detail = "; ".join(f"{who} names {', '.join(some)}" for who, some in by.items())
        return GridCell(
            f"{len(tasks)} of {len(self.standings.columns)}",
            "bad" if tasks else "",
            detail or "by the names of its training data",
        )

    def _heads(self) -> list[GridHead]:
        if self.spec.columns != TASKS:
            groups = self._shown_groups
            return [GridHead(name, formats.plural(len(of), "task")) for name, of in groups.items()]
        columns = self.standings.columns
        several = len({c.protocol for c in columns}) > 1  # else the finding names it
        return [
            GridHead(
                c.task.removeprefix(PREFIX),
                f"{c.type}, {c.protocol}" if several else c.type,
                opens=c.task,
            )
            for c in columns
        ]

    def _groups(self, by: str) -> dict[str, list[int]]:
        """Type, or language -> positions of its tasks among those of the means."""
        groups: dict[str, list[int]] = {}
        for place, column in enumerate(self.standings.columns):
            for name in (column.type,) if by == TYPES else column.languages:
                if column.task in self._over:
                    groups.setdefault(name, []).append(place)
        return groups if by == TYPES else dict(sorted(groups.items()))

    def _cells(self) -> list[list[GridCell]]:
        """The cells of each encoder in the columns of tasks, types or languages."""
        board = self.standings
        if self.spec.columns != TASKS:
            return [_group_means(row, self._shown_groups) for row in board.scores]
        groups = self.ranking.task_groups if self.ranking else {}
        best = [groups.get(column.task, {}) for column in board.columns]
        return [
            [_score(score, of.get(name) == "a") for of, score in zip(best, row, strict=True)]
            for name, row in zip(board.encoders, board.scores.tolist(), strict=True)
        ]

    def _reference(self, one: Reference) -> Line:
        """A published model: its mean, its mean by type, and its cells."""
        board, over, types = self.standings, self._over, self._types
        scores = np.array([one.scores.get(column.task, np.nan) for column in board.columns])
        mean, by_type = one.mean(over), np.nan
        if mean is not None and types:
            by_type = np.mean([scores[places].mean() for places in types.values()])
        small = ["published", one.training or about(one.facts)]
        small += [f"revision {one.revision[:8]}"] if one.revision else []
        cells = [
            _mean(np.nan if mean is None else mean, len(over), len(board.columns), "printed"),
            _mean(by_type, len(types), len(board.types), "printed"),
        ]
        if self.spec.columns == TASKS:
            cells += [_published(one, column.task) for column in board.columns]
        else:
            cells += _group_means(scores, self._shown_groups, "printed")
        return one.model, ", ".join(filter(None, small)), cells


def about(facts: Mapping[str, Any]) -> str:
    """Size and dimension, shown beside the name of an encoder."""
    size, dim = facts.get("parameters"), facts.get("dim")
    known = [f"{formats.compact(size)}" if size else "", f"{dim} d" if dim else ""]
    return ", ".join(filter(None, known))


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _mean(score: float, over: int, of: int, tone: str = "", *, is_best: bool = False) -> GridCell:
    """A mean with its number of tasks, or types; none where a score is missing."""
    if np.isnan(score):
        return GridCell(formats.MISSING, "muted")
    return GridCell(formats.score(score), tone, "", is_best, f"{over} of {of}")


def _group_means(
    scores: np.ndarray, groups: Mapping[str, list[int]], tone: str = ""
) -> list[GridCell]:
    """Means of a row of scores over groups of columns."""
    return [_mean(scores[at].mean(), len(at), len(at), tone) for at in groups.values()]


def _score(score: float, is_best: bool) -> GridCell:
    if math.isnan(score):
        return NOT_EVALUATED
    return GridCell(formats.score(score), "", "ties with the best" if is_best else "", is_best)


def _published(one: Reference, task: str) -> GridCell:
    if task not in one.scores:
        return GridCell(formats.MISSING, "muted", "not published")
    note = "other data" if task in one.other else ""
    return GridCell(formats.score(one.scores[task]), "printed", one.notes[task], note=note)


def answer(workspace: Workspace, spec: BoardSpec, do: Do) -> Iterator[BoardAnswer]:
    """Yield the order at once, then with what takes longer: resampled ranks, and look-ups."""
    standings = service.board(workspace, spec)

    def so_far(ranking: Ranking | None) -> BoardAnswer:
        return BoardAnswer(
            spec,
            standings,
            ranking,
            trained.on_tasks(workspace, standings.facts, standings.encoders, standings.columns),
            (*published.papers(standings), *published.references(workspace, standings)),
            published.elsewhere(workspace, standings),
            cost.measured(workspace),
        )

    if not service.is_ranked(standings):
        yield so_far(None)
    ranking = service.ranking(workspace, standings)
    yield so_far(ranking)
    if trained.look_up(workspace, standings.encoders):  # once per model: mteb takes seconds
        yield so_far(ranking)
    if service.look_up(workspace, standings):  # once per version
        yield from answer(workspace, spec, do)


BOARD = Question(
    "board",
    BoardSpec,
    answer,
    BoardAnswer,
    ("board", "board --suite sts --most-parameters 50 --json"),
)
