"""Documents as people have them, against the readers of the same formats that others wrote."""

import io
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import lxml.html
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from tests.errors import refused
from tests.fakes import folder
from theodolite.engine.datasets import Retrieval, documents
from theodolite.engine.datasets.conversion import convert
from theodolite.engine.datasets.tables import preview, read

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
    data = read(target / "docs.zip", "docs.zip", mapping, "docs")
    assert isinstance(data, Retrieval)
    return data, notes


def words(page: str) -> list[str]:
    """What lxml reads in a page, without what no browser shows."""
    tree = lxml.html.fromstring(page)
    lxml.etree.strip_elements(tree, *documents._HIDDEN, lxml.etree.Comment, with_tail=False)
    return " ".join(tree.itertext()).split()


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


def test_of_a_web_page_only_the_text_is_taken() -> None:
    text = documents.text_of("page.html", PAGE.encode())[0]
    assert text.replace("# ", "").split() == words(PAGE)
    assert text.splitlines()[:5] == ["Tea & co", "", "# Brew", "", "Pour hot water."]


@pytest.mark.parametrize(
    ("name", "page", "text"),
    [
        ("a.htm", '<meta charset="iso-8859-2"><p>Łódź</p>'.encode("iso-8859-2"), "Łódź"),
        ("a.html", b"<html><body><p>None is declared.</p></body></html>", "None is declared."),
    ],
)
def test_the_encoding_of_a_web_page(name: str, page: bytes, text: str) -> None:
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
    assert first.path.name == "mine.csv" and first.path.read_text() == "Read me\n"
    rows = convert(file, tmp_path, "Rows").path.read_text("utf-8").splitlines()
    assert rows == ["sentence,grade,day", '"A, cat",3,2026-01-02', "", "B,2.5,"]  # numbered alike
    for name, code in {"Other": "unknown", "Empty": "missing"}.items():
        with refused(code, name):
            convert(file, tmp_path, name)


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
def test_a_table_of_arrow_is_one_of_parquet(tmp_path: Path, write: Callable[..., Any]) -> None:
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
