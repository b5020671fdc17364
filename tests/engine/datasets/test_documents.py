"""Documents as people have them, against the readers of the same formats that others wrote."""

import io
import json
import time
import zipfile
from datetime import datetime
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from tests.errors import refused
from tests.fakes import folder
from theodolite.engine.datasets import Catalog, Retrieval, archives, documents
from theodolite.engine.datasets.conversion import convert
from theodolite.engine.datasets.tables import Mapping, preview, read

PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>Tea &amp; co</title>
<script>if (1 < 2) document.write("<p>evil</p>")</script><style>p { color: red }</style></head>
<body onload="run()"><h1 class="a">Brew</h1><p>Pour <b>hot</b>
water.<br>Wait<noscript>Enable scripts</noscript></p><!-- <p>hidden</p> --><ul><li>one<li>two</ul>
<svg><text>drawn</text></svg><p>1 &lt; 2 &#8364;</p></body></html>"""
OLD = "Der Tee wird heiß aufgegossen, für fünf Minuten, und später gekühlt. Er kostet 5 €."
QUERIES = '{"_id": "q1", "text": "How is tea made?"}\n'
QRELS = "query-id\tcorpus-id\tscore\nq1\tguide/tea.md\t1\n"


def pdf(*pages: str, locked: bool = False) -> bytes:
    """A PDF with a line on each page."""
    writer = PdfWriter()
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    named = DictionaryObject({NameObject(k): NameObject(v) for k, v in font.items()})
    fonts = DictionaryObject({NameObject("/F1"): named})
    for text in pages:
        page, stream = writer.add_blank_page(612, 792), DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET".encode() if text else b"")
        page[NameObject("/Contents")] = writer._add_object(stream)
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    if locked:
        writer.encrypt("tea", algorithm="RC4-128")
    writer.write(made := io.BytesIO())
    return made.getvalue()


def packed(target: Path, files: dict[str, bytes | str]) -> tuple[Retrieval, list[str]]:
    """The data set of files, and what is said of them."""
    raw = ((name, of.encode() if isinstance(of, str) else of) for name, of in files.items())
    notes = documents.pack(raw, target / "docs.zip")
    mapping = preview(target / "docs.zip", "docs.zip").mapping
    return read(target / "docs.zip", "docs.zip", mapping, "docs"), notes


def test_documents_of_every_kind_are_a_data_set(tmp_path: Path) -> None:
    files = {
        "guide/tea.md": "\ufeff# Tea\r\n\r\nIt is brewed.\n",
        "page.html": PAGE,
        "old.txt": OLD.encode("cp1252"),
        "book.pdf": pdf("First page", "Second page"),
        "queries.jsonl": QUERIES,
        "qrels/test.tsv": QRELS,
    }
    data, notes = packed(tmp_path, files)
    assert (notes[0], "(old.txt)" in notes[1]) == (
        "Documents, named by their files: 4 (1 .md, 1 .html, 1 .txt, 1 .pdf).",
        True,
    )
    pages = PdfReader(io.BytesIO(files["book.pdf"])).pages
    assert data.documents == {
        "guide/tea.md": "# Tea\n\nIt is brewed.",
        "page.html": documents.text_of("page.html", PAGE.encode())[0],
        "old.txt": OLD,
        "book.pdf": "\n\n".join(page.extract_text() for page in pages),
    }
    assert data.judgements == {"test": {"q1": {"guide/tea.md": 1}}}


@pytest.mark.parametrize(
    ("name", "page", "text"),
    [
        (
            "page.html",
            PAGE.encode(),
            "Tea & co\n\n# Brew\n\nPour hot water.\nWait\n\none\ntwo\n\n1 < 2 €",
        ),
        ("a.htm", '<meta charset="iso-8859-2"><p>Łódź</p>'.encode("iso-8859-2"), "Łódź"),
        ("a.html", b"<html><body><p>None is declared.</p></body></html>", "None is declared."),
        # Of front matter the title is text.
        ("a.md", b'---\ntitle: "Tea"\ntags: [a]\n---\n\nPour.\n', "# Tea\n\nPour."),
        ("a.md", b"---\r\nlayout: post\r\ntitle: Tea\r\n---\r\n# Brew\r\n", "# Brew"),
        (
            "a.md",
            b"---\nBetween two rules.\n---\nPour.",
            "---\nBetween two rules.\n---\nPour.",
        ),
    ],
)
def test_of_a_page_only_the_text_is_taken(name: str, page: bytes, text: str) -> None:
    assert documents.text_of(name, page) == (text, False)


