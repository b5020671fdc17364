"""Vectors that were computed elsewhere."""

import io
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.errors import refused
from tests.fakes.folder import files as write_files, npy, parquet
from theodolite.engine.datasets import limits
from theodolite.engine.encoders import load
from theodolite.engine.encoders.vectors import files_of, missing, save

SENTENCES = ["A cat.", "Ein Hund.", "two  spaces", "中文"]
VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)
TEXT = ("\n".join(SENTENCES) + "\n").encode()
LINES = {"orient": "records", "lines": True}


def npz(**arrays) -> bytes:
    """Several arrays in one file."""
    np.savez(file := io.BytesIO(), **arrays)
    return file.getvalue()


def write(folder, files):
    """Write files by name; the path of the first."""
    return write_files(folder, files) / next(iter(files))


@pytest.mark.parametrize(
    "files",
    [
        {"x.npy": npy(VECTORS), "x.txt": TEXT},
        {"x.npz": npz(sentences=np.array(SENTENCES), vectors=VECTORS.astype(np.float64))},
        {},  # as `save` writes it
        {
            "x.parquet": parquet(pa.table({"s": SENTENCES, "v": VECTORS.tolist()}))
        },  # as pandas writes lists
        *(  # as a category of pandas, and as polars writes text
            {"x.parquet": parquet(pa.table({"s": text, "v": VECTORS.tolist()}))}
            for text in (
                pa.array(SENTENCES).dictionary_encode(),
                pa.array(SENTENCES, pa.string_view()),
            )
        ),
        *(  # as pandas writes lists and arrays
            {"x.csv": pd.DataFrame({"id": range(4), "s": SENTENCES, "v": column}).to_csv().encode()}
            for column in (VECTORS.tolist(), list(VECTORS))
        ),
        {
            "x.jsonl": pd.DataFrame({"s": SENTENCES, "v": VECTORS.tolist()})
            .to_json(**LINES)
            .encode()
        },
        *(  # a column for each dimension, as `encode --out` writes them, and with an index
            {"x.csv": pd.DataFrame(VECTORS, columns=names).assign(s=SENTENCES).to_csv().encode()}
            for names in (range(3), ["dim_1", "dim_2", "dim_3"])
        ),
        {
            "x.parquet": parquet(
                pa.table({"s": SENTENCES, **{str(i): VECTORS[:, i] for i in range(3)}})
            )
        },
        # The first vector of a sentence counts.
        {
            "x.parquet": parquet(
                pa.table({"s": [*SENTENCES, "A cat."], "v": [*VECTORS.tolist(), [9.0] * 3]})
            )
        },
    ],
)
def test_every_shape_gives_its_vectors_back(files, tmp_path):
    """In any order, as often as asked, white space aside; also in sums and under steps."""
    save(tmp_path / "x.parquet", SENTENCES, VECTORS)
    file = write(tmp_path, files) if files else tmp_path / "x.parquet"
    encoder = load(f"vectors:{file}")
    rows = encoder.encode(["中文", "A cat.", "two spaces", "A cat."])
    np.testing.assert_array_equal(rows, VECTORS[[3, 0, 2, 0]])
    assert (encoder.dim, rows.dtype, encoder.encode([]).shape) == (3, np.float32, (0, 3))
    both = load(f"vectors:{file} + random:2 | normalise").encode(["A cat."])
    np.testing.assert_allclose(np.linalg.norm(both, axis=1), [1], rtol=1e-6)
    assert both.shape == (1, 5)
    if (tmp_path / "x.txt").exists():  # the content of both files is the fingerprint
        (tmp_path / "x.txt").write_bytes(TEXT.replace(b"A cat.", b"Another."))
        assert load(f"vectors:{file}").fingerprint != encoder.fingerprint


def test_says_how_many_it_lacks_and_names_the_first(tmp_path):
    """Of all the sentences asked for; beforehand too, for any spec."""
    save(tmp_path / "x.parquet", SENTENCES, VECTORS)
    spec = f"vectors:{tmp_path / 'x.parquet'}"
    with refused("missing", "3 of 4", "'A bird.'"):
        load(spec).encode(["A cat.", "A bird.", "No.", "A bird."])
    files = files_of(f"{spec} + random:8 | normalise")
    assert missing(files, ["A cat.", "A bird."]) == ["A bird."]
    assert files_of("random:8") == []


