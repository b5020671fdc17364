"""The look at a scored task during training."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.datasets.types import LabelledSentences, PairPart, ScoredPairs
from theodolite.engine.errors import UserError
from theodolite.engine.training.dev import DevSet


class Shelf(Catalog):
    """A catalog with one more data set, `mine`."""

    def __init__(self, dataset) -> None:
        super().__init__()
        self.dataset = dataset

    def load(self, name):
        """`mine`, or what is in the catalog."""
        return self.dataset if name == "mine" else super().load(name)


class Table:
    """A model that looks vectors up."""

    def __init__(self, vectors) -> None:
        self.vectors = vectors
        self.asked: list[str] = []

    def encode(self, sentences):
        """One row a sentence."""
        self.asked = list(sentences)
        return np.array([self.vectors[s] for s in sentences], np.float32)


def part(*rows):
    """Pairs of (left, right, gold)."""
    left, right, gold = zip(*rows, strict=True)
    return PairPart(left, right, np.array(gold, np.float64))


def opened(parts, parts_are="splits", scale=(0.0, 5.0)):
    """A dev set of these parts."""
    return DevSet.open("mine", Shelf(ScoredPairs("mine", parts, parts_are, scale)))


TRAIN = part(("x", "y", 1.0), ("x", "z", 2.0))
DEV = part(("a", "b", 4.5), ("c", "d", 4.0), ("a", "d", 1.0), ("b", "c", 0.0))


def test_it_is_the_dev_split_where_there_is_one():
    """It is the dev split where there is one."""
    dev = opened({"train": TRAIN, "dev": DEV})
    assert set(dev.sentences) == set("abcd")
    assert dev.gold.tolist() == [4.5, 4.0, 1.0, 0.0]


def test_it_is_everything_where_there_is_none():
    """It is everything where there is none."""
    assert len(opened({"all": DEV}).gold) == 4
    assert len(opened({"dev": DEV, "more": TRAIN}, "subsets").gold) == 6


def test_the_task_of_a_data_set_names_it_too():
    """The task of a data set names it too."""
    by_task = DevSet.open("StarterSTS", Catalog())
    assert by_task.sentences == DevSet.open("starter-pairs", Catalog()).sentences


def test_a_sentence_is_encoded_once():
    """A sentence is encoded once."""
    rng = np.random.default_rng(0)
    model = Table({s: rng.standard_normal(3) for s in "abcd"})
    opened({"dev": DEV}).score(model)
    assert sorted(model.asked) == list("abcd")


def test_the_score_is_spearman_of_cosine_times_100():
    """The score is spearman of cosine times 100."""
    rng = np.random.default_rng(1)
    rows = [(f"l{i}", f"r{i}", float(i % 7)) for i in range(50)]
    vectors = {s: rng.standard_normal(8) for row in rows for s in row[:2]}
    expected = spearmanr(
        [
            vectors[a] @ vectors[b] / np.linalg.norm(vectors[a]) / np.linalg.norm(vectors[b])
            for a, b, _ in rows
        ],
        [gold for _, _, gold in rows],
    ).statistic
    found = opened({"dev": part(*rows)}).score(Table(vectors)).spearman
    assert found == pytest.approx(100 * expected, abs=1e-6)


def test_alignment_is_over_pairs_above_four_and_uniformity_over_all_sentences():
    """Alignment is over pairs above four and uniformity over all sentences."""
    corners = {"a": [1, 0], "b": [0, 3], "c": [-2, 0], "d": [0, -1]}
    score = opened({"dev": DEV}).score(Table(corners))
    # Only a and b have more than 4: a quarter of the circle, of squared length 2.
    assert score.alignment == pytest.approx(2.0)
    # Left a, c, a, b and right b, d, d, c are each corner twice: of 28 pairs, 4 are the same point,
    # 16 lie a quarter apart (squared 2) and 8 opposite (squared 4).
    mean = (4 + 16 * np.exp(-4) + 8 * np.exp(-8)) / 28
    assert score.uniformity == pytest.approx(np.log(mean))


def test_the_border_follows_the_scale():
    """The border follows the scale."""
    half = [("a", "b", 0.81), ("c", "d", 0.8), ("a", "d", 0.1)]
    assert opened({"dev": part(*half)}, scale=(0.0, 1.0)).positive.tolist() == [True, False, False]


def test_without_a_pair_above_the_border_the_highest_are_positive():
    """Without a pair above the border the highest are positive."""
    low = [("a", "b", 3.0), ("c", "d", 3.0), ("a", "d", 1.0)]
    assert opened({"dev": part(*low)}).positive.tolist() == [True, True, False]


def test_vectors_that_are_all_the_same_order_nothing():
    """Vectors that are all the same order nothing."""
    assert opened({"dev": DEV}).score(Table({s: [1.0, 1.0] for s in "abcd"})).spearman == 0.0


def test_vectors_that_are_no_numbers_have_no_score():
    """Vectors that are no numbers have no score."""
    score = opened({"dev": DEV}).score(Table({s: [np.nan, 1.0] for s in "abcd"}))
    assert np.isnan(score).all()


def test_scores_that_are_all_the_same_are_refused():
    """Scores that are all the same are refused."""
    with pytest.raises(UserError, match="all the same"):
        opened({"dev": part(("a", "b", 3.0), ("c", "d", 3.0))})


def test_a_data_set_without_scores_is_refused():
    """A data set without scores is refused."""
    with pytest.raises(UserError, match="no pairs with scores"):
        DevSet.open("mine", Shelf(LabelledSentences("mine", ["a", "b"], ["x", "y"])))


def test_an_unknown_name_is_refused():
    """An unknown name is refused."""
    with pytest.raises(UserError, match="no data set named 'nowhere'"):
        DevSet.open("nowhere", Catalog())
