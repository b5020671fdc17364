"""Cosines, alignment, uniformity, random pairs, groups and densities against other code."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.spatial import distance
from sklearn.neighbors import NearestNeighbors

from tests.errors import refused
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.types import (
    DatasetInfo,
    Kind,
    LabelledSentences,
    Parallel,
    ParallelPart,
    Sentences,
)
from theodolite.engine.encoders import Encoder
from theodolite.engine.search.index import neighbours_of_each
from theodolite.engine.space import geometry
from theodolite.engine.space.dataset_similarity import (
    Collection,
    all_collections,
    by_label,
    by_language,
    families,
    mean,
    order,
    similarity,
)

RNG = np.random.default_rng(7)


def test_rows_equal_up_to_float32_have_cosine_exactly_one() -> None:
    """So that such pairs are tied, whatever the length of the vector."""
    rows = RNG.normal(size=(5000, 37)).astype(np.float32) * np.float32(1e-3)
    for alike in (rows.copy(), np.nextafter(rows, np.float32(1))):
        assert (geometry.cosine(rows, alike) == 1.0).all()
    # Directions within a thousandth of each other, as an untrained transformer gives them.
    cone = (1 + 1e-3 * RNG.normal(size=(2000, 37))).astype(np.float32)
    assert len(np.unique(geometry.cosine(cone[:1000], cone[1000:]))) > 990
    # A zero vector has cosine zero, as SentEval's nan_to_num gives.
    assert geometry.cosine(np.zeros((1, 3)), np.ones((1, 3))).tolist() == [0.0]


@pytest.mark.parametrize("n", [2, 300, 4500])
def test_uniformity_is_that_of_torch_pdist(n: int) -> None:
    """The formula of Wang and Isola with torch.pdist; 4,500 rows span several blocks.

    The last word is that all is done, and no step goes back.
    """
    progress: list[tuple[int, ...]] = []
    rows = np.random.default_rng(n).normal(size=(n, 6)) + 0.3
    rows[0] = 0.0  # stays at the origin
    unit = torch.nn.functional.normalize(torch.from_numpy(rows), dim=1)
    expected = torch.pdist(unit).pow(2).mul(-2).exp().mean().log().item()
    found = geometry.uniformity(rows, progress=lambda *at: progress.append(at))
    assert found == pytest.approx(expected, rel=1e-10)
    assert progress == sorted(progress) and all(done == of for done, of in progress[-1:])


def test_random_pairs_are_all_pairs() -> None:
    """Mean and deviation over every pair, as scipy's pdist enumerates them, over several blocks."""
    vectors = np.random.default_rng(1).normal(size=(2500, 12)) + 0.5
    cosines = 1 - distance.pdist(vectors, "cosine")
    mean, deviation = found = geometry.random_pairs(vectors)
    assert found == pytest.approx((cosines.mean(), cosines.std()), abs=1e-12)
    # Of a sample never a row with itself, and the mean within five standard errors.
    sample = geometry.sample_pair_cosines(vectors, 20_000)
    assert sample.max() < 1.0 and abs(sample.mean() - mean) < 5 * deviation / math.sqrt(20_000)


@pytest.mark.parametrize(
    ("function", "vectors", "named"),
    [
        (geometry.uniformity, np.ones((1, 3)), "at least 2"),
        (geometry.random_pairs, np.ones((1, 3)), "at least 2"),
        (geometry.isoscore, np.ones((1, 3)), "IsoScore"),
        (geometry.isoscore, np.ones((5, 1)), "IsoScore"),
        (geometry.isoscore, np.ones((5, 3)), "IsoScore"),
    ],
)
def test_what_has_no_spread_is_refused(function, vectors: np.ndarray, named: str) -> None:
    """One vector has no pairs; one dimension, and rows that are all the same, no directions."""
    with pytest.raises(ValueError, match=named):
        function(vectors)


