"""Ranking metrics, by trec_eval's definitions. Pure functions; knows no data set."""

from collections.abc import Sequence

import numpy as np

Span = tuple[str, int, int]
"""Document, first character, and the one after the last."""
METRICS = ("ndcg", "map", "recall", "precision", "mrr", "hit_rate")
PASSAGES = ("passage_recall", "passage_precision", "passage_iou")
"""Metrics of the text that was retrieved, see `of_passages`."""


def order(scores: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Positions from best to worst; of equal scores the higher name comes first.

    Args:
        scores: (n,).
        names: (n,), distinct: ids, or keys by which the ids are sorted.
    """
    return np.lexsort((names, scores))[::-1]


def at_cutoffs(
    ranks: np.ndarray, grades: np.ndarray, judged: np.ndarray, cutoffs: Sequence[int]
) -> dict[str, np.ndarray]:
    """Every metric of one query at every cutoff.

    Args:
        ranks: int (m,), from 1, of the judged documents that were retrieved.
        grades: (m,), their relevance grades; above 0 they are relevant.
        judged: grades of all judged documents, retrieved or not.
        cutoffs: numbers of top-ranked documents.

    Returns:
        Metric -> float64 (len(cutoffs),). All are 0 for a query without relevant documents.
    """
    cut = np.asarray(cutoffs)
    ideal = np.sort(judged[judged > 0])[::-1].astype(np.float64)
    answers = grades > 0
    at = np.sort(ranks[answers])
    gains = (grades[answers] / np.log2(ranks[answers] + 1.0))[np.argsort(ranks[answers])]
    relevant = np.searchsorted(at, cut, side="right")  # relevant documents among the first k
    total = max(len(ideal), 1)
    best = np.cumsum(ideal / np.log2(np.arange(len(ideal)) + 2.0))
    best = best[np.minimum(cut, len(best)) - 1] if len(best) else np.ones(len(cut))
    first = at[0] if len(at) else np.inf
    return {
        "ndcg": _up_to(gains, relevant) / best,
        "map": _up_to((np.arange(len(at)) + 1.0) / at, relevant) / total,
        "recall": relevant / total,
        "precision": relevant / cut,
        "mrr": np.where(cut >= first, 1.0 / first, 0.0),
        "hit_rate": (relevant > 0).astype(np.float64),
    }


def _up_to(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sums of the first values, for each count."""
    return np.concatenate([[0.0], np.cumsum(values)])[counts]


def of_passages(retrieved: Sequence[Span], answers: Sequence[Span]) -> tuple[float, float, float]:
    """Recall, precision and intersection over union of retrieved text, in characters.

    With e what answers and r what was retrieved: |e & r| / |e|, |e & r| / |r|, and
    |e & r| / (|r| + |e| - |e & r|). In |r|, what overlapping chunks share counts each time.

    Source: Smith, Troynikov 2024, "Evaluating Chunking Strategies for Retrieval" (Chroma), and its
    code, chunking_evaluation; there, too, characters are counted.

    Args:
        retrieved: of each text its document, start and stop.
        answers: of each passage that answers the same.
    """
    shared = [
        (document, max(start, first), min(stop, last))
        for document, start, stop in retrieved
        for other, first, last in answers
        if document == other and max(start, first) < min(stop, last)
    ]
    both, answer_length = _length_of(shared), _length_of(answers)
    size = sum(stop - start for _, start, stop in retrieved)
    return (
        both / max(answer_length, 1),
        both / max(size, 1),
        both / max(size + answer_length - both, 1),
    )


def _length_of(spans: Sequence[Span]) -> int:
    """How many characters are in any of the spans."""
    total, document, end = 0, "", 0
    for name, start, stop in sorted(spans):
        end = end if name == document else 0
        total, document = total + max(0, stop - max(start, end)), name
        end = max(end, stop)
    return total
