"""Agreement of measurements on a ranking, of diagnostics with scores, and of judges.

After Eger, Rücklé, Gurevych 2019, Pitfalls in the Evaluation of Sentence Embeddings, and Kerscher,
Eger 2020, Vec2Sent. Pure functions from scores by name to numbers. A missing score is absent and
never counts as zero. Knows neither the store nor how scores were measured.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from theodolite.engine.errors import UserError
from theodolite.engine.stats.bootstrap import spearman

MIN_ENCODERS = 6
"""With fewer points, a single one can decide a correlation."""

Scores = Mapping[str, Mapping[str, float]]
"""Encoder -> task, or name of a diagnostic -> score in points."""


@dataclass(frozen=True)
class Agreement:
    """Agreement of two measurements on the order of the same encoders.

    Attributes:
        n: encoders with both.
        spearman: rank correlation; nan below two encoders, or when one measurement ties them all.
        kendall: tau-b; nan likewise.
        swapped: pairs whose order is reversed, (ahead first, ahead second).
    """

    n: int
    spearman: float
    kendall: float
    swapped: tuple[tuple[str, str], ...]


def agreement(first: Mapping[str, float], second: Mapping[str, float]) -> Agreement:
    """Compare two orderings of encoders by their scores; only those in both take part.

    A pair that is tied in one ordering is not swapped.
    """
    names = _in_both(first, second)
    swapped = tuple(
        (a, b) if first[a] > first[b] else (b, a)
        for a, b in combinations(names, 2)
        if (first[a] - first[b]) * (second[a] - second[b]) < 0
    )
    x, y = (np.array([scores[name] for name in names]) for scores in (first, second))
    return Agreement(len(names), spearman(x, y), _kendall(x, y), swapped)


def _in_both(x: Mapping[str, float], y: Mapping[str, float]) -> list[str]:
    """Encoders with a finite score in both, in the order of the first."""
    return [name for name in x if name in y and math.isfinite(x[name]) and math.isfinite(y[name])]


def _kendall(x: np.ndarray, y: np.ndarray) -> float:
    """tau-b. Written out: a page would wait the better part of a second for `scipy.stats`."""
    pairs = np.triu_indices(len(x), 1)
    one, other = (np.sign(np.subtract.outer(values, values)[pairs]) for values in (x, y))
    apart = np.count_nonzero(one) * np.count_nonzero(other)
    return float(one @ other / math.sqrt(apart)) if apart else math.nan


def shared(first: Scores, *others: Scores) -> tuple[list[str], list[str]]:
    """Encoders and tasks to take means, ranks and winners over: every cell has a score.

    Encoders that lack tasks are left out where the others then share more cells than all do. So an
    encoder with one task more or with one task only changes nothing for the others.

    Args:
        first: scores.
        others: further scores, each of which must have the cell as well.

    Returns:
        (encoders, tasks) in the order of `first`, both empty when there is no score.
    """
    having = {
        name: frozenset(t for t in tasks if all(t in other.get(name, ()) for other in others))
        for name, tasks in first.items()
    }
    having = {name: tasks for name, tasks in having.items() if tasks}
    candidates = dict.fromkeys(having.values())
    common: frozenset[str] | None = None
    for tasks in sorted(having.values(), key=len, reverse=True):
        common = tasks if common is None else common & tasks
        candidates[common] = None

    def cells(tasks: frozenset[str]) -> tuple[bool, int, int]:
        number = sum(tasks <= mine for mine in having.values())
        return number > 1, number * len(tasks), number

    best = max((tasks for tasks in candidates if tasks), key=cells, default=frozenset())
    names = [name for name, mine in having.items() if best <= mine]
    return names, [task for task in first[names[0]] if task in best] if names else []


def means(scores: Scores, names: Sequence[str], tasks: Sequence[str]) -> dict[str, float]:
    """Mean score of each encoder over these tasks, all of which it must have."""
    return {name: float(np.mean([scores[name][task] for task in tasks])) for name in names}


@dataclass(frozen=True)
class LeaveOneOut:
    """A correlation over encoders, and its range when any one of them is left out.

    Attributes:
        value: Spearman over all of them.
        n: number of encoders.
        lowest, highest: of the correlations with one encoder left out.
        without_lowest, without_highest: the encoder whose absence gives them.
    """

    value: float
    n: int
    lowest: float
    highest: float
    without_lowest: str
    without_highest: str

    @property
    def turns(self) -> bool:
        """Whether leaving out a single encoder changes the sign."""
        return min(self.value, self.lowest) < 0.0 < max(self.value, self.highest)


def stability(
    x: Mapping[str, float], y: Mapping[str, float], least: int = MIN_ENCODERS
) -> LeaveOneOut | None:
    """Spearman of two tasks over the encoders that have both, with leave-one-encoder-out bounds.

    The paper's figure 3 gives the correlation alone; its section 4 shows that it can reverse with
    the set of encoders.

    Returns:
        None for fewer than `least` encoders, and where a task scores them all the same.
    """
    names = _in_both(x, y)
    if len(names) < least:
        return None
    value = _correlation(x, y, names)
    without = {name: _correlation(x, y, [n for n in names if n != name]) for name in names}
    known = {name: rho for name, rho in without.items() if not math.isnan(rho)}
    if math.isnan(value) or not known:
        return None
    low, high = min(known, key=lambda n: known[n]), max(known, key=lambda n: known[n])
    return LeaveOneOut(value, len(names), known[low], known[high], low, high)


def _correlation(x: Mapping[str, float], y: Mapping[str, float], names: Sequence[str]) -> float:
    return spearman(np.array([x[name] for name in names]), np.array([y[name] for name in names]))


def complete(
    scores: Scores, tasks: Sequence[str], least: int = MIN_ENCODERS
) -> tuple[list[str], list[str]]:
    """Encoders that have all of some tasks: as many tasks as `least` or more encoders share.

    Tasks that most encoders have come first; one that would leave too few encoders is left out, so
    that every correlation of a table is over the same encoders.

    Returns:
        (encoders, tasks) in the given order; no tasks when too few encoders share any.
    """
    names = list(scores)
    shared: set[str] = set()
    for task in sorted(tasks, key=lambda task: -sum(task in scores[name] for name in scores)):
        having = [name for name in names if task in scores[name]]
        if len(having) >= least:
            names, shared = having, shared | {task}
    return (names, [task for task in tasks if task in shared]) if shared else ([], [])


def correlations(
    scores: Scores, transfer: Sequence[str], probing: Sequence[str]
) -> dict[tuple[str, str], LeaveOneOut]:
    """(transfer task, probing task) -> their correlation over the encoders that have all tasks.

    A pair in which one task scores all encoders the same is absent.
    """
    names = [n for n in scores if all(task in scores[n] for task in (*transfer, *probing))]
    if len(names) < MIN_ENCODERS:
        raise UserError(
            f"A correlation over {len(names)} encoders means nothing.",
            f"Measure at least {MIN_ENCODERS} encoders on all of these tasks.",
            code="too-few",
        )
    columns = {task: {n: scores[n][task] for n in names} for task in (*transfer, *probing)}
    agreements = {(a, b): stability(columns[a], columns[b]) for a in transfer for b in probing}
    return {pair: cell for pair, cell in agreements.items() if cell is not None}


def overlapping(ranges: Mapping[str, tuple[float, float]]) -> list[tuple[str, str]]:
    """Pairs of encoders whose ranges of scores over seeds, (lowest, highest), overlap."""
    return [
        (a, b)
        for a, b in combinations(ranges, 2)
        if ranges[a][0] <= ranges[b][1] and ranges[b][0] <= ranges[a][1]
    ]


@dataclass(frozen=True)
class Relation:
    """Spearman of a diagnostic and a task's score over the encoders that have both.

    It is nan where all encoders have the same value.
    """

    diagnostic: str
    score: str
    rho: float
    encoders: int


@dataclass(frozen=True)
class Summary:
    """Correlations of all diagnostics with one task's score; those that are nan are left out."""

    score: str
    lowest: float
    mean: float
    diagnostics: int


