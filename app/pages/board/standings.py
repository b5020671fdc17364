"""Encoders in order on the tasks of a suite: means, the Borda count, and uncertainty of ranks.

Means, points and ranks are over scores that the ranked encoders share (`engine.stats.agreement`).

Published results stand beside them: references, not computed here. Only scores of MTEB's own tasks,
or of tasks under MTEB's protocols, have a matching column; under PUBLISHED, where published results
define the columns, all of them have one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from theodolite.app import significance, suites
from theodolite.app.blocks import Link
from theodolite.app.pages.evaluate.job import waiting
from theodolite.app.recent import Recent
from theodolite.app.results import (
    Cells,
    Row,
    has_score,
    protocols_of,
    task_by_name,
    under_one_protocol,
)
from theodolite.app.spec import Field, Spec, parameters, query
from theodolite.app.suites import ALL, UPLOADS
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.mteb.own_tasks import PREFIX, split_name
from theodolite.engine.protocols import PROTOCOLS, is_package
from theodolite.engine.protocols.package import version
from theodolite.engine.protocols.published import beside
from theodolite.engine.stats.agreement import shared
from theodolite.engine.stats.ranks import borda, rank
from theodolite.engine.tasks import SUITES, available

Edition = tuple[int | bool, ...]
OWN, PUBLISHED = "", "published"
"""Protocols: each task's own, and published results together with those of mteb's own code."""
OF_OTHERS = "Published by others"
"""Label of PUBLISHED."""
TASKS, TYPES, LANGUAGES = "tasks", "types", "languages"
UNKNOWN = "MTEB"
"""Label of an unknown task type."""
_LABELS = {
    "sts": "STS",
    "STS": "STS",
    "few-shot": "Classification",
    "document-retrieval": "Retrieval",
    "bitext": "Bitext mining",
    UNKNOWN: UNKNOWN,
}
"""Labels of task types, where they differ from the capitalised name."""
SUITE_LABELS = {
    ALL: "All evaluated",
    "starter": "Starter set",
    "sts": "The 7 STS tasks",
    "transfer": "The 7 transfer tasks",
    "senteval": "SentEval",
    "probing": "Probing",
    UPLOADS: "Uploads",
}
MAX_RANKED = 50
"""Number of encoders, the best ones, whose ranks are resampled."""


def suites_here(workspace: Workspace) -> dict[str, str]:
    """Suites with evaluated tasks; of MTEB's, half or more must have scores."""
    tasks = {row["task"] for row in scored_rows(workspace, edition(workspace))}
    published, known = workspace.store.published.tasks(), suites.known(workspace)
    names = [name for name in (*SUITES, UPLOADS) if suites.in_suite(workspace, name, tasks)]
    for name, members in known.tasks.items() if known and (tasks or published) else ():
        if 2 * sum(task in tasks or bare(task) in published for task in members) >= len(members):
            names.append(name)
    return {name: SUITE_LABELS.get(name, name) for name in (ALL, *names)}


def protocols_here(workspace: Workspace) -> dict[str, str]:
    """Protocols of the results."""
    under = sorted({row["protocol"] for row in scored_rows(workspace, edition(workspace))})
    theirs = {PUBLISHED: OF_OTHERS} if workspace.store.published.models() else {}
    return {OWN: "Each task's own", **{name: name for name in under}, **theirs}


def _of_board(
    values: Callable[[Standings], Iterable[str]],
) -> Callable[[Workspace], dict[str, str]]:
    """What a whole board offers to filter by; nothing while it is empty."""

    def offered(workspace: Workspace) -> dict[str, str]:
        try:
            return {value: value for value in values(board(workspace))}
        except UserError:
            return {}

    return offered


