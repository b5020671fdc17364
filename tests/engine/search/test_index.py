"""Nearest neighbours, exact and approximate: those of scikit-learn and sentence-transformers."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers.util import SimilarityFunction
from sklearn.neighbors import NearestNeighbors

from theodolite.engine.datasets.types import Retrieval
from theodolite.engine.progress import nobody
from theodolite.engine.search import ann_index
from theodolite.engine.search.index import Index, approximate_index, neighbours_of_each, unit_rows
from theodolite.engine.search.ranked import first_of_each
from theodolite.engine.tasks import retrieval

RNG = np.random.default_rng(2)
VECTORS = RNG.normal(size=(500, 20)).astype(np.float32)
QUERIES = RNG.normal(size=(30, 20)).astype(np.float32)


def peer(vectors: np.ndarray, k: int) -> NearestNeighbors:
    """Scikit-learn's neighbours by cosine."""
    return NearestNeighbors(n_neighbors=k, metric="cosine").fit(vectors)


def test_neighbours_are_those_of_scikit_learn() -> None:
    scores, ids = Index(VECTORS).search(QUERIES, 7)
    distances, expected = peer(VECTORS, 7).kneighbors(QUERIES)
    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_allclose(scores, 1 - distances, atol=1e-6)
    assert (scores.dtype, ids.dtype) == (np.float32, np.int64)
    few = Index(VECTORS[:4]).search(QUERIES[:2], 10)[1]  # all, each once
    assert [sorted(row) for row in few.tolist()] == [[0, 1, 2, 3]] * 2
    assert np.shape(Index(np.empty((0, 20))).search(QUERIES, 3)) == (2, 30, 0)
    # Ties are ordered by position.
    vectors = np.array([[0, 1], [1, 0], [1, 0], [1, 0]], dtype=np.float32)
    scores, ids = Index(vectors).search(vectors[1:2], 4)
    assert (ids.tolist(), scores.round(6).tolist()) == ([[1, 2, 3, 0]], [[1, 1, 1, 0]])


@pytest.mark.parametrize("among", [np.arange(500), np.arange(3, 500, 4)])
def test_among_some_positions(among: np.ndarray) -> None:
    """As scikit-learn over those rows alone, under their own positions; NaN rows are nowhere."""
    vectors = VECTORS.copy()
    vectors[7] = np.nan
    _, ids = Index(vectors).search(QUERIES, 6, among if len(among) < 500 else None)
    kept = among[among != 7]
    np.testing.assert_array_equal(ids, kept[peer(vectors[kept], 6).kneighbors(QUERIES)[1]])
    assert Index(vectors).search(QUERIES, 6, among[:0])[1].shape == (30, 0)
    assert Index(vectors[5:9]).search(QUERIES, 9)[1].shape == (30, 3)


