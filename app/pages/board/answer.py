"""Every evaluated encoder in order, with how certain each rank is, and published scores beside."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import Block, Filters, Finding, Grid, GridCell, GridHead
from theodolite.app.pages.board import cost, standings, training_data
from theodolite.app.pages.board.standings import (
    NO_RANKING,
    OF_OTHERS,
    PUBLISHED,
    TASKS,
    TYPES,
    BoardSpec,
    Entry,
    Standings,
    TaskColumn,
)
from theodolite.app.question import Answer, Do, Question
from theodolite.app.significance import Ranking
from theodolite.app.workspace import Workspace
from theodolite.engine.mteb.own_tasks import PREFIX
from theodolite.engine.stats.ranks import RankInterval

MAX_NAMED = 3
COSTS = ("per_second_64", "latency_p50", "memory")
READING = (
    "Means, Borda counts and ranks are over the tasks that the ranked encoders share; an encoder "
    "that lacks some of them, or is still being evaluated, stands below without a rank. Borda, as "
    "MTEB counts it: on every task an encoder gets a point for each one that it beats and half a "
    "point for each that it equals. The rank interval holds 95 % of 2,000 resamples of the "
    "examples, by the mean; bold scores tie with the best of their column. Point at a cell for "
    "more."
)
OTHERS_READING = (
    "Means are over the tasks that all models with a mean share; models that lack some of these "
    "are listed below. Point at a name for its revision and size, at a score for the versions of "
    "mteb and of the data."
)


Cells = Callable[[Entry], GridCell]


@dataclass(frozen=True, eq=False, repr=False)
class BoardAnswer(Answer):
    """The order of the encoders.

    Attributes:
        spec: what was asked.
        standings: means, points and ranks.
        ranking: how certain the ranks are; empty while that is not known.
        trained_on: encoder -> {task on whose data it was trained: who says so}; None where nobody
            says what it was trained on.
        published: scores of papers, and imported results.
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
    ranking: Ranking = NO_RANKING
    trained_on: Mapping[str, Mapping[str, str] | None] = field(default_factory=dict)
    published: Sequence[Entry] = ()
    elsewhere: int = 0
    costs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @cached_property
    def _over(self) -> list[TaskColumn]:
        """The columns of the means."""
        return standings.compared_columns(self.standings, self.published)

    @cached_property
    def _entries(self) -> list[Entry]:
        """The encoders, then what was published if that is asked for."""
        with_published = self.spec.published or self.standings.spec.protocol == PUBLISHED
        return [*self.standings.entries, *(self.published if with_published else ())]

    @cached_property
    def _intervals(self) -> dict[str, RankInterval]:
        return {row.name: row for row in self.ranking.ranks}

    def rows(self) -> list[dict[str, Any]]:
        """A row per encoder with all its scores, then published ones if they were asked for."""
        tasks = [column.task for column in self.standings.columns]
        rows = []
        for entry in self._entries:
            name = entry.name
            row = dict.fromkeys(self.columns) | {
                "encoder": name,
                "mean": entry.mean,
                "mean_over": len(self._over),
                "tasks": len(entry.scores),
                "of": len(tasks),
                "mean_by_type": entry.type_mean,
                "scores": {task: entry.scores.get(task) for task in tasks},
            }
            rows.append(row)
            if entry.published:
                row |= {"published": True, "revision": entry.facts.get("revision", "")}
                continue
            interval, trained = self._intervals.get(name), self.trained_on.get(name)
            row |= {
                "rank": entry.rank,
                "borda": entry.points,
                "rank_by_mean": interval and interval.rank,
                "rank_low": interval and interval.low,
                "rank_high": interval and interval.high,
                "tie_group": self.ranking.groups.get(name),
                "trained_on": trained if trained is None else list(trained),
                "types": {
                    kind: {
                        "mean": entry.by_type.get(kind),
                        "tasks": len(of) if entry.by_type else 0,
                    }
                    for kind, of in self._groups(TYPES).items()
                },
            }
        return rows

    def table_columns(self) -> list[str]:
        """Without the number of an encoder's own tasks."""
        return [name for name in super().table_columns() if name != "tasks"]

    def blocks(self) -> list[Block]:
        """The leaders, the filters, and the table."""
        filters = list(self.spec.filters())
        return [self._finding(), *([Filters(filters)] if filters else []), self._grid()]

    def _finding(self) -> Finding:
        """The leading encoders by mean and by Borda count, and what to know of the ranking."""
        board, ranked = self.standings, list(self.standings.quality)
        over = f"over {formats.plural(len(board.shared), 'task')}"
        first = [entry.name for entry in board.entries if entry.rank == 1]
        if not board.entries:
            text = (
                f"{formats.plural(len(self.published), 'published model')} on "
                f"{formats.plural(len(board.columns), 'task')}; none of them was evaluated here"
            )
        elif board.running:
            every = len({*board.encoders, *board.running}) * len(board.columns)
            there = sum(len(entry.scores) for entry in board.entries)
            running = formats.listed(board.running, MAX_NAMED)
            text = f"{there:,} of {every:,} scores are there; still being evaluated: {running}"
        elif not first:
            text = (
                f"{board.encoders[0]} is the only encoder here"
                if len(board.encoders) == 1
                else "No two encoders share a task, so none leads"
            )
        elif first == ranked[:1]:
            text = f"{first[0]} leads {len(ranked)} encoders {over}, by mean and Borda count"
        else:
            text = (
                f"{ranked[0]} has the highest mean {over}, "
                f"{formats.listed(first, MAX_NAMED)} the highest Borda count"
            )
        return Finding(text, " ".join(self._remarks()))

    def _remarks(self) -> Iterator[str]:
        """Ties, missing scores, the protocol, filters."""
        board, groups, ranked = self.standings, self.ranking.groups, self.standings.quality
        if not board.entries:
            yield "These were evaluated by others: they are references, without rank or test."
        if groups and not board.running:
            best = next(iter(ranked))
            tied = [name for name in ranked if groups.get(name) == "a" and name != best]
            verb = "ties" if len(tied) == 1 else "tie"
            who = f"{formats.listed(tied, MAX_NAMED)} {verb}" if tied else "No encoder ties"
            yield f"{who} with {best} by the mean."
        if missing := len({*board.encoders} - {*ranked, *board.running}):
            yield f"{formats.plural(missing, 'encoder')} without a rank: some tasks are missing."
        if more := len(board.columns) - len(self._over):
            yield f"{formats.plural(more, 'task')} not shared by all: left out of means and ranks."
        under = {column.protocol for column in board.columns}
        if len(under) == 1:
            yield f"Protocol {under.pop()}."
        if board.left_out:
            yield f"{formats.plural(board.left_out, 'encoder')} left out by the filters."
        if self.elsewhere:
            yield (
                f"{formats.plural(self.elsewhere, 'published model')} are on other tasks: the "
                f"protocol {OF_OTHERS!r} shows them."
            )

    def _grid(self) -> Grid:
        """The encoders by tasks, types or languages."""
        board, own = self.standings, bool(self.standings.entries)
        ranks, within = len(board.quality) > 1, "95 % interval"
        knows = any(names is not None for names in self.trained_on.values())
        over, types = formats.plural(len(self._over), "task"), len(self._groups(TYPES))
        head = GridHead("Trained on", "of these tasks", ascending=True)
        of_types = f"{types} of {len(board.types)}"

        def type_mean(entry: Entry) -> GridCell:
            return _mean(entry, entry.type_mean, of_types)

        columns: list[tuple[GridHead, Cells]] = [
            *([(GridHead("Rank", within, ascending=True, beside=within), self._rank)] * ranks),
            (GridHead("Mean (task)", over), self._mean),
            (GridHead("Mean (type)", formats.plural(types, "type")), type_mean),
            *([(GridHead("Borda", "points, rank", beside="rank"), self._borda)] if own else []),
            *([(head, self._training_cell)] if knows else []),
            *self._scores(),
            *((cost.head(key), partial(self._cost, key)) for key in COSTS if self.costs),
        ]
        return Grid(
            "Encoders by tasks",
            "theodolite-board",
            [GridHead("Encoder"), *(head for head, _ in columns)],
            [(one.name, _about(one), [cell(one) for _, cell in columns]) for one in self._entries],
            READING if own else OTHERS_READING,
            "Click a score for the examples behind it." if own else "",
            1 + ranks,
        )

    def _rank(self, entry: Entry) -> GridCell:
        row = self._intervals.get(entry.name)
        if row is None or entry.published:
            return _unknown_cell(
                entry,
                "lacks tasks that the others share, is still being evaluated, or is not among the "
                f"{standings.MAX_RANKED} best, whose ranks are resampled",
            )
        detail = f"95 % of the resamples; first in {formats.percent(row.first)} of them"
        return GridCell(f"{row.rank}", "", detail, note=f"{row.low} to {row.high}")

    def _mean(self, entry: Entry) -> GridCell:
        best = not entry.published and self.ranking.groups.get(entry.name) == "a"
        note = f"{len(self._over)} of {len(self.standings.columns)}"
        return _mean(entry, entry.mean, note, is_best=best)

    def _borda(self, entry: Entry) -> GridCell:
        if entry.points is None or entry.rank is None:
            return _unknown_cell(entry)
        return GridCell(formats.brief(entry.points), note=f"({formats.ordinal(entry.rank)})")

    def _training_cell(self, entry: Entry) -> GridCell:
        """On the data of how many of the tasks an encoder was trained, and who says so."""
        tasks = None if entry.published else self.trained_on.get(entry.name)
        if tasks is None:
            return _unknown_cell(entry, "training data unknown")
        by = {who: [task for task in tasks if tasks[task] == who] for who in tasks.values()}
        return GridCell(
            f"{len(tasks)} of {len(self.standings.columns)}",
            "bad" if tasks else "",
            "; ".join(f"{who} names {', '.join(some)}" for who, some in by.items())
            or "by the names of its training data",
        )

    def _cost(self, key: str, entry: Entry) -> GridCell:
        row = None if entry.published else self.costs.get(entry.name)
        return cost.cell(row, key) if row else _unknown_cell(entry, "not measured")

    def _groups(self, by: str) -> dict[str, list[str]]:
        """Type, or language -> its tasks among those of the means."""
        groups: dict[str, list[str]] = {}
        for column in self._over:
            for name in (column.type,) if by == TYPES else column.languages:
                groups.setdefault(name, []).append(column.task)
        return groups if by == TYPES else dict(sorted(groups.items()))

    def _scores(self) -> Iterator[tuple[GridHead, Cells]]:
        """The columns of tasks, types or languages."""
        if self.spec.columns != TASKS:
            for name, tasks in self._groups(self.spec.columns).items():
                yield GridHead(name, formats.plural(len(tasks), "task")), partial(_group, tasks)
            return
        columns = self.standings.columns
        several = len({column.protocol for column in columns}) > 1  # else the finding names it
        for column in columns:
            small = f"{column.type}, {column.protocol}" if several else column.type
            head = GridHead(column.task.removeprefix(PREFIX), small, opens=column.task)
            yield head, partial(_score, column.task, self._best(column.task))

    def _best(self, task: str) -> set[str]:
        """The encoders that tie with the best on a task; none where the best was not tested."""
        scores = {
            entry.name: entry.scores[task]
            for entry in self._entries
            if task in entry.scores and not entry.published
        }
        letters = self.ranking.task_groups.get(task, {})
        tied = {name for name, letter in letters.items() if letter == "a"}
        return tied if tied and max(scores, key=scores.__getitem__) in tied else set()


