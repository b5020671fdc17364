"""Search: do the nearest neighbours of a sentence have the same topic?

Protocol `starter-1`: each sentence is a query against all others, by cosine. Knows vectors and
labels; neither encoders nor files.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from theodolite.engine.datasets.types import LabelledSentences
from theodolite.engine.errors import UserError
from theodolite.engine.results import Score
from theodolite.engine.search.index import neighbours_of_each
from theodolite.engine.tasks.task import Measurement, TaskType, labelled

NEAREST = 10


def measure(data: LabelledSentences, vectors: np.ndarray) -> Measurement:
    """Compute precision at 10: the share of the ten nearest sentences with the query's label.

    Each sentence is a query and a neighbour of others. The example values are its `precision` as a
    query, and `as_neighbour`, by how much it raises the precision of the others: their sum is its
    influence on the score, to first order, and the precision alone would give intervals that are
    too narrow.
    """
    n = len(data.labels)
    if n <= NEAREST or len(set(data.labels)) < 2:
        raise UserError(
            f"{data.name} has {n} sentences and {len(set(data.labels))} labels; precision at "
            f"{NEAREST} needs more than {NEAREST} sentences and at least two labels.",
            "Choose a larger set of labelled sentences.",
            code="too-few",
        )
    _, labels = np.unique(np.array(data.labels), return_inverse=True)
    _, ids = neighbours_of_each(vectors, NEAREST)
    same = labels[ids] == labels[:, None]
    precision = same.mean(axis=1)
    raised = (same - precision[:, None]) / NEAREST  # against another neighbour in its place
    as_neighbour = np.bincount(ids.ravel(), weights=raised.ravel(), minlength=n)
    counts = Counter(data.labels)
    short = sum(count for count in counts.values() if count <= NEAREST)
    chance = sum(count * (count - 1) for count in counts.values()) / (n * (n - 1))
    details = {"chance": 100.0 * chance, "queries_with_fewer_than_10_of_their_label": short}
    scores = (Score("all", None, "precision_at_10", 100.0 * float(precision.mean()), n, main=True),)
    examples = {"precision": precision, "as_neighbour": as_neighbour}
    return Measurement(scores, examples, details)


TYPE = TaskType(
    "search",
    protocol="starter-1",
    metric="precision_at_10",
    about="Find sentences of {} with the same label.",
    measure=lambda task, data, vectors, protocol, seed, tick: measure(data, vectors),
    draws=False,
    examples=lambda data, protocol, seed: labelled(data, range(len(data.labels))),
)
