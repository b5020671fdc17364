"""Checks of a collection: duplicates, outliers, leaks, the most and least typical sentences.

From sentences and their vectors to positions and numbers. Knows neither encoders nor files.
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite.engine.progress import Progress
from theodolite.engine.search.index import Index, neighbours_of_each, unit_rows

_NEAREST = 20
"""Neighbours compared for near duplicates: larger groups are linked transitively."""
_QUERIES = 2048


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of duplicate sentences, the largest first.

    Attributes:
        ids: int64 (m,), positions in the collection, group after group, in order within each.
        group: int64 (m,), 0 for the first group.
        closest: float32 (m,), the highest cosine of each to another of its group.
    """

    ids: np.ndarray
    group: np.ndarray
    closest: np.ndarray

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.group[-1]) + 1 if len(self.group) else 0


@dataclass(frozen=True, eq=False)
class Ranked:
    """Sentences in an order.

    Attributes:
        ids: int64 (n,), positions in the collection.
        scores: float32 (n,), by which they are ordered.
    """

    ids: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True, eq=False)
class Leaks:
    """Sentences of one part that also occur in another part, the closest first.

    Attributes:
        ids: int64 (m,), positions in the part that should be unseen.
        twins: int64 (m,), for each the position of its nearest in the part seen before.
        cosines: float32 (m,).
        exact: bool (m,), whether both have the same `plain_text`.
    """

    ids: np.ndarray
    twins: np.ndarray
    cosines: np.ndarray
    exact: np.ndarray


def plain_text(sentence: str) -> str:
    """Normalise a sentence: without differences in case, spaces, widths and end marks."""
    folded = unicodedata.normalize("NFKC", sentence).casefold()
    return " ".join(folded.split()).rstrip(" .!?…")


def exact_twins(new: Sequence[str], seen: Sequence[str]) -> np.ndarray:
    """The first of `seen` with the same `plain_text` as each of `new`, int64 (m,); -1 for none.

    Texts of end marks alone are compared as they are.
    """
    place: dict[str, int] = {}
    for position, text in enumerate(seen):
        place.setdefault(plain_text(text) or text, position)
    return np.array([place.get(plain_text(text) or text, -1) for text in new], np.int64)


def exact_duplicates(sentences: Sequence[str]) -> Groups:
    """Group sentences with the same `plain_text`; texts of end marks alone are compared as is."""
    places: dict[str, list[int]] = {}
    for position, sentence in enumerate(sentences):
        places.setdefault(plain_text(sentence) or sentence, []).append(position)
    label = np.empty(len(sentences), np.int64)
    for number, positions in enumerate(places.values()):
        label[positions] = number
    return _groups_of(label, np.ones(len(sentences), np.float32))


