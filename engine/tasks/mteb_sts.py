"""Similarity as MTEB scores it: Spearman of the cosine in float32, and of two distances.

Protocols `mteb-v1` and `mteb-v2`, which agree here. Knows vectors and gold scores; neither encoders
nor files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from theodolite.engine.results import Score
from theodolite.engine.stats.bootstrap import pearson, spearman
from theodolite.engine.tasks import sts
from theodolite.engine.tasks.cost import Work
from theodolite.engine.tasks.pair_classification import pair_similarities
from theodolite.engine.tasks.task import Measurement, TaskType

if TYPE_CHECKING:
    from theodolite.engine.datasets.types import ScoredPairs


def measure(data: ScoredPairs, vectors: np.ndarray) -> Measurement:
    """Score the pairs of the test split, or all of them.

    Args:
        data: pairs with gold scores.
        vectors: float32, of the sentences at `rows(data)`, in that order; finite.
    """
    (left, right), gold = sts.main_rows(data)
    used = rows(data)
    found = pair_similarities(vectors, np.searchsorted(used, left), np.searchsorted(used, right))
    sts.refuse_undefined(data.name, found["cosine"], gold)
    split = "test" if sts.is_scored_by_test(data) else "all"
    scores = tuple(
        Score(
            split,
            None,
            f"{name}_{kind}",
            100.0 * correlate(found[name], gold),
            len(gold),
            main=name == "cosine" and kind == "spearman",
        )
        for name in ("cosine", "manhattan", "euclidean")
        for kind, correlate in (("spearman", spearman), ("pearson", pearson))
    )
    examples = {
        "cosine": found["cosine"].astype(np.float64),
        "gold": gold,
        "part": np.zeros(len(gold), np.int16),
    }
    return Measurement(scores, examples, {"parts": [split], "main_parts": [0]})


def rows(data: ScoredPairs, protocol: str = "", seed: int = 0) -> np.ndarray:
    """Return the positions in `data.sentences` of the scored pairs' sentences."""
    (left, right), _ = sts.main_rows(data)
    return np.unique(np.concatenate([left, right]))


def _work(data: ScoredPairs, protocol: str, seed: int) -> Work:
    sentences, used = data.sentences, rows(data)
    return Work([sentences[i] for i in used], pairs=len(used))


TYPE = TaskType(
    "sts",
    measure=lambda task, data, vectors, protocol, seed, tick: measure(data, vectors),
    work=_work,
    rows=rows,
    examples=sts.examples,
    draws=False,
    protocols=("mteb-v1", "mteb-v2"),
)
