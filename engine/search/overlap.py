"""Finds test texts that occur in a model's training data, exactly or nearly.

The resemblance of two texts is the Jaccard index of their character 5-grams, of letters and digits
alone (Broder 1997, On the resemblance and containment of documents). All pairs above a threshold
are found, none is estimated: if two sets have the resemblance t, the |x| - ceil(t |x|) + 1 rarest
grams of each intersect (the prefix filter of Chaudhuri, Ganti, Kaushik 2006, A primitive operator
for similarity joins in data cleaning).

A sentence within a longer text is not found: the two differ in all the rest.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite.engine.progress import Progress
from theodolite.engine.search.curation import exact_twins, plain_text

GRAM = 5
LEAST = 0.8
"""One letter in fifty changed; Lee et al. 2022 call texts duplicates from 0.8 on, by edits."""
_CHARACTERS, _TESTED = 1 << 21, 1 << 23
"""Characters compared at once: of the training set, and of the test, whose grams are all held."""
_PAIRS = 1 << 16
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_NO_LETTER = re.compile(r"[\W_]+")


@dataclass(frozen=True, eq=False)
class Overlap:
    """Texts of a test that occur in a training set, identical ones first.

    Attributes:
        tested, trained: number of texts compared.
        ids: int64 (m,), positions in the test.
        twins: int64 (m,), for each the position of the most similar training text.
        resemblance: float32 (m,), from the threshold to 1.
        exact: bool (m,), whether both have the same `curation.plain_text`.
    """

    tested: int
    trained: int
    ids: np.ndarray
    twins: np.ndarray
    resemblance: np.ndarray
    exact: np.ndarray


def overlap(
    tested: Sequence[str],
    trained: Sequence[str],
    least: float = LEAST,
    progress: Progress | None = None,
) -> Overlap:
    """Find texts of a test in a training set.

    Args:
        tested: texts of the test.
        trained: texts of the training set.
        least: resemblance from which two texts are nearly the same, above 0 to 1.
        progress: called with (texts searched, texts to search), those of the training set once for
            each part of a large test; may raise.
    """
    twins = exact_twins(tested, trained)
    exact = twins >= 0
    resemblance = exact.astype(np.float32)
    rest = np.flatnonzero(~exact)
    texts = [tested[i] for i in rest.tolist()]
    blocks = list(_blocks(texts, _TESTED))
    for k, block in enumerate(blocks):
        tell = progress and _from(progress, k * len(trained), len(blocks) * len(trained))
        at = rest[block]
        resemblance[at], twins[at] = _nearest(texts[block], trained, least, tell)
    pairs = np.flatnonzero(exact | (resemblance >= least))
    pairs = pairs[np.lexsort((pairs, -resemblance[pairs], ~exact[pairs]))]
    return Overlap(len(tested), len(trained), pairs, twins[pairs], resemblance[pairs], exact[pairs])


def _from(progress: Progress, before: int, of: int) -> Progress:
    """Shift the progress of one part by that of the parts before."""
    return lambda done, _: progress(before + done, of)


def _nearest(
    tested: list[str], trained: Sequence[str], least: float, progress: Progress | None
) -> tuple[np.ndarray, np.ndarray]:
    """The highest resemblance of each text to a training text, and its position; 0 below least."""
    best, twin = np.zeros(len(tested), np.float32), np.full(len(tested), -1, np.int64)
    owner, grams = _grams(tested)
    known, column, often = np.unique(grams, return_inverse=True, return_counts=True)
    if not len(known):
        return best, twin
    rank = np.empty(len(known), np.int64)
    rank[np.argsort(often, kind="stable")] = np.arange(len(known))  # the rarest first
    sizes = np.bincount(owner, minlength=len(tested))
    mine = _matrix(owner, rank[column], (len(tested), len(known)))
    rarest = _first(mine, sizes - np.ceil(least * sizes - 1e-9).astype(np.int64) + 1).T.tocsr()
    for block in _blocks(trained, _CHARACTERS):
        owner, grams = _grams(trained[block])
        their_sizes = np.bincount(owner, minlength=block.stop - block.start)
        at = np.minimum(np.searchsorted(known, grams), len(known) - 1)
        there = known[at] == grams
        theirs = _matrix(owner[there], rank[at[there]], (len(their_sizes), len(known)))
        # Grams that no tested text has count as the rarest: they come first in the prefix.
        shared = np.diff(theirs.indptr)
        length = shared - np.ceil(least * their_sizes - 1e-9).astype(np.int64) + 1
        pairs = (_first(theirs, length) @ rarest).tocoo()
        for start in range(0, len(pairs.row), _PAIRS):
            j, i = (side[start : start + _PAIRS] for side in (pairs.row, pairs.col))
            both = np.asarray(mine[i].multiply(theirs[j]).sum(axis=1)).ravel()
            alike = (both / (sizes[i] + their_sizes[j] - both)).astype(np.float32)
            order = np.lexsort((-j, alike))  # among ties the first training text is written last
            i, j, alike = i[order], j[order], alike[order]
            better = alike > best[i]
            best[i[better]], twin[i[better]] = alike[better], j[better] + block.start
        if progress is not None:
            progress(block.stop, len(trained))
    return best, twin


def _grams(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct grams of each text: the text's position, in order, and a hash of each."""
    letters = "\0".join(_NO_LETTER.sub("", plain_text(text)) for text in texts)
    codes = np.frombuffer(letters.encode("utf-32-le", "surrogatepass"), np.uint32)
    codes = codes.astype(np.uint64)
    n = max(len(codes) - GRAM + 1, 0)
    hashes = np.zeros(n, np.uint64)
    for k in range(GRAM):
        hashes = hashes * _FACTOR + codes[k : k + n]
    owner = np.cumsum(codes == 0)
    whole = (owner[:n] == owner[len(codes) - n :]) & (codes[:n] != 0)
    owner, hashes = owner[:n][whole], hashes[whole]
    order = np.lexsort((hashes, owner))
    owner, hashes = owner[order], hashes[order]
    new = np.append(True, (owner[1:] != owner[:-1]) | (hashes[1:] != hashes[:-1]))[: len(owner)]
    return owner[new], hashes[new]


def _matrix(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Any:
    """Texts by grams, 1 where a text has one; the rarest of each row first."""
    from scipy.sparse import csr_array

    matrix = csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=shape)
    matrix.sort_indices()
    return matrix


def _first(matrix: Any, lengths: np.ndarray) -> Any:
    """Keep the first `lengths` entries of each row."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    mask = np.arange(len(rows)) - matrix.indptr[rows] < lengths[rows]
    return _matrix(rows[mask], matrix.indices[mask], matrix.shape)


def _blocks(texts: Sequence[str], most: int) -> Iterator[slice]:
    """Yield parts of about `most` characters."""
    start = characters = 0
    for position, text in enumerate(texts, start=1):
        characters += len(text)
        if characters >= most or position == len(texts):
            yield slice(start, position)
            start, characters = position, 0
