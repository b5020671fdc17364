"""Reranking: are the relevant candidates of a query the most similar ones?

Protocols `mteb-v1` and `mteb-v2`, which agree here. Knows vectors and judgements.
"""

from __future__ import annotations

from theodolite.engine.tasks import retrieval
from theodolite.engine.tasks.task import Task, TaskType


def of_data(name: str, description: str = "") -> Task:
    """Build the task on a data set of queries with candidates."""
    return Task(
        name,
        "reranking",
        name,
        "retrieval",
        "mteb-v2",
        "map_at_1000",
        description or f"Put the candidates of {name} in order.",
    )


TYPE = TaskType(
    "reranking",
    measure=lambda task, data, vectors, protocol, seed, tick, similarity="cosine": (
        retrieval.measure(data, vectors, "map_at_1000", tick, similarity)
    ),
    work=retrieval.work,
    rows=retrieval.rows,
    queries=retrieval.queries,
    examples=retrieval.examples,
    draws=False,
)