@pytest.mark.parametrize("piece", ["<a ", "<a a='", "<!--", "<", "<script></scrip", "<svg><", "</"])
def test_a_page_that_ends_nothing_takes_no_time(piece: str) -> None:
    began = time.process_time()
    documents._of_html(piece * 50_000)
    assert time.process_time() - began < 3


BAD = {
    "scan.pdf": (pdf("", ""), "probably scanned"),
    "secret.pdf": (pdf("Text", locked=True), "password"),
    "cut.pdf": (pdf("Text")[:300], "Damaged"),
    "zip.md": (b"PK\3\4\0\0", "not what"),
    "nul.txt": (b"a\0b", "not what"),
    "empty.md": (b" \n\n", "Empty"),
    "cyrillic.txt": ("Привет, мир и вода".encode("koi8-r") * 9, "unknown encoding"),
    "scripts.html": (b"<script>let a = 1</script>", "Empty"),
    "long.txt": (b"word " * 300_000, "million"),
    "pointer.md": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "not what"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_named_and_left_out(tmp_path: Path, name: str) -> None:
    raw, why = BAD[name]
    data, (_, said) = packed(tmp_path, {"good.md": "Tea is brewed.", name: raw})
    assert list(data.documents) == ["good.md"]
    assert why.casefold() in said.casefold() and f"1 ({name})" in said
    with refused("missing", name):
        packed(tmp_path, {name: raw})


@pytest.mark.long
def test_a_pdf_of_2000_pages_is_read() -> None:
    text = documents.text_of("long.pdf", pdf(*(f"Page {i}" for i in range(2000))))[0]
    assert text.split("\n\n")[-1] == "Page 1999"


def test_drawings_of_a_pdf_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_OPERATORS", 50)
    assert documents.text_of("short.pdf", pdf("Text")) == ("Text", False)
    _, (_, said) = packed(tmp_path, {"a.md": "Tea", "long.pdf": pdf(*["Text"] * 20)})
    assert "too many pages or drawings" in said


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["d/a.md", "d/b/c.html", "d/x.png", "d/renamed.json"], ["a.md", "b/c.html"]),
        (["a.pdf"], ["a.pdf"]),
        (["d/a.txt"], ["a.txt"]),
        (["a.txt"], []),  # a file of sentences
        (["d/train.txt"], []),
        (["a.txt", "b.txt", "c.txt", "README.md"], ["README.md", "a.txt", "b.txt", "c.txt"]),
        (["a.md", "queries.jsonl", "qrels.tsv"], ["a.md", "qrels.tsv", "queries.jsonl"]),
        (["train.csv", "test.csv", "README.md"], []),  # tables by split
        (["train.csv", "test.csv", "notes.md"], []),  # more tables than documents
        (["a.en.txt", "a.de.txt"], []),  # lines that translate one another
        (["test_en.txt", "test_de.txt"], []),
        (["d/one.txt", "d/two.txt"], ["one.txt", "two.txt"]),
        (["train.txt", "dev.txt", "test.txt"], []),
        (["corpus.jsonl", "queries.jsonl", "qrels.tsv", "a.md", "b.md"], []),  # BEIR's own
    ],
)
def test_documents_are_told_from_tables(names: list[str], chosen: list[str]) -> None:
    assert list(documents.among(names).values()) == chosen


