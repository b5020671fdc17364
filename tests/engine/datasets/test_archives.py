"""Several files as one data set: what an archive may hold, and what it may not do."""

import io
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from tests.errors import refused
from tests.fakes import folder
from theodolite.engine.datasets import Catalog, archives
from theodolite.engine.datasets.tables import Mapping, preview, read
from theodolite.engine.errors import Code

BEIR = {
    "corpus.jsonl": b'{"_id": "1", "text": "Brew it."}\n',
    "queries.jsonl": b'{"_id": "a", "text": "Tea?"}\n',
    "qrels/test.tsv": b"a\t1\t1\n",
}
JUDGED = {"test": {"a": {"1": 1}}}
RETRIEVAL = Mapping("retrieval", {})
TRAIN = b"text,label\nbird sea,neg\nriver tree,pos\n"
TEST = b"text,label\nsmall tree,neg\nhouse sleeps,pos\n"


def zipped(files: dict[str, bytes]) -> bytes:
    with zipfile.ZipFile(made := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in files.items():
            archive.writestr(name, raw)
    return made.getvalue()


def test_a_folder_of_beir_comes_as_an_archive() -> None:
    """In a folder of its own or not, beside what systems add; names lead nowhere."""
    files = {f"../../etc/{name}": raw for name, raw in BEIR.items()}
    raw = zipped(files | {"__MACOSX/._corpus.jsonl": b"x", "../../etc/README.md": b"x"})
    look = preview(raw, "mine.zip")
    assert (look.kind, look.type, look.n_rows) == ("retrieval", "Retrieval", 4)
    assert read(raw, "mine.zip", look.mapping, "mine").judgements == JUDGED
    with refused("missing", "top_ranked"):
        read(raw, "mine.zip", Mapping("retrieval", {}, type="Reranking"))
    with refused("wrong-kind", "robust.qrels"):  # judgements alone are no sentences
        preview(b"q1 0 d1 1\n", "robust.qrels")


@pytest.mark.parametrize(
    ("names", "splits"), [(["dev.tsv"], ["test"]), (["dev.tsv", "test.tsv"], ["dev", "test"])]
)
def test_the_third_file_holds_the_judgements_whatever_it_is_called(
    names: list[str], splits: list[str]
) -> None:
    texts = {name: raw for name, raw in BEIR.items() if "qrels" not in name}
    raw = zipped(texts | dict.fromkeys(names, BEIR["qrels/test.tsv"]))
    assert read(raw, "x.zip", RETRIEVAL).judgements == dict.fromkeys(splits, JUDGED["test"])


def test_two_files_of_lines_are_parallel() -> None:
    """Their endings name the languages; an empty sentence is kept and counted."""
    raw = zipped({"a.en": b"one\n\n", "a.de": b"eins\nzwei\n"})
    data = read(raw, "a.zip", preview(raw, "a.zip").mapping)
    assert (data.languages, data.parts["test"].right) == (("de", "en"), ("one", ""))
    assert data.notes == ("Empty sentences, kept: 1.",)


@pytest.mark.parametrize("more", [b"", b"old hill,pos\n"])
def test_tables_named_by_their_splits_are_one_data_set(more: bytes) -> None:
    packed = zipped({"mine/test.csv": TEST + more, "mine/train.csv": TRAIN})
    look = preview(packed, "mine.zip")
    data = read(packed, "mine.zip", look.mapping)
    rows = 2 + more.count(b"\n")
    assert (look.kind, look.n_rows) == ("labels", 2 + rows)
    assert data.splits == ["train"] * 2 + ["test"] * rows
    assert data.sentences[:3] == ["bird sea", "river tree", "small tree"]
    plain = read(packed, "mine.zip", Mapping("sentences", {"text": "label"}))
    assert plain.sentences[:3] == ["neg", "pos", "neg"]
    # A table alone in an archive is that table, as pandas packs `x.csv.zip`.
    alone = zipped({"x.csv": TRAIN})
    data = read(alone, "x.csv.zip", preview(alone, "x.csv.zip").mapping)
    assert (data.labels, data.splits) == (["neg", "pos"], [])


def test_a_clone_of_the_hub_is_one_data_set(tmp_path: Path) -> None:
    """Splits in numbered parts, beside what describes them; in an archive and in a data folder."""
    about = {"README.md": b"# Mine\n", "dataset_infos.json": b"{}", "LICENSE.txt": b"Free.\n"}
    parts = {
        f"{name}.parquet": pd.DataFrame({"text": list(rows), "label": ["x", "y"]}).to_parquet()
        for name, rows in (
            ("test-00000-of-00001", "ef"),
            ("train-00000-of-00002", "ab"),
            ("train-00001-of-00002", "cd"),
        )
    }
    packed = zipped(about | {f"data/{name}": raw for name, raw in parts.items()})
    folder.files(tmp_path / "mteb" / "classification" / "mine", parts)
    for data in (
        read(packed, "x.zip", preview(packed, "x.zip").mapping),
        Catalog(tmp_path).load("mine"),
    ):
        assert data.sentences == list("abcdef")
        assert data.splits == ["train"] * 4 + ["test"] * 2


@pytest.mark.parametrize("name", ["qrels/test.tsv", "test.txt", "qrels.trec", "test.qrels"])
@pytest.mark.parametrize("between", [" ", "\t", "   "])
def test_judgements_as_trec_writes_them(name: str, between: str) -> None:
    """Four columns, the second unused, separated by spaces or tabs, without a header."""
    lines = {
        "corpus.jsonl": [f'{{"_id": "d{i}", "text": "document {i}"}}' for i in range(12)],
        "queries.jsonl": [f'{{"_id": "q{i}", "text": "query {i}"}}' for i in range(12)],
        name: [between.join((f"q{i}", "0", f"d{i}", "1")) for i in range(12)],
    }
    packed = zipped({file: "\n".join(some).encode() for file, some in lines.items()})
    data = read(packed, "x.zip", preview(packed, "x.zip").mapping)
    assert data.judgements == {"test": {f"q{i}": {f"d{i}": 1} for i in range(12)}}


@pytest.mark.parametrize(
    "rows",
    [
        "Query-ID\tCorpus-ID\tScore\na\t1\t1\n",
        "query-id corpus-id score\na 1 1\n",
        "query-id,corpus-id,score\na,1,1\n",
    ],
)
def test_names_of_columns_may_be_written_otherwise(rows: str) -> None:
    """In other letters, or separated otherwise than the ending says."""
    packed = zipped(BEIR | {"qrels/test.tsv": rows.encode()})
    assert read(packed, "x.zip", RETRIEVAL).judgements == JUDGED


def test_files_are_packed_alike_each_time(tmp_path: Path) -> None:
    """The store knows an upload by its bytes."""
    (tmp_path / "x.de").write_text("eins\n")
    for name in ("a.zip", "b.zip"):
        archives.pack({"x.de": tmp_path / "x.de"}, tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


@pytest.mark.parametrize(
    ("raw", "code", "named"),
    [
        (zipped({"corpus.jsonl": b"0" * 50 * 2**20}), "too-large", "100 times"),
        (zipped({f"{i}.txt": b"" for i in range(1001)}), "too-large", "1,000 files"),
        (zipped({}), "wrong-kind", "no files"),
        (zipped({"x.csv": b"a,b\n"}), "missing", "x.csv"),
        (zipped({"x.csv": b"a,b\n1,2\n", "y.csv": b"a,b\n1,2\n"}), "wrong-kind", "x.csv, y.csv"),
        (zipped({"a/x/y.de": b"1\n", "b/x/y.de": b"2\n"}), "conflict", "'x/y.de'"),
        (
            zipped({"y.de": b"1\n2\n", "y.en": b"1\n"}),
            "mismatch",
            "y.de has 2 lines and y.en has 1",
        ),
        (zipped(BEIR | {"queries.jsonl": b"{\n"}), "damaged", "queries.jsonl"),
        # A run is no file of judgements.
        (zipped(BEIR | {"qrels/test.tsv": b"a Q0 1 1 14.2 bm25\n"}), "wrong-kind", "line 1"),
        (
            zipped({"train.csv": TRAIN, "test.csv": b"text,stars\na,1\nb,2\n"}),
            "mismatch",
            "train.csv has the columns text, label, and test.csv",
        ),
        *((zipped(BEIR)[:keep], "damaged", "x.zip") for keep in (4, 40, -4)),
    ],
    ids=lambda value: "file" if isinstance(value, bytes) else value,
)
def test_what_an_archive_may_not_be(raw: bytes, code: Code, named: str) -> None:
    """It is refused before it takes memory."""
    with refused(code, named):
        read(raw, "x.zip", preview(raw, "x.zip").mapping)
