"""Semantic textual similarity: does the cosine rank pairs of sentences as people do?

Protocol `simcse-2021`: plain cosine, no regressor (Gao, Yao, Chen 2021, appendix B). Knows vectors
and gold scores; neither encoders nor files.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from theodolite.engine.errors import UserError
from theodolite.engine.results import Score
from theodolite.engine.space import geometry
from theodolite.engine.stats.bootstrap import pearson, spearman
from theodolite.engine.tasks.cost import Work
from theodolite.engine.tasks.task import ExampleTexts, Measurement, Task, TaskType

if TYPE_CHECKING:
    from theodolite.engine.datasets.types import PairPart, ScoredPairs

_CORRELATIONS = {"spearman": spearman, "pearson": pearson}
_POSITIVE_ABOVE = 4.0
"""A pair with a higher score is a positive pair (SimCSE, footnote 3: "higher than 4")."""
MOST_SENTENCES = 40_000
"""Uniformity takes O(n^2) time: some ten seconds on a laptop at this size."""


@dataclass(frozen=True, eq=False)
class _Pairs:
    """All pairs of a data set in order, with their parts."""

    names: list[str]
    part: np.ndarray  # int16 (n,)
    gold: np.ndarray  # float64 (n,)
    left: np.ndarray  # (n,) positions in the data set's `sentences`
    right: np.ndarray


def measure(data: ScoredPairs, vectors: np.ndarray, *, space: bool = True) -> Measurement:
    """Correlate the cosines of pairs with their gold scores.

    The main score of a year's data is Spearman over its concatenated subsets (`all`); for a data
    set with splits, over `test`, or over all pairs without a test split.

    Args:
        data: pairs with gold scores.
        vectors: float32 (len(data.sentences), dim), finite.
        space: also measure alignment, uniformity and the mean cosine of random pairs.
    """
    pairs = _pairs(data.parts)
    cosines = geometry.cosine(vectors[pairs.left], vectors[pairs.right])
    main_parts = _main_parts(data)
    rows = np.isin(pairs.part, main_parts)
    refuse_undefined(data.name, cosines[rows], pairs.gold[rows])
    scores = _splits(pairs, cosines) if data.parts_are == "splits" else _subsets(pairs, cosines)
    undefined = sorted({s.aggregation or s.split for s in scores if math.isnan(s.score)})
    kept = [score for score in scores if not math.isnan(score.score)]
    details = {
        "parts": pairs.names,
        "main_parts": main_parts,
        "histogram": geometry.histogram(cosines, geometry.gold_groups(pairs.gold, data.scale)),
    }
    if undefined:
        details["undefined"] = undefined
    if space:
        kept += _space(data, pairs, vectors)
    examples = {"cosine": cosines, "gold": pairs.gold, "part": pairs.part}
    return Measurement(tuple(kept), examples, details)


def main_rows(data: ScoredPairs) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Return the pairs of the main score.

    Returns:
        Positions in `data.sentences` of the first and second sentences, and gold scores, float64
        (pairs,).
    """
    pairs = _pairs(data.parts)
    rows = np.isin(pairs.part, _main_parts(data))
    return (pairs.left[rows], pairs.right[rows]), pairs.gold[rows]


def examples(data: ScoredPairs, protocol: str = "", seed: int = 0) -> ExampleTexts:
    """Return the pairs of the main score with their gold scores."""
    (left, right), gold = main_rows(data)
    sentences = data.sentences
    rows = zip(left, right, gold, strict=True)
    return [((sentences[a], sentences[b]), f"{grade:g}") for a, b, grade in rows]


def _pairs(parts: dict[str, PairPart]) -> _Pairs:
    """Gather all pairs; positions follow `ScoredPairs.sentences`: left, then right of each part."""
    left, right, start = [], [], 0
    for part in parts.values():
        n = len(part.gold)
        left.append(np.arange(start, start + n))
        right.append(np.arange(start + n, start + 2 * n))
        start += 2 * n
    sizes = [len(part.gold) for part in parts.values()]
    return _Pairs(
        list(parts),
        np.repeat(np.arange(len(sizes), dtype=np.int16), sizes),
        np.concatenate([part.gold for part in parts.values()]).astype(np.float64),
        np.concatenate(left),
        np.concatenate(right),
    )


def is_scored_by_test(data: ScoredPairs) -> bool:
    """Whether the main score is over the test split, not over all pairs."""
    return data.parts_are == "splits" and "test" in data.parts


def _main_parts(data: ScoredPairs) -> list[int]:
    if is_scored_by_test(data):
        return [list(data.parts).index("test")]
    return list(range(len(data.parts)))