@dataclass(frozen=True)
class Relations:
    """All correlations over some encoders.

    Attributes:
        encoders: those that have diagnostics and scores.
        cells: for each diagnostic and score that at least `MIN_ENCODERS` encoders have.
        summaries: for each score, over diagnostics.
        overall: over all cells.
        missing: scores that too few encoders have -> number of encoders missing.
    """

    encoders: tuple[str, ...]
    cells: tuple[Relation, ...]
    summaries: tuple[Summary, ...]
    overall: Summary
    missing: Mapping[str, int]


@dataclass(frozen=True)
class DecoderAgreement:
    """Correlation of a diagnostic between two kinds of decoder, over the encoders of both."""

    diagnostic: str
    first: str
    second: str
    rho: float
    encoders: int


def relate(diagnostics: Scores, scores: Scores) -> Relations:
    """Correlate every diagnostic with every score over encoders (Vec2Sent, figure 2 and table 1).

    Args:
        diagnostics: of each encoder, such as `{"minilm": {"bleu": 31.2, "id": 4.0}}`.
        scores: of each encoder by task, higher being better for all of them.
    """
    encoders = [name for name in diagnostics if name in scores]
    tasks = _names(scores, encoders)
    sizes = {
        (name, task): _rho(diagnostics, name, scores, task, encoders)[1]
        for task in tasks
        for name in _names(diagnostics, encoders)
    }
    most = {t: max((n for (_, of), n in sizes.items() if of == t), default=0) for t in tasks}
    pairs = [pair for pair, n in sizes.items() if n >= MIN_ENCODERS]
    if not pairs:
        raise _too_few(max(most.values(), default=0), "a diagnosis and a score")
    missing = {task: MIN_ENCODERS - n for task, n in most.items() if n < MIN_ENCODERS}
    return _relate(diagnostics, scores, encoders, pairs, missing)


