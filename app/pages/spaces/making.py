"""Compute a pair of spaces: two maps, differences in all dimensions, clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from theodolite.app.components.map_columns import Facts, MapColumn, Region
from theodolite.app.pages.map import service as maps
from theodolite.engine.progress import ProgressCallback, nobody

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.pages.map.service import StoredMap
    from theodolite.app.pages.spaces.service import SpacesJob
    from theodolite.app.workspace import Workspace
    from theodolite.engine.space.clusters import Clusters
    from theodolite.engine.space.compare import Change

KEPT = ("label", "split", "part", "role", "length", "recall")
"""Columns of a single map that mean the same on both sides."""
CHANGED = 50
FLOOR_SAMPLE = 5000


def make(
    workspace: Workspace,
    job: SpacesJob,
    planes: tuple[StoredMap, StoredMap],
    keys: tuple[str, str],
    tick: ProgressCallback,
) -> None:
    """Align two maps, compare their spaces, and store both."""
    workspace.store.refuse_writing()
    first, second = planes
    columns: list[MapColumn] = []
    arrays: dict[str, np.ndarray] = {}
    report: dict[str, Any] = {}
    if not job.is_quick:
        report, columns, arrays = measure(workspace, job, tick)
    points, regions = _onto(second, first)
    sides = ((first, first.points, first.regions), (second, points, regions))
    for key, (side, places, named) in zip(keys, sides, strict=True):
        own = [column for column in side.columns if column.key in KEPT]
        values = {column.key: side.values[column.key] for column in own}
        info = side.info | {
            "columns": [vars(column) for column in [*columns, *own]],
            "regions": [vars(region) for region in named],
            "spaces": report,
        }
        workspace.store.projections.put(key, {"points": places, **values, **arrays}, info)


def _onto(second: StoredMap, first: StoredMap) -> tuple[np.ndarray, list[Region]]:
    """Align the second map with the first by Procrustes, rescaled to its width; with its regions.

    Procrustes alone would shrink a map the more, the less it has in common with the other.
    """
    import numpy as np

    from theodolite.engine.space.projection import procrustes

    middle, width = first.points.mean(axis=0), float(first.points.std())
    points = procrustes(second.points, first.points) - middle
    points = (middle + points * (width / (float(points.std()) or 1.0))).astype(np.float32)
    ones = np.ones((len(points), 1))
    # The alignment is affine: fitted to the moved points, it moves the regions likewise.
    moved, *_ = np.linalg.lstsq(np.hstack([second.points, ones]), points, rcond=None)
    regions = [
        replace(region, x=float(x), y=float(y))
        for region in second.regions
        for x, y in [np.array([region.x, region.y, 1.0]) @ moved]
    ]
    return points, regions


def measure(
    workspace: Workspace, job: SpacesJob, tick: ProgressCallback = nobody
) -> tuple[dict[str, Any], list[MapColumn], dict[str, np.ndarray]]:
    """Compare the two spaces in their full dimensions.

    Returns:
        report: `n`, `k`, `looked_at`; `rows`: figures of the two spaces, of each against itself
            (the noise floor) and of chance; `changed`: the sentences that changed most, with both
            neighbour lists; `clusters`: sizes, names, flow, agreement. JSON-serialisable.
        columns: for both maps: how much each point changed, its group in either space.
        arrays: the values of the columns.
    """
    from theodolite.engine.space import compare as engine

    sentences = job.sentences(workspace)
    first = maps.vectors(workspace, job.first, job.dataset)
    second = maps.vectors(workspace, job.second, job.dataset)
    k = min(job.k, len(sentences) - 1)
    found = engine.change(first, second, k, tick=lambda share: tick(0.5 * share))
    facts = Facts()
    facts.number("change", f"How much its {k} nearest changed", _spread(found, len(sentences)))
    rows = [
        {
            "kind": "between",
            "name": f"{job.first} and {job.second}",
            "how": "",
            "n": len(found.looked_at),
            **_plain(engine.figures(first, second, found)),
        },
        *_floors(workspace, job, first, second, k, lambda share: tick(0.5 + 0.3 * share)),
    ]
    report = {
        "encoders": [job.first, job.second],
        "dataset": job.dataset,
        "n": len(sentences),
        "k": k,
        "looked_at": len(found.looked_at),
        "rows": rows,
        "changed": _changed(found, first, second),
        "clusters": _clusters(workspace, job, first, second, sentences, facts),
    }
    tick(1.0)
    return report, facts.columns, facts.arrays


def _spread(found: Change, n: int) -> np.ndarray:
    """One minus rank-biased overlap for every point; NaN for points not in the sample."""
    import numpy as np

    values = np.full(n, np.nan)
    values[found.looked_at] = 1 - found.overlap
    return values


def _plain(figures: Any) -> dict[str, float | None]:
    return {name: v if math.isfinite(v) else None for name, v in asdict(figures).items()}


def _floors(
    workspace: Workspace,
    job: SpacesJob,
    first: np.ndarray,
    second: np.ndarray,
    k: int,
    tick: ProgressCallback,
) -> list[dict[str, Any]]:
    """The same figures for each encoder against itself, and for chance."""
    from theodolite.engine.space import compare as engine

    pairs = []
    for name, vectors in ((job.first, first), (job.second, second)):
        twin = _again(workspace, name, job.dataset)
        if twin is not None:
            pairs.append(("floor", name, "with another seed", vectors, twin))
        else:
            how = f"through two random projections to {vectors.shape[1]} dimensions"
            pairs.append(("floor", name, how, *engine.twins(vectors)))
    how = "the second's sentences shuffled: what is shared by chance"
    pairs.append(("chance", "Chance", how, first, engine.shuffled(second)))
    rows = []
    for place, (kind, name, how, a, b) in enumerate(pairs):
        found = engine.change(a, b, k, sample=FLOOR_SAMPLE)
        numbers = _plain(engine.figures(a, b, found))
        rows.append({"kind": kind, "name": name, "how": how, "n": len(found.looked_at), **numbers})
        tick((place + 1) / len(pairs))
    return rows


def _again(workspace: Workspace, encoder: str, dataset: str) -> np.ndarray | None:
    """The vectors of the same encoder with another seed; None if it uses no random numbers."""
    from theodolite.engine import encoders

    spec = encoders.parse(encoder)
    sources = tuple(
        replace(
            s,
            options=(
                *((n, v) for n, v in s.options if n != "seed"),
                ("seed", str(_next(int(s.option("seed") or 0)))),
            ),
        )
        if s.kind == "borep"
        else s
        for s in spec.sources
    )
    steps = tuple(s if s.seed is None else replace(s, seed=_next(s.seed)) for s in spec.steps)
    other = str(replace(spec, sources=sources, steps=steps))
    if other == str(spec):
        return None
    data = workspace.catalog.load(dataset)
    sentences, _ = workspace.catalog.sentences(dataset)
    collection = encoders.PromptTask(dataset, "Retrieval")
    twin = encoders.load(
        str(encoders.parse(other)),
        cache=workspace.store.vectors.of(encoder),
        datasets=workspace.catalog.every_sentence,
    )
    return encoders.bind_task(twin, data.sentences, data.hash, collection).encode(sentences)


def _next(seed: int) -> int:
    return (seed + 1) % 2**32


def _changed(found: Change, first: np.ndarray, second: np.ndarray) -> list[dict[str, Any]]:
    """The sentences whose neighbourhoods changed most, with (id, cosine) of their neighbours."""
    import numpy as np

    def near(vectors: np.ndarray, i: int, ids: np.ndarray) -> list[list[float]]:
        from theodolite.engine.space.geometry import cosine

        own = np.broadcast_to(vectors[i], (len(ids), vectors.shape[1]))
        values = cosine(own, vectors[ids])
        return [[int(j), round(float(c), 4)] for j, c in zip(ids, values, strict=True)]

    out = []
    for row in found.most(CHANGED):
        i = int(found.looked_at[row])
        out.append(
            {
                "id": i,
                "jaccard": float(found.jaccard[row]),
                "overlap": float(found.overlap[row]),
                "first": near(first, i, found.first[row]),
                "second": near(second, i, found.second[row]),
            }
        )
    return out


def _clusters(
    workspace: Workspace,
    job: SpacesJob,
    first: np.ndarray,
    second: np.ndarray,
    sentences: Sequence[str],
    facts: Facts,
) -> dict[str, Any]:
    """Cluster both spaces and match the groups; adds the group numbers as columns of both maps."""
    from theodolite.engine.space import clusters as engine
    from theodolite.engine.space.topics import RegionWords

    method: Any = job.clustering
    before = engine.cluster(first, method, job.size)
    after = engine.renumbered(before, engine.cluster(second, method, job.size))
    flow = engine.flow(before, after)
    words = RegionWords(sentences)
    names = [_names(words, side) for side in (before, after)]
    names[1] = [  # a number that is empty in the second keeps its name from the first
        name if size else names[0][i]
        for i, (name, size) in enumerate(zip(names[1], after.sizes, strict=True))
    ]
    for key, encoder, side, own in (
        ("cluster_a", job.first, before, names[0]),
        ("cluster_b", job.second, after, names[1]),
    ):
        shown = [*own, "in no group"] if side.noise else own
        facts.label(
            key,
            f"Clusters of {encoder}",
            shown,
            (side.of if not side.noise else _last(side, len(own))),
        )
    labels = _labels(workspace, job.dataset, sentences)
    return {
        "method": method,
        "how": [before.how, after.how],
        "names": names,
        "sizes": [side.sizes.tolist() for side in (before, after)],
        "noise": [before.noise, after.noise],
        "counts": flow.counts.tolist(),
        "pairs": [list(pair) for pair in flow.pairs],
        "kept": flow.kept,
        "between": asdict(engine.agreement(before.of, after.of)),
        "labels": None
        if labels is None
        else [asdict(engine.agreement(labels, side.of)) for side in (before, after)],
    }


def _names(words: Any, side: Clusters) -> list[str]:
    """Words that name each group; a group without distinct words gets its number as well."""
    from theodolite.engine.space.topics import distinct

    count = len(side.sizes)
    if not count:
        return []
    return distinct(words.names(side.of, count, words.everywhere(side.of, count)))


def _last(side: Clusters, place: int) -> np.ndarray:
    import numpy as np

    return np.where(side.of < 0, place, side.of)


def _labels(workspace: Workspace, dataset: str, sentences: Sequence[str]) -> np.ndarray | None:
    """The label of each sentence at its first occurrence; None for a collection without labels."""
    import numpy as np

    from theodolite.engine.datasets.types import LabelledSentences

    data = workspace.catalog.load(dataset)
    if not isinstance(data, LabelledSentences):
        return None
    of: dict[str, str] = {}
    for sentence, label in zip(data.sentences, data.labels, strict=True):
        of.setdefault(sentence, str(label))
    return np.array([of[sentence] for sentence in sentences])