@pytest.mark.parametrize(
    ("folders", "files", "found"),
    [
        (["a", "b"], ["1.txt", "2.txt", "3", "4", "5"], {("", "a"), ("", "b")}),
        (["n/train/a", "n/test/b"], list("12345"), {("train", "a"), ("test", "b")}),
        (["a", "b"], list("1234"), set()),  # few of each may be documents in chapters
        (["a", "b"], [f"{n}.md" for n in range(9)], set()),
        (["a"], list("12345"), set()),
        (["a", "a/b"], list("12345"), set()),
        (["/a", "../b"], list("12345"), set()),
        # As IMDb's reviews: some without a label, and lists above the folders.
        (["a", "b", "unsup"], list("12345"), {("", "a"), ("", "b")}),
        (["a", "b", "."], [f"{n}_a.txt" for n in range(5)], {("", "a"), ("", "b")}),
        (["a", "b", "."], [f"{n}.txt" for n in range(5)], set()),
        (["test/a", "train", "train/b", "."], list("12345"), {("test", "a"), ("train", "b")}),
    ],
)
def test_folders_of_texts_are_labels(
    folders: list[str], files: list[str], found: set[tuple[str, str]]
) -> None:
    assert found == set(
        documents.labels_of(
            ["README.md", *(f"{folder}/{file}" for folder in folders for file in files)]
        ).values()
    )


# --- Excel sheets, Arrow and text of other encodings ---


TEXT = "sentence,label\nGr\u00fc\u00dfe aus K\u00f6ln,a\nDer Hund schl\u00e4ft \u2013 endlich,b\n"


LATE = "A plain sentence.\n" * 200_000 + "K\u00f6ln\n"


@pytest.mark.parametrize(
    ("content", "text", "encoding"),
    [
        (TEXT.encode("cp1252"), TEXT, "Windows-1252"),
        (TEXT.encode("utf-16-le"), TEXT, "UTF-16"),
        (TEXT.encode("utf-16-be"), TEXT, "UTF-16"),
        (LATE.encode("latin-1"), LATE, "Windows-1252"),  # a late letter decides
        # What readers read or refuse is left.
        (TEXT.encode(), None, ""),
        (TEXT.encode("utf-16"), None, ""),
        (TEXT.encode() + b"\xff", None, ""),
        ("\u041f\u0440\u0438\u0432\u0435\u0442\n".encode("cp1251") * 9, None, ""),
        ("\u3053\u3093\u306b\u3061\u306f\n".encode("shift_jis") * 9, None, ""),
        (b"text,label\nhello\0,a\nbye,b\n", None, ""),
        (b"", None, ""),
    ],
    ids=[
        "cp1252",
        "le",
        "be",
        "late",
        "utf-8",
        "marked utf-16",
        "damaged",
        "cyrillic",
        "japanese",
        "a nul",
        "empty",
    ],
)
def test_text_of_another_encoding(
    tmp_path: Path, content: bytes, text: str | None, encoding: str
) -> None:
    file = folder.files(tmp_path / "given", {"mine.csv": content}) / "mine.csv"
    found = convert(file, tmp_path)
    # Other Latin letters may pass for these.
    assert ("save it as UTF-8" in found.note) is (encoding == "Windows-1252")
    assert encoding in found.note and (found.path == file) == (text is None)
    assert text in (None, found.path.read_text("utf-8", "replace"))


def test_a_sheet_of_excel(tmp_path: Path) -> None:
    """The first with rows, or the one that is named; days without a midnight, plain numbers."""
    book, file = openpyxl.Workbook(), tmp_path / "mine.xlsx"
    book.save(file)
    with refused("missing", "mine.xlsx"):
        convert(file, tmp_path)
    book.active.title = "Empty"
    book.create_sheet("Notes").append(["Read me"])
    sheet = book.create_sheet("Rows")
    for row in (["sentence", "grade", "day"], ["A, cat", 3, datetime(2026, 1, 2)], [], ["B", 2.5]):
        sheet.append(row)
    book.save(file)
    first = convert(file, tmp_path)
    assert first.sheets == ("Empty", "Notes", "Rows") and "Rows" in first.note
    assert first.sheet == "Notes"
    assert first.path.name == "mine.csv" and first.path.read_text() == "Read me\n"
    rows = convert(file, tmp_path, "Rows").path.read_text("utf-8").splitlines()
    assert rows == ["sentence,grade,day", '"A, cat",3,2026-01-02', "", "B,2.5,"]  # numbered alike
    for name, code in {"Other": "unknown", "Empty": "missing"}.items():
        with refused(code, name):
            convert(file, tmp_path, name)
    book["Notes"].sheet_state = "hidden"
    book.save(file)
    assert convert(file, tmp_path).sheet == "Rows"


