"""The index with lists: what it finds and what it says of itself."""

from pathlib import Path

import numpy as np
import pytest

from theodolite.engine.search import ann_index
from theodolite.engine.search.index import Index, neighbours_of_each, unit_rows

RNG = np.random.default_rng(6)
CENTRES = RNG.normal(size=(50, 16))
VECTORS = (CENTRES[RNG.integers(0, 50, 4000)] + 0.7 * RNG.normal(size=(4000, 16))).astype("f4")


def rows_at(positions: np.ndarray) -> np.ndarray:
    """The vectors above at length 1."""
    return unit_rows(VECTORS[positions])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ann_index.Built]:
    """An index of the vectors above, and what it says of itself."""
    lists = tmp_path_factory.mktemp("index") / "lists.faiss"
    return lists, ann_index.build(VECTORS, lists)


def test_its_recall_is_what_it_says(built: tuple[Path, ann_index.Built]) -> None:
    """Over every vector it finds about the share of exact neighbours that it measured on 400."""
    lists, stated = built
    assert stated.recall >= 0.99 and stated.probed < stated.lists == 253
    mapped = ann_index.MappedIndex(lists, rows_at, stated.probed)
    exact = neighbours_of_each(VECTORS, 10)[1]
    found = neighbours_of_each(VECTORS, 10, mapped)[1]
    assert ann_index.recall(found, exact) == pytest.approx(stated.recall, abs=0.01)
    mapped.index.nprobe = stated.probed * 3 // 4  # no more lists than are needed: each costs time
    fewer = neighbours_of_each(VECTORS, 10, mapped)[1]
    assert ann_index.recall(fewer, exact) < ann_index.WANTED_RECALL


def test_cosines_are_those_of_the_vectors(built: tuple[Path, ann_index.Built]) -> None:
    """Not those of the codes: what is found has the flat index's cosine, in its order."""
    scores, ids = ann_index.MappedIndex(built[0], rows_at, 253).search(VECTORS[:20], 12)
    expected, places = Index(VECTORS).search(VECTORS[:20], 12)
    assert ann_index.recall(ids, places) > 0.98
    np.testing.assert_array_equal(ids[:, 0], np.arange(20))
    same = ids == places
    np.testing.assert_allclose(scores[same], expected[same], atol=1e-6)
    assert (np.diff(scores, axis=1) <= 0).all()


def test_among_some_positions_it_is_exact(built: tuple[Path, ann_index.Built]) -> None:
    """Positions and cosines of the flat index, however few lists are looked into otherwise."""
    mapped = ann_index.MappedIndex(built[0], rows_at, 1)
    queries, among = RNG.normal(size=(9, 16)), np.arange(5, 4000, 7)
    scores, ids = mapped.search(queries, 12, among)
    expected, places = Index(VECTORS).search(queries, 12, among)
    np.testing.assert_array_equal(ids, places)
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_progress_and_refusals(tmp_path: Path) -> None:
    """Steps are counted to the end; too few vectors and NaN are refused."""
    assert ann_index.recall(np.array([[1, 9], [3, 4]]), np.array([[1, 2], [4, 3]])) == 0.75
    rows = ann_index.mapped_rows(VECTORS, tmp_path / "rows.npy")
    assert isinstance(rows, np.memmap) and (rows == unit_rows(VECTORS)).all()
    lists, progress = tmp_path / "lists", []
    ann_index.build(VECTORS[:300], lists, progress=lambda *at: progress.append(at))
    assert progress == [(done + 1, len(progress)) for done in range(len(progress))]
    for faulty, named in ((VECTORS[:99], "100 vectors"), (np.full((300, 16), np.nan), "NaN")):
        with pytest.raises(ValueError, match=named):
            ann_index.build(faulty, lists)
