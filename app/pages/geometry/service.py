"""The geometry of one encoder's space on one data set: computed once and stored.

Long measurements are jobs, see `app.pages.geometry.job`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.examples import shipped
from theodolite.app.finite import finite
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress
from theodolite.store.derived import arrays
from theodolite.store.hashing import hash_of, to_json

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.workspace import Workspace
    from theodolite.engine.datasets.types import Dataset

KIND = "geometry"
FORMAT = 1
"""Increased whenever the result of the same measurement would change."""
ALL = "all"
USUAL = ("STSBenchmark", "starter-pairs")
"""Default data sets: the first that is available is used."""
AT_ONCE = 3000
"""Most sentences that are measured while the page waits, within a second."""
MAX_SENTENCES = 40_000
"""All pairs of more would take minutes, so a sample of them is measured."""
HUB_NEIGHBOURS = 10
ARRAYS = ("singular", "occurrence", "cosine", "gold", "part")


@dataclass(frozen=True, eq=False)
class Taken:
    """The part of a data set that is measured.

    Attributes:
        sentences: distinct sentences.
        rows: int (n_data,), positions in `sentences`: every occurrence, both sides of pairs.
        left, right: int (n,), positions of the pairs; empty for a data set without pairs.
        gold: float64 (n,), scores of the pairs; empty for pairs with labels.
        labels: n labels of the pairs; empty for pairs with scores.
        part: int (n,), index in `parts` of each pair.
        parts: names of the splits or subsets.
        scale: lowest and highest possible score.
        drawn: whether `rows` is a sample.
    """

    sentences: list[str]
    rows: np.ndarray
    left: np.ndarray
    right: np.ndarray
    gold: np.ndarray
    labels: list[str]
    part: np.ndarray
    parts: list[str]
    scale: tuple[float, float]
    drawn: bool


@dataclass(frozen=True, eq=False)
class Geometry:
    """The measured geometry of a space.

    Attributes:
        encoder: its spec.
        info: the numbers by name, see `_measured`, and what was measured.
        singular: float64 (m,), singular values, the largest first.
        occurrence: int64 (n_distinct,), how often each sentence is among the 10 nearest of others.
        cosine: float64 (n,), of the pairs.
        gold: float64 (n,), scores of the pairs, or indices of their labels.
        part: int (n,), position of each pair's split or subset in `info["parts"]`.
    """

    encoder: str
    info: dict[str, Any]
    singular: np.ndarray
    occurrence: np.ndarray
    cosine: np.ndarray
    gold: np.ndarray
    part: np.ndarray


def splits(workspace: Workspace, dataset: str) -> list[str]:
    """`all`, then the names of the splits of a data set that has several."""
    return [ALL, *_splits(workspace.catalog.load(dataset))]


def _splits(data: Dataset) -> list[str]:
    from theodolite.engine.datasets.types import LabelledPairs, LabelledSentences, ScoredPairs

    if isinstance(data, ScoredPairs):
        names = list(data.parts) if data.parts_are == "splits" else []
    elif isinstance(data, LabelledPairs | LabelledSentences):
        names = list(dict.fromkeys(data.splits))
    else:
        names = []
    return names if len(names) > 1 else []


def take(data: Dataset, split: str = ALL, most: int | None = MAX_SENTENCES) -> Taken:
    """Take the part of a data set to measure: one split, or everything.

    Args:
        data: the data set.
        split: one of its splits, or `all`.
        most: sample size if there are more occurrences of sentences; None for no limit.
    """
    import numpy as np

    from theodolite.engine.datasets.types import LabelledPairs, ScoredPairs

    if split != ALL and split not in _splits(data):
        raise UserError(
            f"{data.name} has no split {split!r}.",
            f"Choose {', '.join([ALL, *_splits(data)])}.",
            code="unknown",
        )
    place: dict[str, int] = {}

    def positions(sentences: Sequence[str]) -> np.ndarray:
        return np.array([place.setdefault(s, len(place)) for s in sentences], np.int64)

    left, right, part = (np.empty(0, np.int64) for _ in range(3))
    gold, labels, parts, scale = np.empty(0), [], [ALL], (0.0, 5.0)
    if isinstance(data, ScoredPairs):
        chosen = {n: p for n, p in data.parts.items() if split in (ALL, n)}
        rows = [(positions(p.left), positions(p.right)) for p in chosen.values()]
        left, right = (np.concatenate(side) for side in zip(*rows, strict=True))
        gold = np.concatenate([p.gold for p in chosen.values()]).astype(np.float64)
        part = np.repeat(np.arange(len(chosen)), [len(p.gold) for p in chosen.values()])
        parts, scale = list(chosen), data.scale
        taken = np.concatenate([left, right])
    elif isinstance(data, LabelledPairs):
        mine = [i for i, s in enumerate(data.splits) if split in (ALL, s)]
        left = positions([data.sentences[i] for i in data.left[mine]])
        right = positions([data.sentences[i] for i in data.right[mine]])
        labels, parts = [data.labels[i] for i in mine], list(dict.fromkeys(data.splits))
        part = np.array([parts.index(data.splits[i]) for i in mine], np.int64)
        taken = np.concatenate([left, right])
    else:
        names = getattr(data, "splits", []) or [ALL] * len(data.sentences)
        taken = positions(
            [s for s, n in zip(data.sentences, names, strict=True) if split in (ALL, n)]
        )
    if len(taken) < 2:
        raise UserError(
            f"{data.name} has {formats.plural(len(taken), 'sentence')} here.",
            "At least two are needed.",
            code="too-few",
        )
    drawn = most is not None and len(taken) > most
    if drawn:
        taken = np.random.default_rng(0).choice(taken, most, replace=False)
    return Taken(list(place), taken, left, right, gold, labels, part, parts, scale, drawn)


def key(fingerprint: str, data_hash: str, split: str) -> str:
    """The store key of a measurement."""
    facts = {
        "format": FORMAT,
        "encoder": fingerprint,
        "data": data_hash,
        "split": split,
        "most": MAX_SENTENCES,
        "k": HUB_NEIGHBOURS,
    }
    return hash_of(KIND, to_json(facts))


def found(workspace: Workspace, encoder: str, dataset: str, split: str = ALL) -> Geometry | None:
    """The stored or shipped geometry; None for neither."""
    data = workspace.catalog.load(dataset)
    place = key(workspace.bound(encoder, dataset).fingerprint, data.hash, split)
    row, example = workspace.store.derived.get(place), shipped.read(KIND)
    if row is not None:
        return Geometry(encoder, row["info"], **arrays(row))
    if example is None or place not in example.facts:
        return None
    held = {name: example.arrays[f"{place}/{name}"] for name in ARRAYS}
    return Geometry(encoder, example.facts[place], **held)


def everyone(workspace: Workspace, dataset: str, split: str) -> dict[str, dict[str, Any]]:
    """Numbers of every encoder with a stored geometry on a split, by name; reads no arrays."""
    data_hash = workspace.catalog.load(dataset).hash
    rows = reversed(workspace.store.derived.list(KIND))
    return {
        row["info"]["encoder"]: row["info"]
        for row in rows
        if (row["info"]["data_hash"], row["info"]["split"]) == (data_hash, split)
    }


def opening(workspace: Workspace) -> str:
    """The default data set: STS-B if an encoder was evaluated on it, else the shipped one."""
    first, example = USUAL
    here = set(workspace.catalog.names())
    # Checked before `everyone`, which loads the data set.
    known = any(row["info"]["dataset"] == first for row in workspace.store.derived.list(KIND))
    return first if known and first in here and everyone(workspace, first, ALL) else example


def quick(workspace: Workspace, encoder: str, dataset: str, split: str = ALL) -> Geometry | None:
    """As `found`, but measure a small, mostly encoded data set now; None for others."""
    from theodolite.app import vectors

    before = found(workspace, encoder, dataset, split)
    if before is not None:
        return before
    data = workspace.catalog.load(dataset)
    if workspace.demo or len(data.sentences) > AT_ONCE:
        return None
    if vectors.missing(workspace, encoder, dataset) > vectors.SMALL:
        return None
    return measure(workspace, encoder, dataset, split)


def measure(
    workspace: Workspace,
    encoder: str,
    dataset: str,
    split: str = ALL,
    progress: Progress | None = None,
) -> Geometry:
    """Return the stored geometry, or measure and store it."""
    before = found(workspace, encoder, dataset, split)
    if before is not None:
        return before
    data = workspace.catalog.load(dataset)
    taken = take(data, split)
    encoded_by = workspace.bound(encoder, dataset)
    vectors = finite(encoded_by.encode(taken.sentences, progress), taken.sentences)
    info, held = _measured(taken, vectors, progress)
    info |= {
        "encoder": encoder,
        "dataset": dataset,
        "split": split,
        "data_hash": data.hash,
        "fingerprint": encoded_by.fingerprint,
    }
    workspace.store.derived.put(key(encoded_by.fingerprint, data.hash, split), KIND, info, held)
    return Geometry(encoder, info, **held)


def encode(
    workspace: Workspace, encoder: str, dataset: str, split: str, progress: Progress
) -> None:
    """Encode the sentences to measure into the vector cache."""
    taken = take(workspace.catalog.load(dataset), split)
    workspace.bound(encoder, dataset).encode(taken.sentences, progress)


def _measured(
    taken: Taken, vectors: np.ndarray, progress: Progress | None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Numbers by name, and arrays.

    Alignment is over the pairs above the cut (`over`) and at or above it (`from`): four fifths of
    the scale, which is 4 of 5. Singular values and IsoScore are of the raw vectors; the rest uses
    directions only.
    """
    import numpy as np

    from theodolite.engine.search.index import neighbours_of_each
    from theodolite.engine.space import geometry

    rows = vectors[taken.rows]
    n, distinct = len(rows), np.unique(taken.rows)

    def tell(share: float) -> None:
        if progress is not None:
            progress(round(share * n), n)

    singular = geometry.singular_values(rows)
    random = geometry.random_pairs(rows)
    info: dict[str, Any] = {
        "n_data": n,
        "n_distinct": len(distinct),
        "n_pairs": len(taken.left),
        "drawn": taken.drawn,
        "dim": int(rows.shape[1]),
        "n_zero": int((~rows.any(axis=1)).sum()),
        "parts": taken.parts,
        "scale": list(taken.scale),
        "labels": [],
        "uniformity": geometry.uniformity(rows, progress=lambda done, of: tell(0.5 * done / of)),
        "effective_rank": geometry.effective_rank(singular),
        "isoscore": None,
        "mean_cosine": random.mean,
        "std_cosine": random.std,
    }
    with suppress(ValueError):  # one dimension, or identical vectors
        info["isoscore"] = geometry.isoscore(rows)
    cosines = geometry.cosine(vectors[taken.left], vectors[taken.right])
    gold = taken.gold
    if taken.labels:
        info["labels"] = sorted(set(taken.labels))
        numbers = {label: i for i, label in enumerate(info["labels"])}
        gold = np.array([numbers[label] for label in taken.labels], np.float64)
    elif len(gold):
        info |= _alignments(taken, vectors)
    occurrence = np.zeros(0, np.int64)
    k = min(HUB_NEIGHBOURS, len(distinct) - 1)
    if k >= 1:
        near = neighbours_of_each(
            vectors[distinct], k, progress=lambda done, of: tell(0.5 + 0.5 * done / of)
        )[1]
        hubs = geometry.hubness(near)
        occurrence = hubs.counts
        info |= {
            "hub_k": k,
            "hub_skew": hubs.skew,
            "hub_never": hubs.never,
            "hub_most": int(occurrence.max()),
            "hub": taken.sentences[distinct[int(occurrence.argmax())]][:300],
        }
    held = {
        "singular": singular,
        "occurrence": occurrence,
        "cosine": cosines,
        "gold": gold,
        "part": taken.part.astype(np.int32),
    }
    return info, held


def cut(scale: Sequence[float]) -> float:
    """The lowest score of a positive pair: four fifths of the scale."""
    low, high = scale
    return round(low + 0.8 * (high - low), 6)


def _alignments(taken: Taken, vectors: np.ndarray) -> dict[str, Any]:
    from theodolite.engine.space import geometry

    at = cut(taken.scale)
    found: dict[str, Any] = {"cut": at}
    for name, rows in (("over", taken.gold > at), ("from", taken.gold >= at)):
        found[f"n_{name}"] = int(rows.sum())
        left, right = vectors[taken.left[rows]], vectors[taken.right[rows]]
        found[f"alignment_{name}"] = geometry.alignment(left, right) if rows.any() else None
    return found
