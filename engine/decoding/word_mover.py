"""Word Mover's score: how far the words of one sentence must travel to become another's.

Vec2Sent's MOVER takes its word vectors from BERT (Zhao et al. 2019, 1-gram, idf 1). Here any
encoder supplies them, one vector a word regardless of context, and the score is named after it:
`mover-wordllama`. Scores with vectors of two encoders cannot be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from theodolite.engine.decoding.diagnostics import tokens
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.search.index import unit_rows

AT_ONCE = 40
"""Pairs of sentences solved as one linear programme: far faster than one by one."""

Bag = tuple[np.ndarray, np.ndarray]
"""Positions of the distinct words, int64 (k,), and their shares of the sentence, float64 (k,)."""


def word_mover_scores(
    references: Sequence[str], hypotheses: Sequence[str], words: Encoder
) -> np.ndarray:
    """1 - the least cost of moving the words of one sentence to those of the other.

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
    found = Counter(place[word] for word in sentence)
    return np.array(list(found)), np.array(list(found.values())) / len(sentence)


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
