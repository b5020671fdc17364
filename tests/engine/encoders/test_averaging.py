"""Averaging methods: hand-worked numbers, the papers' formulas written out, scikit-learn."""

import math
from collections import Counter

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD

from tests.errors import refused
from tests.fakes.folder import files
from theodolite.engine.encoders import gem, load
from theodolite.engine.encoders.averaging import hierarchical
from theodolite.engine.encoders.words import word_vector

RNG = np.random.default_rng(3)
WORDS = ["the", "cat", "sat", "on", "mat", "dog", "ran", "to", "park", "big"]
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(3, 20))) for _ in range(80)]


@pytest.fixture
def file(tmp_path):
    """Vectors of four words in two dimensions, the most frequent first."""
    return files(tmp_path, {"v.txt": "the 1 0\ncat 0 2\nsat -3 1\nmat 5 -8\n"}) / "v.txt"


def datasets(name):
    """Two data sets."""
    return {"one": (TEXTS, "hash-one"), "counted": (["the cat", "the the"], "hash-c")}[name]


def encode(spec, *texts):
    """Vectors of texts under a spec."""
    return load(spec, datasets=datasets).encode(list(texts))


THE, CAT, ZIPF = 0.001 / 0.751, 0.001 / 0.251, (0.001 / 0.481, 0.001 / 0.121)


@pytest.mark.parametrize(
    ("pooling", "texts", "expected"),
    [
        ("avg", ["the cat"], [[0.5, 1]]),
        ("max", ["the sat cat unknown", "unknown", ""], [[1, 2], [0, 0], [0, 0]]),
        # Of cat (0, 2) and sat (-3, 1): the cubes' means are -13.5 and 4.5.
        (
            "pmean",
            ["cat sat"],
            [[-1.5, 1.5, -(13.5 ** (1 / 3)), 4.5 ** (1 / 3), 0, 2, -3, 1]],
        ),
        # Windows of two: the cat (0.5, 1), cat sat (-1.5, 1.5), sat mat (1, -3.5).
        ("hier&window=2", ["the cat sat mat", "mat"], [[1, 1.5], [5, -8]]),
        # In "the cat", "the the": p(the) = 3/4, p(cat) = 1/4, and sat does not occur.
        ("sif&data=counted", ["the cat sat"], [[(THE - 3) / 3, (2 * CAT + 1) / 3]]),
        # Zipf's law of four words: p(the) = 1 / (1 + 1/2 + 1/3 + 1/4) = 12/25, p(mat) = 3/25.
        ("sif", ["the", "mat"], [[ZIPF[0], 0], [5 * ZIPF[1], -8 * ZIPF[1]]]),
    ],
)
def test_poolings_by_hand(file, pooling, texts, expected):
    spec = f"words:{file}?pooling={pooling}"
    np.testing.assert_allclose(encode(spec, *texts), expected, 1e-6)
    assert load(spec, datasets=datasets).dim == len(expected[0])
    if pooling == "avg":  # the default: cached vectors are shared
        assert load(spec).fingerprint == load(f"words:{file}").fingerprint


def test_hierarchical_takes_windows_of_five():
    """Of fewer words it is the mean."""
    x = RNG.standard_normal((9, 4))
    direct = np.max([x[i : i + 5].mean(0) for i in range(5)], axis=0)
    for words, expected in ((x, direct), (x[:3], x[:3].mean(0))):
        np.testing.assert_allclose(hierarchical(words), expected, atol=1e-12)


def test_sif_whole_is_the_paper_written_out():
    """Weights, then the first singular vector away: Arora et al., algorithm 1."""
    counts = Counter(word for text in TEXTS for word in text.split())
    weighted = {
        word: 1e-3 / (1e-3 + count / counts.total()) * word_vector(word, 16)
        for word, count in counts.items()
    }
    x = np.array([np.mean([weighted[word] for word in text.split()], 0) for text in TEXTS])
    u = TruncatedSVD(1, algorithm="arpack").fit(x).components_
    ours = encode("random:16?pooling=sif&data=one | common:1,one", *TEXTS)
    np.testing.assert_allclose(ours, x - x @ u.T @ u, atol=1e-6)


