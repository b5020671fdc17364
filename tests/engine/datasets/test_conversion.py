"""Excel sheets and text of other encodings are read as what they say."""

from datetime import datetime
from pathlib import Path

import openpyxl
import pytest

from tests.errors import refused
from theodolite.engine.datasets.conversion import convert

TEXT = "sentence,label\nGr\u00fc\u00dfe aus K\u00f6ln,a\nDer Hund schl\u00e4ft \u2013 endlich,b\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.mark.parametrize(
    ("encoding", "name"),
    [("cp1252", "Windows-1252"), ("utf-16-le", "UTF-16"), ("utf-16-be", "UTF-16")],
)
def test_text_of_another_encoding(tmp_path: Path, folder: Path, encoding: str, name: str) -> None:
    file = tmp_path / "mine.csv"
    file.write_bytes(TEXT.encode(encoding))
    found = convert(file, folder)
    assert found.path.read_text("utf-8") == TEXT and name in found.note


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        TEXT.encode("utf-16"),
        "\u041f\u0440\u0438\u0432\u0435\u0442\n".encode("cp1251") * 9,
        "\u3053\u3093\u306b\u3061\u306f\n".encode("shift_jis") * 9,
        b"",
    ],
    ids=["utf-8", "marked utf-16", "cyrillic", "japanese", "empty"],
)
def test_what_readers_read_or_refuse_is_left(tmp_path: Path, folder: Path, content: bytes) -> None:
    file = tmp_path / "mine.csv"
    file.write_bytes(content)
    assert convert(file, folder).path == file


def test_a_late_letter_decides(tmp_path: Path, folder: Path) -> None:
    file = tmp_path / "long.txt"
    file.write_bytes(b"A plain sentence.\n" * 200_000 + "K\u00f6ln\n".encode("latin-1"))
    assert convert(file, folder).path.read_text("utf-8").endswith("K\u00f6ln\n")


def test_a_sheet_of_excel(tmp_path: Path, folder: Path) -> None:
    """The first, or the one that is named; days without a midnight, numbers as they are."""
    book, file = openpyxl.Workbook(), tmp_path / "mine.xlsx"
    book.active.title = "Notes"
    book.active.append(["Read me"])
    sheet = book.create_sheet("Rows")
    for row in (["sentence", "grade", "day"], ["A, cat", 3, datetime(2026, 1, 2)], [], ["B", 2.5]):
        sheet.append(row)
    book.save(file)
    first = convert(file, folder)
    assert first.sheets == ("Notes", "Rows") and "Rows" in first.note
    assert first.path.name == "mine.csv" and first.path.read_text() == "Read me\n"
    rows = convert(file, folder, "Rows").path.read_text("utf-8").splitlines()
    assert rows == ["sentence,grade,day", '"A, cat",3,2026-01-02', "B,2.5,"]
    with refused("unknown", "Other"):
        convert(file, folder, "Other")


@pytest.mark.parametrize("content", [b"PK\x03\x04....", b"", b"<html>"])
def test_what_is_no_workbook_is_refused(tmp_path: Path, folder: Path, content: bytes) -> None:
    file = tmp_path / "mine.xlsx"
    file.write_bytes(content)
    with refused("damaged", "mine.xlsx"):
        convert(file, folder)
