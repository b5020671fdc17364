"""Semantic textual similarity: does the cosine rank pairs of sentences as people do?

Protocol `simcse-2021`: plain cosine, no regressor (Gao, Yao, Chen 2021, appendix B). Protocol
`pitfalls`: three similarities side by side, cosine, z-normalised cosine and a learned one, after
table 2 of "Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé, Gurevych 2019): the
choice of similarity changes the ranking of encoders. Protocols `mteb-v1` and `mteb-v2`, which agree
here: the cosine in float32, and two distances. Knows vectors and gold scores; neither encoders nor
files.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from theodolite.engine.datasets.types import PairPart, ScoredPairs
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback
from theodolite.engine.results import Score
from theodolite.engine.space import geometry
from theodolite.engine.stats.bootstrap import pearson, spearman
from theodolite.engine.tasks import relatedness
from theodolite.engine.tasks.pair_classification import pair_similarities
from theodolite.engine.tasks.task import ExampleTexts, Measurement, TaskType

_CORRELATIONS = {"spearman": spearman, "pearson": pearson}
_POSITIVE_ABOVE = 4.0
"""A pair with a higher score is a positive pair (SimCSE, footnote 3: "higher than 4")."""
MAX_SENTENCES = 40_000
"""Uniformity takes O(n^2) time: some ten seconds on a laptop at this size."""
_SCALES = ((0.0, 5.0), (1.0, 5.0))
"""Scales of gold scores that fit the regressor's five bins."""


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

    With `space`, alignment, uniformity and the mean cosine of random pairs are measured too.
    """
    pairs = _pairs(data.parts)
    cosines = geometry.cosine(vectors[pairs.left], vectors[pairs.right])
    main_parts = _main_parts(data)
    rows = np.isin(pairs.part, main_parts)
    _refuse_undefined(data.name, cosines[rows], pairs.gold[rows])
    scores = _splits(pairs, cosines) if data.parts_are == "splits" else _subsets(pairs, cosines)
    undefined = sorted({s.aggregation or s.split for s in scores if math.isnan(s.score)})
    valid = [score for score in scores if not math.isnan(score.score)]
    details = {
        "parts": pairs.names,
        "main_parts": main_parts,
        "histogram": geometry.histogram(cosines, geometry.gold_groups(pairs.gold, data.scale)),
    }
    if undefined:
        details["undefined"] = undefined
    if space:
        valid += _space(data, pairs, vectors)
    examples = {"cosine": cosines, "gold": pairs.gold, "part": pairs.part}
    return Measurement(tuple(valid), examples, details)


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


def _refuse_undefined(name: str, cosines: np.ndarray, gold: np.ndarray) -> None:
    """Raise UserError if the correlation is not defined."""
    if len(gold) < 2 or np.ptp(gold) == 0.0:
        raise UserError(
            f"{name} has {len(gold)} scored pairs to measure on, and no two different "
            "scores among them: a correlation is not defined.",
            "It needs at least two pairs with different scores.",
            code="too-few",
        )
    if np.ptp(cosines) == 0.0:
        raise UserError(
            f"Every pair of {name} has the same cosine, {cosines[0]:.4f}: a correlation is "
            "not defined.",
            "The encoder gives all sentences the same direction; look at its pooling and steps.",
            code="failed",
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
    random, _ = geometry.random_pairs(vectors)
    scores = [Score("all", None, "random_cosine", random, len(vectors), unit=unit)]
    if data.parts_are != "splits" or data.scale != (0.0, 5.0) or len(vectors) > MAX_SENTENCES:
        return scores
    uniformity = geometry.uniformity(vectors)
    scores.append(Score("all", None, "uniformity", uniformity, len(vectors), unit="log potential"))
    positive = pairs.gold > _POSITIVE_ABOVE
    if positive.any():
        aligned = geometry.alignment(vectors[pairs.left[positive]], vectors[pairs.right[positive]])
        n_pos = int(positive.sum())
        scores.append(Score("all", None, "alignment", aligned, n_pos, unit="squared distance"))
    return scores


def measure_three(
    data: ScoredPairs, vectors: np.ndarray, seed: int, tick: ProgressCallback
) -> Measurement:
    """Correlate the three similarities of pairs with their gold scores.

    The main score is Spearman of the plain cosine on the pairs of the protocol `simcse-2021`:
    the test split, or all pairs. The other similarities are measured on the same pairs; the learned
    one if there are train, dev and test splits and scores up to 5.
    """
    plain = measure(data, vectors, space=False)
    main = next(score for score in plain.scores if score.main)
    scores = [
        score
        for score in plain.scores
        if (score.split, score.aggregation) == (main.split, main.aggregation)
    ]
    rows, gold = main_rows(data)
    cosines = normalised_cosine(vectors, *rows)
    for name, correlate in (("spearman", spearman), ("pearson", pearson)):
        value = 100 * correlate(cosines, gold)
        if np.isfinite(value):
            scores.append(replace(main, metric=f"znorm_{name}", score=value, main=False))
    in_three = data.parts_are == "splits" and {"train", "dev", "test"} <= set(data.parts)
    if in_three and data.scale in _SCALES:
        scores += _learned_scores(data, vectors, seed, tick)
    return Measurement(tuple(scores), plain.examples, plain.details)


def normalised_cosine(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the cosine of vectors z-normalised over all sentences of these pairs.

    A sentence counts as often as it occurs. Mean and standard deviation (ddof 0) of each column are
    in float64; constant columns get deviation 1.

    Args:
        vectors: (n, dim).
        left: (pairs,) rows of the first sentences.
        right: (pairs,) rows of the second sentences.

    Returns:
        float64 (pairs,); see `engine.space.geometry.cosine`.
    """
    every = vectors[np.concatenate([left, right])].astype(np.float64)
    deviation = every.std(axis=0)
    deviation[deviation == 0.0] = 1.0
    every -= every.mean(axis=0)
    every /= deviation
    return geometry.cosine(every[: len(left)], every[len(left) :])


