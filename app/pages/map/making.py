"""The making of maps: project, measure, keep. Run by the worker; the quick one by the pages too."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from app.pages.map import service
from app.pages.map.service import StoredMap, Tick, Wanted
from engine.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from app.workspace import Workspace

PARTS = {"pca": 0.1, "quick": 1.0, "umap": 0.6, "tsne": 0.8, "pacmap": 0.6}
"""About which share of the making is the projection itself."""


def make(workspace: Workspace, asked: Wanted, tick: Tick = lambda share: None) -> StoredMap:
    """The map that is asked for: from the store, or made now and kept there.

    Args:
        workspace: where everything is.
        asked: what `service.wanted` returned.
        tick: called with the share done; what it raises stops the work.

    Raises:
        UserError: an encoder, data set or package that cannot be used.
    """
    sentences, data_hash = workspace.catalog.sentences(asked.dataset)
    bound = service.bound(workspace, asked)
    key = service.key_of(workspace, asked)
    found = service.stored(workspace, key)
    if found is not None:
        return found
    from app.pages.map import facts as map_facts

    service.refuse_too_many(workspace, asked)
    vectors = service.vectors(workspace, asked.encoder, asked.dataset)
    began = time.perf_counter()
    share = PARTS[asked.method]
    points, explained = _project(workspace, asked, vectors, lambda done: tick(share * done))
    projected = time.perf_counter()
    dataset = workspace.catalog.load(asked.dataset)
    facts = map_facts.at_once(dataset, sentences, points)
    trust: dict[str, Any] = {}
    if asked.method != "quick":
        trust = map_facts.measured(
            facts, vectors, sentences, points, lambda done: tick(share + (1 - share) * done)
        )
    info = {
        "method": asked.method, "neighbours": asked.neighbours, "min_dist": asked.min_dist,
        "seed": asked.seed, "initial": asked.initial, "encoder": asked.encoder,
        "fingerprint": bound.fingerprint, "dataset": asked.dataset, "data_hash": data_hash,
        "n": len(points), "dim": int(vectors.shape[1]), "explained": explained, "trust": trust,
        "seconds": {"projection": projected - began, "measuring": time.perf_counter() - projected},
        "versions": _versions(asked), "columns": [vars(column) for column in facts.columns],
        "regions": [vars(region) for region in facts.regions],
    }  # fmt: skip
    workspace.store.projections.put(key, {"points": points, **facts.arrays}, info)
    kept = service.stored(workspace, key)
    if kept is None:
        raise UserError("The collection changed while its map was made.", "Compute the map again.")
    return kept


def _project(
    workspace: Workspace, asked: Wanted, vectors: np.ndarray, tick: Tick
) -> tuple[np.ndarray, float | None]:
    """Points float32 (n, 2), and the share of variance kept where it has a meaning.

    A collection too small for its method is laid out by its principal components, a single sentence
    in the middle.
    """
    import numpy as np

    from engine.space import projection

    if len(vectors) < 2:
        return np.zeros((len(vectors), 2), np.float32), None
    if asked.method in ("pca", "quick") or len(vectors) < 4:
        plane = projection.pca(vectors)
    elif asked.method == "pacmap":
        plane = projection.pacmap(vectors, neighbours=asked.neighbours, seed=asked.seed, tick=tick)
    elif asked.method == "tsne":
        plane = projection.tsne(vectors, perplexity=asked.neighbours, seed=asked.seed, tick=tick)
    else:
        plane = projection.umap(
            vectors, neighbours=asked.neighbours, min_dist=asked.min_dist, seed=asked.seed,
            initial=_initial(workspace, asked, len(vectors)), tick=tick,
        )  # fmt: skip
    return plane.points, plane.explained


def _initial(workspace: Workspace, asked: Wanted, n: int) -> np.ndarray | None:
    if asked.initial is None:
        return None
    first = service.stored(workspace, asked.initial)
    if first is None or len(first.points) != n:
        raise UserError(
            "The map to begin from is not there, or is of another collection.",
            "Make that one first.",
        )
    return first.points


def _versions(asked: Wanted) -> dict[str, str]:
    used = {"numpy", "scikit-learn", service.LIBRARIES[asked.method]}
    used |= {"umap": {"numba", "faiss-cpu"}, "pacmap": {"numba", "faiss-cpu"},
             "tsne": {"faiss-cpu"}}.get(asked.method, set())  # fmt: skip
    return {package: version(package) for package in sorted(used)}


def quick(workspace: Workspace, encoder: str, dataset: str) -> StoredMap | None:
    """The first two principal components; None for more points than a page may wait for.

    What the cache lacks is encoded first: pages do that before, with `pages.working`.
    """
    sentences, _ = workspace.catalog.sentences(dataset)
    if not 0 < len(sentences) <= service.QUICK_POINTS:
        return None
    return make(workspace, service.wanted(encoder, dataset, method="quick"))


def units(spec: Any) -> list[str]:
    """The parts of a run of the kind `project`, as its progress names them."""
    asked = service.of_spec(spec)
    name = service.NAMES[asked.method]
    warm = [f"Warming {name} up; its code is compiled once per worker"]
    return [
        f"Encoding {asked.dataset} with {asked.encoder}",
        *(warm if asked.method == "umap" else []),
        f"{name} of {asked.dataset}, its topics and how far it can be trusted",
    ]


def work(
    workspace: Workspace, spec: Any, position: int, progress: Callable[[int, int], None]
) -> None:
    """Do one of `units`; each leaves the same however often it is begun."""
    asked = service.of_spec(spec)
    if position == 0:
        service.vectors(workspace, asked.encoder, asked.dataset, progress)
    elif position == 1 and asked.method == "umap":
        from engine.space.projection import warm_umap

        warm_umap(seeded=asked.seed is not None)
    else:
        make(workspace, asked, lambda share: progress(round(1000 * share), 1000))
