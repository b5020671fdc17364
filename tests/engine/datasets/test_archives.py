"""Several files as one data set: what an archive may hold, and what it may not do."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from theodolite.engine.datasets import Catalog, LabelledSentences, Parallel, Retrieval, archives
from theodolite.engine.datasets.tables import Mapping, preview, read
from theodolite.engine.errors import UserError

BEIR = {
    "corpus.jsonl": b'{"_id": "1", "text": "Brew it."}\n',
    "queries.jsonl": b'{"_id": "a", "text": "Tea?"}\n',
    "qrels/test.tsv": b"a\t1\t1\n",
}


def zipped(files: dict[str, bytes]) -> bytes:
    """An archive in memory."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in files.items():
            archive.writestr(name, raw)
    return made.getvalue()


def test_a_folder_of_beir_comes_as_an_archive() -> None:
    """In a folder of its own or not, beside what systems add; names lead nowhere."""
    files = {f"../../etc/{name}": raw for name, raw in BEIR.items()}
    raw = zipped(files | {"__MACOSX/._corpus.jsonl": b"x", "../../etc/README.md": b"x"})
    look = preview(raw, "mine.zip")
    assert (look.kind, look.type, look.n_rows) == ("retrieval", "Retrieval", 4)
    data = read(raw, "mine.zip", look.mapping, "mine")
    assert isinstance(data, Retrieval)
    assert data.judgements == {"test": {"a": {"1": 1}}}


def test_three_files_need_no_folder() -> None:
    """Beside corpus and queries, the third holds the judgements, whatever it is called."""
    files = {Path(name).name: raw for name, raw in BEIR.items()}
    files["dev.tsv"] = files.pop("test.tsv")
    data = read(zipped(files), "x.zip", Mapping("retrieval", {}))
    assert isinstance(data, Retrieval)
    assert data.judgements == {"test": {"a": {"1": 1}}}
    files["test.tsv"] = files["dev.tsv"]
    data = read(zipped(files), "x.zip", Mapping("retrieval", {}))
    assert isinstance(data, Retrieval)
    assert list(data.judgements) == ["dev", "test"]  # names of splits tell


def test_two_files_of_lines_are_parallel() -> None:
    """Their endings name the languages; an empty sentence is kept and counted."""
    raw = zipped({"a.en": b"one\n\n", "a.de": b"eins\nzwei\n"})
    data = read(raw, "a.zip", preview(raw, "a.zip").mapping)
    assert isinstance(data, Parallel)
    assert data.languages == ("de", "en")
    assert data.parts["test"].right == ("one", "")
    assert data.notes == ("Empty sentences, kept: 1.",)


TRAIN = b"text,label\nbird sea,neg\nriver tree,pos\n"
TEST = b"text,label\nsmall tree,neg\nhouse sleeps,pos\n"


def test_tables_named_by_their_splits_are_one_data_set() -> None:
    """Of as many rows or not; roles and kind are those that are asked for."""
    for raw in (TEST, TEST + b"old hill,pos\n"):
        packed = zipped({"mine/test.csv": raw, "mine/train.csv": TRAIN})
        look = preview(packed, "mine.zip")
        data = read(packed, "mine.zip", look.mapping)
        assert (look.kind, look.n_rows) == ("labels", 2 + raw.count(b"\n") - 1)
        assert isinstance(data, LabelledSentences)
        assert data.splits == ["train"] * 2 + ["test"] * (raw.count(b"\n") - 1)
        assert data.sentences[:3] == ["bird sea", "river tree", "small tree"]
        plain = read(packed, "mine.zip", Mapping("sentences", {"text": "label"}))
        assert plain.sentences[:3] == ["neg", "pos", "neg"]


def test_a_clone_of_the_hub_is_one_data_set(tmp_path: Path) -> None:
    """Splits in numbered parts, beside what describes them; in an archive and in a data folder."""
    folder = tmp_path / "mteb" / "classification" / "mine"
    folder.mkdir(parents=True)
    files = {"README.md": b"# Mine\n", "dataset_infos.json": b"{}", "LICENSE.txt": b"Free.\n"}
    for name, rows in {
        "test-00000-of-00001": ["e", "f"],
        "train-00000-of-00002": ["a", "b"],
        "train-00001-of-00002": ["c", "d"],
    }.items():
        made = io.BytesIO()
        pd.DataFrame({"text": rows, "label": ["x", "y"]}).to_parquet(made)
        files[f"data/{name}.parquet"] = made.getvalue()
        (folder / f"{name}.parquet").write_bytes(made.getvalue())
    packed = zipped(files)
    for data in (
        read(packed, "x.zip", preview(packed, "x.zip").mapping),
        Catalog(tmp_path).load("mine"),
    ):
        assert isinstance(data, LabelledSentences)
        assert data.sentences == list("abcdef")
        assert data.splits == ["train"] * 4 + ["test"] * 2


