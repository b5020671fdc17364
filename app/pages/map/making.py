"""Computing maps: project, measure, store."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from theodolite.app.pages.map import service
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.pages.map.job import MapJob
    from theodolite.app.workspace import Workspace

PARTS = {"pca": 0.1, "quick": 1.0, "umap": 0.6, "umap-learn": 0.8, "tsne": 0.8, "pacmap": 0.6}
"""Approximate share of the computing time that the projection takes, by method."""

WATCHED_POINTS = 50_000
"""Larger maps are not shown during the projection: each update would be megabytes."""

LIBRARIES = {
    "umap": "numpy",
    "umap-learn": "umap-learn",
    "tsne": "scikit-learn",
    "pacmap": "pacmap",
    "pca": "numpy",
    "quick": "numpy",
}


def make(workspace: Workspace, job: MapJob, key: str, tick: ProgressCallback) -> None:
    """Compute a map and store it under a key."""
    from theodolite.app.pages.map import facts as map_facts
    from theodolite.engine.space.projection import distinct

    workspace.store.refuse_writing()
    sentences, data_hash = workspace.catalog.sentences(job.dataset)
    vectors = service.vectors(workspace, job.encoder, job.dataset)
    began = time.perf_counter()
    share = PARTS[job.method]
    # A first view has no neighbours that equal vectors could make arbitrary.
    most = len(vectors) if job.method == "quick" else min(job.neighbours, map_facts.NEIGHBOURS)
    kept, which = distinct(vectors, most)

    def watch(plane: np.ndarray) -> None:
        workspace.store.projections.put_unfinished(key, plane[which])

    try:
        plane, explained = _project(
            workspace,
            job,
            vectors,
            kept,
            lambda done: tick(share * done),
            watch if len(vectors) <= WATCHED_POINTS else None,
        )
    finally:
        workspace.store.projections.end_unfinished(key)
    points, projected = plane[which], time.perf_counter()
    dataset = workspace.catalog.load(job.dataset)
    facts = map_facts.quick_facts(dataset, sentences, points)
    trust: dict[str, Any] = {}
    if job.method != "quick":
        trust = map_facts.measure(
            facts,
            vectors,
            sentences,
            points,
            (kept, which),
            lambda done: tick(share + (1 - share) * done),
        )
    info = {
        "method": job.method,
        "neighbours": job.neighbours,
        "min_dist": job.min_dist,
        "seed": job.seed,
        "initial": job.initial,
        "encoder": job.encoder,
        "fingerprint": workspace.bound(job.encoder, job.dataset).fingerprint,
        "dataset": job.dataset,
        "data_hash": data_hash,
        "n": len(points),
        "vectors": len(kept),
        "dim": int(vectors.shape[1]),
        "explained": explained,
        "trust": trust,
        "seconds": {"projection": projected - began, "measuring": time.perf_counter() - projected},
        "versions": _versions(job),
        "columns": [vars(column) for column in facts.columns],
        "regions": [vars(region) for region in facts.regions],
    }
    workspace.store.projections.put(key, {"points": points, **facts.arrays}, info)


def _project(
    workspace: Workspace,
    job: MapJob,
    vectors: np.ndarray,
    kept: np.ndarray,
    tick: ProgressCallback,
    watch: Callable[[np.ndarray], None] | None = None,
) -> tuple[np.ndarray, float | None]:
    """Project the rows `kept` to points, float32 (m, 2); also the share of variance, if by PCA.

    A collection too small for its method is projected by PCA; a single vector is put at the origin.
    """
    import numpy as np

    from theodolite.engine.space import projection

    n = len(vectors)
    if len(kept) < n:
        vectors = vectors[kept]
    if len(vectors) < 2:
        return np.zeros((len(vectors), 2), np.float32), None
    if job.method in ("pca", "quick") or len(vectors) < 4:
        plane = projection.pca(vectors)
    elif job.method == "pacmap":
        plane = projection.pacmap(vectors, neighbours=job.neighbours, seed=job.seed, tick=tick)
    elif job.method == "umap-learn":
        plane = projection.umap_learn(
            vectors, neighbours=job.neighbours, min_dist=job.min_dist, seed=job.seed, tick=tick
        )
    elif job.method == "tsne":
        plane = projection.tsne(vectors, perplexity=job.neighbours, seed=job.seed, tick=tick)
    else:
        plane = projection.umap(
            vectors,
            neighbours=job.neighbours,
            min_dist=job.min_dist,
            seed=job.seed,
            initial=_initial(workspace, job, n, kept),
            tick=tick,
            watch=watch,
        )
    return plane.points, plane.explained


def _initial(workspace: Workspace, job: MapJob, n: int, kept: np.ndarray) -> np.ndarray | None:
    if job.initial is None:
        return None
    first = service.stored(workspace, job.initial)
    if first is None or len(first.points) != n:
        raise UserError(
            "The map to start from does not exist, or is of another collection.",
            "Compute that map first.",
            code="no-result",
        )
    return first.points[kept]


def _versions(job: MapJob) -> dict[str, str]:
    used = {"numpy", "scikit-learn", LIBRARIES[job.method]}
    used |= {
        "umap": {"scipy", "faiss-cpu"},
        "umap-learn": {"numba", "faiss-cpu"},
        "pacmap": {"numba", "faiss-cpu"},
        "tsne": {"faiss-cpu"},
    }.get(job.method, set())
    return {package: version(package) for package in sorted(used)}
