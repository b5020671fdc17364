"""Names of groups: class-based TF-IDF against numbers worked by hand, stop words by counting."""

import numpy as np
import pytest

from theodolite.engine.space.topics import RegionWords, class_tfidf, distinct, groups, regions


def test_class_tfidf_is_that_of_a_table_worked_by_hand() -> None:
    """Two groups, three words.

    The groups have 4 and 6 words, on average A = 5. The words occur f = 5, 3 and 2 times. Their
    factors are log(1 + 5/5) = 0.693147, log(1 + 5/3) = 0.980829 and log(1 + 5/2) = 1.252763.
    Group 0 has shares 3/4, 1/4, 0; group 1 has 2/6, 2/6, 2/6.
    """
    found = class_tfidf(np.array([[3, 1, 0], [2, 2, 2]])).toarray()
    expected = [[0.519860, 0.245207, 0.0], [0.231049, 0.326943, 0.417588]]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_group_is_named_by_what_it_alone_has() -> None:
    """A word of all groups weighs less than one of a single group, however often it occurs."""
    boats, breads = ["the boat sails", "the boat sinks", "a boat"], ["the bread bakes", "the bread"]
    words = RegionWords([*boats, *breads, "bread"])
    assert words.names(np.array([0, 0, 0, 1, 1, 1]), 2, most=1) == ["boat", "bread"]


def test_words_that_are_everywhere_name_nothing() -> None:
    """Six groups that share one word: it is a stop word, in a language nobody gave a list of."""
    sentences = [f"zol {word} {word}e" for word in ("ana", "bebe", "cici", "dodo", "fufu", "gaga")]
    of, words = np.arange(6), RegionWords(sentences)
    stop = words.everywhere(of, 6)
    assert stop.sum() == 1
    assert not any("zol" in name for name in words.names(of, 6, stop))
    # A word of a third of the groups can still be a topic: of twelve of ten, four are about boats
    # alone. Dealt out blindly, 40 of 120 would be in 12 (1 - (2/3)^10) = 11.8 groups, not in 4.
    words = RegionWords(["boat zol sea"] * 40 + ["bread zol salt"] * 40 + ["star zol moon"] * 40)
    assert words.everywhere(np.repeat(np.arange(12), 10), 12).sum() == 1


def test_a_word_of_one_sentence_names_a_large_group_only_for_want_of_another() -> None:
    """Rare words weigh most by the formula, and say least."""
    words = RegionWords(["rain aardvark", "rain bison", "rain cat", "rain dog", "snow"])
    assert words.names(np.array([0, 0, 0, 0, 1]), 2) == ["rain", "snow"]
    words = RegionWords(["aardvark", "bison", "cat", "dog"])
    assert words.names(np.zeros(4, int), 1) == ["aardvark, bison, cat"]


@pytest.mark.parametrize("sentences", [["", ""], ["!", "12"]])
def test_sentences_without_words_have_names_all_the_same(sentences: list[str]) -> None:
    """By their number."""
    assert RegionWords(sentences).names(np.array([0, 1]), 2) == ["", ""]
    assert distinct(["", ""]) == ["region 1", "region 2"]
    assert distinct(["a", "b", "a"]) == ["a (1)", "b", "a (2)"]


def test_groups_are_numbered_by_size() -> None:
    """Three heaps of 60, 30 and 10, found and ordered."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [60, 30, 10])
    rows = np.array([[0, 0], [20, 0], [0, 20]])[truth] + rng.normal(size=(100, 2))
    np.testing.assert_array_equal(groups(rows.astype(np.float32), 3), truth)
    assert groups(np.ones((20, 2), np.float32), 5).max() == 0  # identical points are one


def test_regions_of_a_plane_at_levels() -> None:
    """Three heaps apart: the one level that knows three names each after its own word."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [50, 40, 30])
    centres = np.array([[0, 0], [50, 0], [0, 50]], np.float32)
    points = (centres[truth] + rng.normal(size=(120, 2))).astype(np.float32)
    own = ("boat", "bread", "star")
    words = RegionWords([f"{own[t]} {own[t]}s and more" for t in truth])
    coarse, fine = regions(points, words, levels=(3, 12))
    assert [name.split(",")[0] for name in coarse.names] == list(own)
    assert coarse.sizes.tolist() == [50, 40, 30]
    np.testing.assert_allclose(coarse.centres, centres, atol=1)
    assert len(set(fine.names)) == len(fine.names) > 3
