"""Search: are the nearest neighbours of a sentence about the same thing?

Protocol `starter-1`: each sentence is a query against all others, by cosine. Knows vectors and
labels; neither encoders nor files.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from engine.datasets.types import LabelledSentences
from engine.errors import UserError
from engine.results import Score
from engine.search.index import neighbours_of_each
from engine.tasks.measurement import Measurement

NEAREST = 10


def measure(data: LabelledSentences, vectors: np.ndarray) -> Measurement:
    """Precision at 10: the share of the ten nearest other sentences that have the query's label.

    Args:
        data: sentences with labels.
        vectors: float32 (len(data.sentences), dim), finite.

    Raises:
        UserError: fewer than eleven sentences, or a single label.
    """
    n = len(data.labels)
    if n <= NEAREST or len(set(data.labels)) < 2:
        raise UserError(
            f"{data.name} has {n} sentences and {len(set(data.labels))} labels; precision at "
            f"{NEAREST} needs more than {NEAREST} sentences and at least two labels.",
            "Choose a larger set of labelled sentences.",
        )
    _, labels = np.unique(np.array(data.labels), return_inverse=True)
    _, ids = neighbours_of_each(vectors, NEAREST)
    precision = (labels[ids] == labels[:, None]).mean(axis=1)
    counts = Counter(data.labels)
    short = sum(count for count in counts.values() if count <= NEAREST)
    chance = sum(count * (count - 1) for count in counts.values()) / (n * (n - 1))
    details = {"chance": 100.0 * chance, "queries_with_fewer_than_10_of_their_label": short}
    scores = (Score("all", None, "precision_at_10", 100.0 * float(precision.mean()), n, main=True),)
    return Measurement(scores, {"precision": precision}, details)
