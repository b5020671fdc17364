"""Which examples of a task are not independent of one another.

Intervals and tests that take them as independent are too narrow: 1,190 questions on 240 paragraphs
are no 1,190 samples (Miller 2024, "Adding Error Bars to Evals"). So examples are drawn by cluster:
a column of the data names it, or examples that share a text or a relevant document are one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from engine.stats.bootstrap import effective, main_sample
from engine.tasks.task import ExampleTexts, Measurement, TaskType

if TYPE_CHECKING:
    from engine.datasets.types import Dataset

FEWEST = 30
"""Clusters, counted as if they were of equal size, below which chains of shared texts are cut."""


def attach(
    measured: Measurement, kind: TaskType, data: Dataset, protocol: str, seed: int
) -> Measurement:
    """Add the cluster of each example to a measurement, where some are not independent.

    Args:
        measured: a measurement of a task of this type on these data.
        kind: the task type.
        data: its data; mteb knows those of its own tasks.
        protocol: name of the protocol.
        seed: the measurement's seed.
    """
    if kind.examples is None or data.kind == "mteb":
        return measured
    examples, named = kind.examples(data, protocol, seed), getattr(data, "clusters", {})
    return of_examples(measured, examples, named, documents=data.kind == "retrieval")


def of_examples(
    measured: Measurement,
    examples: ExampleTexts,
    named: Mapping[tuple[str, ...], str] = MappingProxyType({}),
    *,
    documents: bool,
) -> Measurement:
    """Add `cluster` int32 (n,) to the values per example, and to the details what makes clusters.

    Args:
        measured: the measurement, which is returned as it is if all examples are independent.
        examples: its examples, see `TaskType.examples`.
        named: texts of an example -> its cluster in the data; empty if unknown.
        documents: whether what is expected of an example is a text too.
    """
    try:
        n = len(main_sample(measured.examples, measured.details).values)
    except ValueError:
        return measured
    if len(examples) != n:
        return measured
    if named:
        codes, by = _codes([named.get(texts, "") for texts, _ in examples]), "column"
    else:
        rows = [(*texts, answer) if documents else texts for texts, answer in examples]
        codes, chained = sharing(rows)
        by = ("document" if documents else "text") + (" chained" if chained else "")
    sizes = np.bincount(codes)
    if len(sizes) == n:
        return measured
    facts = {"by": by, "n": len(sizes), "largest": int(sizes.max())}
    return replace(
        measured,
        examples={**measured.examples, "cluster": codes.astype(np.int32)},
        details={**measured.details, "dependent": facts},
    )


def sharing(rows: Sequence[tuple[str, ...]]) -> tuple[np.ndarray, bool]:
    """Group examples that share a text, directly or through others.

    Such chains can join nearly all examples. If they leave too few clusters, only one side counts:
    the one by which more pairs of examples share a text, such as the premise of several hypotheses.

    Args:
        rows: the texts of each example; an empty one is shared with none.

    Returns:
        int (n,), the cluster of each example, from 0, and whether chains were cut.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, places = len(rows), dict[str, int]()
    edges = [
        (row, places.setdefault(text, len(places) + n))
        for row, texts in enumerate(rows) for text in texts if text
    ]  # fmt: skip
    ends = np.array(edges, np.int64).reshape(-1, 2).T
    size = n + len(places)
    graph = coo_array((np.ones(ends.shape[1], bool), (ends[0], ends[1])), (size, size))
    _, found = connected_components(graph, directed=False)
    whole = np.unique(found[:n], return_inverse=True)[1]
    sides = [_codes(side) for side in zip(*rows, strict=False)]
    if effective(whole) >= FEWEST or not sides:
        return whole, False
    cut = min(sides, key=effective)
    return cut, int(cut.max()) > int(whole.max())


def _codes(names: Sequence[str]) -> np.ndarray:
    """The cluster of each example from its name, from 0; without one it is a cluster of its own."""
    own = [name or row for row, name in enumerate(names)]
    places: dict[str | int, int] = {}
    return np.array([places.setdefault(name, len(places)) for name in own], np.int64)