def _learned_scores(
    data: ScoredPairs, vectors: np.ndarray, seed: int, tick: ProgressCallback
) -> list[Score]:
    measured = relatedness.measure(data, vectors, "pearson", seed, tick)
    return [
        replace(score, metric=f"learned_{score.metric}", main=False)
        for score in measured.scores
        if score.split == "test"
    ]


def measure_as_mteb(data: ScoredPairs, vectors: np.ndarray) -> Measurement:
    """Score the pairs of the test split, or all of them."""
    (left, right), gold = main_rows(data)
    used = rows(data)
    similarities = pair_similarities(
        vectors, np.searchsorted(used, left), np.searchsorted(used, right)
    )
    _refuse_undefined(data.name, similarities["cosine"], gold)
    split = "test" if is_scored_by_test(data) else "all"
    scores = tuple(
        Score(
            split,
            None,
            f"{name}_{kind}",
            100.0 * correlate(similarities[name], gold),
            len(gold),
            main=name == "cosine" and kind == "spearman",
        )
        for name in ("cosine", "manhattan", "euclidean")
        for kind, correlate in (("spearman", spearman), ("pearson", pearson))
    )
    examples = {
        "cosine": similarities["cosine"].astype(np.float64),
        "gold": gold,
        "part": np.zeros(len(gold), np.int16),
    }
    return Measurement(scores, examples, {"parts": [split], "main_parts": [0]})


def rows(data: ScoredPairs, protocol: str = "", seed: int = 0) -> np.ndarray:
    """Return the positions in `data.sentences` of the scored pairs' sentences."""
    (left, right), _ = main_rows(data)
    return np.unique(np.concatenate([left, right]))


TYPE = TaskType(
    "sts",
    kind="pairs",
    protocol="simcse-2021",
    metric="spearman",
    about="Scored pairs of {}.",
    measure=lambda task, data, vectors, protocol, seed, tick: measure(data, vectors),
    draws=False,
    examples=examples,
)
PITFALLS = TaskType(
    "sts",
    measure=lambda task, data, vectors, protocol, seed, tick: measure_three(
        data, vectors, seed, tick
    ),
    trains=True,
    draws=False,
    protocols=("pitfalls",),
)
MTEB = TaskType(
    "sts",
    measure=lambda task, data, vectors, protocol, seed, tick: measure_as_mteb(data, vectors),
    rows=rows,
    examples=examples,
    draws=False,
    protocols=("mteb-v1", "mteb-v2"),
)
