"""Which examples of a task are not independent of one another.

Intervals and tests that take them as independent are too narrow: 1,190 questions on 240 paragraphs
are no 1,190 samples (Miller 2024, "Adding Error Bars to Evals"). So examples are drawn by cluster:
a column of the data names it, or examples that share a text or a relevant document are one.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from theodolite.engine.datasets.types import Dataset
from theodolite.engine.stats.bootstrap import codes_of, main_sample, text_clusters
from theodolite.engine.tasks.task import ExampleTexts, Measurement, TaskType


def attach(
    measured: Measurement, kind: TaskType, data: Dataset, protocol: str, seed: int
) -> Measurement:
    """Add the cluster of each example to a measurement, where some are not independent."""
    if kind.examples is None or data.kind == "mteb":
        return measured
    examples, clusters = kind.examples(data, protocol, seed), getattr(data, "clusters", {})
    return of_examples(measured, examples, clusters, documents=data.kind == "retrieval")


def of_examples(
    measured: Measurement,
    examples: ExampleTexts,
    names: Mapping[tuple[str, ...], str] = MappingProxyType({}),
    *,
    documents: bool,
) -> Measurement:
    """Add `cluster` to the values per example, as in `Sample`, and what makes it to the details.

    Args:
        measured: the measurement, which is returned as it is if all examples are independent.
        examples: its examples, see `TaskType.examples`.
        names: texts of an example -> its cluster in the data; empty if unknown.
        documents: whether what is expected of an example is a text too.
    """
    try:
        n = len(main_sample(measured.examples, measured.details).values)
    except ValueError:
        return measured
    if len(examples) != n:
        return measured
    if names:
        codes, by = codes_of([names.get(texts, "") for texts, _ in examples]), "column"
    else:
        rows = [(*texts, answer) if documents else texts for texts, answer in examples]
        codes, by = text_clusters(rows), "document" if documents else "text"
    sizes = np.bincount(codes.ravel())
    if len(sizes) == n:
        return measured
    facts = {"by": by, "n": len(sizes), "largest": int(sizes.max()), "ways": codes.ndim}
    return replace(
        measured,
        examples={**measured.examples, "cluster": codes.astype(np.int32)},
        details={**measured.details, "dependent": facts},
    )