@pytest.mark.parametrize(("made", "says"), [("=1+1", True), (None, False), (2, False)])
def test_formulas_that_were_never_calculated_are_said(
    tmp_path: Path, made: object, says: bool
) -> None:
    """As programs write them: a spreadsheet's own have their values beside them."""
    book, file = openpyxl.Workbook(), tmp_path / "mine.xlsx"
    for row in (["sentence", "grade"], ["A", made], ["=", 1]):
        book.active.append(row)
    book.save(file)
    assert ("Formulas without a value" in convert(file, tmp_path).note) is says


@pytest.mark.parametrize("content", [b"PK\x03\x04....", b"", b"<html>"])
def test_what_is_no_workbook_is_refused(tmp_path: Path, content: bytes) -> None:
    with refused("damaged", "mine.xlsx"):
        convert(folder.files(tmp_path, {"mine.xlsx": content}) / "mine.xlsx", tmp_path)


@pytest.mark.parametrize("write", [pa.ipc.new_file, pa.ipc.new_stream, feather.write_feather])
def test_a_table_of_arrow_is_one_of_parquet(tmp_path: Path, write) -> None:
    """As pandas and `save_to_disk` write them."""
    table, file = pa.table({"text": ["a", "b"], "label": [0, 1]}), tmp_path / "mine.arrow"
    if write is feather.write_feather:
        write(table, file)
    else:
        with write(file, table.schema) as out:
            out.write_table(table)
    assert pq.read_table(convert(file, tmp_path).path) == table
    file.write_bytes(file.read_bytes()[:100])
    with refused("damaged", "mine.arrow"):
        convert(file, tmp_path)


# Several files as one data set: what an archive may hold, and what it may not do.


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
    lines = {"a.de-en.en": b"one\n\n", "a.de-en.de": b"eins\nzwei\n"}
    raw = zipped(lines | {"README": b"Of OPUS.", "LICENSE": b"Free."})
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


@pytest.mark.parametrize("judged", ["qrels", "data"])
def test_folders_on_the_hub_tell_documents_from_queries(judged: str) -> None:
    rows = {
        "corpus": '{"_id": "d1", "title": "A", "text": "b"}\n{"_id": "d2", "text": "c"}\n',
        "queries": '{"_id": "q1", "text": "d"}\n',
        judged: '{"query-id": "q1", "corpus-id": "d1", "score": 1}\n',
    }
    packed = zipped({f"{n}/test-00000-of-00001.jsonl": text.encode() for n, text in rows.items()})
    data = read(packed, "x.zip", preview(packed, "x.zip").mapping)
    assert (data.documents, data.queries) == ({"d1": "A b", "d2": "c"}, {"q1": "d"})
    assert data.judgements == {"test": {"q1": {"d1": 1}}}


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
def test_what_an_archive_may_not_be(raw: bytes, code: str, named: str) -> None:
    """It is refused before it takes memory."""
    with refused(code, named):
        read(raw, "x.zip", preview(raw, "x.zip").mapping)


def test_lists_of_texts_are_judged_documents(tmp_path: Path) -> None:
    """As FlagEmbedding's training data and MTEB's reranking have them."""
    rows = [
        {"query": "a", "pos": ["b", "c"], "neg": ["d"], "pos_scores": [1, 0.5]},
        {"query": "e", "pos": ["d"], "neg": []},
    ]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    found = convert(folder.files(tmp_path / "given", {"x.jsonl": lines}) / "x.jsonl", tmp_path)
    data = read(found.path, found.path.name, preview(found.path, found.path.name).mapping)
    assert isinstance(data, Retrieval) and "4 documents" in found.note
    judged = {
        data.queries[query]: {data.documents[document]: grade for document, grade in of.items()}
        for query, of in data.judgements["test"].items()
    }
    assert judged == {"a": {"b": 1, "c": 1, "d": 0}, "e": {"d": 1}}
    feather.write_feather(pa.Table.from_pylist(rows), tmp_path / "y.feather")
    (own := tmp_path / "own").mkdir()
    assert convert(tmp_path / "y.feather", own).path.read_text() == found.path.read_text()
    labelled = [
        {"query": "a", "docs": ["b", "c", "d"], "labels": [1, 1, 0]},
        {"query": "e", "docs": ["d"], "labels": [1]},
    ]
    pq.write_table(pa.Table.from_pylist(labelled), tmp_path / "z.parquet")
    assert convert(tmp_path / "z.parquet", own).path.read_text() == found.path.read_text()
    sets = folder.files(tmp_path, {"s.jsonl": '{"set": ["a", "b"]}\n{"set": ["e", "d"]}\n'})
    assert "2 documents" in convert(sets / "s.jsonl", own).note