def _unknown_cell(entry: Entry, why: str = "") -> GridCell:
    """What is not known of an encoder; nothing for a model, of which it never is."""
    return GridCell("") if entry.published else GridCell(formats.MISSING, "muted", why)


def _about(entry: Entry) -> str:
    """What is known of an encoder or a model, shown beside its name."""
    size, dim, revision = (entry.facts.get(name) for name in ("parameters", "dim", "revision"))
    words = [
        entry.published,
        size and formats.compact(size),
        dim and f"{dim} d",
        revision and f"revision {revision[:8]}",
    ]
    return ", ".join(word for word in words if word)


def _mean(entry: Entry, score: float | None, note: str, *, is_best: bool = False) -> GridCell:
    """A mean with its number of tasks, or types; none where a score is missing."""
    if score is None:
        return GridCell(formats.MISSING, "muted")
    return GridCell(formats.score(score), "printed" if entry.published else "", "", is_best, note)


def _group(tasks: Sequence[str], entry: Entry) -> GridCell:
    """The mean over the tasks of a type or a language."""
    scores = [entry.scores[task] for task in tasks if task in entry.scores]
    mean = sum(scores) / len(tasks) if len(scores) == len(tasks) else None
    return _mean(entry, mean, f"{len(tasks)} of {len(tasks)}")


