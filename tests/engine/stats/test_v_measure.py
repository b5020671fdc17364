"""V-measure by example and adjusted mutual information, as scikit-learn has them."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score, v_measure_score

from theodolite.engine.stats.bootstrap import Sample, bootstrap
from theodolite.engine.stats.v_measure import adjusted_mutual_information, v_measure_parts


def test_the_mean_of_the_parts_is_v_measure() -> None:
    """Of examples that count several times or not at all."""
    rng = np.random.default_rng(2)
    labels, times = rng.integers(0, 8, 500), rng.integers(0, 4, 500)
    clusters = (labels + rng.integers(0, 3, 500)) % 8
    expected = v_measure_score(np.repeat(labels, times), np.repeat(clusters, times))
    assert v_measure_parts(labels, clusters, times).mean() == pytest.approx(expected)
    alike = v_measure_parts(np.zeros(4, int), np.zeros(4, int), np.ones(4))
    assert alike.tolist() == [1.0] * 4, "one label in one cluster"


def test_the_parts_move_as_v_measure_does() -> None:
    """Leaving out one example in a hundred moves both alike; the plain bootstrap would not do."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 5, 3000)
    clusters = np.where(rng.random(3000) < 0.8, labels, rng.integers(0, 5, 3000))
    parts = v_measure_parts(labels, clusters, np.ones(3000))
    whole, moved, guessed = v_measure_score(labels, clusters), [], []
    for _ in range(30):
        kept = rng.random(3000) > 0.01
        moved.append(v_measure_score(labels[kept], clusters[kept]) - whole)
        guessed.append(parts[kept].mean() - whole)
    assert np.corrcoef(moved, guessed)[0, 1] > 0.99
    assert np.std(guessed) == pytest.approx(np.std(moved), rel=0.1)
    spread = bootstrap(Sample(parts), 300).std()
    assert spread == pytest.approx(100 * parts.std() / np.sqrt(3000), rel=0.15)


@pytest.mark.parametrize(
    ("n", "labels", "clusters"),
    [(4000, 2, 2), (3000, 3, 40), (2000, 90, 90), (60, 30, 25), (5, 5, 5), (50, 1, 4), (9, 1, 1)],
)
@pytest.mark.parametrize("agreement", [0.0, 0.7, 1.0])
def test_adjusted_mutual_information(n: int, labels: int, clusters: int, agreement: float) -> None:
    """Large and small groups, some in one, chance and agreement; some count several times."""
    rng = np.random.default_rng(4)
    right, times = rng.integers(0, labels, n), rng.integers(0, 4, n)
    found = np.where(rng.random(n) < agreement, right % clusters, rng.integers(0, clusters, n))
    expected = adjusted_mutual_info_score(np.repeat(right, times), np.repeat(found, times))
    assert adjusted_mutual_information(right, found, times) == pytest.approx(expected, abs=1e-9)
