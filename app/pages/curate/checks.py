"""The five checks of a collection: from a job to rows of sentences."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.finite import finite
from theodolite.app.pages.geometry.service import ALL, take
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.pages.curate.service import CurateJob
    from theodolite.app.workspace import Workspace

Arrays = dict[str, Any]


def part(workspace: Workspace, dataset: str, split: str) -> tuple[list[str], np.ndarray]:
    """Distinct sentences of a split, and their positions in the collection's distinct ones."""
    import numpy as np

    whole, _ = workspace.catalog.sentences(dataset)
    if split == ALL:
        if len(whole) < 2:
            raise UserError(
                f"{dataset} has {formats.plural(len(whole), 'distinct sentence')}.",
                "There is nothing to compare.",
                code="too-few",
            )
        return whole, np.arange(len(whole))
    some = take(workspace.catalog.load(dataset), split, most=None).sentences
    place = {sentence: i for i, sentence in enumerate(whole)}
    return some, np.array([place[sentence] for sentence in some], np.int64)


def encoded(
    workspace: Workspace, job: CurateJob, progress: Progress | None
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The sentences to check, their positions in the collection, and their vectors."""
    some, positions = part(workspace, job.dataset, job.split)
    encoder = workspace.bound(job.encoder, job.dataset)
    return some, positions, finite(encoder.encode(some, progress), some)


def _exact(
    workspace: Workspace, job: CurateJob, progress: Progress | None
) -> tuple[Arrays, Arrays]:
    """Exact duplicates: a sentence that recurs verbatim is one row with a count of occurrences."""
    import numpy as np

    from theodolite.engine.search import curation

    taken = take(workspace.catalog.load(job.dataset), job.split, most=None)
    whole, _ = workspace.catalog.sentences(job.dataset)
    place = {sentence: i for i, sentence in enumerate(whole)}
    often = np.bincount(taken.rows, minlength=len(taken.sentences))
    # Sentences that recur are passed twice, so that each forms a group by itself.
    again = np.flatnonzero(often > 1)
    doubled = curation.exact_duplicates([*taken.sentences, *(taken.sentences[i] for i in again)])
    rows = np.concatenate([np.arange(len(taken.sentences)), again])[doubled.ids]
    _, first = np.unique(rows, return_index=True)
    keep = np.sort(first)
    rows, group = rows[keep], doubled.group[keep]
    ids = np.array([place[taken.sentences[i]] for i in rows], np.int64)
    info = {
        "n": len(taken.rows),
        "groups": doubled.count,
        "spare": int(often[rows].sum()) - doubled.count,
    }
    return info, {"ids": ids, "group": group + 1, "occurs": often[rows]}


def _near(workspace: Workspace, job: CurateJob, progress: Progress | None) -> tuple[Arrays, Arrays]:
    from theodolite.engine.search import curation
    from theodolite.engine.search.ann_index import index_of

    some, positions, vectors = encoded(workspace, job, progress)
    groups = curation.near_duplicates(vectors, job.threshold, index_of(vectors), progress)
    info = {"n": len(some), "groups": groups.count, "spare": len(groups.ids) - groups.count}
    return info, {"ids": positions[groups.ids], "group": groups.group + 1, "cosine": groups.closest}


def _outliers(
    workspace: Workspace, job: CurateJob, progress: Progress | None
) -> tuple[Arrays, Arrays]:
    from theodolite.engine.search import curation
    from theodolite.engine.search.ann_index import index_of

    some, positions, vectors = encoded(workspace, job, progress)
    ranked = curation.outliers(vectors, job.neighbours, index_of(vectors), progress)
    rows = ranked.ids[: job.many]
    info = {"n": len(some), "middle": float(ranked.scores[len(some) // 2])}
    return info, {"ids": positions[rows], "cosine": ranked.scores[: job.many]}


def _typical(
    workspace: Workspace, job: CurateJob, progress: Progress | None
) -> tuple[Arrays, Arrays]:
    import numpy as np

    from theodolite.engine.search import curation

    some, positions, vectors = encoded(workspace, job, progress)
    ranked = curation.typical(vectors)
    many = min(job.many, len(some) // 2)
    chosen = np.concatenate([np.arange(many), np.arange(len(some) - 1, len(some) - 1 - many, -1)])
    end = np.repeat([1, 0], many)
    info = {"n": len(some), "middle": float(ranked.scores[len(some) // 2])}
    return info, {
        "ids": positions[ranked.ids[chosen]],
        "most": end,
        "cosine": ranked.scores[chosen],
    }


def _leaks(
    workspace: Workspace, job: CurateJob, progress: Progress | None
) -> tuple[Arrays, Arrays]:
    from theodolite.engine.search import curation
    from theodolite.engine.search.ann_index import index_of

    some, positions, vectors = encoded(workspace, job, progress)
    seen, seen_places = part(workspace, job.against, job.against_split)
    encoder = workspace.bound(job.encoder, job.dataset)
    seen_vectors = finite(encoder.encode(seen, progress), seen)
    leaks = curation.leaks(
        seen, seen_vectors, some, vectors, job.threshold, progress, use_index=index_of
    )
    info = {"n": len(some), "seen": len(seen), "exact": int(leaks.exact.sum())}
    return info, {
        "ids": positions[leaks.ids],
        "twins": seen_places[leaks.twins],
        "cosine": leaks.cosines,
        "exact": leaks.exact.astype("int8"),
    }


WORK: dict[str, Callable[[Workspace, CurateJob, Progress | None], tuple[Arrays, Arrays]]] = {
    "exact": _exact,
    "near": _near,
    "outliers": _outliers,
    "typical": _typical,
    "leaks": _leaks,
}