def without_each(diagnostics: Scores, scores: Scores) -> dict[str, Relations]:
    """`relate` without each encoder in turn, to see whether one of them decides a correlation.

    Returns:
        Name of the encoder left out to the same correlations over the others, of which one fewer
        than `MIN_ENCODERS` is enough.
    """
    whole = relate(diagnostics, scores)
    pairs = [(cell.diagnostic, cell.score) for cell in whole.cells]
    return {
        left_out: _relate(
            diagnostics, scores, [e for e in whole.encoders if e != left_out], pairs, whole.missing
        )
        for left_out in whole.encoders
    }


def _relate(
    diagnostics: Scores,
    scores: Scores,
    encoders: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    missing: Mapping[str, int],
) -> Relations:
    cells = [
        Relation(*pair, *_rho(diagnostics, pair[0], scores, pair[1], encoders)) for pair in pairs
    ]
    tasks = dict.fromkeys(task for _, task in pairs)
    return Relations(
        encoders=tuple(encoders),
        cells=tuple(cells),
        summaries=tuple(_summary(task, [c for c in cells if c.score == task]) for task in tasks),
        overall=_summary("", cells),
        missing=missing,
    )


def between_decoders(variants: Mapping[str, Scores]) -> tuple[DecoderAgreement, ...]:
    """Correlate diagnostics of the same encoders by decoders of two kinds (Vec2Sent, section 3.3).

    Args:
        variants: name of an architecture or a training size to the diagnostics of each encoder.

    Returns:
        For each pair of variants, each diagnostic that both have for enough encoders.
    """
    if len(variants) < 2:
        raise UserError(
            f"Decoders of {len(variants)} kinds were diagnosed, and stability needs two.",
            "Train decoders of another architecture or on fewer sentences.",
            code="too-few",
        )
    every = [
        DecoderAgreement(name, first, second, *_rho(left, name, right, name, encoders))
        for (first, left), (second, right) in combinations(variants.items(), 2)
        for encoders in [[name for name in left if name in right]]
        for name in _names(left, encoders)
    ]
    able = tuple(one for one in every if one.encoders >= MIN_ENCODERS)
    if not able:
        most = max((one.encoders for one in every), default=0)
        raise _too_few(most, "decoders of two kinds, both diagnosed")
    return able


def _names(numbers: Scores, encoders: Sequence[str]) -> list[str]:
    """All names in order of appearance."""
    return list(dict.fromkeys(name for encoder in encoders for name in numbers[encoder]))


def _rho(x: Scores, name: str, y: Scores, other: str, encoders: Sequence[str]) -> tuple[float, int]:
    """Spearman over the encoders that have both numbers, and how many have."""
    first, second = (
        {encoder: of[encoder][n] for encoder in encoders if n in of[encoder]}
        for of, n in ((x, name), (y, other))
    )
    both = _in_both(first, second)
    return _correlation(first, second, both), len(both)


def _summary(score: str, cells: Sequence[Relation]) -> Summary:
    values = [cell.rho for cell in cells if math.isfinite(cell.rho)]
    if not values:
        return Summary(score, math.nan, math.nan, 0)
    return Summary(score, min(values), float(np.mean(values)), len(values))


def _too_few(many: int, what: str) -> UserError:
    return UserError(
        f"{many} encoders have {what}: {MIN_ENCODERS - many} are missing.",
        f"A rank correlation needs {MIN_ENCODERS}. Diagnose and evaluate more encoders.",
        code="too-few",
    )


def alpha(marks: np.ndarray) -> float:
    """Krippendorff's alpha of nominal marks: 1 for full agreement, 0 for that of chance.

    Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, section C.

    Args:
        marks: float (judges, units), NaN where a judge did not mark a unit.

    Returns:
        nan where no unit has two marks, or all marks that can be compared are the same.
    """
    values = np.unique(marks[~np.isnan(marks)])
    counts = (marks == values[:, None, None]).sum(axis=1)
    many = counts.sum(axis=0)
    counts, many = counts[:, many > 1], many[many > 1]
    n, totals = many.sum(), counts.sum(axis=1)
    by_chance = (n**2 - (totals**2).sum()) / max(n - 1, 1)
    if by_chance <= 0.0:
        return math.nan
    observed = ((many**2 - (counts**2).sum(axis=0)) / (many - 1)).sum()
    return float(1.0 - observed / by_chance)