@dataclass(frozen=True)
class BoardSpec(Spec):
    """Put every evaluated encoder in order: means, Borda count, rank intervals, tie groups.

    Means, Borda count and ranks are over the tasks that the ranked encoders share, whose number is
    `mean_over`; one that lacks some of them, or is still being evaluated, is not ranked. Borda is
    counted as MTEB does: n - rank points a task. Results of mteb's own code (protocol mteb-VERSION)
    are never in one mean with others. `trained_on` are the tasks whose data an encoder's files or
    MTEB name among what it was trained on.
    """

    suite: Annotated[
        str,
        Field("Suite", "Tasks of this suite; all: every evaluated task.", offers=suites_here),
    ] = ALL
    columns: Annotated[
        str,
        Field(
            "Columns",
            "What the columns of a report are.",
            choices={TASKS: "Tasks", TYPES: "Types", LANGUAGES: "Languages"},
        ),
    ] = TASKS
    protocol: Annotated[
        str,
        Field(
            "Protocol",
            "Results under this protocol only; default: each task's own. published: published "
            "scores and those of mteb's own code.",
            offers=protocols_here,
        ),
    ] = OWN
    types: Annotated[
        Sequence[str],
        Field(
            "Types of tasks",
            "A type of tasks, such as STS.",
            offers=_of_board(lambda board: board.types),
            key="type",
            flags=("--type",),
        ),
    ] = ()
    languages: Annotated[
        Sequence[str],
        Field(
            "Languages of tasks",
            "A language of tasks, such as eng.",
            offers=_of_board(lambda board: board.languages),
            key="language",
            flags=("--language",),
        ),
    ] = ()
    most_parameters: Annotated[
        float | None,
        Field("Most parameters, in millions", "Encoders of unknown size are left out.", ge=0),
    ] = None
    most_dimensions: Annotated[int | None, Field("Most dimensions", ge=1)] = None
    least_tokens: Annotated[int | None, Field("Minimum max sequence length, in tokens", ge=1)] = (
        None
    )
    licences: Annotated[
        Sequence[str],
        Field(
            "Licences",
            "A licence, such as apache-2.0.",
            offers=_of_board(lambda board: board.licences),
            key="licence",
            flags=("--licence",),
        ),
    ] = ()
    published: Annotated[
        bool,
        Field(
            "Published rows",
            "Also those of papers and imports: never ranked, tested, or averaged with yours.",
        ),
    ] = False

    def fits(self, facts: Mapping[str, Any]) -> bool:
        """Whether an encoder's facts match the filters; unknown values do not."""
        known = {name: value for name, value in facts.items() if value is not None}
        size, dim = known.get("parameters", math.inf), known.get("dim", math.inf)
        return (
            (self.most_parameters is None or size <= 1e6 * self.most_parameters)
            and (self.most_dimensions is None or dim <= self.most_dimensions)
            and (self.least_tokens is None or known.get("max_tokens", 0) >= self.least_tokens)
            and (not self.licences or facts.get("licence") in self.licences)
        )

    def filters(self) -> Iterator[Link]:
        """What restricts the board, each with the link to the board without it."""
        for parameter in FILTERS:
            value = getattr(self, parameter.name)
            for one in value if parameter.many else {value} - {parameter.default}:
                rest = tuple(v for v in value if v != one) if parameter.many else parameter.default
                without: Any = {parameter.name: rest}
                words = f"{one:g}" if isinstance(one, float) else one
                yield Link(
                    f"{parameter.field.label}: {words}", "board", query(replace(self, **without))
                )


FILTERS = [
    parameter
    for parameter in parameters(BoardSpec)
    if parameter.name not in ("suite", "columns", "published")
]
"""What restricts a board."""
EVERYTHING = BoardSpec()


@dataclass(frozen=True)
class TaskColumn:
    """A task on the board; without its data, its languages and data set are unknown.

    Attributes:
        revision, parts: of the data and (split, subset) of what was evaluated here, if published
            scores can stand beside it.
    """

    task: str
    type: str
    protocol: str
    languages: tuple[str, ...] = ()
    dataset: str = ""
    revision: str | None = None
    parts: frozenset[tuple[str, str]] | None = None