def test_a_table_alone_in_an_archive_is_that_table() -> None:
    """As pandas packs `x.csv.zip`."""
    packed = zipped({"x.csv": TRAIN})
    data = read(packed, "x.csv.zip", preview(packed, "x.csv.zip").mapping)
    assert isinstance(data, LabelledSentences)
    assert (data.labels, data.splits) == (["neg", "pos"], [])


def test_tables_of_one_data_set_have_the_same_columns() -> None:
    """Else one of them would lose some."""
    packed = zipped({"train.csv": TRAIN, "test.csv": b"text,stars\na,1\nb,2\n"})
    with pytest.raises(UserError, match=r"train\.csv has the columns text, label, and test\.csv"):
        preview(packed, "mine.zip")


@pytest.mark.parametrize("name", ["qrels/test.tsv", "test.txt", "qrels.trec", "test.qrels"])
@pytest.mark.parametrize("between", [" ", "\t", "   "])
def test_judgements_as_trec_writes_them(name: str, between: str) -> None:
    """Four columns, the second unused, separated by spaces or tabs, without a header."""
    count = 12
    rows = [between.join((f"q{i}", "0", f"d{i}", "1")) for i in range(count)]
    lines = {
        "corpus.jsonl": [f'{{"_id": "d{i}", "text": "document {i}"}}' for i in range(count)],
        "queries.jsonl": [f'{{"_id": "q{i}", "text": "query {i}"}}' for i in range(count)],
        name: rows,
    }
    packed = zipped({file: "\n".join(some).encode() for file, some in lines.items()})
    data = read(packed, "x.zip", preview(packed, "x.zip").mapping)
    assert isinstance(data, Retrieval)
    assert data.judgements == {"test": {f"q{i}": {f"d{i}": 1} for i in range(count)}}


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
    data = read(packed, "x.zip", Mapping("retrieval", {}))
    assert isinstance(data, Retrieval)
    assert data.judgements == {"test": {"a": {"1": 1}}}


def test_a_run_is_no_file_of_judgements() -> None:
    """It has documents, ranks and scores of a system."""
    packed = zipped(BEIR | {"qrels/test.tsv": b"a Q0 1 1 14.2 bm25\n"})
    with pytest.raises(UserError, match="line 1 is that of a run"):
        read(packed, "x.zip", Mapping("retrieval", {}))


def test_judgements_come_with_what_they_judge() -> None:
    """Alone they are no sentences."""
    with pytest.raises(UserError, match="without queries and documents"):
        preview(b"q1 0 d1 1\n", "robust.qrels")


def test_files_are_packed_alike_each_time(tmp_path: Path) -> None:
    """The store knows an upload by its bytes."""
    (tmp_path / "x.de").write_text("eins\n")
    made = []
    for name in ("a.zip", "b.zip"):
        archives.pack({"x.de": tmp_path / "x.de"}, tmp_path / name)
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"corpus.jsonl": b"0" * 50 * 2**20}, "unpacks to more than 100 times its size"),
        ({f"{i}.txt": b"" for i in range(1001)}, "more than 1,000 files"),
        ({}, "made of no files"),
        ({"x.csv": b"a,b\n"}, "no row"),
        ({"a/x/y.de": b"1\n", "b/x/y.de": b"2\n"}, "two files 'x/y.de'"),
        ({"y.de": b"1\n2\n", "y.en": b"1\n"}, "y.de has 2 lines and y.en has 1"),
        (BEIR | {"queries.jsonl": b"{\n"}, r"queries.jsonl is not JSON"),
    ],
)
def test_what_an_archive_may_not_be(files: dict[str, bytes], says: str) -> None:
    """It is refused before it takes memory, in a sentence."""
    raw = zipped(files)
    with pytest.raises(UserError, match=says):
        read(raw, "x.zip", preview(raw, "x.zip").mapping)


@pytest.mark.parametrize("keep", [4, 40, -4])
def test_half_an_archive_is_said_to_be_one(keep: int) -> None:
    """Cut short, in any place."""
    with pytest.raises(UserError, match="cannot be unpacked"):
        preview(zipped(BEIR)[:keep], "x.zip")


def test_a_reranking_needs_the_lists_of_documents() -> None:
    """Without them all documents are searched, which is another task."""
    with pytest.raises(UserError, match="top_ranked"):
        read(zipped(BEIR), "x.zip", Mapping("retrieval", {}, type="Reranking"))
