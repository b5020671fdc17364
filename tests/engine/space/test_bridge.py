"""Maps between spaces, against scipy and scikit-learn, and the verdict on them."""

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from sklearn.linear_model import Ridge

from theodolite.engine.search.index import unit_rows
from theodolite.engine.space import bridge


@pytest.fixture(scope="module")
def spaces() -> tuple[np.ndarray, np.ndarray]:
    """500 points, and what a linear map with noise makes of them in fewer dimensions."""
    rng = np.random.default_rng(0)
    new = rng.standard_normal((500, 12)).astype(np.float32)
    old = new @ rng.standard_normal((12, 8)) + 0.1 * rng.standard_normal((500, 8))
    return new, old.astype(np.float32)


def test_a_rotation_is_found() -> None:
    rng = np.random.default_rng(0)
    new = rng.standard_normal((300, 8)).astype(np.float32)
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    every = bridge.fit(new, (new @ turn).astype(np.float32))
    assert {one.name for one in every} == {"procrustes", "ridge", "low-rank"}
    (best,) = [one for one in every if one.name == "procrustes"]
    assert best.cosine == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(unit_rows(best(new)), unit_rows(new @ turn), atol=0.02)


def test_the_maps_are_those_of_scipy_and_scikit_learn(
    spaces: tuple[np.ndarray, np.ndarray],
) -> None:
    x, y = (unit_rows(side).astype(float) for side in spaces)
    every = list(bridge._matrices(x, y))
    centred = x - x.mean(axis=0), y - y.mean(axis=0)
    wide = np.hstack([centred[1], np.zeros((len(y), 4))])
    turn, strengths = orthogonal_procrustes(centred[0], wide)
    scale = strengths / (centred[0] ** 2).sum()
    np.testing.assert_allclose(every[0][1], scale * turn[:, :8], atol=1e-6)
    ridges = [matrix for name, matrix in every if name == "ridge"]
    for ridge, matrix in zip(bridge.RIDGES, ridges, strict=True):
        alpha = ridge * (centred[0] ** 2).sum() / 12
        theirs = Ridge(alpha=alpha).fit(x, y).coef_.T
        np.testing.assert_allclose(matrix, theirs, atol=1e-6)
    ranks = {
        np.linalg.matrix_rank(matrix, tol=1e-8) for name, matrix in every if name == "low-rank"
    }
    assert ranks == {1, 2, 4}


def test_the_best_map_comes_first(spaces: tuple[np.ndarray, np.ndarray]) -> None:
    best, *_, worst = bridge.fit(*spaces)
    assert best.name == "ridge" and best.cosine > worst.cosine
    assert best(spaces[0]).shape == (500, 8)


@pytest.mark.parametrize(
    ("keep", "bridged", "verdict"),
    [(0.9, 0.9, "keep"), (0.5, 0.9, "bridge"), (0.5, 0.6, "re-encode"), (0.899, 0.5, "keep")],
)
def test_the_cheapest_that_is_not_worse(keep: float, bridged: float, verdict: str) -> None:
    noise = 0.05 * np.random.default_rng(0).standard_normal((3, 300))
    shares = (
        np.full(300, mean) + own for mean, own in zip((keep, bridged, 0.9), noise, strict=True)
    )
    assert bridge.verdict(*shares, least=1.0) == verdict
