"""Two spaces compared: against scipy, Gram matrices, sets counted one by one, numbers by hand."""

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.spatial import procrustes as scipy_procrustes
from scipy.spatial.distance import pdist, squareform
from sklearn.linear_model import Ridge
from sklearn.neighbors import NearestNeighbors

from theodolite.engine.encoders.steps import random_projection
from theodolite.engine.search.index import unit_rows
from theodolite.engine.space import bridge, compare as spaces


def cloud(n: int = 120, dim: int = 12, seed: int = 0) -> np.ndarray:
    normal = np.random.default_rng(seed).normal(size=(n, dim))
    return (normal * np.linspace(3, 0.2, dim) + 0.5).astype(np.float32)


def test_neighbours_are_those_of_scikit_learn_by_cosine() -> None:
    """Each point's own row is left out."""
    first, second, progress = cloud(), cloud(dim=7, seed=5), []
    found = spaces.change(first, second, 6, tick=progress.append)
    assert progress == sorted(progress) and progress[-1] == 1
    for row, (a, b) in enumerate(zip(found.first.tolist(), found.second.tolist(), strict=True)):
        assert found.jaccard[row] == pytest.approx(len({*a} & {*b}) / len({*a} | {*b}))
    for k in (0, 120):  # neighbours are others
        with pytest.raises(ValueError, match="k < n"):
            spaces.change(first, second, k)
    for vectors, ours in ((first, found.first), (second, found.second)):
        oracle = NearestNeighbors(n_neighbors=6, metric="cosine").fit(vectors)
        np.testing.assert_array_equal(ours, oracle.kneighbors(return_distance=False))


def test_rank_biased_overlap_is_the_endless_sum_with_the_last_agreement_going_on(
    rng: np.random.Generator,
) -> None:
    """Its definition over infinitely many depths, summed until nothing is added.

    By hand, (a, b, c) against (b, a, d) with p = 1/2: shared at depths 1, 2, 3 are 0, 2, 2, so
    agreement is 0, 1, 2/3. The sum 1/2 (0 + 1/2 + 2/3 / 4) is 1/3, the tail 2/3 / 8 is 1/12.
    """
    same, backwards, other = (np.array([ids]) for ids in ([1, 2, 3], [3, 2, 1], [2, 1, 4]))
    assert spaces.rank_biased_overlap(same, other, 0.5) == pytest.approx([1 / 3 + 1 / 12])
    assert spaces.jaccard(same, backwards) == spaces.rank_biased_overlap(same, same) == 1
    assert spaces.jaccard(same, 9 + same) == spaces.rank_biased_overlap(same, 9 + same) == 0
    first, second = (np.array([rng.permutation(14)[:9] for _ in range(20)]) for _ in range(2))
    ours = spaces.rank_biased_overlap(first, second, 0.8)
    for overlap, one, other in zip(ours, first.tolist(), second.tolist(), strict=True):
        agreement = [len({*one[:depth]} & {*other[:depth]}) / depth for depth in range(1, 10)]
        endless = agreement + 400 * agreement[-1:]
        assert overlap == pytest.approx(sum(0.2 * 0.8**i * at for i, at in enumerate(endless)))