def means(columns: Sequence[TaskColumn], scores: Mapping[str, float]) -> dict[str, Any]:
    """The mean, the mean of the means by type, and those by type; none where a score is missing."""
    if not columns or any(column.task not in scores for column in columns):
        return {}
    types: dict[str, list[float]] = {}
    for column in columns:
        types.setdefault(column.type, []).append(scores[column.task])
    by_type = {name: float(np.mean(of)) for name, of in types.items()}
    mean = float(np.mean([scores[column.task] for column in columns]))
    return {"mean": mean, "type_mean": float(np.mean([*by_type.values()])), "by_type": by_type}


@dataclass(frozen=True, eq=False)
class Entry:
    """A row of the board: an encoder, or a model with the scores that others published.

    Attributes:
        name: of the encoder or the model.
        scores: task -> points.
        facts: what is known of it.
        mean: over the tasks of the means; None where a score is missing.
        type_mean: mean of the means by type.
        by_type: type of tasks -> mean.
        points: Borda count; None where fewer than two encoders are ranked.
        rank: by points; equal points share the better rank.
        published: where it was; empty for an encoder.
        notes: task -> a note on a published score: version of mteb and of the data, or its table.
        other: tasks of published scores whose data had another revision than here.
    """

    name: str
    scores: dict[str, float] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    mean: float | None = None
    type_mean: float | None = None
    by_type: Mapping[str, float] = field(default_factory=dict)
    points: float | None = None
    rank: int | None = None
    published: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    other: set[str] = field(default_factory=set)


@dataclass(frozen=True, eq=False)
class Standings:
    """The order of encoders on tasks.

    Attributes:
        spec: settings of the board.
        columns: the tasks.
        entries: the ranked encoders, by mean, then the others. Ranked are those with a score on
            every shared task, whose evaluation is over.
        shared: the tasks that all means, points and ranks are over.
        running: encoders that are still being evaluated on some of the tasks, with or without rows.
        cells: (encoder, task) -> the store's row.
        facts: encoder -> its facts.
        left_out: number of encoders that the filters exclude.
    """

    spec: BoardSpec
    columns: tuple[TaskColumn, ...]
    entries: tuple[Entry, ...]
    shared: tuple[str, ...]
    running: tuple[str, ...]
    cells: Cells
    facts: Mapping[str, Mapping[str, Any]]
    left_out: int

    @property
    def encoders(self) -> list[str]:
        """The encoders, in order."""
        return [entry.name for entry in self.entries]

    @property
    def quality(self) -> dict[str, float]:
        """The mean score of each ranked encoder, the best first."""
        return {entry.name: entry.mean for entry in self.entries if entry.mean is not None}

    @property
    def types(self) -> list[str]:
        """The types of all tasks."""
        return list(dict.fromkeys(column.type for column in self.columns))

    @property
    def languages(self) -> list[str]:
        """The languages of all tasks."""
        return sorted({language for column in self.columns for language in column.languages})

    @property
    def licences(self) -> list[str]:
        """The licences of listed encoders."""
        return sorted({str(row["licence"]) for row in self.facts.values() if row.get("licence")})


def board(workspace: Workspace, spec: BoardSpec = EVERYTHING) -> Standings:
    """Rank every evaluated encoder on the tasks of a suite.

    Without results of one's own, the columns are the tasks with published scores.
    """
    now = edition(workspace)
    spec = replace(spec, columns=TASKS, published=False)  # which change no number
    if (
        spec.protocol == OWN
        and not scored_rows(workspace, now)
        and workspace.store.published.models()
    ):
        spec = replace(spec, protocol=PUBLISHED)  # else the board would be empty
    return _board(workspace, spec, now, waiting(workspace))


NO_RANKING = significance.Ranking()
RANKINGS: Recent[Standings, significance.Ranking] = Recent(8)
"""Resampled ranks of the boards that were shown last."""