def test_columns_can_be_chosen(tmp_path):
    """And have to be when there are several."""
    columns = {"s": SENTENCES, "t": SENTENCES[::-1], **dict.fromkeys("vw", VECTORS.tolist())}
    spec = f"vectors:{write(tmp_path, {'x.parquet': parquet(pa.table(columns))})}"
    with refused("ambiguous", "2 columns of text", "text=COLUMN", "s, t"):
        load(spec)
    encoder = load(f"{spec}?text=t&vector=w")
    np.testing.assert_array_equal(encoder.encode(["A cat."]), VECTORS[3:])
    assert encoder.fingerprint != load(f"{spec}?text=s&vector=w").fingerprint
    with refused("unknown", "'z'"):
        load(f"{spec}?text=t&vector=z")


POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 9\n".encode()


def archive(shape, stored) -> bytes:
    """An `.npz` whose vectors state a shape, with so many times 16 MB of zeros in it."""
    header, file = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": shape}
    )
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("sentences.npy", npy(np.array(["a"])))
        made.writestr("vectors.npy", header.getvalue() + bytes(stored * 2**24))
    return file.getvalue()


def long_lists() -> bytes:
    """Some kilobytes of Parquet that stand for five million zeros."""
    zeros = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(10**6, np.float32)), 10**6)
    return parquet(
        pa.concat_tables([pa.table({"s": ["a"], "v": zeros})] * 5),
        compression="zstd",
        row_group_size=1,
    )


OBJECTS = npy(np.array([{"a": 1}], object), allow_pickle=True)


@pytest.mark.parametrize(
    ("files", "code", "named"),
    [
        ({"x.npy": OBJECTS, "x.txt": b"a\n"}, "damaged", "x.npy"),  # only a pickle can hold it
        (
            {"x.npz": npz(sentences=np.array(["a"], object), vectors=VECTORS[:1])},
            "damaged",
            "x.npz",
        ),
        ({"x.npy": npy(VECTORS[0]), "x.txt": b"a\n"}, "wrong-kind", "(3,)"),
        ({"x.npy": npy(VECTORS)}, "no-file", "x.txt"),
        ({"x.parquet": b"PAR1 and no more"}, "damaged", "x.parquet"),
        ({"x.npy": POINTER, "x.txt": b"a\n"}, "wrong-kind", "x.npy is a Git LFS pointer"),
        ({"x.npy": npy(VECTORS), "x.txt": POINTER}, "wrong-kind", "x.txt is a Git LFS pointer"),
        ({"x.npy": b"1 2 3\n", "x.txt": b"a\n"}, "damaged", "NumPy"),
        ({"x.npz": archive((1, 2 * 2**22), 2)}, "too-large", "100 times"),
        ({"x.npz": archive((2**20, 2**18), 0)}, "damaged", "x.npz"),  # states a terabyte
        ({"x.parquet": long_lists()}, "too-large", "100 times"),
        (
            {  # a long text, stored once for thousands of rows
                "x.parquet": parquet(
                    pa.table({"s": ["word " * 2_000] * 4096, "v": [[np.float32(1.0)]] * 4096}),
                    compression="zstd",
                )
            },
            "too-large",
            "100 times",
        ),
        ({"x.xls": b"a,1\n"}, "wrong-kind", "x.xls"),
        ({"x.csv": b"s,v\na,1\n"}, "unknown", "0 columns of lists of numbers"),
        ({"x.csv": b"s,v\na,[1.5]\nb,[1 ... 2]\n"}, "mismatch", "x.csv, line 3: 'v'"),
        ({"x.csv": b"s,0,1,2\n"}, "unknown", "0 columns of lists of numbers"),
        ({"x.csv": b"s,0,1,2\na,1,2,3\nb,1,,3\n"}, "mismatch", "x.csv, line 3: '0 to 2'"),
        ({"x.npy": npy(VECTORS), "x.txt": b"one\ntwo\n"}, "mismatch", "2 sentences and x.npy"),
        (
            {"z.parquet": parquet(pa.table({"s": ["a", "b"], "v": [[1.0, 2.0], [1.0]]}))},
            "mismatch",
            "Row 2 of z.p",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(files, code, named, tmp_path, monkeypatch):
    """When the encoder is loaded; nothing is unpickled."""
    monkeypatch.setattr(limits, "MAX_BYTES", 2**24)
    with refused(code, named):
        load(f"vectors:{write(tmp_path, files)}").encode(["a"])
    with refused("no-file", "nowhere.npy"):
        load(f"vectors:{tmp_path / 'nowhere.npy'}")


def test_a_vector_with_nan_is_refused(tmp_path):
    """Only if it is asked for."""
    save(tmp_path / "x.parquet", SENTENCES, np.where(VECTORS == 3, np.nan, VECTORS))
    encoder = load(f"vectors:{tmp_path / 'x.parquet'}")
    encoder.encode(["A cat."])
    with refused("not-finite", "Vector 2 of x.parquet", "'Ein Hund.'"):
        encoder.encode(["A cat.", "Ein Hund."])
