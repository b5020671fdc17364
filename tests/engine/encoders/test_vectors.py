"""Vectors that were computed elsewhere."""

import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from theodolite.engine import evaluate
from theodolite.engine.datasets import Catalog, limits
from theodolite.engine.encoders import load
from theodolite.engine.encoders.vectors import lacking, save
from theodolite.engine.errors import UserError

SENTENCES = ["A cat.", "Ein Hund.", "two  spaces", "中文"]
VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)


def npy(folder):
    """An array beside a file of sentences."""
    np.save(folder / "x.npy", VECTORS)
    (folder / "x.txt").write_text("\n".join(SENTENCES) + "\n", "utf-8")
    return folder / "x.npy"


def npz(folder):
    """Two arrays in one file."""
    np.savez(folder / "x.npz", sentences=np.array(SENTENCES), vectors=VECTORS.astype(np.float64))
    return folder / "x.npz"


def parquet(folder):
    """As `save` writes it."""
    save(folder / "x.parquet", SENTENCES, VECTORS)
    return folder / "x.parquet"


def lists(folder):
    """Parquet with lists of any length, as pandas writes them."""
    pq.write_table(pa.table({"s": SENTENCES, "v": VECTORS.tolist()}), folder / "y.parquet")
    return folder / "y.parquet"


@pytest.mark.parametrize("make", [npy, npz, parquet, lists])
def test_every_shape_gives_its_vectors_back(make, tmp_path):
    """In any order, as often as asked, white space aside."""
    encoder = load(f"vectors:{make(tmp_path)}")
    assert encoder.dim == 3
    queries = ["中文", "A cat.", "two spaces", "A cat."]
    np.testing.assert_array_equal(encoder.encode(queries), VECTORS[[3, 0, 2, 0]])
    assert encoder.encode(queries).dtype == np.float32
    assert encoder.encode([]).shape == (0, 3)


def test_says_how_many_it_lacks_and_names_the_first(tmp_path):
    """Of all the sentences asked for, in one message."""
    encoder = load(f"vectors:{npy(tmp_path)}")
    with pytest.raises(UserError) as caught:
        encoder.encode(["A cat.", "A bird.", "No.", "A bird."])
    assert "lacks 3 of 4 sentences, the first being 'A bird.'" in caught.value.message


def test_evaluation_shows_what_is_lacking(tmp_path):
    """An error result for the task that is not covered, a score for the one that is."""
    catalog = Catalog()
    pairs = catalog.load("starter-pairs")
    vectors = load("wordllama").encode(pairs.sentences)
    save(tmp_path / "v.parquet", pairs.sentences, vectors)
    spec = f"vectors:{tmp_path / 'v.parquet'}"
    covered, not_covered = evaluate(load(spec), ["StarterSTS", "StarterTopics"], data=catalog)
    (original,) = evaluate(load("wordllama"), ["StarterSTS"], data=catalog)
    assert covered.main.score == original.main.score
    topics = catalog.load("starter-topics").sentences
    missing = lacking(spec, topics)
    assert not_covered.error.startswith(f"v.parquet lacks {len(missing):,} of {len(topics):,} ")


def test_coverage_is_known_beforehand(tmp_path):
    """For any spec: only files of vectors can lack a sentence."""
    spec = f"vectors:{parquet(tmp_path)} + random:8 | normalise"
    assert lacking(spec, ["A cat.", "A bird."]) == ["A bird."]
    assert lacking("random:8", ["A bird."]) == []


def test_steps_and_concatenation_work_on_it(tmp_path):
    """As on any encoder."""
    encoder = load(f"vectors:{parquet(tmp_path)} + random:2 | normalise")
    assert encoder.dim == 5
    np.testing.assert_allclose(np.linalg.norm(encoder.encode(["A cat."]), axis=1), 1, rtol=1e-6)


def test_the_first_of_two_vectors_counts(tmp_path):
    """Batches written one after the other repeat sentences."""
    save(tmp_path / "x.parquet", ["a", "a"], VECTORS[:2])
    np.testing.assert_array_equal(
        load(f"vectors:{tmp_path / 'x.parquet'}").encode(["a"]), VECTORS[:1]
    )


def test_columns_can_be_chosen(tmp_path):
    """And have to be when there are several."""
    file = tmp_path / "x.parquet"
    columns = {"s": SENTENCES, "t": SENTENCES[::-1], "v": VECTORS.tolist(), "w": VECTORS.tolist()}
    pq.write_table(pa.table(columns), file)
    with pytest.raises(UserError, match="2 columns of text") as caught:
        load(f"vectors:{file}")
    assert "text=COLUMN among s, t" in caught.value.hint
    encoder = load(f"vectors:{file}?text=t&vector=w")
    np.testing.assert_array_equal(encoder.encode(["A cat."]), VECTORS[3:])
    assert encoder.fingerprint != load(f"vectors:{file}?text=s&vector=w").fingerprint
    with pytest.raises(UserError, match="no column 'z' of lists"):
        load(f"vectors:{file}?text=t&vector=z")


def test_the_content_is_the_fingerprint(tmp_path):
    """Of both files."""
    before = load(f"vectors:{npy(tmp_path)}").fingerprint
    (tmp_path / "x.txt").write_text("\n".join(["Another.", *SENTENCES[1:]]), "utf-8")
    assert load(f"vectors:{tmp_path / 'x.npy'}").fingerprint != before