@pytest.mark.parametrize(
    ("contexts", "number"),
    [("\"['b', 'c, d']\"", 2), ('"[""b"", ""c""]"', 2), ("\"['b' 'c']\"", 0), ("[b]", 0)],
    ids=["python", "json", "numpy", "text"],
)
def test_lists_written_in_csv_are_lists(contexts: str, number: int, tmp_path: Path) -> None:
    """As pandas writes them, and with it Ragas; numpy's would become one text."""
    table = f"user_input,reference_contexts,reference\na,{contexts},yes\n"
    found = convert(folder.files(tmp_path / "given", {"x.csv": table}) / "x.csv", tmp_path)
    assert (f"became {number} documents" if number else "") in found.note
    assert bool(found.note) is bool(number)


@pytest.mark.parametrize("name", ["label", "accept"])
def test_a_list_of_one_label_is_that_label(name: str) -> None:
    """As doccano and Prodigy write it; several are refused."""
    rows = [("a b", ["x"]), ("c d", ["y"])]
    lines = "".join(json.dumps({"text": text, name: label}) + "\n" for text, label in rows).encode()
    mapping = preview(lines, "x.jsonl").mapping
    assert [*read(lines, "x.jsonl", mapping).labels] == ["x", "y"]
    with refused("damaged", "line 3", "several"):
        read(lines + json.dumps({"text": "e", name: ["x", "y"]}).encode(), "x.jsonl", mapping)


def test_the_answers_of_label_studio_are_columns() -> None:
    """The newest annotation counts."""

    def task(text: str, *labels: str) -> dict[str, object]:
        chosen = {"from_name": "sentiment", "type": "choices"}
        notes = [{"result": [chosen | {"value": {"choices": [label]}}]} for label in labels]
        return {"id": 1, "annotations": notes, "data": {"text": text}, "project": 7}

    lines = json.dumps([task("a b", "x", "y"), task("c d", "z")]).encode()
    found = preview(lines, "x.json")
    assert found.columns == ("text", "sentiment") and found.mapping.columns["label"] == "sentiment"
    assert [*read(lines, "x.json", found.mapping).labels] == ["y", "z"]


def test_one_json_file_holds_a_retrieval_set(tmp_path: Path) -> None:
    """As LlamaIndex and SQuAD write them; documents that answer nothing stay."""
    by_id = {
        "queries": {"q1": "a?", "q2": "b?"},
        "corpus": {"d1": "A.", "d2": {"title": "On", "text": "B."}, "d3": "C."},
        "relevant_docs": {"q1": ["d1"], "q2": ["d2"]},
    }
    questions = [{"id": "q1", "question": "a?"}, {"id": 2, "question": "b?"}]
    no = {"id": "q3", "question": "c?", "is_impossible": True}
    squad = {"data": [{"paragraphs": [{"context": "A.", "qas": [*questions, no]}]}]}

    def answers(value: object) -> dict[str, list[str]]:
        file = folder.files(tmp_path / "given", {"x.json": json.dumps(value)}) / "x.json"
        found = convert(file, tmp_path)
        assert found.note.startswith("x.json holds 2 queries on ")
        data = read(found.path, found.path.name, preview(found.path, found.path.name).mapping)
        assert len(data.documents) == len(value.get("corpus", "1"))
        judged = data.judgements["test"]
        return {data.queries[q]: [data.documents[key] for key in judged[q]] for q in judged}

    assert answers(by_id) == {"a?": ["A."], "b?": ["On B."]}
    assert answers(squad) == {"a?": ["A."], "b?": ["A."]}
    table = json.dumps({"relevant_docs": ["d1"], "text": ["a"]})
    file = folder.files(tmp_path / "given", {"y.json": table}) / "y.json"
    assert convert(file, tmp_path).path == file