def ranking(workspace: Workspace, board: Standings) -> significance.Ranking:
    """The uncertainty of ranks by mean; empty if fewer than two are ranked."""
    names = list(board.quality)[:MAX_RANKED]

    def resample() -> significance.Ranking:
        cells = {task: {n: board.cells[n, task] for n in names} for task in board.shared}
        tests = {t: significance.on_task(workspace, t, names[0], of) for t, of in cells.items()}
        return significance.ranking(names, tests)

    return RANKINGS.get(board, resample) if len(names) > 1 else NO_RANKING


def look_up(workspace: Workspace, standings: Standings) -> bool:
    """Read unknown task types from MTEB; return whether that was done.

    This imports mteb, once per version; without it the types stay unknown.
    """
    missing = UNKNOWN in standings.types and suites.known(workspace) is None and bool(version())
    if missing:
        suites.look_up(workspace)
    return missing


@lru_cache(maxsize=64)
def _board(
    workspace: Workspace, spec: BoardSpec, now: Edition, waiting: frozenset[tuple[str, str]]
) -> Standings:
    every, cells = _columns(workspace, spec.suite, spec.protocol, now)
    columns = {
        column.task: column
        for column in every
        if (not spec.types or column.type in spec.types)
        and (not spec.languages or {*spec.languages} & {*column.languages})
    }
    if not columns:
        raise UserError(
            f"No evaluated task of the suite {spec.suite} fits the protocol and the filters.",
            "Widen them, or evaluate encoders: `theodolite evaluate`, or the page Evaluate.",
            code="no-result",
        )
    facts = workspace.store.encoders.infos()
    evaluated = dict.fromkeys(name for name, task in cells if task in columns)
    names = [name for name in evaluated if spec.fits(facts.get(name, {}))]
    if evaluated and not names:
        raise UserError(
            f"None of {len(evaluated)} encoders is known to match the filters.",
            "Relax the filters for size, dimensions, tokens or licence.",
            code="no-result",
        )
    running = {
        name
        for name, task in waiting
        if spec.protocol == OWN
        and task in columns
        and (name, task) not in cells
        and spec.fits(facts.get(name, {}))
    }
    scores = {
        name: {task: cells[name, task]["score"] for task in columns if (name, task) in cells}
        for name in names
    }
    ranked, over = shared({name: of for name, of in scores.items() if name not in running})
    counted_columns = [columns[task] for task in over]
    entries = [
        Entry(name, of, facts.get(name, {}), **means(counted_columns, of) if name in ranked else {})
        for name, of in scores.items()
    ]
    entries.sort(key=lambda one: (-(one.mean or -math.inf), -len(one.scores)))
    if len(ranked) > 1:
        points = borda(np.array([[one.scores[t] for t in over] for one in entries[: len(ranked)]]))
        places = zip(points.tolist(), rank(points).tolist(), strict=True)
        for at, (mine, place) in enumerate(places):
            entries[at] = replace(entries[at], points=mine, rank=place)
    return Standings(
        spec,
        tuple(columns.values()),
        tuple(entries),
        tuple(over),
        tuple(sorted(running)),
        cells,
        facts,
        len(evaluated) - len(names),
    )


def edition(workspace: Workspace) -> Edition:
    """A version of the board's inputs: results, imports, look-ups, the list of encoders."""
    store = workspace.store
    encoders = hash(tuple((row["name"], str(row["info"])) for row in store.encoders.list()))
    known = suites.known(workspace) is not None
    return *store.results.edition(), *store.published.edition(), known, encoders


@lru_cache(maxsize=2)
def scored_rows(workspace: Workspace, _now: Edition) -> list[Row]:
    """Rows with a score that is not NaN, the oldest first."""
    return list(filter(has_score, workspace.store.results.table()))


@lru_cache(maxsize=1)
def imported_rows(workspace: Workspace, _edition: tuple[int, ...]) -> list[Row]:
    """Imported results by version of mteb, the oldest first, so that the newest overwrites them."""
    return sorted(
        workspace.store.published.table(),
        key=lambda row: [int(part) for part in re.findall(r"\d+", row["version"])],
    )


