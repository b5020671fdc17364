"""Names for groups of sentences: words that are typical of one group.

Class-based TF-IDF (Grootendorst 2022, equation 2) over plain counts, and regions of a plane at
several levels with a name each. Knows sentences and numbers of groups, neither encoders nor pages.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite.engine.space.clusters import number_groups
from theodolite.engine.threads import one_blas_thread

LEVELS = (8, 24, 72)
"""Number of regions at each level, from the coarsest."""

_WORD = r"(?u)[^\W\d_][^\W_]+"
"""A letter and at least one more letter or digit."""
_EVEN = 0.6
_TELLING = 3.0
"""Expected number of groups of a word from which its spread can be called even."""
_RARE = 1e-6
"""Factor that puts rare words below all others, and keeps their order."""
_FITTED = 100_000


def class_tfidf(counts: Any) -> Any:
    """Weigh each word for each group: frequency in the group times log(1 + A / f).

    A is the mean number of words of a group and f how often the word occurs in all groups. The
    frequency is divided by the number of words in the group, so that large groups weigh no more.

    Args:
        counts: (groups, words), NumPy or SciPy sparse: how often each word occurs in each group.

    Returns:
        SciPy CSR float64 of the same shape.

    Source: Grootendorst 2022, BERTopic, equation 2.
    """
    from scipy import sparse

    table = sparse.csr_matrix(counts, dtype=np.float64)
    lengths = np.asarray(table.sum(axis=1)).ravel()
    frequencies = np.asarray(table.sum(axis=0)).ravel()
    inverse = np.log1p(lengths.mean() / np.maximum(frequencies, 1))
    shares = sparse.diags(1 / np.maximum(lengths, 1)) @ table
    return sparse.csr_matrix(shares @ sparse.diags(inverse))


class RegionWords:
    """The words of a collection, counted once, for naming groups of its sentences.

    Args:
        sentences: n of them.
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        counter = CountVectorizer(token_pattern=_WORD, dtype=np.int32, stop_words="english")
        try:
            self._counts: Any = counter.fit_transform(sentences)
            self._words = counter.get_feature_names_out()
        except ValueError:  # no sentence has a word
            self._counts, self._words = None, np.empty(0, object)

    def names(
        self, groups: np.ndarray, k: int, stop: np.ndarray | None = None, most: int = 3
    ) -> list[str]:
        """Name each of k groups by its heaviest words; an empty name where it has none.

        A word counts once per sentence. In a group of more than three sentences, a word of a single
        sentence is used only where there is no other.

        Args:
            groups: int (n,), group of each sentence, below k; negative for none.
            k: number of groups.
            stop: bool (words,), words to leave out; see `everywhere`.
            most: words in a name.
        """
        if self._counts is None:
            return [""] * k
        table = self._by_group(groups, k)
        sizes = np.bincount(groups[groups >= 0], minlength=k)
        rare = table.data < np.repeat(np.where(sizes > 3, 2, 1), np.diff(table.indptr))
        weights = class_tfidf(table)
        weights.data[rare] *= _RARE
        if stop is not None:
            weights.data[stop[weights.indices]] = 0
        return [", ".join(self._heaviest(weights, group, most)) for group in range(k)]

    def everywhere(self, groups: np.ndarray, k: int) -> np.ndarray:
        """Find words that are spread over the groups as if by chance: bool (words,).

        Such a word does not discriminate between groups, in any language: it is in at least 0.6
        times as many groups as expected if its sentences were distributed at random. Words too rare
        to decide are not marked.
        """
        if self._counts is None:
            return np.zeros(0, bool)
        sizes = np.bincount(groups[groups >= 0], minlength=k)
        table = self._by_group(groups, k)
        share = np.asarray(table.sum(axis=0)).ravel() / max(1, sizes.sum())
        expected = np.zeros(len(share))
        for size in sizes:
            expected += 1 - (1 - share) ** size
        present = np.asarray((table > 0).sum(axis=0)).ravel()
        return (expected >= _TELLING) & (present >= _EVEN * expected)

    def _by_group(self, groups: np.ndarray, k: int) -> Any:
        from scipy import sparse

        inside = np.flatnonzero(groups >= 0)
        ones = np.ones(len(inside), np.int32)
        member = sparse.csr_matrix((ones, (groups[inside], inside)), shape=(k, len(groups)))
        return sparse.csr_matrix(member @ (self._counts > 0).astype(np.int32))

    def _heaviest(self, weights: Any, group: int, most: int) -> Iterator[str]:
        part = slice(weights.indptr[group], weights.indptr[group + 1])
        heavy, words = weights.data[part], weights.indices[part]
        for at in np.lexsort((words, -heavy))[:most]:
            if heavy[at] > _RARE * heavy.max():
                yield str(self._words[words[at]])


@dataclass(frozen=True, eq=False)
class Level:
    """One division of a plane into regions.

    Attributes:
        of: int32 (n,), region of each point.
        names: one per region, distinct, from its words.
        centres: float32 (k, 2), the coordinatewise median of its points.
        sizes: int64 (k,).
    """

    of: np.ndarray
    names: list[str]
    centres: np.ndarray
    sizes: np.ndarray


def groups(rows: np.ndarray, k: int, seed: int = 0) -> np.ndarray:
    """Mini-batch k-means: int32 (n,), numbered by size, the largest group 0.

    Empty groups get no number, so there may be fewer than k.

    Source: Sculley 2010, in scikit-learn's implementation.
    """
    from sklearn.cluster import MiniBatchKMeans

    k = min(k, len(np.unique(rows[:_FITTED], axis=0)))
    model = MiniBatchKMeans(k, random_state=seed, n_init=3, batch_size=2048)
    with one_blas_thread():  # the batches are so small that more threads take longer
        model.fit(rows[:: -(-len(rows) // _FITTED)])
    return number_groups(model.predict(rows))[0]


def regions(
    points: np.ndarray, words: RegionWords, levels: Sequence[int] = LEVELS, least: int = 5
) -> list[Level]:
    """Divide a plane at several levels and name the parts, from the coarsest.

    Args:
        points: float32 (n, 2).
        words: of its sentences.
        levels: number of regions of each level, rising; fewer where a region would have less than
            `least` points on average.
        least: least mean number of points in a region.
    """
    n = len(points)
    counts = sorted({max(1, min(k, n // least)) for k in levels})
    divisions = [groups(points, k) for k in counts]
    finest = divisions[-1]
    stop = words.everywhere(finest, int(finest.max()) + 1)
    named_levels = []
    for division in divisions:
        k = int(division.max()) + 1
        centres = [np.median(points[division == i], axis=0) for i in range(k)]
        names = distinct(words.names(division, k, stop))
        named_levels.append(
            Level(division, names, np.array(centres, np.float32), np.bincount(division))
        )
    return named_levels


def distinct(names: Sequence[str]) -> list[str]:
    """Make names distinct: number equal ones, and replace empty ones with `region N`."""
    repeated = {name for name, count in Counter(names).items() if count > 1}
    counts: Counter[str] = Counter()
    out = []
    for place, name in enumerate(names, 1):
        counts[name] += 1
        if not name:
            out.append(f"region {place}")
        else:
            out.append(f"{name} ({counts[name]})" if name in repeated else name)
    return out
