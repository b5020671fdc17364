"""Cut-offs of a cosine that come with a guarantee, from labelled pairs.

An encoder has not seen the pairs, so all of them calibrate. What is guaranteed holds for pairs that
are drawn like these. Knows cosines and labels; neither encoders nor texts.
"""

import math

import numpy as np

CONFIDENCE = 0.95
"""Of a cut-off for precision: the probability that it keeps what it says."""
MAX_ERROR = 0.035
"""Largest standard error of a precision that is translated. Where fewer pairs are above a cut-off,
an encoder that never reaches a precision seems to by chance."""
_WHOLE = 10_000.0
"""Cut-offs have four decimals, so that the one that people read is the one that is guaranteed."""
_STEP = 1.25
"""Factor between the numbers of pairs above the cut-offs that are tried."""


def for_recall(cosines: np.ndarray, positive: np.ndarray, recall: float) -> float | None:
    """The highest cut-off that a new positive pair reaches with at least this probability.

    Split conformal prediction with the cosine as conformity score: of n positives the k-th lowest,
    k = floor((n + 1) (1 - recall)); no other assumption than exchangeability (Vovk, Gammerman,
    Shafer 2005; Angelopoulos, Bates 2023, "Conformal Prediction: A Gentle Introduction", 1.1).

    Args:
        cosines: float (n,).
        positive: bool (n,).
        recall: between 0 and 1.

    Returns:
        None if there are too few positives: it takes 1 / (1 - recall) - 1.
    """
    own = np.sort(cosines[positive])
    k = math.floor((len(own) + 1) * (1.0 - recall) + 1e-9)
    return math.floor(own[k - 1] * _WHOLE + 1e-6) / _WHOLE if k else None


def for_precision(cosines: np.ndarray, positive: np.ndarray, precision: float) -> float | None:
    """The lowest cut-off above which at least this share of pairs is positive.

    It is, with the probability `CONFIDENCE` over the draw of these pairs: Learn then Test
    (Angelopoulos, Bates, Candès, Jordan, Lei 2021), with exact binomial p-values and Bonferroni's
    correction over the cut-offs of `grid`.

    Returns:
        None if none is shown to have it: too few pairs, or too many are negative.
    """
    from scipy.stats import binom

    at = grid(cosines)
    calls = np.array([(cosines >= cut).sum() for cut in at])
    hits = np.array([positive[cosines >= cut].sum() for cut in at])
    meets = binom.sf(hits - 1, calls, precision) <= (1.0 - CONFIDENCE) / len(at)
    return float(at[meets].min()) if meets.any() else None


def grid(cosines: np.ndarray) -> np.ndarray:
    """Cosines with geometrically more pairs above each: the cut-offs that are tried, falling."""
    steps = np.arange(math.ceil(math.log(max(len(cosines), 2)) / math.log(_STEP)) + 1)
    counts = np.minimum(np.ceil(_STEP**steps).astype(int), len(cosines))
    return np.unique(np.ceil(np.sort(cosines)[::-1][counts - 1] * _WHOLE - 1e-6))[::-1] / _WHOLE


def pairs_needed(precision: float, n: int) -> int:
    """Pairs above a cut-off, all of them positive, that would show this precision, of n pairs."""
    allowed = (1.0 - CONFIDENCE) / len(grid(np.arange(n, dtype=float)))
    return math.ceil(math.log(allowed) / math.log(precision))


def translate(
    cutoff: float, first: np.ndarray, second: np.ndarray, positive: np.ndarray
) -> float | None:
    """The cut-off of another encoder with the same precision, on the same pairs.

    The precision of both is smoothed by isotonic regression of the label on the cosine, so that it
    rises with the cut-off.

    Args:
        cutoff: of the first encoder.
        first: cosines by the first encoder, float (n,).
        second: by the other one.
        positive: bool (n,).

    Returns:
        None if the precision above either cut-off is known less well than `MAX_ERROR`.
    """
    cosines, precision = _precisions(first, positive)
    above = int((cosines >= cutoff).sum())
    if not _known(precision[above - 1], above):
        return None
    others, theirs = _precisions(second, positive)
    reached = np.flatnonzero(theirs >= precision[above - 1] - 1e-9)
    if not len(reached) or not _known(theirs[reached[-1]], reached[-1] + 1):
        return None
    return float(others[reached[-1]])


def _known(precision: float, n: int) -> bool:
    """Whether the error of a share of n is small enough, by Agresti and Coull (1998)."""
    share = (precision * n + 2.0) / (n + 4.0)
    return math.sqrt(share * (1.0 - share) / (n + 4.0)) <= MAX_ERROR


def _precisions(cosines: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosines, falling, and the smoothed share of positives among those up to each."""
    from sklearn.isotonic import IsotonicRegression

    order = np.argsort(-cosines, kind="stable")
    fitted = IsotonicRegression().fit_transform(cosines, positive.astype(float))[order]
    return cosines[order], np.cumsum(fitted) / np.arange(1, len(order) + 1)