def bare(task: str) -> str:
    """The name of MTEB's task without subsets and splits, as in published results."""
    return PREFIX + split_name(task)[0]


@lru_cache(maxsize=8)
def _columns(
    workspace: Workspace, suite: str, protocol: str, now: Edition
) -> tuple[list[TaskColumn], Cells]:
    """The columns of a suite under a protocol, and one result for each encoder and task."""
    theirs = protocol == PUBLISHED
    rows = [row for row in scored_rows(workspace, now) if not theirs or is_package(row["protocol"])]
    members = set(suites.in_suite(workspace, suite, {row["task"] for row in rows}))
    rows = [row for row in rows if row["task"] in members]
    one = "" if theirs else protocol
    under, cells = protocols_of(rows, one), under_one_protocol(rows, one)
    first = {task: row for (_, task), row in reversed(cells.items())}
    by_mteb = [
        row["id"]
        for task, row in first.items()
        if task.startswith(PREFIX)
        or is_package(under[task])
        or under[task] in ("mteb-v1", "mteb-v2")
    ]
    full = workspace.store.results.in_full(by_mteb)
    languages = {info.name: info.languages for info in workspace.catalog.list()}
    here = {task.name: task for task in available(workspace.catalog)}
    columns = _published_columns(workspace, suite, {*map(bare, first)}) if theirs else {}
    for task, row in first.items():
        known = here.get(task) or task_by_name(task)
        column = TaskColumn(task, "Other", under[task])
        if known is not None:
            rules = PROTOCOLS.get(under[task])
            kind = known.type_under(rules.types if rules else ()) or known.type
            spoken = languages.get(known.dataset, ())
            column = TaskColumn(task, type_name(kind), under[task], spoken, known.dataset)
        if row["id"] in full:
            column = _by_mteb(column, row, full[row["id"]]["details"])
        columns[task] = column
    return [columns[task] for task in suites.in_suite(workspace, suite, {*columns})], cells


def _by_mteb(column: TaskColumn, row: Row, details: Mapping[str, Any]) -> TaskColumn:
    """The column with what a result's details in mteb's layout say of its data."""
    own = details.get("mteb", {})
    parts = [(split, one) for split, of in own.get("scores", {}).items() for one in of]
    if column.task.startswith(PREFIX):
        codes = {code.partition("-")[0] for _, one in parts for code in one.get("languages", ())}
        column = replace(
            column,
            type=type_name(str(details.get("type") or UNKNOWN)),
            languages=tuple(sorted(codes)),
            dataset=column.task,
        )
    if not own:
        return replace(column, revision=row["data_hash"])
    subsets = frozenset((split, one["hf_subset"]) for split, one in parts)
    return replace(column, revision=own["dataset_revision"], parts=subsets)


def _published_columns(
    workspace: Workspace, suite: str, evaluated: set[str]
) -> dict[str, TaskColumn]:
    """Columns of tasks with imported scores, by their names in the suite."""
    spoken: dict[str, set[str]] = {}
    for row in imported_rows(workspace, workspace.store.published.edition()):
        codes = {code.partition("-")[0] for code in row["facts"].get("languages", ())}
        spoken.setdefault(row["task"], set()).update(codes)
    names: Sequence[str] = [name for name in spoken if name not in evaluated]
    if suites.is_suite(suite):
        names = [name for name in suites.tasks_of(workspace, suite) if bare(name) in spoken]
    known = suites.known(workspace)
    types = known.types if known else {}
    return {
        name: TaskColumn(
            name,
            type_name(types.get(bare(name).removeprefix(PREFIX), UNKNOWN)),
            PUBLISHED,
            tuple(sorted(spoken[bare(name)])),
            name,
        )
        for name in names
    }


