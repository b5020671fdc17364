"""The geometry of one encoder's space on one data set: measured once and stored."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite.app import formats, vectors
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.types import Dataset, LabelledPairs, ScoredPairs
from theodolite.engine.encoders.finite import finite
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress
from theodolite.store.derived import arrays
from theodolite.store.hashing import hash_of, to_json

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


@dataclass(frozen=True, eq=False)
class Taken:
    """The part of a data set that is measured.

    Attributes:
        sentences: distinct sentences.
        rows: int (n_data,), positions in `sentences`: every occurrence, both sides of pairs.
        left, right: int (n,), positions of the pairs; empty for a data set without pairs.
        gold: float64 (n,), scores of the pairs, or indices of their labels.
        part: int (n,), index in `parts` of each pair.
        info: `parts`, the names of the splits or subsets; `scale`, the lowest and highest possible
            score; `labels`, of pairs that have them instead; `drawn`, whether `rows` is a sample.
    """

    sentences: list[str]
    rows: np.ndarray
    left: np.ndarray
    right: np.ndarray
    gold: np.ndarray
    part: np.ndarray
    info: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Geometry:
    """The measured geometry of a space.

    Attributes:
        encoder: its spec.
        info: the numbers by name, see `_measure`, and what was measured.
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
    return _splits(workspace.catalog.load(dataset))


def _splits(data: Dataset) -> list[str]:
    parts = getattr(data, "parts", {}) if getattr(data, "parts_are", "") == "splits" else {}
    names = list(dict.fromkeys([*parts, *getattr(data, "splits", ())]))
    return [ALL, *names] if len(names) > 1 else [ALL]


def take(data: Dataset, split: str = ALL, most: int | None = MAX_SENTENCES) -> Taken:
    """Take the part of a data set to measure: one split, or everything.

    Args:
        data: the data set.
        split: one of its splits, or `all`.
        most: sample size if there are more occurrences of sentences; None for no limit.
    """
    if split not in _splits(data):
        raise UserError(
            f"{data.name} has no split {split!r}.",
            f"Choose {', '.join(_splits(data))}.",
            code="unknown",
        )
    gold, names, scale, labels = np.empty(0), list[str](), (0.0, 5.0), list[str]()
    if isinstance(data, ScoredPairs):
        scale = data.scale
        selection = {name: part for name, part in data.parts.items() if split in (ALL, name)}
        sides = [part.left for part in selection.values()] + [
            part.right for part in selection.values()
        ]
        texts = [text for side in sides for text in side]
        gold = np.concatenate([part.gold for part in selection.values()]).astype(np.float64)
        names = [name for name, part in selection.items() for _ in part.gold]
    elif isinstance(data, LabelledPairs):
        mine = [i for i, name in enumerate(data.splits) if split in (ALL, name)]
        texts = [data.sentences[i] for side in (data.left, data.right) for i in side[mine]]
        labels = sorted({data.labels[i] for i in mine})
        gold = np.array([labels.index(data.labels[i]) for i in mine], np.float64)
        names = [data.splits[i] for i in mine]
    else:
        of = getattr(data, "splits", []) or [ALL] * len(data.sentences)
        texts = [s for s, name in zip(data.sentences, of, strict=True) if split in (ALL, name)]
    if len(texts) < 2:
        raise UserError(
            f"{data.name} has {formats.plural(len(texts), 'sentence')} here.",
            "At least two are needed.",
            code="too-few",
        )
    place: dict[str, int] = {}
    rows = np.array([place.setdefault(text, len(place)) for text in texts], np.int64)
    left, right = rows[: len(names)], rows[len(names) : 2 * len(names)]
    parts = list(dict.fromkeys(names)) or [ALL]
    part = np.array([parts.index(name) for name in names], np.int64)
    is_sample = most is not None and len(rows) > most
    if is_sample:
        rows = np.random.default_rng(0).choice(rows, most, replace=False)
    info = {"parts": parts, "scale": list(scale), "labels": labels, "drawn": is_sample}
    return Taken(list(place), rows, left, right, gold, part, info)


def key(fingerprint: str, data_hash: str, split: str) -> str:
    """The store key of a measurement."""
    facts = {"format": FORMAT, "encoder": fingerprint, "data": data_hash, "split": split}
    return hash_of(KIND, to_json(facts | {"most": MAX_SENTENCES, "k": HUB_NEIGHBOURS}))


def stored(workspace: Workspace, encoder: str, dataset: str, split: str = ALL) -> Geometry | None:
    """The stored or shipped geometry; None for neither."""
    data = workspace.catalog.load(dataset)
    place = key(workspace.bound(encoder, dataset).fingerprint, data.hash, split)
    row = workspace.store.derived.get(place) or workspace.shipped.store.derived.get(place)
    return None if row is None else Geometry(encoder, row["info"], **arrays(row))


def everyone(workspace: Workspace, dataset: str, split: str) -> dict[str, dict[str, Any]]:
    """Numbers of every encoder with a stored geometry on a split, by name; reads no arrays."""
    data_hash = workspace.catalog.load(dataset).hash
    rows = reversed(workspace.store.derived.list(KIND))
    return {
        row["info"]["encoder"]: row["info"]
        for row in rows
        if (row["info"]["data_hash"], row["info"]["split"]) == (data_hash, split)
    }


def first_data_set(workspace: Workspace) -> str:
    """The data set to begin with: STS-B if an encoder was measured on it, else the shipped one."""
    first, example = USUAL
    measured = {row["info"]["dataset"] for row in workspace.store.derived.list(KIND)}
    return first if first in measured.intersection(workspace.catalog.names()) else example