def hostile(folder):
    """An array of objects, which only a pickle can hold."""
    np.save(folder / "x.npy", np.array([{"a": 1}], object), allow_pickle=True)
    (folder / "x.txt").write_text("a\n")
    return "x.npy"


def pickled_names(folder):
    """Sentences as objects."""
    np.savez(folder / "x.npz", sentences=np.array(["a"], object), vectors=VECTORS[:1])
    return "x.npz"


def flat(folder):
    """One long row."""
    np.save(folder / "x.npy", VECTORS[0])
    (folder / "x.txt").write_text("a\n")
    return "x.npy"


def alone(folder):
    """No sentences beside it."""
    np.save(folder / "x.npy", VECTORS)
    return "x.npy"


def broken(folder):
    """No Parquet inside."""
    (folder / "x.parquet").write_bytes(b"PAR1 and no more")
    return "x.parquet"


POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 9\n"


def pointer(folder):
    """What a repository cloned without Git LFS has in place of the array."""
    (folder / "x.npy").write_text(POINTER)
    (folder / "x.txt").write_text("a\n")
    return "x.npy"


def pointer_of_text(folder):
    """In place of the sentences."""
    path = npy(folder)
    (folder / "x.txt").write_text(POINTER)
    return path.name


def text(folder):
    """Numbers as text."""
    (folder / "x.npy").write_text("1 2 3\n")
    (folder / "x.txt").write_text("a\n")
    return "x.npy"


def archive(folder, shape, stored):
    """An `.npz` whose vectors state a shape, with so many times 16 MB of zeros in it."""
    header = io.BytesIO()
    about = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, about)
    names = io.BytesIO()
    np.save(names, np.array(["a"]))
    with zipfile.ZipFile(folder / "x.npz", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("sentences.npy", names.getvalue())
        with made.open("vectors.npy", "w", force_zip64=True) as inside:
            inside.write(header.getvalue())
            for _ in range(stored):
                inside.write(bytes(2**24))
    return "x.npz"


def bomb(folder):
    """Some kilobytes that unpack to 32 MB."""
    return archive(folder, (1, 2 * 2**22), 2)


def false_shape(folder):
    """A few bytes that state a terabyte."""
    return archive(folder, (2**20, 2**18), 0)


def long_lists(folder):
    """Some kilobytes of Parquet that stand for five million zeros."""
    zeros = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(10**6, np.float32)), 10**6)
    table = pa.table({"s": ["a"], "v": zeros})
    with pq.ParquetWriter(folder / "x.parquet", table.schema, compression="zstd") as writer:
        for _ in range(5):
            writer.write_table(table)
    return "x.parquet"


def long_texts(folder):
    """A long text, stored once for thousands of rows."""
    ones = pa.array([[1.0]] * 4096, pa.list_(pa.float32()))
    table = pa.table({"s": pa.array(["word " * 2_000] * 4096), "v": ones})
    pq.write_table(table, folder / "x.parquet", compression="zstd")
    return "x.parquet"


def csv(folder):
    """A format that is not read."""
    (folder / "x.csv").write_text("a,1\n")
    return "x.csv"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (hostile, "cannot be read"),
        (pickled_names, "cannot be read"),
        (flat, r"of shape \(3,\)"),
        (alone, "has no x.txt beside it"),
        (broken, "cannot be read"),
        (pointer, r"x\.npy is a Git LFS pointer.*git lfs pull"),
        (pointer_of_text, r"x\.txt is a Git LFS pointer"),
        (text, "no array of NumPy"),
        (bomb, "unpacks to more than 100 times"),
        (false_shape, "cannot be read"),
        (long_lists, "unpacks to more than 100 times"),
        (long_texts, "unpacks to more than 100 times"),
        (csv, "no file of vectors by its ending"),
        (lambda folder: "nowhere.npy", "There is no file"),
    ],
)
def test_a_file_that_cannot_be_read_is_said_so(make, says, tmp_path, monkeypatch):
    """When the encoder is loaded; nothing is unpickled."""
    monkeypatch.setattr(limits, "MAX_BYTES", 2**24)
    with pytest.raises(UserError, match=says):
        load(f"vectors:{tmp_path / make(tmp_path)}").encode(["a"])


def test_lengths_that_differ_are_named(tmp_path):
    """Lines against rows, and vectors among themselves."""
    npy(tmp_path)
    (tmp_path / "x.txt").write_text("one\ntwo\n")
    with pytest.raises(UserError, match=r"x\.txt has 2 sentences and x\.npy has 4 vectors"):
        load(f"vectors:{tmp_path / 'x.npy'}").encode(["one"])
    pq.write_table(pa.table({"s": ["a", "b"], "v": [[1.0, 2.0], [1.0]]}), tmp_path / "z.parquet")
    with pytest.raises(UserError, match=r"Row 2 of z\.parquet has 1 numbers, the first row has 2"):
        load(f"vectors:{tmp_path / 'z.parquet'}").encode(["a"])


def test_a_vector_with_nan_is_refused(tmp_path):
    """Only if it is asked for."""
    vectors = VECTORS.copy()
    vectors[1, 0] = np.nan
    save(tmp_path / "x.parquet", SENTENCES, vectors)
    encoder = load(f"vectors:{tmp_path / 'x.parquet'}")
    encoder.encode(["A cat."])
    with pytest.raises(UserError, match=r"Vector 2 of x\.parquet holds NaN.*'Ein Hund\.'"):
        encoder.encode(["A cat.", "Ein Hund."])