@pytest.mark.parametrize(
    ("queries", "k", "named"),
    [
        (np.full((1, 20), np.nan), 3, "NaN"),
        (np.ones((1, 19)), 3, "20 dimensions"),
        (QUERIES, 0, "k >= 1"),
        (np.ones(20), 3, "shape"),
    ],
)
def test_bad_queries_are_refused(queries: np.ndarray, k: int, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Index(VECTORS).search(queries, k)


def test_an_index_that_grows_finds_what_one_made_at_once_finds(rng: np.random.Generator) -> None:
    """In any order, with gaps; rows with NaN count but are never found."""
    rows, queries = rng.normal(size=(60, 7)), rng.normal(size=(5, 7))
    rows[11] = np.nan
    at_once, growing, behind = Index(rows), Index(rows[:0]), Index(rows[:20])
    assert growing.search(queries, 3)[1].shape == (5, 0)
    for positions in (np.arange(0, 10), np.arange(40, 60), np.arange(10, 40)):
        growing.add(rows[positions], positions)
    behind.add(rows[20:])
    assert growing.size == behind.size == 60
    for grown, among in itertools.product((growing, behind), (None, np.arange(3, 50, 2))):
        found, expected = (index.search(queries, 9, among) for index in (grown, at_once))
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_neighbours_of_each_leave_out_the_row_itself() -> None:
    """Also where twenty equal rows push it out of its own first eleven."""
    _, ids = neighbours_of_each(VECTORS, 5)
    np.testing.assert_array_equal(ids, peer(VECTORS, 5).kneighbors()[1])
    _, ids = neighbours_of_each(np.repeat(VECTORS[:2], 20, axis=0), 10)
    own = np.arange(40)[:, None]
    assert (ids != own).all() and (ids // 20 == own // 20).all()
    assert neighbours_of_each(VECTORS, 0)[1].shape == (len(VECTORS), 0)
    with pytest.raises(ValueError, match="more than 10"):
        neighbours_of_each(VECTORS[:10], 10)


@pytest.mark.parametrize(("steepness", "found"), [(0.5, 0.95), (4.0, 0.999)])
def test_approximate_neighbours(steepness: float, found: float) -> None:
    """Most of scikit-learn's; where codes cannot tell rows apart, all. Cosines are exact."""
    rows = unit_rows(RNG.normal(size=(2000, 256)) * (np.arange(1, 257) ** -steepness))
    scores, ids = neighbours_of_each(rows, 14, approximate_index(rows))
    expected = peer(rows, 14).kneighbors()[1]
    shared = [len(np.intersect1d(a, b)) / 14 for a, b in zip(ids, expected, strict=True)]
    assert np.mean(shared) >= found
    np.testing.assert_allclose(scores, (rows[ids] * rows[:, None]).sum(-1), atol=1e-6)
    assert (np.diff(scores) <= 0).all()
    few = unit_rows(VECTORS)  # codes would say too little of 20 dimensions
    found, exact = (of.search(few[:30], 7)[1] for of in (approximate_index(few), Index(few)))
    np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean", "manhattan"])
def test_documents_are_ranked_by_the_similarity_of_the_model(similarity, rng):
    """As sentence-transformers computes it, for vectors of any length."""
    queries, documents = (rng.normal(size=(n, 6)).astype(np.float32) for n in (5, 40))
    documents *= rng.uniform(0.1, 5, (40, 1)).astype(np.float32)
    expected = SimilarityFunction.to_similarity_fn(similarity)(queries, documents).numpy()
    scores, at = first_of_each(queries, documents, 7, similarity=similarity)
    ranked = np.take_along_axis(at, np.argsort(-scores, axis=1), 1)
    np.testing.assert_array_equal(ranked, np.argsort(-expected, axis=1)[:, :7])
    np.testing.assert_allclose(scores, np.take_along_axis(expected, at, 1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [retrieval.TYPE, retrieval.RERANKING])
def test_a_long_document_wins_by_the_dot_product_alone(kind):
    """By hand: d2 is longer, d1 has the direction of the query, d3 is the nearest point."""
    documents = {"d1": "a", "d2": "b", "d3": "c"}
    vectors = np.array([[1, 0], [3, 0], [9, 9], [1, 0.5]], np.float32)
    first = {"cosine": "d1", "dot": "d2", "euclidean": "d3", "manhattan": "d3"}
    candidates = {"q": list(documents)} if kind is retrieval.RERANKING else None
    for given, judged in itertools.product(first, documents):
        data = Retrieval(
            "mine",
            {"q": "query"},
            documents,
            {"test": {"q": {judged: 1}}},
            candidates=candidates,
        )
        measured = kind.measure(None, data, vectors, "mteb-v2", 0, nobody, similarity=given)
        (main,) = (score.score for score in measured.scores if score.main)
        assert (main == 100) == (judged == first[given])


# --- an index with lists ---


RANDOM = np.random.default_rng(6)
CENTRES = RANDOM.normal(size=(50, 16))
CLUSTERED = (CENTRES[RANDOM.integers(0, 50, 4000)] + 0.7 * RANDOM.normal(size=(4000, 16))).astype(
    "f4"
)


def rows_at(positions: np.ndarray) -> np.ndarray:
    """The vectors above at length 1."""
    return unit_rows(CLUSTERED[positions])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ann_index.Built]:
    """An index of the vectors above, and what it says of itself."""
    lists = tmp_path_factory.mktemp("index") / "lists.faiss"
    return lists, ann_index.build(CLUSTERED, lists)


def test_its_recall_is_what_it_says(built: tuple[Path, ann_index.Built]) -> None:
    """Over every vector it finds about the share of exact neighbours that it measured on 400."""
    lists, stated = built
    assert stated.recall >= 0.99 and stated.probed < stated.lists == 253
    mapped = ann_index.MappedIndex(lists, rows_at, stated.probed)
    exact = neighbours_of_each(CLUSTERED, 10)[1]
    found = neighbours_of_each(CLUSTERED, 10, mapped)[1]
    assert ann_index.recall(found, exact) == pytest.approx(stated.recall, abs=0.01)
    mapped.index.nprobe = stated.probed * 3 // 4  # no more lists than are needed: each costs time
    fewer = neighbours_of_each(CLUSTERED, 10, mapped)[1]
    assert ann_index.recall(fewer, exact) < ann_index.WANTED_RECALL


def test_cosines_are_those_of_the_vectors(built: tuple[Path, ann_index.Built]) -> None:
    """Not those of the codes: what is found has the flat index's cosine, in its order."""
    scores, ids = ann_index.MappedIndex(built[0], rows_at, 253).search(CLUSTERED[:20], 12)
    expected, places = Index(CLUSTERED).search(CLUSTERED[:20], 12)
    assert ann_index.recall(ids, places) > 0.98
    np.testing.assert_array_equal(ids[:, 0], np.arange(20))
    same = ids == places
    np.testing.assert_allclose(scores[same], expected[same], atol=1e-6)
    assert (np.diff(scores, axis=1) <= 0).all()
    # Among some positions it is exact, however few lists are looked into otherwise.
    mapped = ann_index.MappedIndex(built[0], rows_at, 1)
    queries, among = RANDOM.normal(size=(9, 16)), np.arange(5, 4000, 7)
    scores, ids = mapped.search(queries, 12, among)
    expected, places = Index(CLUSTERED).search(queries, 12, among)
    np.testing.assert_array_equal(ids, places)
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_progress_and_refusals(tmp_path: Path) -> None:
    """Steps are counted to the end; too few vectors and NaN are refused."""
    assert ann_index.recall(np.array([[1, 9], [3, 4]]), np.array([[1, 2], [4, 3]])) == 0.75
    rows = ann_index.mapped_rows(CLUSTERED, tmp_path / "rows.npy")
    assert isinstance(rows, np.memmap) and (rows == unit_rows(CLUSTERED)).all()
    lists, progress = tmp_path / "lists", []
    ann_index.build(CLUSTERED[:300], lists, progress=lambda *at: progress.append(at))
    assert progress == [(done + 1, len(progress)) for done in range(len(progress))]
    for faulty, named in ((CLUSTERED[:99], "100 vectors"), (np.full((300, 16), np.nan), "NaN")):
        with pytest.raises(ValueError, match=named):
            ann_index.build(faulty, lists)