def quick(workspace: Workspace, encoder: str, dataset: str, split: str = ALL) -> Geometry | None:
    """As `found`, but measure a small, mostly encoded data set now; None for others."""
    before = stored(workspace, encoder, dataset, split)
    small = before is None and not workspace.demo
    if (
        small
        and len(workspace.catalog.load(dataset).sentences) <= AT_ONCE
        and vectors.missing(workspace, encoder, dataset) <= vectors.SMALL
    ):
        return measure(workspace, encoder, dataset, split)
    return before


def measure(
    workspace: Workspace,
    encoder: str,
    dataset: str,
    split: str = ALL,
    progress: Progress | None = None,
) -> Geometry:
    """Return the stored geometry, or measure and store it."""
    before = stored(workspace, encoder, dataset, split)
    if before is not None:
        return before
    data = workspace.catalog.load(dataset)
    sample, encoded_by = take(data, split), workspace.bound(encoder, dataset)
    encoded = finite(encoded_by.encode(sample.sentences, progress), sample.sentences)
    info, arrays = _measure(sample, encoded, progress)
    info |= {
        "encoder": encoder,
        "dataset": dataset,
        "split": split,
        "data_hash": data.hash,
        "fingerprint": encoded_by.fingerprint,
    }
    workspace.store.derived.put(key(encoded_by.fingerprint, data.hash, split), KIND, info, arrays)
    return Geometry(encoder, info, **arrays)


def _measure(
    sample: Taken, encoded: np.ndarray, progress: Progress | None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Numbers by name, and arrays.

    Alignment is over the pairs above the cut (`over`) and at or above it (`from`): four fifths of
    the scale, which is 4 of 5. Singular values and IsoScore are of the raw vectors; the rest uses
    directions only.
    """
    from theodolite.engine.search.index import neighbours_of_each
    from theodolite.engine.space import geometry

    rows = encoded[sample.rows]
    n, distinct = len(rows), np.unique(sample.rows)

    def tell(share: float) -> None:
        if progress is not None:
            progress(round(share * n), n)

    singular, (mean, deviation) = geometry.singular_values(rows), geometry.random_pairs(rows)
    info = sample.info | {
        "n_data": n,
        "n_distinct": len(distinct),
        "n_pairs": len(sample.left),
        "dim": int(rows.shape[1]),
        "n_zero": int((~rows.any(axis=1)).sum()),
        "uniformity": geometry.uniformity(rows, progress=lambda done, of: tell(0.5 * done / of)),
        "effective_rank": geometry.effective_rank(singular),
        "isoscore": None,
        "mean_cosine": mean,
        "std_cosine": deviation,
    }
    with suppress(ValueError):  # one dimension, or identical encoded
        info["isoscore"] = geometry.isoscore(rows)
    if len(sample.gold) and not info["labels"]:
        info["cut"] = at = cut(info["scale"])
        for name, close in (("over", sample.gold > at), ("from", sample.gold >= at)):
            sides = encoded[sample.left[close]], encoded[sample.right[close]]
            info[f"n_{name}"] = int(close.sum())
            info[f"alignment_{name}"] = geometry.alignment(*sides) if close.any() else None
    occurrence = np.zeros(0, np.int64)
    k = min(HUB_NEIGHBOURS, len(distinct) - 1)
    if k >= 1:
        _, near = neighbours_of_each(
            encoded[distinct], k, progress=lambda done, of: tell(0.5 + 0.5 * done / of)
        )
        occurrence, skew = geometry.hubness(near)
        info |= {
            "hub_k": k,
            "hub_skew": skew,
            "hub_never": float(np.mean(occurrence == 0)),
            "hub_most": int(occurrence.max()),
            "hub": sample.sentences[distinct[int(occurrence.argmax())]][:300],
        }
    return info, {
        "singular": singular,
        "occurrence": occurrence,
        "cosine": geometry.cosine(encoded[sample.left], encoded[sample.right]),
        "gold": sample.gold,
        "part": sample.part.astype(np.int32),
    }


def cut(scale: Sequence[float]) -> float:
    """The lowest score of a positive pair: four fifths of the scale."""
    low, high = scale
    return round(low + 0.8 * (high - low), 6)


@dataclass(frozen=True)
class GeometryJob(Job):
    """The geometry of several encoders' spaces on one data set.

    Attributes:
        encoders: canonical specs.
        dataset: name in the catalog.
        split: one of its splits, or `all`.
    """

    kind = "geometry"
    interactive = True

    encoders: tuple[str, ...]
    dataset: str
    split: str = ALL

    @property
    def title(self) -> str:
        """`Geometry of 3 encoders on STSBenchmark`."""
        of = self.encoders[0] if len(self.encoders) == 1 else f"{len(self.encoders)} encoders"
        return f"Geometry of {of} on {self.dataset}"

    def validate(self, workspace: Workspace) -> None:
        """Raise for an unknown data set or split, or too few sentences."""
        take(workspace.catalog.load(self.dataset), self.split)

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the geometry of every encoder is stored or ships."""
        return all(
            stored(workspace, encoder, self.dataset, self.split) for encoder in self.encoders
        )

    def units(self) -> list[str]:
        """Two units per encoder: encoding and geometry."""
        return [
            label
            for encoder in self.encoders
            for label in (f"Encoding {self.dataset} with {encoder}", f"Geometry of {encoder}")
        ]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Do the unit at a position of `units`."""
        encoder = self.encoders[position // 2]
        if position % 2:
            measure(workspace, encoder, self.dataset, self.split, reporter)
        elif stored(workspace, encoder, self.dataset, self.split) is None:
            sample = take(workspace.catalog.load(self.dataset), self.split)
            workspace.bound(encoder, self.dataset).encode(sample.sentences, reporter)
