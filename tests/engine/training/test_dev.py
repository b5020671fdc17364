"""The look at a scored task during training."""

import numpy as np
import pytest
from scipy.spatial.distance import cosine
from scipy.stats import bootstrap, spearmanr

from tests.errors import refused
from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.datasets.types import LabelledSentences, PairPart, ScoredPairs
from theodolite.engine.training.dev import DevSet


def shelf(dataset) -> Catalog:
    """A catalog whose data set `mine` is this one."""
    catalog, load = Catalog(), Catalog().load
    catalog.load = lambda name: dataset if name == "mine" else load(name)
    return catalog


def scored(dev, vectors):
    """Its scores by a model that looks vectors up, each once."""
    assert len(set(dev.sentences)) == len(dev.sentences)
    return dev.score(np.array([vectors[s] for s in dev.sentences], np.float32))


def part(*rows):
    """Pairs of (left, right, gold)."""
    left, right, gold = zip(*rows, strict=True)
    return PairPart(left, right, np.array(gold, np.float64))


def opened(parts, parts_are="splits", scale=(0.0, 5.0)):
    """A dev set of these parts."""
    return DevSet.open("mine", shelf(ScoredPairs("mine", parts, parts_are, scale)))


TRAIN = part(("x", "y", 1.0), ("x", "z", 2.0))
DEV = part(("a", "b", 4.5), ("c", "d", 4.0), ("a", "d", 1.0), ("b", "c", 0.0))


def test_it_is_the_dev_split_or_everything_where_there_is_none():
    dev = opened({"train": TRAIN, "dev": DEV})
    assert (set(dev.sentences), dev.gold.tolist()) == (set("abcd"), [4.5, 4.0, 1.0, 0.0])
    assert len(opened({"all": DEV}).gold) == 4
    assert len(opened({"dev": DEV, "more": TRAIN}, "subsets").gold) == 6
    by_task = DevSet.open("StarterSTS", Catalog())
    assert by_task.sentences == DevSet.open("starter-pairs", Catalog()).sentences


def test_the_score_is_spearman_of_cosine_times_100():
    rng = np.random.default_rng(1)
    rows = [(f"l{i}", f"r{i}", float(i % 7)) for i in range(50)]
    vectors = {s: rng.standard_normal(8) for row in rows for s in row[:2]}
    cosines = [1 - cosine(vectors[left], vectors[right]) for left, right, _ in rows]
    expected = spearmanr(cosines, [gold for _, _, gold in rows]).statistic
    score = scored(opened({"dev": part(*rows)}), vectors)
    assert score.spearman == pytest.approx(100 * expected, abs=1e-6)


def test_its_interval_is_the_bootstraps():
    """Scipy's percentiles over pairs; ours are wider by what Student's t asks for."""
    rng = np.random.default_rng(1)
    gold = np.repeat(np.arange(6.0), 50)
    rows = [(f"l{i}", f"r{i}", grade) for i, grade in enumerate(gold)]
    vectors = {f"l{i}": np.array([1.0, 0.0]) for i in range(300)}
    angles = rng.normal(3.0 - gold / 2, 1.0)
    vectors |= {f"r{i}": np.array([np.cos(a), np.sin(a)]) for i, a in enumerate(angles)}
    score = scored(opened({"dev": part(*rows)}), vectors)

    def statistic(x, y):
        return 100 * spearmanr(x, y).statistic

    theirs = bootstrap(
        (np.cos(angles), gold),
        statistic,
        paired=True,
        vectorized=False,
        n_resamples=999,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    assert (score.low, score.high) == (
        pytest.approx(theirs.low, abs=1),
        pytest.approx(theirs.high, abs=1),
    )
    assert score.low < score.spearman < score.high


def test_alignment_is_over_pairs_above_four_and_uniformity_over_all_sentences():
    corners = {"a": [1, 0], "b": [0, 3], "c": [-2, 0], "d": [0, -1]}
    score = scored(opened({"dev": DEV}), corners)
    # Only a and b have more than 4: a quarter of the circle, of squared length 2.
    assert score.alignment == pytest.approx(2.0)
    # Left a, c, a, b and right b, d, d, c are each corner twice: of 28 pairs, 4 are the same point,
    # 16 lie a quarter apart (squared 2) and 8 opposite (squared 4).
    assert score.uniformity == pytest.approx(np.log((4 + 16 * np.exp(-4) + 8 * np.exp(-8)) / 28))


@pytest.mark.parametrize(
    ("golds", "scale", "positive"),
    [
        ((0.81, 0.8, 0.1), (0.0, 1.0), [True, False, False]),
        ((3.0, 3.0, 1.0), (0.0, 5.0), [True, True, False]),  # none above four fifths
    ],
)
def test_positive_are_pairs_above_four_fifths_of_the_scale_or_the_highest(golds, scale, positive):
    rows = [(*pair, gold) for pair, gold in zip(("ab", "cd", "ad"), golds, strict=True)]
    assert opened({"dev": part(*rows)}, scale=scale).positive.tolist() == positive


def test_vectors_all_the_same_or_not_finite_order_nothing():
    assert scored(opened({"dev": DEV}), {s: [1.0, 1.0] for s in "abcd"}).spearman == 0.0
    assert np.isnan(scored(opened({"dev": DEV}), {s: [np.nan, 1.0] for s in "abcd"})[:3]).all()


@pytest.mark.parametrize(
    ("name", "dataset", "code"),
    [
        (
            "mine",
            ScoredPairs("mine", {"dev": part(("a", "b", 3.0), ("c", "d", 3.0))}, "splits"),
            "too-few",
        ),
        ("mine", LabelledSentences("mine", ["a", "b"], ["x", "y"]), "wrong-kind"),
        ("nowhere", None, "unknown"),
    ],
)
def test_what_cannot_choose_a_checkpoint_is_refused(name, dataset, code):
    with refused(code, name):
        DevSet.open(name, shelf(dataset))
