"""The evaluation on a dev set during training, for model selection.

As SimCSE does it: cosine and Spearman on STS-B's dev split, without a regressor. Alignment and
uniformity are those of the same sentences (Wang and Isola 2020, equations 2 and 3), all pairs at
once and in float64, never a mean over batches; the paper's figure 2 follows them during training.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.datasets.types import PairPart, ScoredPairs
from theodolite.engine.errors import UserError
from theodolite.engine.space.geometry import alignment, cosine, uniformity
from theodolite.engine.stats.bootstrap import Sample, resample_all, spearman
from theodolite.engine.stats.significance import interval

POSITIVE = 0.8
"""Pairs above this share of the scale are positives: above 4 of STS-B's 5 (footnote 3)."""
RESAMPLES = 1000


def data_set_of(name: str, catalog: Catalog) -> str:
    """The data set of a dev set, which may be named by its task."""
    return {info.task: info.name for info in catalog.list() if info.task}.get(name, name)


class DevScore(NamedTuple):
    """The scores of one evaluation; nan where a vector has NaN or infinity.

    Attributes:
        spearman: of cosine and gold, x 100; 0 where all cosines are the same.
        alignment: mean squared distance of the positive pairs; lower is better.
        uniformity: over all sentences, both sides, duplicates kept; lower is better.
        low, high: the 95 % interval of `spearman`, by the bootstrap over the pairs; None where it
            has none.
    """

    spearman: float
    alignment: float
    uniformity: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class DevSet:
    """Pairs with gold scores, each distinct sentence once.

    Attributes:
        sentences: the distinct ones.
        left, right: int64 (n,), indices of each pair's sentences.
        gold: float64 (n,).
        positive: bool (n,), the pairs that alignment is computed on.
    """

    sentences: list[str]
    left: np.ndarray
    right: np.ndarray
    gold: np.ndarray
    positive: np.ndarray

    @classmethod
    def open(cls, name: str, catalog: Catalog) -> DevSet:
        """Open the dev split of a task or data set of scored pairs, or all of it if there is none.

        Positive are the pairs above four fifths of the scale, or if no pair is, those with the
        highest score.

        Args:
            name: a data set of the catalog (`STSBenchmark`, `upload:mine`) or its task.
            catalog: where data sets come from.
        """
        dataset = catalog.load(data_set_of(name, catalog))
        if not isinstance(dataset, ScoredPairs):
            raise UserError(
                f"{name} has no pairs with scores to choose the best checkpoint by.",
                "Name a data set of scored pairs, such as STSBenchmark, or leave the dev task out.",
                code="wrong-kind",
            )
        has_dev = dataset.parts_are == "splits" and "dev" in dataset.parts
        parts = [dataset.parts["dev"]] if has_dev else list(dataset.parts.values())
        return cls._of(name, parts, dataset.scale)

    @classmethod
    def _of(cls, name: str, parts: list[PairPart], scale: tuple[float, float]) -> DevSet:
        gold = np.concatenate([part.gold for part in parts])
        if len(gold) < 2 or np.ptp(gold) == 0.0:
            raise UserError(
                f"The scores of {name} are all the same: no model can be better than another.",
                "Name a data set whose scores differ, or leave the dev task out.",
                code="too-few",
            )
        sides = [
            [s for part in parts for s in part.left],
            [s for part in parts for s in part.right],
        ]
        sentences = list(dict.fromkeys(sides[0] + sides[1]))
        place = {sentence: i for i, sentence in enumerate(sentences)}
        left, right = (np.array([place[s] for s in side], np.int64) for side in sides)
        low, high = scale
        border = low + POSITIVE * (high - low)
        positive = gold > border if (gold > border).any() else gold == gold.max()
        return cls(sentences, left, right, gold, positive)

    def score(self, vectors: np.ndarray) -> DevScore:
        """Compute the scores from the sentences' vectors, float32 (n, d)."""
        if not np.isfinite(vectors).all():
            return DevScore(np.nan, np.nan, np.nan)
        left, right = vectors[self.left], vectors[self.right]
        cosines = cosine(left, right)
        return DevScore(
            100.0 * spearman(cosines, self.gold) if np.ptp(cosines) > 0.0 else 0.0,
            alignment(left[self.positive], right[self.positive]),
            uniformity(np.concatenate([left, right])),
            *self._interval(cosines),
        )

    def _interval(self, cosines: np.ndarray) -> tuple[float, float] | tuple[None, None]:
        if np.ptp(cosines) == 0.0:
            return None, None
        [resampled] = resample_all([Sample(cosines, self.gold)], RESAMPLES)
        low, high = interval(resampled.draws[None], [resampled.units])
        return (float(low[0]), float(high[0])) if np.isfinite([low, high]).all() else (None, None)
