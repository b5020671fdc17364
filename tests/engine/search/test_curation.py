"""Duplicates, outliers, leaks and typical sentences, by brute force and by hand."""

import re
from unittest.mock import Mock

import networkx
import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import NearestNeighbors

from tests.errors import refused
from theodolite.engine.search import curation, overlap as module
from theodolite.engine.search.overlap import overlap
from theodolite.engine.search.regex import find_matching

RNG = np.random.default_rng(4)


def test_exact_duplicates_by_hand() -> None:
    """Case, spaces, end marks and full-width letters do not count; the largest group is first."""
    sentences = ["A cat.", "A dog", "a  CAT", "Ａ cat!", "a dog?", "a bird", "...", "!"]
    found = curation.exact_duplicates(sentences)
    assert (found.ids.tolist(), found.count) == ([0, 2, 3, 1, 4], 2)
    assert found.group.tolist() == [0, 0, 0, 1, 1]
    exact = [curation.exact_duplicates(of).count for of in (["a", "b"], [])]
    near = [curation.near_duplicates(of, 0.9).count for of in (np.empty((0, 3)), np.ones((1, 3)))]
    assert exact == near == [0, 0]


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
    progress = Mock()
    found = curation.outliers(vectors, 5, progress=progress)
    progress.assert_called_with(200, 200)
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
    columns = [of.tolist() for of in (found.ids, found.twins, found.exact)]
    assert columns == [[0, 3, 1], [0, 2, 1], [True, True, False]]
    np.testing.assert_allclose(found.cosines, [1 / 1.01**0.5, 0, 1 / 1.01**0.5], atol=1e-6)
    words, rows = [*map(str, range(99))], RNG.normal(size=(99, 300)).astype(np.float32)
    assert curation.leaks(words, rows, words, rows, 0.9).cosines.max() <= 1.0
    assert curation.exact_twins(["?!", "...", "a"], ["A.", "..."]).tolist() == [-1, 1, 0]


# --- texts of a test in a training set ---


TRAINED = [
    "A man is playing a guitar on the stage.",
    "Two dogs run through the high grass near the river",
    "Zwei Hunde rennen am Fluss durch das hohe Gras.",
    "两只狗在河边的高草丛中奔跑",
    "no",
    "",
]


def sets(text: str) -> set[str]:
    """The 5-grams of a text, the plain way."""
    letters = re.sub(r"[\W_]+", "", curation.plain_text(text))
    return {letters[i : i + 5] for i in range(len(letters) - 4)}


def test_word_for_word_but_for_case_spaces_and_end_marks() -> None:
    """They come first."""
    found = overlap(["a man  is playing a guitar on the Stage", "something else", "NO!"], TRAINED)
    assert found.ids.tolist() == [0, 2] and found.twins.tolist() == [0, 4]
    assert found.exact.all() and (found.resemblance == 1).all()
    assert (found.tested, found.trained) == (3, 6)
    # As tokenised copies of data sets have them.
    found = overlap(["it 's , in a word , fine ."], ["It's, in a word, fine"])
    assert found.resemblance.tolist() == [1.0] and not found.exact[0]
    for tested, trained in (([], TRAINED), (TRAINED, []), (["hi"], ["ho"])):  # no texts, no grams
        assert not len(overlap(tested, trained).ids)
    progress = Mock()
    overlap(["new sentence"], TRAINED, progress=progress)
    progress.assert_called_once_with(6, 6)


@pytest.mark.parametrize("least", [0.3, 0.5, 0.8, 1.0])
def test_none_is_missed(
    least: float, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Against scipy's resemblance of all pairs, whatever the threshold."""
    for limit, some in {"_CHARACTERS": 400, "_TESTED": 300, "_PAIRS": 7}.items():
        monkeypatch.setattr(module, limit, some)  # several blocks
    words = ["".join(rng.choice(list("abcd"), 3)) for _ in range(12)]
    draw = [" ".join(rng.choice(words, rng.integers(1, 9))) for _ in range(160)]
    grams = CountVectorizer(analyzer=sets).fit_transform(draw).toarray() > 0
    alike = 1 - cdist(grams[:60], grams[60:], "jaccard")
    alike[~grams[:60].any(axis=1)] = 0  # no grams are like none
    plain = np.array([*map(curation.plain_text, draw)])
    alike[plain[:60, None] == plain[60:]] = 1
    found = overlap(draw[:60], draw[60:], least)
    assert sorted(found.ids) == np.flatnonzero(alike.max(axis=1) >= least).tolist()
    assert len(found.ids) > 3
    assert found.resemblance == pytest.approx(alike.max(axis=1)[found.ids])
    near = found.ids[~found.exact]
    np.testing.assert_array_equal(found.twins[~found.exact], alike[near].argmax(axis=1))


# --- patterns ---


SENTENCES = ["A boat.", "Two BOATS at sea", "no ship", "", "\ud800 boat", "é 4 %s {x}"]


@pytest.mark.parametrize("pattern", [r"boats?\b", r"^\w+ \d", r"$", r"[^a-z. ]{2}", r"\{x\}"])
def test_it_finds_what_re_finds(pattern: str) -> None:
    compiled = re.compile(pattern, re.IGNORECASE)
    expected = [(i, *m.span()) for i, s in enumerate(SENTENCES) if (m := compiled.search(s))]
    assert find_matching(pattern, SENTENCES) == expected


@pytest.mark.parametrize(
    ("pattern", "code", "named"),
    [
        *((p, "damaged", repr(p)) for p in ("(a", "[", "*", "(?P<x", "a{2,1}")),
        ("", "missing", 1000),
        ("a" * 1001, "too-large", 1001),
        (r"(a+)+$", "too-large", 1),  # would take years
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused(pattern: str, code, named: object) -> None:
    with refused(code, named):
        find_matching(pattern, ["a" * 50 + "b"], seconds=1.0)