def near_duplicates(
    vectors: np.ndarray, threshold: float, index: object = None, progress: Progress | None = None
) -> Groups:
    """Group sentences linked by cosines of at least `threshold`, transitively.

    Args:
        vectors: (n, dim), finite.
        threshold: the least cosine of a link, -1 to 1.
        index: an index of the same rows; by default an exact one.
        progress: called with (rows done, rows); may raise.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = len(vectors)
    if n < 2:
        return _groups_of(np.arange(n), np.ones(n, np.float32))
    k = min(_NEAREST, n - 1)
    cosines, ids = neighbours_of_each(vectors, k, index, progress)
    # Rounded as float32 cosines of equal vectors may fall short of 1.
    linked = np.round(cosines, 6) >= threshold
    rows = np.repeat(np.arange(n), k)[linked.ravel()]
    links = coo_matrix((np.ones(len(rows), np.int8), (rows, ids[linked])), shape=(n, n))
    _, label = connected_components(links, directed=False)
    closest = np.where(linked.any(axis=1), cosines[:, 0], -np.inf).astype(np.float32)
    # A link counts for both ends, even where only one has the other among its nearest.
    np.maximum.at(closest, ids[linked], cosines[linked])
    return _groups_of(label, closest)


def outliers(
    vectors: np.ndarray, k: int = 10, index: object = None, progress: Progress | None = None
) -> Ranked:
    """Rank all sentences by their mean cosine to their k nearest others, the lowest first.

    The k-nearest-neighbour outlier score of Angiulli, Pizzuti 2002, with cosines for distances.

    Args:
        vectors: (n, dim), finite, n >= 2.
        k: number of neighbours; fewer where there are fewer others.
        index: an index of the same rows; by default an exact one.
        progress: called with (rows done, rows); may raise.
    """
    cosines, _ = neighbours_of_each(vectors, min(k, len(vectors) - 1), index, progress)
    return _rank(cosines.mean(axis=1, dtype=np.float64).astype(np.float32))


def typical(vectors: np.ndarray) -> Ranked:
    """Rank all sentences by their cosine to the mean direction, the most typical first.

    Args:
        vectors: (n, dim), finite, n >= 1.
    """
    rows = unit_rows(vectors)
    centre = rows.mean(axis=0, dtype=np.float64)
    length = np.linalg.norm(centre)
    cosines = np.clip(rows @ (centre / (length or 1.0)).astype(np.float32), -1.0, 1.0)
    ranked = _rank(-cosines)
    return Ranked(ranked.ids, -ranked.scores)


def leaks(
    seen: Sequence[str],
    seen_vectors: np.ndarray,
    new: Sequence[str],
    new_vectors: np.ndarray,
    threshold: float,
    progress: Progress | None = None,
    *,
    use_index: Callable[[np.ndarray], object] | None = None,
) -> Leaks:
    """Find sentences of `new` that occur in `seen`, exactly or nearly.

    Args:
        seen: n sentences trained on.
        seen_vectors: (n, dim).
        new: m sentences that should be unseen.
        new_vectors: (m, dim).
        threshold: the least cosine to the nearest sentence that counts, whatever the words.
        progress: called with (sentences done, sentences); may raise.
        use_index: builds the index of `seen_vectors`; by default an exact one.
    """
    index = (use_index or Index)(seen_vectors)
    cosines, twins = np.full(len(new), -np.inf, np.float32), np.zeros(len(new), np.int64)
    for start in range(0, len(new), _QUERIES):
        block = slice(start, start + _QUERIES)
        scores, ids = index.search(new_vectors[block], 1)  # type: ignore[attr-defined]
        if ids.shape[1]:
            cosines[block], twins[block] = scores[:, 0], ids[:, 0]
        if progress is not None:
            progress(min(len(new), start + _QUERIES), len(new))
    same = exact_twins(new, seen)
    exact = same >= 0
    twins[exact] = same[exact]
    pairs = unit_rows(new_vectors[exact]), unit_rows(seen_vectors[same[exact]])
    cosines[exact] = np.einsum("ij,ij->i", *pairs)
    rows = np.flatnonzero(exact | (np.round(cosines, 6) >= threshold))
    order = rows[np.lexsort((rows, -cosines[rows], ~exact[rows]))]
    # Rounded as float32, the cosine of equal vectors may be above 1.
    return Leaks(order, twins[order], np.clip(cosines[order], -1.0, 1.0), exact[order])


def _groups_of(label: np.ndarray, closest: np.ndarray) -> Groups:
    """Groups of at least two, the largest first, then by their first sentence."""
    _, first, number, sizes = np.unique(
        label, return_index=True, return_inverse=True, return_counts=True
    )
    ids = np.flatnonzero(sizes[number] > 1)
    own = number[ids]
    order = np.lexsort((ids, first[own], -sizes[own]))
    ids, own = ids[order], own[order]
    starts = np.append(True, own[1:] != own[:-1])[: len(own)]
    return Groups(ids, np.cumsum(starts) - 1, closest[ids])


def _rank(scores: np.ndarray) -> Ranked:
    order = np.argsort(scores, kind="stable")
    return Ranked(order, scores[order])