def refuse_undefined(name: str, cosines: np.ndarray, gold: np.ndarray) -> None:
    """Raise UserError if the correlation is not defined."""
    if len(gold) < 2 or np.ptp(gold) == 0.0:
        raise UserError(
            f"{name} has {len(gold)} scored pairs to measure on, and no two different "
            "scores among them: a correlation is not defined.",
            "Give it at least two pairs with different scores.",
        )
    if np.ptp(cosines) == 0.0:
        raise UserError(
            f"Every pair of {name} has the same cosine, {cosines[0]:.4f}: a correlation is "
            "not defined.",
            "The encoder gives all sentences the same direction; look at its pooling and steps.",
        )


def _correlations(
    split: str,
    aggregation: str | None,
    cosines: np.ndarray,
    gold: np.ndarray,
    *,
    main: bool = False,
) -> list[Score]:
    return [
        Score(
            split,
            aggregation,
            metric,
            100.0 * correlate(cosines, gold),
            len(gold),
            main=main and metric == "spearman",
        )
        for metric, correlate in _CORRELATIONS.items()
    ]


def _splits(pairs: _Pairs, cosines: np.ndarray) -> list[Score]:
    """Score each split, and all of them together if there are several."""
    scores: list[Score] = []
    main = "test" if "test" in pairs.names else "all"
    for index, name in enumerate(pairs.names):
        rows = pairs.part == index
        scores += _correlations(name, None, cosines[rows], pairs.gold[rows], main=name == main)
    if pairs.names != ["all"]:
        scores += _correlations("all", None, cosines, pairs.gold, main=main == "all")
    return scores


def _subsets(pairs: _Pairs, cosines: np.ndarray) -> list[Score]:
    """Score `all` (concatenated), `mean`, `wmean` (weighted by pairs), and each subset."""
    scores = _correlations("all", "all", cosines, pairs.gold, main=True)
    by_subset: list[Score] = []
    for index, name in enumerate(pairs.names):
        rows = pairs.part == index
        by_subset += _correlations("all", name, cosines[rows], pairs.gold[rows])
    for metric in _CORRELATIONS:
        values = [score.score for score in by_subset if score.metric == metric]
        sizes = [score.n for score in by_subset if score.metric == metric]
        n = sum(sizes)
        scores.append(Score("all", "mean", metric, float(np.mean(values)), n))
        scores.append(Score("all", "wmean", metric, float(np.average(values, weights=sizes)), n))
    return scores + by_subset


def _space(data: ScoredPairs, pairs: _Pairs, vectors: np.ndarray) -> list[Score]:
    """Return the mean cosine of random pairs, and alignment and uniformity as in the paper.

    The latter need a whole data set with splits and scores 0 to 5: STS-B, as the authors say
    (SimCSE issue 52), the starter pairs and similar data. `n` is n_pos and n_data.
    """
    unit = "cosine"
    random = geometry.random_pairs(vectors)
    scores = [Score("all", None, "random_cosine", random.mean, random.n, unit=unit)]
    if data.parts_are != "splits" or data.scale != (0.0, 5.0) or len(vectors) > MOST_SENTENCES:
        return scores
    uniformity = geometry.uniformity(vectors)
    scores.append(Score("all", None, "uniformity", uniformity, len(vectors), unit="log potential"))
    positive = pairs.gold > _POSITIVE_ABOVE
    if positive.any():
        aligned = geometry.alignment(vectors[pairs.left[positive]], vectors[pairs.right[positive]])
        n_pos = int(positive.sum())
        scores.append(Score("all", None, "alignment", aligned, n_pos, unit="squared distance"))
    return scores


def of_data(dataset: str, description: str = "", name: str = "", *also: str) -> Task:
    """Build the task on scored pairs, by default named like its data set."""
    return Task(
        name or dataset,
        "sts",
        dataset,
        "pairs",
        "simcse-2021",
        "spearman",
        description or f"Scored pairs of {dataset}.",
        also,
    )


def _work(data: ScoredPairs, protocol: str, seed: int) -> Work:
    sentences = list(data.sentences)
    if data.parts_are == "splits" and len(sentences) <= MOST_SENTENCES:
        return Work(sentences, "uniformity", pairs=len(sentences) ** 2)
    return Work(sentences, pairs=len(sentences))


TYPE = TaskType(
    "sts",
    measure=lambda task, data, vectors, protocol, seed, tick: measure(data, vectors),
    work=_work,
    draws=False,
    examples=examples,
    tasks=(
        of_data("starter-pairs", "Graded sentence pairs of the starter set.", "StarterSTS"),
        of_data("STS12", "SemEval 2012 similarity, five subsets."),
        of_data("STS13", "SemEval 2013 similarity, three subsets (without SMT)."),
        of_data("STS14", "SemEval 2014 similarity, six subsets."),
        of_data("STS15", "SemEval 2015 similarity, five subsets."),
        of_data("STS16", "SemEval 2016 similarity, five subsets."),
        of_data("STSBenchmark", "STS Benchmark, test split.", "", "relatedness"),
        of_data("SICKRelatedness", "SICK relatedness, test split.", "", "relatedness"),
    ),
)
