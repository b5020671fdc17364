"""Correlation of the diagnostics of decoders with other scores, and between decoders.

Vec2Sent, figure 2 and table 1: Spearman of each diagnostic with downstream and probing scores over
encoders; section 3.3: Spearman between decoders of two architectures or two training sizes.
Pure functions from numbers; knows neither encoders nor where numbers are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from theodolite.engine.errors import UserError
from theodolite.engine.stats.agreement import LEAST_ENCODERS
from theodolite.engine.stats.bootstrap import spearman

Numbers = Mapping[str, Mapping[str, float]]
"""Encoder -> name of a number -> the number."""


@dataclass(frozen=True)
class Relation:
    """A diagnostic and a score over the encoders that have both.

    Attributes:
        diagnostic: its name.
        score: name of the task.
        rho: Spearman; nan where all encoders have the same value.
        encoders: number of encoders.
    """

    diagnostic: str
    score: str
    rho: float
    encoders: int


@dataclass(frozen=True)
class Summary:
    """Correlations of all diagnostics with one score.

    Attributes:
        score: name of the task.
        lowest: of the correlations.
        mean: of the correlations.
        diagnostics: number of correlations; those that are nan are left out.
    """

    score: str
    lowest: float
    mean: float
    diagnostics: int


@dataclass(frozen=True)
class Relations:
    """All correlations over some encoders.

    Attributes:
        encoders: those that have diagnostics and scores.
        cells: for each diagnostic and score that at least `LEAST_ENCODERS` encoders have.
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


def relate(diagnostics: Numbers, scores: Numbers) -> Relations:
    """Correlate every diagnostic with every score over encoders.

    Args:
        diagnostics: of each encoder, such as `{"minilm": {"bleu": 31.2, "id": 4.0}}`.
        scores: of each encoder by task, higher being better for all of them.
    """
    encoders = tuple(name for name in diagnostics if name in scores)
    tasks = _names(scores, encoders)
    pairs, most = [], dict.fromkeys(tasks, 0)
    for task in tasks:
        for name in _names(diagnostics, encoders):
            both = sum(_known(diagnostics[e], name) and _known(scores[e], task) for e in encoders)
            most[task] = max(most[task], both)
            if both >= LEAST_ENCODERS:
                pairs.append((name, task))
    if not pairs:
        raise _too_few(max(most.values(), default=0), "a diagnosis and a score")
    missing = {task: LEAST_ENCODERS - most[task] for task in tasks if most[task] < LEAST_ENCODERS}
    return _related(diagnostics, scores, encoders, pairs, missing)


def without_each(diagnostics: Numbers, scores: Numbers) -> dict[str, Relations]:
    """`relate` without each encoder in turn, to see whether one of them decides a correlation.

    Returns:
        Name of the encoder left out to the same correlations over the others, of which one fewer
        than `LEAST_ENCODERS` is enough.
    """
    whole = relate(diagnostics, scores)
    pairs = [(cell.diagnostic, cell.score) for cell in whole.cells]
    return {
        left_out: _related(
            diagnostics, scores, [e for e in whole.encoders if e != left_out], pairs, whole.missing
        )
        for left_out in whole.encoders
    }


def _related(
    diagnostics: Numbers,
    scores: Numbers,
    encoders: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    missing: Mapping[str, int],
) -> Relations:
    cells = []
    for name, task in pairs:
        both = [e for e in encoders if _known(diagnostics[e], name) and _known(scores[e], task)]
        rho = _rho([diagnostics[e][name] for e in both], [scores[e][task] for e in both])
        cells.append(Relation(name, task, rho, len(both)))
    tasks = dict.fromkeys(task for _, task in pairs)
    return Relations(
        encoders=tuple(encoders),
        cells=tuple(cells),
        summaries=tuple(_summary(task, [c for c in cells if c.score == task]) for task in tasks),
        overall=_summary("", cells),
        missing=missing,
    )


def stability(variants: Mapping[str, Numbers]) -> tuple[DecoderAgreement, ...]:
    """Correlate the diagnostics of the same encoders by decoders of different kinds (section 3.3).

    Args:
        variants: name of an architecture or a training size to the diagnostics of each encoder.

    Returns:
        For each pair of variants, each diagnostic that both have for enough encoders.
    """
    if len(variants) < 2:
        raise UserError(
            f"Decoders of {len(variants)} kinds were diagnosed, and stability needs two.",
            "Train decoders of another architecture or on fewer sentences.",
        )
    found, most = [], 0
    for (first, left), (second, right) in combinations(variants.items(), 2):
        shared = [name for name in left if name in right]
        for name in _names(left, shared):
            both = [e for e in shared if _known(left[e], name) and _known(right[e], name)]
            most = max(most, len(both))
            if len(both) >= LEAST_ENCODERS:
                rho = _rho([left[e][name] for e in both], [right[e][name] for e in both])
                found.append(DecoderAgreement(name, first, second, rho, len(both)))
    if not found:
        raise _too_few(most, "decoders of two kinds, both diagnosed")
    return tuple(found)


def _names(numbers: Numbers, encoders: Sequence[str]) -> list[str]:
    """All names in order of appearance."""
    return list(dict.fromkeys(name for encoder in encoders for name in numbers[encoder]))


def _known(numbers: Mapping[str, float], name: str) -> bool:
    return bool(np.isfinite(numbers.get(name, np.nan)))


def _rho(x: Sequence[float], y: Sequence[float]) -> float:
    return spearman(np.array(x, np.float64), np.array(y, np.float64))


def _summary(score: str, cells: Sequence[Relation]) -> Summary:
    values = [cell.rho for cell in cells if np.isfinite(cell.rho)]
    if not values:
        return Summary(score, float("nan"), float("nan"), 0)
    return Summary(score, min(values), float(np.mean(values)), len(values))


def _too_few(found: int, what: str) -> UserError:
    return UserError(
        f"{found} encoders have {what}: {LEAST_ENCODERS - found} are missing.",
        f"A rank correlation needs {LEAST_ENCODERS}. Diagnose and evaluate more encoders.",
    )
