"""Marks predicted by rule: from queries whose right document is known, for any other query.

Where queries were made from documents (`engine.datasets.by_rule`), each says where set-ups place
the one document that it was made from. A logistic regression on these places predicts which
documents a person will mark. It may be wrong in any way: predictions decide what is judged first,
and every mark corrects them (`engine.judging.sampling`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from theodolite.engine.judging.sampling import Units
from theodolite.engine.rankers.base import Ranked

Lists = Mapping[str, Sequence[Ranked]]
"""Set-up -> for each query its first documents and their scores, best first."""
Key = tuple[int, int]
"""A query and a document, by their positions."""
DEPTH = 100
"""Documents of a list; those that are not in it count as if at this rank."""
EDGES = (0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9)
"""Between the cells that units are put in by their predicted marks."""
SURE = 0.95
"""The predicted mark of the document that a query was made from, and 1 less that of all others."""


def predict(
    known: Lists, known_keys: Sequence[Key], right: np.ndarray, lists: Lists, keys: Sequence[Key]
) -> np.ndarray:
    """Predict the marks of documents: float64 (units,), from 0 to 1.

    Args:
        known: lists of the queries whose right document is known.
        known_keys: the documents among them to learn from, as those of `keys` are chosen.
        right: bool (known keys,), whether each is the right one.
        lists: of the queries that are judged.
        keys: the documents that can be judged.
    """
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(right)) < 2:
        return np.full(len(keys), np.mean(right) if len(right) else 0.5)
    features = np.array([_features(known, key) for key in known_keys])
    middle, spread = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-9)
    model = LogisticRegression(max_iter=2000).fit((features - middle) / spread, right)
    rows = np.array([_features(lists, key) for key in keys])
    return np.asarray(model.predict_proba((rows - middle) / spread)[:, 1])


def _features(lists: Lists, key: Key) -> list[float]:
    """Of each list: the document's rank, how far its score is from the first's, and its lead."""
    query, document = key
    features = list[float]()
    for by_query in lists.values():
        at, scores = by_query[query]
        place = np.flatnonzero(at == document)
        rank = int(place[0]) if len(place) else DEPTH
        best = abs(float(scores[0])) + 1e-9 if len(scores) else 1.0
        gap = (scores[0] - scores[rank]) / best if len(place) else 1.0
        second = scores[1] if len(scores) > 1 else 0.0
        lead = (scores[0] - second) / best if rank == 0 else 0.0
        features += [1.0 / (rank + 1), np.log1p(rank), gap, lead]
    return features


def bin_by_prediction(units: Units, predicted: np.ndarray) -> Units:
    """Return the units in cells of similar predictions, whose means are expected beforehand."""
    cells = np.digitize(predicted, EDGES)
    many = len(EDGES) + 1
    sums, counts = np.bincount(cells, predicted, many), np.bincount(cells, minlength=many)
    means = np.divide(sums, counts, out=np.full(many, 0.5), where=counts > 0)
    return replace(units, cells=cells, expected=np.clip(means, 0.01, 0.99))
