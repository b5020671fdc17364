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
from theodolite.engine.datasets.types import Retrieval
from theodolite.engine.errors import Code

BEIR = {
    "corpus.jsonl": b'{"_id": "1", "text": "Brew it."}\n',
    "queries.jsonl": b'{"_id": "a", "text": "Tea?"}\n',
    "qrels/test.tsv": b"a\t1\t1\n",
}
JUDGED = {"test": {"a": {"1": 1}}}

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


def test_another_encoding_in_an_archive_is_said() -> None:
    corpus = BEIR["corpus.jsonl"] + '{"_id": "2", "text": "Über Köln."}\n'.encode("cp1252")
    data = read(zipped(BEIR | {"corpus.jsonl": corpus}), "x.zip", Mapping("retrieval", {}))
    assert isinstance(data, Retrieval) and data.documents["2"] == "Über Köln."
    assert "corpus.jsonl was read as Windows-1252" in data.notes[0]
    tables = zipped({"train.csv": TRAIN, "test.csv": TEST.replace(b"house", b"h\xf4tel")})
    (told,) = preview(tables, "x.zip").problems
    assert "test.csv was read as Windows-1252" in told


def test_names_in_utf8_need_no_flag_that_says_so() -> None:
    """`zip` and macOS write none; a name in ZIP's own letters is read by these."""
    raw = zipped({"gr__n.md": b"x", "t_e.md": b"y"}).replace(b"gr__n", "grün".encode())
    read = dict(archives.entries(raw.replace(b"t_e", b"t\x82e"), "x.zip"))
    assert read == {"grün.md": b"x", "tée.md": b"y"}


@pytest.mark.parametrize(
    ("names", "rows", "splits"),
    [
        # The third file holds them, whatever it is called.
        (["dev.tsv"], "a\t1\t1\n", ["test"]),
        (["dev.tsv", "test.tsv"], "a\t1\t1\n", ["dev", "test"]),
        # Names of columns in other letters, or separated otherwise than the ending says.
        (["qrels/test.tsv"], "Query-ID\tCorpus-ID\tScore\na\t1\t1\n", ["test"]),
        (["qrels/test.tsv"], "query-id corpus-id score\na 1 1\n", ["test"]),
        (["qrels/test.tsv"], "query-id,corpus-id,score\na,1,1\n", ["test"]),
        # As on the hub, and in other words.
        (
            ["qrels/test.jsonl"],
            '{"query-id": "a", "corpus-id": "1", "score": 1}\n',
            ["test"],
        ),
        (
            ["data/test-00000-of-00001.jsonl"],
            '{"query-id": "a", "corpus-id": "1", "score": 1.0}\n',
            ["test"],
        ),
        (["qrels.tsv"], "qid\tdocid\trelevance\na\t1\t1.0\n", ["test"]),
        # As TREC writes them: four columns, the second unused, and no header.
        *(
            ([name], between.join("a011") + "\n", ["test"])
            for name in ("qrels/test.tsv", "test.txt", "qrels.trec", "test.qrels")
            for between in (" ", "\t", "   ")
        ),
    ],
)
def test_judgements_are_found_and_understood(
    names: list[str], rows: str, splits: list[str]
) -> None:
    texts = {name: raw for name, raw in BEIR.items() if "qrels" not in name}
    raw = zipped(texts | dict.fromkeys(names, rows.encode()))
    data = read(raw, "x.zip", preview(raw, "x.zip").mapping)
    assert data.judgements == dict.fromkeys(splits, JUDGED["test"])


def test_two_files_of_lines_are_parallel() -> None:
    """Their endings name the languages; an empty sentence is kept and counted."""
    raw = zipped({"a.en": b"one\n\n", "a.de": b"eins\nzwei\n"})
    data = read(raw, "a.zip", preview(raw, "a.zip").mapping)
    assert (data.languages, data.parts["test"].right, data.notes) == (
        ("de", "en"),
        ("one", ""),
        ("Empty sentences, kept: 1.",),
    )


@pytest.mark.parametrize("more", [b"", b"old hill,pos\n"])
def test_tables_named_by_their_splits_are_one_data_set(more: bytes) -> None:
    packed = zipped({"mine/test.csv": TEST + more, "mine/train.csv": TRAIN})
    look = preview(packed, "mine.zip")
    data = read(packed, "mine.zip", look.mapping)
    rows = 2 + more.count(b"\n")
    assert (look.kind, look.n_rows) == ("labels", 2 + rows)
    texts = ["bird sea", "river tree", "small tree"]
    assert (data.sentences[:3], data.splits) == (texts, ["train"] * 2 + ["test"] * rows)
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
    packed_data = read(packed, "x.zip", preview(packed, "x.zip").mapping)
    apart = zipped(
        {f"{language}/{name}": raw for language in ("de", "en") for name, raw in parts.items()}
    )
    assert preview(packed, "x.zip").problems == []
    assert "taken together: de, en" in " ".join(preview(apart, "x.zip").problems)
    for data in (packed_data, Catalog(tmp_path).load("mine")):
        assert (data.sentences, data.splits) == (list("abcdef"), ["train"] * 4 + ["test"] * 2)


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
        (zipped({}), "wrong-kind", "no file"),
        (zipped({"x.arrow": b"", "a.json": b"{}", "b.json": b"{}"}), "wrong-kind", "to_parquet"),
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