def test_gold_groups_of_figure_4() -> None:
    """Five groups; a border opens the upper one, the top belongs to the last."""
    groups = geometry.gold_groups(np.array([0.0, 0.99, 1.0, 2.5, 3.0, 4.0, 5.0]))
    assert groups.labels == ("0–1", "1–2", "2–3", "3–4", "4–5")
    assert groups.index.tolist() == [0, 0, 1, 2, 3, 4, 4]
    assert geometry.gold_groups(np.array([1.0, 5.0]), (1.0, 5.0)).labels[0] == "1–1.8"
    # The histogram counts every pair once, also cosines of exactly -1 and 1.
    cosines = np.array([-1.0, 0.0, 0.5, 1.0])
    found = geometry.histogram(cosines, geometry.gold_groups(np.array([0.0, 5.0, 5.0, 2.0])))
    assert [sum(group) for group in found["counts"]] == [1, 0, 1, 0, 2]


@pytest.mark.parametrize("n", [2, 50, 5000])
def test_density_is_that_of_scipy(n: int) -> None:
    """Gaussian kernels with Scott's bandwidth, to one per cent of the peak."""
    values = np.random.default_rng(n).normal(0.3, 0.2, size=n)
    grid = np.linspace(-1, 1.5, 400)
    expected = stats.gaussian_kde(values)(grid)
    assert geometry.density(values, grid) == pytest.approx(expected, abs=0.01 * expected.max())
    # Equal values are a spike that still integrates to one, and nothing is zeros.
    spike = geometry.density(np.full(n, 0.25), grid)
    assert np.trapezoid(spike, grid) == pytest.approx(1, abs=0.01)
    assert not geometry.density(np.array([]), grid).any()


@pytest.mark.parametrize("shape", [(9000, 7), (5, 12), (1, 3)])
def test_singular_values_are_those_of_numpy(shape: tuple[int, int]) -> None:
    """Of the whole matrix, though it is taken in blocks of 8,192 rows."""
    vectors = RNG.normal(size=shape) + 0.4
    expected = np.linalg.svd(vectors, compute_uv=False)
    np.testing.assert_allclose(geometry.singular_values(vectors), expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("singular", "rank"),
    [([3.0, 3.0, 3.0, 3.0, 0.0], 4), ([2.0, 0.0], 1), ([2.0, 1.0, 1.0], 2**1.5), ([0.0] * 3, 0)],
)
def test_effective_rank_by_hand(singular: list[float], rank: float) -> None:
    """With k equal values: k. One value: 1. Shares 1/2, 1/4, 1/4: 2 ** 1.5."""
    assert geometry.effective_rank(np.array(singular)) == pytest.approx(rank)


@pytest.mark.parametrize("used", [1, 2, 3, 4])
def test_isoscore_counts_the_directions_used(used: int) -> None:
    """Using k of n directions evenly gives (k - 1) / (n - 1), worked by hand from algorithm 1."""
    axes = np.linalg.qr(RNG.normal(size=(4, 4)))[0][:used]
    cloud = np.concatenate([axes, -axes])
    assert geometry.isoscore(cloud + 7.0) == pytest.approx((used - 1) / 3, abs=1e-9)


def test_hubness_is_the_skew_of_brute_force_counts() -> None:
    """By scipy's skew of how often scikit-learn finds each among the ten nearest."""
    vectors = RNG.normal(size=(400, 30)) + 0.3
    near = NearestNeighbors(n_neighbors=10, metric="cosine").fit(vectors).kneighbors()[1]
    counts = [int((near == i).sum()) for i in range(400)]
    occurrence, skew = geometry.hubness(neighbours_of_each(vectors, 10)[1])
    assert occurrence.tolist() == counts
    assert skew == pytest.approx(stats.skew(counts), rel=1e-12)
    # A ring: everybody is somebody's neighbour equally often.
    ring = np.stack([np.roll(np.arange(6), 1), np.roll(np.arange(6), -1)], axis=1)
    assert geometry.hubness(ring)[1] == 0.0


@pytest.mark.data
@pytest.mark.parametrize(
    "split",
    ["dev", "test", *(pytest.param(part, marks=pytest.mark.long) for part in ("train", "all"))],
)
def test_the_golden_figures_of_sts_b(
    real: Catalog, reference: dict, encoder: Encoder, split: str
) -> None:
    """Alignment, uniformity and singular values of the static encoder, to 1e-6 relative.

    `all` is the whole STS-B: 148,876,140 pairs.
    """
    expected = reference["alignment_uniformity_stsb"][split]
    parts = real.load("STSBenchmark").parts
    chosen = list(parts.values()) if split == "all" else [parts[split]]
    left = encoder.encode([s for part in chosen for s in part.left])
    right = encoder.encode([s for part in chosen for s in part.right])
    gold = np.concatenate([part.gold for part in chosen])
    vectors = np.concatenate([left, right])
    singular = geometry.singular_values(vectors)[:10]
    found = {
        "n_sentences": len(vectors),
        "uniformity_all_sentences": geometry.uniformity(vectors),
        "singular_values_raw_normalised_first10": (singular / singular[0]).tolist(),
    }
    for rows, name in ((gold > 4, "gt4"), (gold >= 4, "ge4")):
        found[f"n_pairs_{name}"] = int(rows.sum())
        found[f"alignment_{name}"] = geometry.alignment(left[rows], right[rows])
    assert found == {name: pytest.approx(expected[name], rel=1e-6) for name in found}


