"""Small files that would become large: each is refused in a sentence before anything is built."""

import gzip
import time
from pathlib import Path

import pyarrow as pa
import pytest

from tests.errors import refused
from tests.fakes.tables import parquet
from theodolite.engine.corpus.cut import texts_of
from theodolite.engine.datasets import Catalog, formats, limits
from theodolite.engine.datasets.columns import guess
from theodolite.engine.datasets.tables import Mapping, preview, read, read_columns
from theodolite.engine.errors import Code
from theodolite.engine.training.examples import open_examples

SENTENCES = Mapping("sentences", {"text": "text"})


def one_text(length: int, rows: int, name: str = "text") -> bytes:
    """A Parquet file of one text over and over: the text is stored once."""
    codes = pa.array([0] * rows, pa.int32())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * length]))
    return parquet(pa.table({name: column}), compression="zstd")


def test_names_of_columns_are_all_different() -> None:
    """A name that a file gives may be one that we would make."""
    columns = formats.open_table(b"a,a (2),a,a,a (2)\n1,2,3,4,5\n", "x.csv", header=True).columns
    assert columns == ("a", "a (2)", "a (3)", "a (4)", "a (2) (2)")


COMMAS = b"a" + b"," * 60_000 + b"\n"
WIDE_JSON = ("{" + ",".join(f'"{i}": 1' for i in range(3000)) + "}\n").encode()


@pytest.mark.parametrize(
    ("filename", "raw", "says"),
    [
        ("x.csv", COMMAS, ["60,001 columns", "2,000"]),
        ("x.tsv", COMMAS.replace(b",", b"\t"), ["60,001 columns"]),
        ("x.jsonl", WIDE_JSON, ["3,000 columns"]),
        (
            "x.parquet",
            parquet(pa.table({f"c{i}": ["x"] for i in range(2001)})),
            ["2,001 columns"],
        ),
        ("x.txt", b"x" * (limits.MAX_ROW + 1), ["line 1", "a megabyte"]),
        ("x.txt.gz", gzip.compress(b"x" * 7_000_000), ["line 1", "a megabyte"]),
        ("x.csv", b'text\n"' + b"a line\n" * 200_000, ["a megabyte", "quote"]),
        ("x.parquet", one_text(limits.MAX_ROW + 1, 1), ["'text'", "a megabyte"]),
        (
            "x.txt.gz",
            gzip.compress((b"some text " * 50 + b"\n") * 20_000),
            ["100 times its size", "unpacked"],
        ),
        (
            "x.jsonl.gz",
            gzip.compress((b'{"text": "' + b"a" * 500 + b'"}\n') * 20_000),
            ["100 times its size"],
        ),
        ("x.parquet", one_text(1, 1_500_000), ["100 times its size"]),
        ("x.parquet", one_text(1, 1_500_000, "te.xt"), ["100 times its size"]),
        ("x.parquet", one_text(500_000, 20_000), ["100 times its size"]),
        (
            "x.parquet",
            parquet(
                pa.table({"text": ["x" * 1_000_000] * 20}), use_dictionary=False, compression="zstd"
            ),
            ["100 times its size"],
        ),
        (
            "x.parquet",
            parquet(pa.table({"text": ["a"], "many": [[0] * 3_000_000]})),
            ["100 times its size"],
        ),
    ],
)
@pytest.mark.parametrize("look", [True, False])
def test_what_would_become_too_large_is_refused(
    filename: str, raw: bytes, says: list[str], look: bool
) -> None:
    """By looking at it and by reading it."""
    with refused("too-large", *says) as caught:
        if look:
            preview(raw, filename)
        else:
            read_columns(raw, filename, {"text": formats.open_table(raw, filename).columns[0]})
    assert caught.value.message.startswith(filename) and len(str(caught.value)) < 500


def test_one_row_with_cells_without_end() -> None:
    """It is ragged like any other, and a sample of such rows stays small."""
    raw = b"text,label\na,b\n" + b"," * 200_000 + b"x\n"
    assert "line 3 (200001)" in preview(raw * 3, "x.csv").problems[0]
    with refused("damaged", "line 3 (200001)"):
        read(raw, "x.csv", SENTENCES)


def test_ordinary_files_are_not_in_the_way(tmp_path: Path) -> None:
    """Repetitive files of some megabytes, a long document, an embedding in columns."""
    repeated = b"the same line over and over\n" * 200_000
    assert len(read(gzip.compress(repeated), "x.txt.gz", SENTENCES).sentences) == 200_000
    document = "word " * 200_000
    for name, raw in (("x.txt", f"{document}\nshort\n"), ("x.csv", f'text\n"{document}"\nshort\n')):
        assert read(raw.encode(), name, SENTENCES).sentences == [document, "short"]
        assert len(preview(raw.encode(), name).rows[0][0]) == 1000
    wide = pa.table({"text": ["A sentence."], **{f"d{i}": [0.5] for i in range(1536)}})
    assert read(parquet(wide), "x.parquet", SENTENCES).sentences == ["A sentence."]


