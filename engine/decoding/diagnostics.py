"""Metrics of reconstructed sentences: those of Vec2Sent, with intervals.

All take `references` and `hypotheses`, lists of equal length of plain sentences. Case is folded and
punctuation marks are tokens, as in the text of the paper's figures; whitespace is ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

LEVEL = 0.95
GLUED_GROUPS = 100
"""Groups of sentences for the interval of `bleu-ref`, which must be counted anew without each."""


def tokens(sentence: str) -> list[str]:
    """Split a sentence into words and punctuation: sacrebleu's 13a on lower case."""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    split = Tokenizer13a()  # type: ignore[no-untyped-call]
    return str(split(sentence.lower())).split()


def identical(references: Sequence[str], hypotheses: Sequence[str]) -> np.ndarray:
    """Id (Vec2Sent, section 3.2): bool (n,), whether the same words came back in the same order."""
    pairs = zip(references, hypotheses, strict=True)
    return np.array([tokens(a) == tokens(b) for a, b in pairs], bool)


def permuted(references: Sequence[str], hypotheses: Sequence[str]) -> np.ndarray:
    """PERM: bool (n,), whether the same words came back in any order, the right one included."""
    pairs = zip(references, hypotheses, strict=True)
    return np.array([sorted(tokens(a)) == sorted(tokens(b)) for a, b in pairs], bool)


def kept_order(same: np.ndarray, permuted: np.ndarray) -> float:
    """Id/PERM: of the sentences whose words came back, the share in the right order; nan for none.

    Near 1 for a space that encodes word order, low for one that encodes only a bag of words.

    Args:
        same: bool (n,), from `identical`.
        permuted: bool (n,), from the function of that name.
    """
    return float(same.sum() / permuted.sum()) if permuted.any() else float("nan")


def token_f1(references: Sequence[str], hypotheses: Sequence[str]) -> np.ndarray:
    """F1 of the bags of words, float64 (n,), 0 to 1; 1 for two empty sentences."""
    found = np.empty(len(references))
    for row, (a, b) in enumerate(zip(references, hypotheses, strict=True)):
        left, right = Counter(tokens(a)), Counter(tokens(b))
        shared = (left & right).total()
        both = left.total() + right.total()
        found[row] = 2 * shared / both if both else 1.0
    return found


def bleu(references: Sequence[str], hypotheses: Sequence[str]) -> float:
    """Corpus BLEU by sacrebleu, lower-cased, otherwise with its defaults; points of 100."""
    from sacrebleu import corpus_bleu

    return float(corpus_bleu(list(hypotheses), [list(references)], lowercase=True).score)


def reference_bleu(references: Sequence[str], hypotheses: Sequence[str]) -> float:
    """BLEU as the paper's code got it: `bleu-ref`, points of 100.

    The code wrote all lines without line breaks, so that the whole file is one sentence: the last
    word of a line is glued to the first of the next, and n-grams match anywhere. No smoothing.
    """
    return _glued([tokens(line) for line in references], [tokens(line) for line in hypotheses])


def _glued(references: Sequence[Sequence[str]], hypotheses: Sequence[Sequence[str]]) -> float:
    from sacrebleu.metrics.bleu import BLEU

    sides = ["".join(map(" ".join, side)).split() for side in (hypotheses, references)]
    number: dict[str, int] = {}
    words = [
        np.array([number.setdefault(word, len(number)) for word in side], np.int64)
        for side in sides
    ]
    right, runs = [], words
    for n in range(1, 5):
        if n > 1:
            runs = [
                run[:-1] * len(number) + word[n - 1 :]
                for run, word in zip(runs, words, strict=True)
            ]
        distinct, joint = np.unique(np.concatenate(runs), return_inverse=True)
        runs = np.split(joint, [len(runs[0])])
        counts = [np.bincount(run, minlength=len(distinct)) for run in runs]
        right.append(int(np.minimum(*counts).sum()))
    size, whole = (len(side) for side in words)
    totals = [max(size - n, 0) for n in range(4)]
    return float(BLEU.compute_bleu(right, totals, size, whole, smooth_method="none").score)


def resamples(n: int, draws: int = 1000, seed: int = 0) -> np.ndarray:
    """Draw bootstrap resamples: how often each of n sentences occurs in each, int64 (draws, n)."""
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=draws)


def mean_interval(values: np.ndarray, times: np.ndarray) -> tuple[float, float]:
    """Percentile bootstrap interval of a mean.

    Args:
        values: float or bool (n,).
        times: from `resamples`.
    """
    return _ends(times @ np.asarray(values, np.float64) / len(values))


def ratio_interval(above: np.ndarray, below: np.ndarray, times: np.ndarray) -> tuple[float, float]:
    """Percentile bootstrap interval of a ratio of sums; resamples that divide by 0 are skipped."""
    bottom = times @ np.asarray(below, np.float64)
    top = times @ np.asarray(above, np.float64)
    return _ends(top[bottom > 0] / bottom[bottom > 0])


def bleu_interval(
    references: Sequence[str], hypotheses: Sequence[str], times: np.ndarray
) -> tuple[float, float]:
    """Percentile bootstrap interval of `bleu`, from the counts of each sentence."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(lowercase=True, effective_order=True)  # the order affects sentence scores only
    counts = [
        [s.sys_len, s.ref_len, *s.counts, *s.totals]
        for a, b in zip(references, hypotheses, strict=True)
        for s in [metric.sentence_score(b, [a])]
    ]
    drawn = (times @ np.array(counts, np.int64)).tolist()
    scores = [
        BLEU.compute_bleu(row[2:6], row[6:10], row[0], row[1], smooth_method="exp").score
        for row in drawn
    ]
    return _ends(np.array(scores))


def reference_bleu_interval(
    references: Sequence[str], hypotheses: Sequence[str]
) -> tuple[float, float]:
    """Interval of `reference_bleu` by the jackknife that leaves out a group of sentences at a time.

    Resamples nearly all have a lower score: n-grams match in any line, and a line that was not
    drawn is missing from the matches of others, while one drawn twice adds none. The jackknife's
    variance is too large on average, never too small (Efron, Stein 1981).

    Returns:
        (low, high), nan below two sentences.
    """
    from scipy.special import stdtrit

    left, right = [tokens(a) for a in references], [tokens(b) for b in hypotheses]
    groups = min(GLUED_GROUPS, len(left))
    if groups < 2:
        return float("nan"), float("nan")
    group = np.arange(len(left)) % groups
    kept = [np.flatnonzero(group != one) for one in range(groups)]
    without = np.array([_glued([left[i] for i in k], [right[i] for i in k]) for k in kept])
    error = np.sqrt((groups - 1) * without.var())
    reach = float(stdtrit(groups - 1, (1 + LEVEL) / 2) * error)
    score = _glued(left, right)
    return max(score - reach, 0.0), min(score + reach, 100.0)


def _ends(draws: np.ndarray) -> tuple[float, float]:
    if not len(draws):
        return float("nan"), float("nan")
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
