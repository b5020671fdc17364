"""Nearest neighbours: FAISS and NumPy give what scikit-learn gives."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from theodolite.engine.search.index import Index, approximate_index, neighbours_of_each, unit_rows

RNG = np.random.default_rng(2)
VECTORS = RNG.normal(size=(500, 20)).astype(np.float32)
QUERIES = RNG.normal(size=(30, 20)).astype(np.float32)
BOTH = pytest.mark.parametrize("use_faiss", [True, False])


@BOTH
def test_neighbours_are_those_of_scikit_learn(use_faiss: bool) -> None:
    """The same positions in the same order, cosines to 1e-6."""
    scores, ids = Index(VECTORS, use_faiss=use_faiss).search(QUERIES, 7)
    peer = NearestNeighbors(n_neighbors=7, metric="cosine").fit(VECTORS)
    distances, expected = peer.kneighbors(QUERIES)
    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_allclose(scores, 1 - distances, atol=1e-6)
    assert (scores.dtype, ids.dtype) == (np.float32, np.int64)


@BOTH
def test_more_than_there_are(use_faiss: bool) -> None:
    """More than n gives n columns, every position once."""
    _, ids = Index(VECTORS[:4], use_faiss=use_faiss).search(QUERIES[:2], 10)
    assert [sorted(row) for row in ids.tolist()] == [[0, 1, 2, 3]] * 2


@BOTH
def test_a_row_with_nan_is_never_found(use_faiss: bool) -> None:
    """The others keep their positions."""
    vectors = VECTORS[:6].copy()
    vectors[2, 0] = np.nan
    _, ids = Index(vectors, use_faiss=use_faiss).search(vectors[5:], 6)
    assert ids[0, 0] == 5
    assert sorted(ids[0].tolist()) == [0, 1, 3, 4, 5]


@BOTH
def test_ties_are_ordered_by_position(use_faiss: bool) -> None:
    """Equal vectors come in the order of the collection."""
    vectors = np.array([[0, 1], [1, 0], [1, 0], [1, 0]], dtype=np.float32)
    scores, ids = Index(vectors, use_faiss=use_faiss).search(vectors[1:2], 4)
    assert ids.tolist() == [[1, 2, 3, 0]]
    np.testing.assert_allclose(scores, [[1, 1, 1, 0]], atol=1e-7)


@BOTH
def test_among_some_positions(use_faiss: bool) -> None:
    """As scikit-learn over those rows alone, under their own positions; NaN rows are nowhere."""
    vectors, among = VECTORS.copy(), np.arange(3, 500, 4)
    vectors[7] = np.nan
    _, ids = Index(vectors, use_faiss=use_faiss).search(QUERIES, 6, among)
    kept = among[among != 7]
    peer = NearestNeighbors(n_neighbors=6, metric="cosine").fit(vectors[kept])
    np.testing.assert_array_equal(ids, kept[peer.kneighbors(QUERIES)[1]])
    assert Index(vectors, use_faiss=use_faiss).search(QUERIES, 6, among[:0])[1].shape == (30, 0)


def test_numpy_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of one query a block gives the same answer."""
    whole = Index(VECTORS, use_faiss=False).search(QUERIES, 5)
    monkeypatch.setattr("theodolite.engine.search.index._CELLS", 1)
    blocked = Index(VECTORS, use_faiss=False).search(QUERIES, 5)
    np.testing.assert_array_equal(whole[1], blocked[1])


def test_bad_queries_are_refused() -> None:
    """NaN, another dimension, k of 0, a flat array."""
    index = Index(VECTORS)
    with pytest.raises(ValueError, match="NaN"):
        index.search(np.full((1, 20), np.nan), 3)
    with pytest.raises(ValueError, match="20 dimensions"):
        index.search(np.ones((1, 19)), 3)
    with pytest.raises(ValueError, match="k >= 1"):
        index.search(QUERIES, 0)
    with pytest.raises(ValueError, match="shape"):
        index.search(np.ones(20), 3)


def test_an_empty_collection_finds_nothing() -> None:
    """Zero columns, no error."""
    scores, ids = Index(np.empty((0, 20))).search(QUERIES, 3)
    assert scores.shape == ids.shape == (30, 0)


def test_neighbours_of_each_leaves_out_itself() -> None:
    """As scikit-learn's kneighbors() without a query."""
    _, ids = neighbours_of_each(VECTORS, 5)
    expected = NearestNeighbors(n_neighbors=5, metric="cosine").fit(VECTORS).kneighbors()[1]
    np.testing.assert_array_equal(ids, expected)


@pytest.mark.parametrize(("steepness", "found"), [(0.5, 0.95), (4.0, 0.999)])
def test_approximate_neighbours(steepness: float, found: float) -> None:
    """Most of scikit-learn's; where codes cannot tell rows apart, all. Cosines are exact."""
    strengths = np.arange(1, 257) ** -steepness
    rows = unit_rows(RNG.normal(size=(2000, 256)) * strengths)
    scores, ids = neighbours_of_each(rows, 14, approximate_index(rows))
    expected = NearestNeighbors(n_neighbors=14, metric="cosine").fit(rows).kneighbors()[1]
    shared = [len(np.intersect1d(a, b)) / 14 for a, b in zip(ids, expected, strict=True)]
    assert np.mean(shared) >= found
    np.testing.assert_allclose(scores, (rows[ids] * rows[:, None]).sum(-1), atol=1e-6)
    assert (np.diff(scores) <= 0).all()


def test_approximate_neighbours_of_few_dimensions_are_exact() -> None:
    """Codes would say too little of 20 dimensions, and all rows are compared soon enough."""
    rows = unit_rows(VECTORS)
    _, ids = approximate_index(rows).search(rows[:30], 7)
    np.testing.assert_array_equal(ids, Index(rows).search(rows[:30], 7)[1])


def test_neighbours_of_each_with_many_duplicates() -> None:
    """Twenty equal rows push a row out of its own first eleven; it stays out of its neighbours."""
    vectors = np.repeat(VECTORS[:2], 20, axis=0)
    _, ids = neighbours_of_each(vectors, 10)
    assert not (ids == np.arange(40)[:, None]).any()
    assert (ids // 20 == np.arange(40)[:, None] // 20).all()
    with pytest.raises(ValueError, match="more than 10"):
        neighbours_of_each(VECTORS[:10], 10)


@BOTH
def test_an_index_that_grows_finds_what_one_made_at_once_finds(use_faiss: bool) -> None:
    """In any order, with gaps; rows with NaN count but are never found."""
    rng = np.random.default_rng(4)
    rows, queries = rng.normal(size=(60, 7)), rng.normal(size=(5, 7))
    rows[11] = np.nan
    at_once = Index(rows, use_faiss=use_faiss)
    growing = Index(rows[:0], use_faiss=use_faiss)
    assert growing.search(queries, 3)[1].shape == (5, 0)
    for positions in (np.arange(0, 10), np.arange(40, 60), np.arange(10, 40)):
        growing.add(rows[positions], positions)
    behind = Index(rows[:20], use_faiss=use_faiss)
    behind.add(rows[20:])
    for grown in (growing, behind):
        assert grown.size == 60
        for among in (None, np.arange(3, 50, 2)):
            expected = at_once.search(queries, 9, among)
            for mine, theirs in zip(grown.search(queries, 9, among), expected, strict=True):
                np.testing.assert_allclose(mine, theirs, atol=1e-6)
