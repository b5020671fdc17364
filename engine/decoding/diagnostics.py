"""What a decoder kept of its sentences: the paper's figures, and those the reference code printed.

All take `references` and `hypotheses` of one length, sentences as plain text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np


def pieces(sentence: str) -> list[str]:
    """Words as every figure here counts them: between spaces."""
    return sentence.split()


def identical(references: Sequence[str], hypotheses: Sequence[str]) -> np.ndarray:
    """Id (Vec2Sent, section 3.2): bool (n,), whether a sentence came back as it was."""
    pairs = zip(references, hypotheses, strict=True)
    return np.array([a.strip() == b.strip() for a, b in pairs], bool)


def permuted(references: Sequence[str], hypotheses: Sequence[str]) -> np.ndarray:
    """PERM: bool (n,), whether the same words came back in any order, the right one included."""
    pairs = zip(references, hypotheses, strict=True)
    return np.array([sorted(pieces(a)) == sorted(pieces(b)) for a, b in pairs], bool)


def kept_order(references: Sequence[str], hypotheses: Sequence[str]) -> float:
    """Id/PERM: of the sentences whose words came back, the share in the right order; nan for none.

    Near 1 for a space that knows word order, low for one that keeps only which words there were.
    """
    found = permuted(references, hypotheses).sum()
    return float(identical(references, hypotheses).sum() / found) if found else float("nan")


def token_f1(references: Sequence[str], hypotheses: Sequence[str]) -> np.ndarray:
    """F1 of the bags of words, float64 (n,), 0 to 1; two empty sentences are alike."""
    found = np.empty(len(references))
    for row, (a, b) in enumerate(zip(references, hypotheses, strict=True)):
        left, right = Counter(pieces(a)), Counter(pieces(b))
        shared = (left & right).total()
        both = left.total() + right.total()
        found[row] = 2 * shared / both if both else 1.0
    return found


def bleu(references: Sequence[str], hypotheses: Sequence[str]) -> float:
    """Corpus BLEU by sacrebleu, case kept, its own tokenizer (13a); points of 100."""
    from sacrebleu import corpus_bleu

    return float(corpus_bleu(list(hypotheses), [list(references)]).score)


def reference_bleu(references: Sequence[str], hypotheses: Sequence[str]) -> float:
    """BLEU as the reference code got it: `bleu-ref`, points of 100.

    It wrote all lines without their ends, so that the whole file is one sentence, last and first
    words glued, split at spaces only.
    """
    from sacrebleu import corpus_bleu

    whole = ["".join(line.strip("\n") for line in side) for side in (hypotheses, references)]
    return float(corpus_bleu([whole[0]], [[whole[1]]], tokenize="none", force=True).score)


def interval(
    values: np.ndarray, *, draws: int = 2000, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """Percentile bootstrap interval of a mean.

    Args:
        values: float or bool (n,).
        draws: resamples.
        seed: of the resampling.
        level: of confidence.
    """
    rng = np.random.default_rng(seed)
    means = np.array([rng.choice(values, len(values)).mean() for _ in range(draws)])
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def bleu_interval(
    references: Sequence[str], hypotheses: Sequence[str], *, draws: int = 1000, seed: int = 0,
    level: float = 0.95,
) -> tuple[float, float]:  # fmt: skip
    """Percentile bootstrap interval of corpus BLEU, from the statistics of each sentence."""
    from sacrebleu.metrics import BLEU

    metric = BLEU()
    counts = [
        [s.sys_len, s.ref_len, *s.counts, *s.totals]
        for a, b in zip(references, hypotheses, strict=True)
        for s in [metric.sentence_score(b, [a])]
    ]
    rows = np.array(counts, np.int64)
    rng = np.random.default_rng(seed)
    scores = []
    for _ in range(draws):
        lengths = rows[rng.integers(len(rows), size=len(rows))].sum(0)
        drawn = metric.compute_bleu(
            lengths[2:6].tolist(), lengths[6:10].tolist(), int(lengths[0]), int(lengths[1]),
            smooth_method="exp",
        )  # fmt: skip
        scores.append(drawn.score)
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
