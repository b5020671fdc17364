"""Three similarities side by side: cosine, z-normalised cosine, and a learned one.

Table 2 of "Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé, Gurevych 2019): the
choice of similarity changes the ranking of encoders. Protocol `pitfalls`. Knows vectors and gold
scores; neither encoders nor files.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from theodolite.engine.progress import ProgressCallback
from theodolite.engine.results import Score
from theodolite.engine.space import geometry
from theodolite.engine.stats.bootstrap import pearson, spearman
from theodolite.engine.tasks import relatedness, sts
from theodolite.engine.tasks.cost import Work
from theodolite.engine.tasks.task import Measurement, TaskType

if TYPE_CHECKING:
    from theodolite.engine.datasets.types import ScoredPairs

_SCALES = ((0.0, 5.0), (1.0, 5.0))
"""Scales of gold scores that fit the regressor's five bins."""


def measure(
    data: ScoredPairs, vectors: np.ndarray, seed: int, tick: ProgressCallback
) -> Measurement:
    """Correlate the three similarities of pairs with their gold scores.

    The main score is Spearman of the plain cosine on the pairs of `engine.tasks.sts`'s main score:
    the test split, or all pairs. The other similarities are measured on the same pairs; the learned
    one if there are train, dev and test splits and scores up to 5.

    Args:
        data: pairs with gold scores.
        vectors: float32 (len(data.sentences), dim), finite.
        seed: seed of the regressor.
        tick: progress callback during its training; an exception from it stops the training.
    """
    plain = sts.measure(data, vectors, space=False)
    main = next(score for score in plain.scores if score.main)
    scores = [
        score
        for score in plain.scores
        if (score.split, score.aggregation) == (main.split, main.aggregation)
    ]
    rows, gold = sts.main_rows(data)
    cosines = normalised_cosine(vectors, *rows)
    for name, correlate in (("spearman", spearman), ("pearson", pearson)):
        value = 100 * correlate(cosines, gold)
        if np.isfinite(value):
            scores.append(replace(main, metric=f"znorm_{name}", score=value, main=False))
    in_three = data.parts_are == "splits" and {"train", "dev", "test"} <= set(data.parts)
    if in_three and data.scale in _SCALES:
        scores += _learned(data, vectors, seed, tick)
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


def _learned(
    data: ScoredPairs, vectors: np.ndarray, seed: int, tick: ProgressCallback
) -> list[Score]:
    found = relatedness.measure(data, vectors, "pearson", seed, tick)
    return [
        replace(score, metric=f"learned_{score.metric}", main=False)
        for score in found.scores
        if score.split == "test"
    ]


def _work(data: ScoredPairs, protocol: str, seed: int) -> Work:
    if "train" in data.parts:
        return relatedness.work(data, protocol, seed)
    return Work(list(data.sentences), pairs=len(data.sentences))


TYPE = TaskType(
    "sts",
    measure=lambda task, data, vectors, protocol, seed, tick: measure(data, vectors, seed, tick),
    work=_work,
    trains=True,
    draws=False,
    protocols=("pitfalls",),
)