def test_lists_in_lists_are_cut_as_they_are_looked_at() -> None:
    """A megabyte of brackets stands for millions of lists, and a preview keeps 200 rows."""
    raw = ('{"a": [' + "[]," * 300_000 + "[]]}\n").encode() * 6
    look = preview(gzip.compress(raw), "x.jsonl.gz")
    assert (look.n_rows, len(look.rows[0][0]), look.guesses) == (6, 1000, {})


def test_a_bad_byte_is_found_in_a_line_without_end() -> None:
    """The place is right across the pieces in which such a line is read."""
    raw = "é".encode() * 99_999 + b"\xff" + b"x" * 99
    with refused("damaged", "line 2, byte 199999 of the line (byte offset 200000 "):
        read(b"x\n" + raw, "x.txt", SENTENCES)


@pytest.mark.parametrize(
    ("name", "raw", "code", "named"),
    [
        ("x.csv", COMMAS, "too-large", "60,001 columns"),
        ("x.jsonl", WIDE_JSON, "too-large", "3,000 columns"),
        ("x.csv", b",,\n", "missing", "x.csv"),
        ("x.jsonl", b"{}\n{}\n", "missing", "x.jsonl"),
        (
            "x.txt.gz",
            gzip.compress((b"some text " * 50 + b"\n") * 20_000),
            "too-large",
            "100 times",
        ),
        ("x.txt.gz", gzip.compress(b"x" * 7_000_000), "too-large", "a megabyte"),
        ("x.jsonl", b'{"\\ud800": 1}\n', "damaged", "'\\ud800'"),
    ],
)
def test_training_files_have_the_same_bounds(
    name: str, raw: bytes, code: Code, named: str, tmp_path: Path
) -> None:
    with refused(code, name, named):
        (tmp_path / name).write_bytes(raw)
        open_examples(str(tmp_path / name), "unsup", Catalog(), folder=tmp_path / "work")


def test_a_long_cell_is_read_for_training(tmp_path: Path) -> None:
    """The library's own limit for a cell, 131,072 characters, is not ours."""
    (tmp_path / "x.csv").write_text(f'text\n"{"words" * 40_000}"\nshort\n')
    rows = open_examples(str(tmp_path / "x.csv"), "unsup", Catalog(), folder=tmp_path / "work")
    assert [len(sentence) for (sentence,) in rows] == [200_000, 5]


@pytest.mark.parametrize("filename", ["x.csv", "x.parquet"])
def test_training_files_and_corpora_may_have_any_size(
    filename: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not packed is no bomb, though it has a row more than an upload may have."""
    sentences = [f"{'some words ' * 900}{i}" for i in range(900)]
    table = pa.table({"text": sentences, "label": range(900)})
    text = "text,label\n" + "".join(f"{s},{i}\n" for i, s in enumerate(sentences))
    file = tmp_path / filename
    file.write_bytes(
        text.encode()
        if filename == "x.csv"
        else parquet(table, use_dictionary=False, compression="none")
    )
    monkeypatch.setattr(limits, "MAX_ROWS", 900)
    assert read(file, filename, SENTENCES).sentences == sentences
    for limit, most, named in (("MAX_ROWS", 899, "899 rows"), ("MAX_BYTES", 2**20, "1 MB")):
        monkeypatch.setattr(limits, limit, most)
        with refused("too-large", filename, named):
            read(file, filename, SENTENCES)
    assert list(texts_of(file, "text")) == sentences
    rows = open_examples(str(file), "unsup", Catalog(), folder=tmp_path / "work")
    assert [sentence for (sentence,) in rows] == sentences


def test_of_parquet_a_corpus_reads_the_column_that_it_needs(tmp_path: Path) -> None:
    """What another one would unpack to does not matter; one without texts is refused by name."""
    (tmp_path / "x.parquet").write_bytes(
        parquet(pa.table({"text": ["a"], "many": [[0] * 3_000_000]}))
    )
    assert list(texts_of(tmp_path / "x.parquet", "text")) == ["a"]
    with refused("wrong-kind", "x.parquet", "many"):
        list(texts_of(tmp_path / "x.parquet", "many"))


def test_guessing_is_quick_over_many_columns() -> None:
    """Looking for a label among two thousand columns is not quadratic."""
    columns = [f"c{i}" for i in range(2000)]
    before = time.process_time()
    guess(columns, [["some words that make a text"] * 2000] * 20)
    assert time.process_time() - before < 2