def test_blocks_change_nothing_and_neither_do_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is worked off in parts is what is worked off at once, and a sample a part of it."""
    first, second = cloud(), cloud(dim=5, seed=2)
    whole = spaces.change(first, second, 7)
    numbers = spaces.figures(first, second, whole)
    some = spaces.change(first, second, 7, sample=30)  # each still measured against all others
    assert len(some.looked_at) == 30
    np.testing.assert_array_equal(some.overlap, whole.overlap[some.looked_at])
    monkeypatch.setattr(spaces, "_ROWS", 11)
    monkeypatch.setattr(spaces, "_CELLS", 100)
    parts = spaces.change(first, second, 7)
    for name in ("overlap", "jaccard"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    assert spaces.figures(first, second, parts) == pytest.approx(numbers)


def test_the_most_changed_come_first() -> None:
    """One point is moved across; it changes more than those it left.

    Of forty times the same sentence vector every point still has k others, a zero row too.
    """
    first, second = cloud(), cloud()
    second[17] *= -1
    found = spaces.change(first, second, 5)
    order = found.most(len(first))
    overlap, gap = found.overlap[order], found.gap[order]
    assert found.looked_at[order[0]] == 17
    assert (np.diff(overlap) >= 0).all() and (np.diff(gap[overlap == 0]) <= 0).all()
    same = np.ones((40, 4), np.float32)
    same[3] = 0
    found = spaces.change(same, same, 6)
    assert (found.jaccard == 1).all() and (found.first != found.looked_at[:, None]).all()


def test_cka_is_that_of_gram_matrices() -> None:
    """The n x n form with centred kernels (Kornblith et al. 2019, equations 1 to 3)."""
    first, second = cloud(), cloud(dim=7, seed=5)
    centring = np.eye(120) - 1 / 120
    k, m = (centring @ (v.astype(float) @ v.astype(float).T) @ centring for v in (first, second))
    oracle = np.trace(k @ m) / np.sqrt(np.trace(k @ k) * np.trace(m @ m))
    assert spaces.linear_cka(*spaces.products(first, second)) == pytest.approx(oracle)
    same = np.ones((10, 3))  # nothing varies, so nothing can vary together
    assert np.isnan(spaces.linear_cka(*spaces.products(same, cloud(10))))
    assert np.isnan(spaces.procrustes_residual(*spaces.products(cloud(10), same)))


def test_residual_is_that_of_scipy_with_padding() -> None:
    """The best turn found explicitly; the disparity of `scipy.spatial` is of the same strength."""
    first, second = cloud(dim=9).astype(float), cloud(dim=6, seed=5).astype(float)
    ours = spaces.procrustes_residual(*spaces.products(first, second))
    a, b, disparity = scipy_procrustes(first, np.pad(second, ((0, 0), (0, 3))))
    assert disparity == pytest.approx(1 - (1 - ours / 2) ** 2)
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    turn, strength = orthogonal_procrustes(a, b)
    assert ours == pytest.approx(np.linalg.norm(a @ turn - b) ** 2)
    assert strength == pytest.approx(1 - ours / 2)


def test_twins_are_the_projections_that_specs_name() -> None:
    """`dims:DIM,random` with seeds 0 and 1."""
    vectors = cloud()
    for seed, twin in enumerate(spaces.twins(vectors)):
        oracle = vectors @ random_projection(12, 12, seed).matrix
        np.testing.assert_allclose(twin, oracle, rtol=1e-4, atol=1e-5)


def test_gap_is_the_loss_of_cosine_in_either_space() -> None:
    """By scipy's cosines of all pairs; where the neighbours are the same there is none."""
    first, second = cloud(), cloud(dim=7, seed=5)
    found = spaces.change(first, second, 4)
    losses = []
    for vectors, own, other in (
        (first, found.first, found.second),
        (second, found.second, found.first),
    ):
        every = 1 - pdist(vectors, "cosine")
        near, gone = (np.take_along_axis(squareform(every), ids, axis=1) for ids in (own, other))
        losses.append((near.mean(axis=1) - gone.mean(axis=1)) / every.std())
    assert found.gap == pytest.approx(np.mean(losses, axis=0), rel=0.03)
    assert spaces.change(first, first, 4).gap == pytest.approx(np.zeros(120))


def test_shuffled_rows_share_what_chance_shares() -> None:
    """A neighbour list against a random one: k / (n - 1) of each is shared, by expectation."""
    vectors = cloud(n=1000)
    jaccard = np.array(
        [spaces.change(vectors, spaces.shuffle(vectors, seed), 20).jaccard for seed in range(8)]
    )
    share = 2 * jaccard / (1 + jaccard)  # of a list of k
    assert share.mean() == pytest.approx(20 / 999, rel=0.1)


# --- maps between spaces ---


@pytest.fixture(scope="module")
def pair() -> tuple[np.ndarray, np.ndarray]:
    """500 points, and what a linear map with noise makes of them in fewer dimensions."""
    rng = np.random.default_rng(0)
    new = rng.standard_normal((500, 12)).astype(np.float32)
    old = new @ rng.standard_normal((12, 8)) + 0.1 * rng.standard_normal((500, 8))
    return new, old.astype(np.float32)


def test_the_maps_are_those_of_scipy_and_scikit_learn(
    pair: tuple[np.ndarray, np.ndarray],
) -> None:
    x, y = (unit_rows(side).astype(float) for side in pair)
    every = list(bridge._matrices(x, y))
    centred = x - x.mean(axis=0), y - y.mean(axis=0)
    wide = np.hstack([centred[1], np.zeros((len(y), 4))])
    turn, strengths = orthogonal_procrustes(centred[0], wide)
    scale = strengths / (centred[0] ** 2).sum()
    np.testing.assert_allclose(every[0][1], scale * turn[:, :8], atol=1e-6)
    ours = [matrix for name, matrix in every if name == "ridge"]
    alphas = (ridge * (centred[0] ** 2).sum() / 12 for ridge in bridge.RIDGES)
    theirs = [Ridge(alpha=alpha).fit(x, y).coef_.T for alpha in alphas]
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    low = [matrix for name, matrix in every if name == "low-rank"]
    assert set(np.linalg.matrix_rank(low, tol=1e-8)) == {1, 2, 4}
    best, *_, worst = bridge.fit(*pair)  # the best map comes first
    assert best.name == "ridge" and best.cosine > worst.cosine
    assert best(pair[0]).shape == (500, 8)


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