# --- how alike data sets are ---


def info(name: str, kind: Kind, *languages: str) -> DatasetInfo:
    """As a catalog lists one."""
    return DatasetInfo(name, kind, "folder", "", languages=languages)


LISTED = [
    info("STS12", "pairs", "eng"),
    info("xnli/de", "labelled-pairs", "deu"),
    info("xnli/en", "labelled-pairs", "eng"),
    info("tatoeba/afr-eng", "parallel", "afr", "eng"),
    info("tatoeba/ara-eng", "parallel", "ara", "eng"),
    info("plain/abc", "sentences"),
    info("plain/brown", "sentences"),
]


def test_a_family_in_several_languages_is_one_row() -> None:
    """The English one, or the first; what is in one language stands for itself."""
    assert list(families(LISTED)) == ["xnli", "tatoeba"]
    assert [(row.name, row.group) for row in all_collections(LISTED)] == [
        ("STS12", "STS"),
        ("xnli/en", "PairClassification"),
        ("tatoeba/afr-eng", "BitextMining"),
        ("plain/abc", "No task"),
        ("plain/brown", "No task"),
    ]
    # Of parallel sentences each side is a language of its own.
    assert by_language(families(LISTED)["tatoeba"]) == [
        Collection("afr", "tatoeba/afr-eng", "left"),
        Collection("eng", "tatoeba/afr-eng", "right"),
        Collection("ara", "tatoeba/ara-eng", "left"),
    ]


def test_what_is_drawn() -> None:
    """Distinct sentences of the part, the same ones every time, in their order."""
    labelled = LabelledSentences("l", ["a", "b", "a", " ", "c"], ["x", "y", "x", "x", "x"])
    assert Collection("x", "l", "x").sample(labelled) == ["a", "c"]
    assert [row.part for row in by_label(labelled)] == ["x", "y"]
    both = Parallel("p", {"test": ParallelPart.aligned(["eins"], ["one"])}, ("deu", "eng"))
    assert Collection("eng", "p", "right").sample(both) == ["one"]
    many = Sentences("m", [f"{i:03}" for i in range(500)])
    drawn, again, other = (Collection("m", "m").sample(many, 50, seed=seed) for seed in (0, 0, 1))
    assert drawn == sorted(set(drawn)) == again != other and len(drawn) == 50
    with refused("missing", "z"):
        Collection("z", "l", "z").sample(labelled)
    with refused("wrong-kind", "m"):
        by_label(many)


def test_cosines_of_means_by_hand() -> None:
    """Length counts nothing: two of one direction and one of another lie at 26.6 degrees."""
    first, near = mean(np.array([[2.0, 0.0], [5.0, 0.0], [0.0, 1.0]])), 2 / 5**0.5
    assert first == pytest.approx([2 / 3, 1 / 3])
    found = similarity(np.array([first, [1.0, 0.0], [-3.0, 0.0]]))
    assert found == pytest.approx(np.array([[1, near, -near], [near, 1, -1], [-near, -1, 1]]))


def test_the_alike_stand_together() -> None:
    """Whatever the order they come in; within groups where there are some."""
    angles = np.radians([0, 90, 5, 95, 10, 100])
    found = similarity(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    assert sorted(map(sorted, order(found).reshape(2, 3).tolist())) == [[0, 2, 4], [1, 3, 5]]
    grouped = order(found, ["a", "a", "b", "b", "a", "a"]).tolist()
    assert sorted(grouped) == [*range(6)] and set(grouped[:2]) | set(grouped[-2:]) >= {2, 3}
    assert order(np.ones((2, 2))).tolist() == [0, 1]