def type_name(kind: str) -> str:
    """The label of a task type, in our naming or MTEB's."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).replace("-", " ")
    return _LABELS.get(kind, words[:1].upper() + words[1:].lower())


def published_entries(workspace: Workspace, board: Standings) -> list[Entry]:
    """Published scores on the tasks of a board: of papers, and imported ones by their mean.

    Imported are those of models that match the board's filters.
    """
    entries = _of_models(workspace, board.columns, workspace.store.published.edition())
    entries = [entry for entry in entries if board.spec.fits(entry.facts)]
    columns = compared_columns(board, entries)
    placed = [replace(entry, **means(columns, entry.scores)) for entry in entries]
    placed.sort(key=lambda entry: entry.mean or -1.0, reverse=True)
    return [*_papers(board, columns), *placed]


def compared_columns(board: Standings, theirs: Sequence[Entry]) -> list[TaskColumn]:
    """The columns of the means: those of the ranking, else those that published entries share."""
    over = board.shared
    if not board.entries:
        over = tuple(shared({f"{i}": entry.scores for i, entry in enumerate(theirs)})[1])
    return [column for column in board.columns if column.task in over]


def _papers(board: Standings, columns: Sequence[TaskColumn]) -> Iterator[Entry]:
    """Scores that papers print of the tasks of a board, under its protocols."""
    for row, points in beside([(column.task, column.protocol) for column in board.columns]).items():
        scores = {c.task: s for c, s in zip(board.columns, points, strict=True) if s is not None}
        over = {} if row.aggregation == "wmean" else means(columns, scores)
        where, notes = f"published, {row.training}", dict.fromkeys(scores, row.table)
        yield Entry(row.model, scores, published=where, notes=notes, **over)


@lru_cache(maxsize=4)
def _of_models(
    workspace: Workspace, listed: tuple[TaskColumn, ...], edition: tuple[int, int]
) -> list[Entry]:
    """Imported results of all models in those of the columns that can have any."""
    columns: dict[str, list[TaskColumn]] = {}
    for column in listed:
        if column.protocol == PUBLISHED or column.revision is not None:
            columns.setdefault(bare(column.task), []).append(column)
    entries: dict[tuple[str, str], Entry] = {}
    for row in imported_rows(workspace, edition) if columns else ():
        for column in columns.get(row["task"], ()):
            name, revision = row["model"], row["revision"]
            facts = {"revision": revision, **(row["facts"].get("model") or {})}
            entry = entries.setdefault((name, revision), Entry(name, published="published"))
            entry.facts.update(facts)
            score, same = _score(row, column), column.revision in (None, row["data_revision"])
            has_score = column.task in entry.scores and column.task not in entry.other
            if score is not None and (same or not has_score):
                entry.scores[column.task] = score
                entry.notes[column.task] = _note(row, column)
                (entry.other.discard if same else entry.other.add)(column.task)
    return sorted(
        (entry for entry in entries.values() if entry.scores),
        key=lambda one: (-len(one.scores), one.name, one.facts["revision"]),
    )


def _score(row: Mapping[str, Any], column: TaskColumn) -> float | None:
    """The published score on exactly the column's splits and subsets; None if there is none."""
    scores = {(split, subset): score for split, subset, score in row["facts"].get("parts", ())}
    needed = column.parts
    if needed is None:
        if not column.task.startswith(PREFIX) or column.task == row["task"]:
            return float(row["score"])
        _, subsets, splits = split_name(column.task)
        needed = frozenset(
            (split, subset)
            for split, subset in scores
            if subset in (subsets or (subset,)) and split in (splits or (split,))
        )
        if not {*subsets} <= {subset for _, subset in needed}:
            return None
    if not needed or not needed <= scores.keys():
        return None
    return sum(scores[part] for part in needed) / len(needed)


def _note(row: Mapping[str, Any], column: TaskColumn) -> str:
    """The version of mteb, and the revision of the data where it is not the one here."""
    version = f"mteb {row['version']}" if row["version"] else "published"
    if column.revision == row["data_revision"]:
        return f"{version}, the same data as here"
    here = f"; here it is {column.revision[:8]}" if column.revision else ""
    return f"{version}, revision {row['data_revision'][:8] or 'unknown'} of the data{here}"
