"""Duplicates, outliers, leaks and typical sentences, by brute force and by hand."""

import networkx
import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from theodolite.engine.search import curation

RNG = np.random.default_rng(4)


def test_exact_duplicates_by_hand() -> None:
    """Case, spaces, end marks and full-width letters do not count; the largest group is first."""
    sentences = ["A cat.", "A dog", "a  CAT", "Ａ cat!", "a dog?", "a bird", "...", "!"]
    found = curation.exact_duplicates(sentences)
    assert (found.ids.tolist(), found.count) == ([0, 2, 3, 1, 4], 2)
    assert found.group.tolist() == [0, 0, 0, 1, 1]
    for none in (["a", "b"], []):
        assert curation.exact_duplicates(none).count == 0
    for few in (np.empty((0, 3)), np.ones((1, 3))):
        assert curation.near_duplicates(few, 0.9).count == 0


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.95])
def test_near_duplicates_are_the_components_of_all_pairs(threshold: float) -> None:
    """By networkx on the whole matrix of cosines."""
    centres = RNG.normal(size=(40, 8))
    vectors = centres[RNG.integers(0, 40, 120)] + 0.25 * RNG.normal(size=(120, 8))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -1)
    graph = networkx.Graph(np.argwhere(cosines >= threshold).tolist())
    expected = {frozenset(part) for part in networkx.connected_components(graph)}
    found = curation.near_duplicates(vectors, threshold)
    groups = {frozenset(found.ids[found.group == g].tolist()) for g in range(found.count)}
    assert groups == expected
    np.testing.assert_allclose(found.closest, cosines.max(axis=1)[found.ids], atol=1e-5)
    # Equal vectors, a hundred of each: more than the neighbours that are looked at.
    equal = np.repeat(RNG.normal(size=(2, 50)), 100, axis=0).astype(np.float32)
    found = curation.near_duplicates(equal, 1.0)
    assert len(found.ids) == 200 and (found.closest > 0.999).all()


def test_outliers_are_those_far_from_their_nearest() -> None:
    """The mean cosine distance of scikit-learn's neighbours, in its order."""
    vectors = RNG.normal(size=(200, 10)) + 1.0
    distances, _ = NearestNeighbors(n_neighbors=5, metric="cosine").fit(vectors).kneighbors()
    expected = distances.mean(axis=1)
    progress = []
    found = curation.outliers(vectors, 5, progress=lambda *at: progress.append(at))
    assert progress[-1] == (200, 200)
    assert found.ids.tolist() == np.argsort(-expected).tolist()
    np.testing.assert_allclose(found.scores, 1 - expected[found.ids], atol=1e-5)


def test_typical_by_hand() -> None:
    """Two along x, one along y, one against x: the mean is (1, 1) / 4."""
    found = curation.typical(np.array([[2.0, 0.0], [0.5, 0.0], [0.0, 1.0], [-3.0, 0.0]]))
    assert found.ids.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(found.scores, np.array([1, 1, 1, -1]) / 2**0.5, atol=1e-6)


def test_leaks_by_hand() -> None:
    """The same words whatever the vectors, near vectors whatever the words, exact ones first."""
    seen, new = ["A cat.", "A dog.", "A hen."], ["a cat", "The dog", "Snow", "a hen"]
    seen_vectors = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    new_vectors = np.array([[1.0, 0.1], [0.1, 1.0], [-1.0, -1.0], [-1.0, 1.0]])
    found = curation.leaks(seen, seen_vectors, new, new_vectors, 0.9)
    columns = (found.ids.tolist(), found.twins.tolist(), found.exact.tolist())
    assert columns == ([0, 3, 1], [0, 2, 1], [True, True, False])
    np.testing.assert_allclose(found.cosines, [1 / 1.01**0.5, 0, 1 / 1.01**0.5], atol=1e-6)
    assert curation.exact_twins(["?!", "...", "a"], ["A.", "..."]).tolist() == [-1, 1, 0]
