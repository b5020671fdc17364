"""Correlations of cosines with gold scores, in the dictionaries of SentEval's `sts.py`.

`engine.tasks.sts` computes the same in one pass; here the similarity may be the script's own, and
cosines are computed pair by pair in the batcher's precision, as in the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theodolite.engine.datasets.types import PairPart, ScoredPairs
from theodolite.engine.senteval.utils import cosine

Similarity = Callable[[np.ndarray, np.ndarray], Any]


def correlations(
    data: ScoredPairs, vectors: np.ndarray, similarity: Similarity | None = None
) -> dict[str, Any]:
    """Correlate similarities with gold scores, for each part and overall.

    Args:
        data: pairs with gold scores.
        vectors: float (len(data.sentences), dim).
        similarity: called with two vectors; None for the cosine, with NaN taken as 0.

    Returns:
        part -> `pearson` and `spearman` (scipy's results: correlation and p-value) and `nsamples`;
        `all` -> `pearson` and `spearman`, each with `all` (one correlation over the concatenation),
        `mean` and `wmean` (over parts, plain and weighted by size).
    """
    from scipy.stats import pearsonr, spearmanr

    results: dict[str, Any] = {}
    every_score: list[float] = []
    every_gold: list[float] = []
    start = 0
    for name, part in data.parts.items():
        n = len(part.gold)
        left, right = vectors[start : start + n], vectors[start + n : start + 2 * n]
        start += 2 * n
        scores = _scores(left, right, similarity or _cosine)
        results[name] = {
            "pearson": pearsonr(scores, part.gold),
            "spearman": spearmanr(scores, part.gold),
            "nsamples": n,
        }
        every_score += scores
        every_gold += part.gold.tolist()
    sizes = [part["nsamples"] for part in results.values()]
    whole = {}
    for metric, correlate in (("pearson", pearsonr), ("spearman", spearmanr)):
        by_part = [part[metric][0] for part in results.values()]
        whole[metric] = {
            "all": correlate(every_score, every_gold)[0],
            "mean": np.average(by_part),
            "wmean": np.average(by_part, weights=sizes),
        }
    return {**results, "all": whole}


def order(part: PairPart) -> np.ndarray:
    """Return the reference's order of pairs: by tokens of the first, of the second, then score."""
    left, right = (np.array([len(s.split()) for s in side]) for side in (part.left, part.right))
    return np.lexsort((part.gold, right, left))


def _scores(left: np.ndarray, right: np.ndarray, similarity: Similarity) -> list[float]:
    with np.errstate(invalid="ignore", divide="ignore"):  # a zero vector has no cosine
        return [float(similarity(u, v)) for u, v in zip(left, right, strict=True)]


def _cosine(u: np.ndarray, v: np.ndarray) -> Any:
    return np.nan_to_num(cosine(np.nan_to_num(u), np.nan_to_num(v)))
