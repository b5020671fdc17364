"""Clustering: does k-means find the labels?

Protocols `mteb-v2` (draws from a sample) and `mteb-v1` (all sentences at once). Knows
vectors and labels; neither encoders nor files.
"""

import random
from typing import Any

import numpy as np

from theodolite.engine.datasets.types import LabelledSentences
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback
from theodolite.engine.results import Score
from theodolite.engine.stats.v_measure import adjusted_mutual_information, v_measure_parts
from theodolite.engine.tasks.task import (
    Measurement,
    TaskType,
    labelled,
    scored_split,
)
from theodolite.engine.threads import one_blas_thread

DRAWS, DRAWN, EMBEDDED, SEEDS = 10, 16_384, 2_048, 10
_BATCH, _BATCH_OF_ALL = 512, 500
_MANY = 12
"""Number of labels from which all pairwise distances cost less than distances in each draw."""


def measure(
    data: LabelledSentences,
    vectors: np.ndarray,
    seed: int,
    tick: ProgressCallback,
    *,
    at_once: bool = False,
) -> Measurement:
    """Cluster the sentences and compare with their labels.

    The example values `v_measure`, whose mean is the main score, are each sentence's contribution:
    resamples of the sentences vary their choice, not the clusters. How much these vary by chance is
    in `draws`, the V-measures of the draws in points, or in `seeds`: where all sentences are
    clustered at once, k-means runs with further seeds, which do not affect the score.

    `at_once` clusters all sentences once, as mteb's first clustering does.
    """
    from sklearn.cluster import MiniBatchKMeans

    split, used, draws = _draw(data, seed, at_once=at_once)
    names, labels = np.unique([data.labels[i] for i in used], return_inverse=True)
    options: dict[str, Any] = {"batch_size": _BATCH_OF_ALL, "n_init": "auto"}
    if not at_once:
        options = {"batch_size": _BATCH, "n_init": 1}
        if len(names) >= _MANY:
            options["init"] = KMeansPlusPlus(vectors)
    points, each = [], []
    runs = [(draws[0], seed + i) for i in range(SEEDS)] if at_once else [(d, seed) for d in draws]
    for done, (sample, of_k_means) in enumerate(runs):
        tick(done / len(runs))
        k_means = MiniBatchKMeans(
            len(names), random_state=of_k_means, compute_labels=False, **options
        )
        with one_blas_thread():
            # Predicted once per distinct sentence, however often it was drawn.
            clusters = k_means.fit(vectors[sample]).predict(vectors)
        times = np.bincount(sample, minlength=len(used))
        each.append(v_measure_parts(labels, clusters, times))
        points.append([each[-1].mean()])
        if not at_once:
            points[-1].append(adjusted_mutual_information(labels, clusters, times))
    v_measures, counted, n = [100.0 * float(point[0]) for point in points], len(draws), len(used)
    means = np.mean(points[:counted], axis=0)
    examples = {
        "v_measure": np.mean(each[:counted], axis=0),
        "seeds" if at_once else "draws": np.array(v_measures),
    }
    scores = tuple(
        Score(split, None, name, 100.0 * float(mean), n, main=not i)
        for i, (name, mean) in enumerate(zip(("v_measure", "ami"), means, strict=False))
    )
    details = {
        "mean_of": "v_measure",
        "clusters": len(names),
        "v_measures": v_measures[:counted],
        "v_measure_std": float(np.std(v_measures[:counted])),
        "notes": _notes(data, split, len(names), len(used)),
    }
    return Measurement(scores, examples, details)


class KMeansPlusPlus:
    """scikit-learn's k-means++ for samples of the same vectors, with precomputed distances.

    Draws the same random numbers and finds the same centres. scikit-learn recomputes the distances
    of each centre in each sample, in float64, which is half the time of clustering.

    Args:
        vectors: float32 (n, dim); the vectors that samples are drawn from.
    """

    def __init__(self, vectors: np.ndarray) -> None:
        wide = vectors.astype(np.float64)
        squares = (wide * wide).sum(1)
        with one_blas_thread():
            distances = -2 * (wide @ wide.T)
        distances += squares[:, None]
        distances += squares
        self._distances = np.maximum(distances.astype(np.float32), 0)
        self._position = {row.tobytes(): i for i, row in enumerate(vectors)}

    def __call__(
        self, sample: np.ndarray, n_clusters: int, random_state: np.random.RandomState
    ) -> np.ndarray:
        """Choose centres among the rows of a sample (scikit-learn's `init` callable)."""
        at = np.array([self._position[row.tobytes()] for row in sample])
        weights = np.ones(len(sample), np.float32)
        chosen = [random_state.choice(len(sample), p=weights / weights.sum())]
        nearest = self._distances[at[chosen[0]], at]
        inertia = nearest @ weights
        trials = 2 + int(np.log(n_clusters))
        while len(chosen) < n_clusters:
            heights = random_state.uniform(size=trials) * inertia
            centres = np.searchsorted(np.cumsum(nearest), heights).clip(max=len(sample) - 1)
            candidates = np.minimum(nearest, self._distances[np.ix_(at[centres], at)])
            inertias = candidates @ weights
            best = inertias.argmin()
            chosen.append(centres[best])
            nearest, inertia = candidates[best], inertias[best]
        return np.asarray(sample[chosen])


def scored_part(data: LabelledSentences) -> tuple[str, list[int]]:
    """Return the split to cluster, and the positions of its labelled sentences."""
    split = scored_split(list(dict.fromkeys(data.splits))) if data.splits else "all"
    names = data.splits or ["all"] * len(data.labels)
    every = [
        i
        for i, (name, label) in enumerate(zip(names, data.labels, strict=True))
        if name == split and label
    ]
    if not every:
        raise UserError(
            f"{data.name} has no labelled sentence to cluster.",
            "Check which column was taken for the label.",
            code="missing",
        )
    return split, every


def _draw(
    data: LabelledSentences, seed: int, *, at_once: bool
) -> tuple[str, np.ndarray, list[np.ndarray]]:
    """Return the split, positions in the data to encode, and each draw as positions in these."""
    split, every = scored_part(data)
    if at_once:
        return split, np.array(every), [np.arange(len(every))]
    draw = random.Random(seed)
    used = np.array([every[i] for i in draw.sample(range(len(every)), min(len(every), EMBEDDED))])
    places = range(len(used))
    return split, used, [np.array(draw.choices(places, k=DRAWN)) for _ in range(DRAWS)]


def _notes(data: LabelledSentences, split: str, labels: int, used: int) -> list[str]:
    notes = []
    if labels in (1, used):
        what = "single label, hence a single cluster" if labels == 1 else "label for each sentence"
        notes.append(f"There is a {what}: V-measure is 100 whatever the encoder.")
    names = data.splits or [split] * len(data.labels)
    rows = zip(names, data.labels, strict=True)
    without = sum(name == split and not label for name, label in rows)
    if without:
        notes.append(f"{without:,} sentences have no label and are left out.")
    return notes


def _at_once(protocol: str) -> bool:
    return protocol == "mteb-v1"


TYPE = TaskType(
    "clustering",
    protocol="mteb-v2",
    metric="v_measure",
    about="Find the labels of {} as clusters.",
    measure=lambda task, data, vectors, protocol, seed, tick: measure(
        data, vectors, seed, tick, at_once=_at_once(protocol)
    ),
    rows=lambda data, protocol, seed: _draw(data, seed, at_once=_at_once(protocol))[1],
    examples=lambda data, protocol, seed: labelled(
        data, _draw(data, seed, at_once=_at_once(protocol))[1]
    ),
)
