"""Metrics of reconstructed sentences: those of Vec2Sent, with intervals.

All take `references` and `hypotheses`, lists of equal length of plain sentences. Case is folded and
punctuation marks are tokens, as in the text of the paper's figures; whitespace is ignored.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from theodolite.engine.encoders.base import Encoder
from theodolite.engine.search.index import unit_rows

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
    scores = np.empty(len(references))
    for row, (a, b) in enumerate(zip(references, hypotheses, strict=True)):
        left, right = Counter(tokens(a)), Counter(tokens(b))
        shared = (left & right).total()
        both = left.total() + right.total()
        scores[row] = 2 * shared / both if both else 1.0
    return scores


def bleu(references: Sequence[str], hypotheses: Sequence[str]) -> float:
    """Corpus BLEU by sacrebleu, lower-cased, otherwise with its defaults; points of 100."""
    from sacrebleu import corpus_bleu

    return float(corpus_bleu(list(hypotheses), [list(references)], lowercase=True).score)


def reference_bleu(references: Sequence[str], hypotheses: Sequence[str]) -> float:
    """BLEU as the paper's code got it: `bleu-ref`, points of 100.

    The code wrote all lines without line breaks, so that the whole file is one sentence: the last
    word of a line is glued to the first of the next, and n-grams match anywhere. No smoothing.
    """
    return _bleu([tokens(line) for line in references], [tokens(line) for line in hypotheses])


def _bleu(references: Sequence[Sequence[str]], hypotheses: Sequence[Sequence[str]]) -> float:
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
    sums = (times @ np.array(counts, np.int64)).tolist()
    scores = [
        BLEU.compute_bleu(row[2:6], row[6:10], row[0], row[1], smooth_method="exp").score
        for row in sums
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
    rest = [np.flatnonzero(group != one) for one in range(groups)]
    without = np.array([_bleu([left[i] for i in k], [right[i] for i in k]) for k in rest])
    error = np.sqrt((groups - 1) * without.var())
    reach = float(stdtrit(groups - 1, (1 + LEVEL) / 2) * error)
    score = _bleu(left, right)
    return max(score - reach, 0.0), min(score + reach, 100.0)


def _ends(draws: np.ndarray) -> tuple[float, float]:
    if not len(draws):
        return float("nan"), float("nan")
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


AT_ONCE = 40
"""Pairs of sentences solved as one linear programme: far faster than one by one."""

Bag = tuple[np.ndarray, np.ndarray]
"""Positions of the distinct words, int64 (k,), and their shares of the sentence, float64 (k,)."""


def word_mover_scores(
    references: Sequence[str], hypotheses: Sequence[str], words: Encoder
) -> np.ndarray:
    """1 - the least cost of moving the words of one sentence to those of the other.

    Vec2Sent's MOVER takes its word vectors from BERT (Zhao et al. 2019, 1-gram, idf 1). Here any
    encoder supplies them, one vector a word regardless of context, and the score is named after it:
    `mover-wordllama`. Scores with vectors of two encoders cannot be compared.

    All words of a sentence weigh the same. The cost between two words is the squared distance of
    their unit vectors: 0 for the same word, 2 for orthogonal ones (or without a vector), at most 4.
    A sentence without words is at cost 2 from any other.

    Args:
        references: sentences.
        hypotheses: as many.
        words: supplies the vectors; encodes each word alone.

    Returns:
        float64 (n,), at most 1, and 1 for equal bags of words.
    """
    left, right = [tokens(s) for s in references], [tokens(s) for s in hypotheses]
    vocabulary = sorted({word for sentence in (*left, *right) for word in sentence})
    place = {word: row for row, word in enumerate(vocabulary)}
    vectors = unit_rows(words.encode(vocabulary or [""])).astype(np.float64)
    travelled = np.zeros(len(left))
    open_pairs: list[int] = []
    for row, (a, b) in enumerate(zip(left, right, strict=True)):
        if not a or not b:
            travelled[row] = 2.0 if a or b else 0.0
        elif sorted(a) != sorted(b):
            open_pairs.append(row)
    for start in range(0, len(open_pairs), AT_ONCE):
        rows = open_pairs[start : start + AT_ONCE]
        pairs = [(_bag(left[row], place), _bag(right[row], place)) for row in rows]
        travelled[rows] = _least(pairs, vectors)
    return 1.0 - travelled


def _bag(sentence: Sequence[str], place: dict[str, int]) -> Bag:
    counts = Counter(place[word] for word in sentence)
    return np.array(list(counts)), np.array(list(counts.values())) / len(sentence)


def _least(pairs: Sequence[tuple[Bag, Bag]], vectors: np.ndarray) -> np.ndarray:
    """Cost of the optimal transport of each pair, float64 (pairs,), exactly."""
    from scipy import sparse
    from scipy.optimize import linprog

    costs, sums, shares = [], [], []
    for (a, left), (b, right) in pairs:
        far = np.maximum(2.0 - 2.0 * vectors[a] @ vectors[b].T, 0.0)
        far[a[:, None] == b[None]] = 0.0
        costs.append(far.ravel())
        out = sparse.kron(sparse.eye_array(len(a)), np.ones((1, len(b))))
        into = sparse.kron(np.ones((1, len(a))), sparse.eye_array(len(b)))
        # The constraint of the last word follows from all others.
        sums.append(sparse.vstack([out, into.tocsr()[:-1]]))
        shares.append(np.concatenate([left, right[:-1]]))
    cost = np.concatenate(costs)
    solved = linprog(
        cost,
        A_eq=sparse.block_diag(sums, format="csr"),
        b_eq=np.concatenate(shares),
        method="highs",
    )
    if solved.status != 0:
        raise RuntimeError(f"the transport of words was not solved: {solved.message}")
    ends = np.cumsum([len(part) for part in costs])[:-1]
    return np.array([part.sum() for part in np.split(cost * solved.x, ends)])