def _score(task: str, best: Collection[str], entry: Entry) -> GridCell:
    if task not in entry.scores:
        return GridCell(
            formats.MISSING, "muted", "not published" if entry.published else "not evaluated"
        )
    text = formats.score(entry.scores[task])
    if entry.published:
        note = "other data" if task in entry.other else ""
        return GridCell(text, "printed", entry.notes[task], note=note)
    is_best = entry.name in best
    return GridCell(text, "", "ties with the best" if is_best else "", is_best)


def answer(workspace: Workspace, spec: BoardSpec, do: Do) -> Iterator[BoardAnswer]:
    """Yield the order at once, then with what takes longer: resampled ranks, and look-ups."""
    board = standings.board(workspace, spec)
    theirs = standings.published_entries(workspace, board)
    models = workspace.store.published.models() if board.spec.fits({}) else 0

    def so_far(ranking: Ranking) -> BoardAnswer:
        names = training_data.known(workspace, board.facts, board.encoders)
        datasets = {column.task: column.dataset for column in board.columns}
        return BoardAnswer(
            spec,
            board,
            ranking,
            {
                n: of if of is None else training_data.tasks_of(datasets, of)
                for n, of in names.items()
            },
            theirs,
            0 if any("revision" in entry.facts for entry in theirs) else models,
            cost.rows_by_encoder(workspace),
        )

    if board not in standings.RANKINGS and len(board.quality) > 1:
        yield so_far(NO_RANKING)
    ranking = standings.ranking(workspace, board)
    yield so_far(ranking)
    if training_data.look_up(workspace, board.encoders):  # once per model: mteb takes seconds
        yield so_far(ranking)
    if standings.look_up(workspace, board):  # once per version
        yield from answer(workspace, spec, do)


BOARD = Question(
    "board",
    BoardSpec,
    answer,
    BoardAnswer,
    ("board", "board --suite sts --most-parameters 50 --json"),
)