def by_the_letter(x, directions, strengths, window):
    """GEM as the paper writes it, with a Gram-Schmidt and a singular value decomposition a word."""
    relevance = [s * np.linalg.norm(x @ d) for d, s in zip(directions.T, strengths, strict=True)]
    chosen = np.argsort(relevance)[::-1][:17]
    removed, strengths = directions[:, chosen], strengths[chosen]
    vector = np.zeros(x.shape[1])
    for i, word in enumerate(x):
        around = [j for j in range(len(x)) if j != i and abs(j - i) <= window]
        matrix = np.array([x[j] for j in around] + [word]).T
        q = np.linalg.qr(matrix)[0][:, -1]
        u, s, _ = np.linalg.svd(matrix, full_matrices=False)
        novelty = math.exp(abs(q @ word) / np.linalg.norm(word))
        significance = np.linalg.norm(q @ u * s) / matrix.shape[1]
        uniqueness = math.exp(-np.linalg.norm(strengths * (q @ removed)) / len(chosen))
        vector += (novelty + significance + uniqueness) * word
    return vector - removed @ removed.T @ vector


@pytest.mark.parametrize("window", [7, 2])
def test_gem_is_the_paper_written_out(window):
    """Without a word that lies in the span of its neighbours, where a plain QR has no answer."""
    sentences = [RNG.standard_normal((RNG.integers(1, 12), 60)) for _ in range(70)]
    directions, strengths = gem.principal(sentences, 60)
    assert directions.shape == (60, 45)
    for x in sentences[:10]:
        ours = gem.embed(x, directions, strengths, window)
        np.testing.assert_allclose(
            ours, by_the_letter(x, directions, strengths, window), rtol=1e-7, atol=1e-9
        )


def test_gems_principal_directions_are_singular_vectors():
    """Of the coarse vectors side by side, not centred: scikit-learn's, up to the sign."""
    sentences = [RNG.standard_normal((6, 8)) + 0.3 for _ in range(200)]
    directions, strengths = gem.principal(sentences, 8)
    coarse = np.array([gem.coarse(x) for x in sentences])
    theirs = TruncatedSVD(7, algorithm="arpack").fit(coarse)
    np.testing.assert_allclose(strengths[:7], theirs.singular_values_, rtol=1e-8)
    overlap = np.abs(np.sum(directions[:, :7].T * theirs.components_, axis=1))
    np.testing.assert_allclose(overlap, 1, atol=1e-6)


def test_gem_of_a_lone_word_by_hand():
    """All of it is new: e + |v| + exp(-2 * 0.6) for v = (3, 4) and the direction (1, 0)."""
    weights = gem.weights(np.array([[3.0, 4.0]]), np.array([[1.0], [0.0]]), np.array([2.0]))
    np.testing.assert_allclose(weights, [math.e + 5 + math.exp(-1.2)])
    # e^0 + 0 + e^0, where Gram-Schmidt leaves nothing of a repeated word, or there is none.
    for nothing in (np.array([[1.0, 2.0, 0.0]] * 2), np.zeros((1, 3))):
        np.testing.assert_allclose(gem.weights(nothing, np.eye(3)[:, :1], np.ones(1)), 2)
    # Orthogonal words: the cube of each length times its direction, towards the words' sum.
    x = np.array([[3.0, 0.0, 0.0], [0.0, -2.0, 0.0]])
    np.testing.assert_allclose(gem.coarse(x), [27, -8, 0], atol=1e-12)


@pytest.mark.parametrize("pooling", ["sif", "gem"])
def test_what_is_learnt_is_part_of_the_fingerprint(pooling):
    """Another data set or other content under its name: other vectors, another name for them."""
    spec = f"random:8?pooling={pooling}&data=one"
    one, again = load(spec, datasets=datasets), load(spec, datasets=datasets)
    other = load(spec, datasets=lambda name: (TEXTS[:40], "hash-two"))
    assert one.fingerprint == again.fingerprint != other.fingerprint
    assert not np.array_equal(one.encode(TEXTS[:3]), other.encode(TEXTS[:3]))
    with refused("too-few", "1 sentences"):  # when it is loaded, not in the middle of a run
        load(spec, datasets=lambda name: (["one"], "h"))


def test_every_option_is_part_of_the_fingerprint():
    """Nine encoders of one set of vectors, nine names."""
    options = (
        *("avg", "max", "pmean", "hier", "hier&window=3", "sif&data=one", "sif&data=counted"),
        *("gem&data=one", "gem&data=one&window=3"),
    )
    specs = [f"random:8?pooling={some}" for some in options]
    assert len({load(spec, datasets=datasets).fingerprint for spec in specs}) == 9
