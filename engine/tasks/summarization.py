"""Summarization: are summaries that people prefer more similar to human summaries?

Protocols `mteb-v2` and `mteb-v1` (with its bug). Knows vectors and ratings; neither encoders
nor files.
"""

from collections.abc import Iterator

import numpy as np

from theodolite.engine.datasets.types import Summaries
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback
from theodolite.engine.results import Score
from theodolite.engine.tasks.task import ExampleTexts, Measurement, TaskType

RATED = "relevance"
METRICS = ("cosine_spearman", "cosine_pearson", "dot_spearman", "dot_pearson")


def measure(
    data: Summaries, vectors: np.ndarray, tick: ProgressCallback, *, mistaken: bool = False
) -> Measurement:
    """Correlate similarity and rating within each document.

    The example values `correlation`, one per document, have the main score as their mean; where
    undefined, they are the mean of the others.

    `mistaken` averages each correlation with its p-value, as mteb's first summarization did.
    """
    from scipy.stats import pearsonr, spearmanr

    values = np.full((len(data.documents), len(METRICS)), np.nan)
    for i, (cosine, dot, gold) in enumerate(_similarities(data, vectors)):
        tick(i / len(data.documents))
        if min(len(set(column)) for column in (cosine, dot, gold)) < 2:
            continue
        found = [
            correlate(gold, similar)
            for similar in (cosine, dot)
            for correlate in (spearmanr, pearsonr)
        ]
        values[i] = [np.mean([x.statistic, x.pvalue]) if mistaken else x.statistic for x in found]
    defined = ~np.isnan(values[:, 0])
    if not defined.any():
        raise UserError(
            f"In no document of {data.name} do both ratings and similarities differ: a correlation "
            "is not defined.",
            "It needs at least two machine summaries of one document with different ratings.",
            code="too-few",
        )
    means, n = values[defined].mean(axis=0), int(defined.sum())
    scores = tuple(
        Score("test", None, name, 100.0 * float(mean), n, main=not i)
        for i, (name, mean) in enumerate(zip(METRICS, means, strict=True))
    )
    left_out = len(defined) - n
    notes = [
        f"{left_out:,} of {len(defined):,} documents are left out: their summaries are all rated "
        "the same, or all equally similar."
    ]
    correlations = np.where(defined, values[:, 0], means[0])
    details = {
        "mean_of": "correlation",
        "rated": rating_of(data),
        "notes": notes if left_out else [],
    }
    return Measurement(scores, {"correlation": correlations}, details)


def _similarities(
    data: Summaries, vectors: np.ndarray
) -> Iterator[tuple[list[float], list[float], list[float]]]:
    """Yield per document its machine summaries' highest cosines, dot products, and ratings."""
    import torch

    from theodolite.engine.search.ranked import unit

    every = torch.from_numpy(np.ascontiguousarray(vectors, np.float32))
    units, start = unit(vectors), 0
    middle = sum(map(len, data.human))
    for human, machine, gold in zip(
        data.human, data.machine, data.ratings[rating_of(data)], strict=True
    ):
        by_people, by_machine = (
            slice(at, at + len(of)) for at, of in ((start, human), (middle, machine))
        )
        # One at a time, so that equal summaries get equal similarities to the last digit.
        cosine, dot = (
            [(one[None] @ rows[by_people].T).max().item() for one in rows[by_machine]]
            for rows in (units, every)
        )
        yield cosine, dot, gold.tolist()
        start, middle = by_people.stop, by_machine.stop


def rating_of(data: Summaries) -> str:
    """Return the rating to use: relevance if present, else the first."""
    return RATED if RATED in data.ratings else next(iter(data.ratings))


def rows(data: Summaries, protocol: str = "", seed: int = 0) -> np.ndarray:
    """Return the positions in `data.sentences` of the summaries; documents are not encoded."""
    return np.arange(len(data.documents), len(data.sentences))


def examples(data: Summaries, protocol: str = "", seed: int = 0) -> ExampleTexts:
    """Return each document with its highest-rated machine summary."""
    rows = zip(data.documents, data.machine, data.ratings[rating_of(data)], strict=True)
    return [((text,), machine[int(gold.argmax())]) for text, machine, gold in rows]


TYPE = TaskType(
    "summarization",
    kind="summaries",
    protocol="mteb-v2",
    metric="cosine_spearman",
    about="Which summaries of {} people like.",
    measure=lambda task, data, vectors, protocol, seed, tick: measure(
        data, vectors, tick, mistaken=protocol == "mteb-v1"
    ),
    rows=rows,
    examples=examples,
    draws=False,
)
