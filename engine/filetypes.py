"""What a file is by its first bytes, asked before a reader is chosen."""

import re
from pathlib import Path

from theodolite.engine.errors import UserError

LFS = b"version https://git-lfs.github.com/spec/"
"""How a Git LFS pointer begins: <https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>."""


_KINDS: dict[bytes, tuple[str, str]] = {
    b"PK\3\4": ("a ZIP archive, perhaps of Excel or Word", "csv"),
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook or Word document", "csv"),
    b"PAR1": ("a Parquet file", "rename"),
    b"\x1f\x8b": ("a gzip file", "rename"),
    b"SQLite format 3": ("an SQLite database", "csv"),
    b"ARROW1": ("an Arrow or Feather file", "pandas"),
    b"\x89HDF": ("an HDF5 file", "pandas"),
    b"\x93NUMPY": ("a NumPy array", "pandas"),
    b"%PDF": ("a PDF document", "text"),
    b"{\\rtf": ("an RTF document", "text"),
    b"BZh": ("a bzip2 archive", "unpack"),
    b"\xfd7zXZ": ("an xz archive", "unpack"),
    b"\x28\xb5\x2f\xfd": ("a Zstandard archive", "unpack"),
    b"7z\xbc\xaf": ("a 7-Zip archive", "unpack"),
    b"Rar!": ("a RAR archive", "unpack"),
    **{
        b"\x80" + bytes([n]): ("a pickle, which may run code when read", "pandas")
        for n in (2, 3, 4, 5)
    },
}
"""First bytes -> what the file is, and what to do about it."""
_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|\?xml)\b", re.IGNORECASE)
_TO_DO = {
    "csv": "Open it and save the table as CSV; Excel calls the right one CSV UTF-8.",
    "rename": "Rename it to what it is, or save it again as CSV.",
    "pandas": "Save the table with pandas' to_parquet or to_csv.",
    "r": "Save the table in R with write.csv.",
    "xml": "Save the texts as a table in CSV, those that belong together in columns beside each "
    "other.",
    "text": "Save it as plain text.",
    "unpack": "Unpack it, or pack it again as .gz.",
    "page": "It may be an error page in place of a download: get the file again.",
}
_ENDINGS = {
    **dict.fromkeys(
        (
            *(".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers"),
            *(".db", ".sqlite", ".sqlite3", ".mdb", ".accdb", ".sql"),
        ),
        "csv",
    ),
    **dict.fromkeys((".pkl", ".pickle", ".feather", ".arrow", ".h5", ".npy", ".npz"), "pandas"),
    **dict.fromkeys((".dta", ".sav", ".sas7bdat", ".avro", ".orc"), "pandas"),
    **dict.fromkeys((".rds", ".rda", ".rdata"), "r"),
    **dict.fromkeys((".tmx", ".xliff", ".xlf", ".xml"), "xml"),
    **dict.fromkeys((".pdf", ".doc", ".docx", ".rtf", ".odt", ".pptx", ".odp", ".epub"), "text"),
    **dict.fromkeys((".bz2", ".xz", ".zst", ".7z", ".rar", ".tar", ".tgz"), "unpack"),
}
"""Endings of names that are not read here -> what to do about them."""


def is_page(start: bytes) -> bool:
    """Whether a file is a web page or XML by its first bytes."""
    return bool(_PAGE.match(start))


def kind_of(start: bytes) -> tuple[str, str] | None:
    """Return what a file is by its first bytes, and what to do about it; None for text."""
    if is_page(start):
        return "a web page or XML", _TO_DO["page"]
    entry = next((kind for mark, kind in _KINDS.items() if start.startswith(mark)), None)
    return entry and (entry[0], _TO_DO[entry[1]])


def advice_for(ending: str) -> str:
    """Return what to do about a file whose name ends so; empty if nothing is known of it."""
    return _TO_DO[_ENDINGS[ending]] if ending in _ENDINGS else ""


def is_document(ending: str) -> bool:
    """Return whether a file whose name ends so has running text that is not read here."""
    return _ENDINGS.get(ending) == "text"


def lfs_pointer(path: Path) -> bool:
    """Whether the file is a Git LFS pointer: a few lines of text in place of the content."""
    try:
        if not path.is_file():  # opening a pipe would wait
            return False
        with path.open("rb") as file:
            return file.read(len(LFS)) == LFS
    except OSError:  # not permitted: reading it will say so
        return False


def refuse_pointer(path: Path) -> None:
    """Refuse a Git LFS pointer."""
    if lfs_pointer(path):
        raise is_pointer(str(path))


def is_pointer(name: str) -> UserError:
    """Return the error for a Git LFS pointer."""
    return UserError(
        f"{name} is a Git LFS pointer: its content was not downloaded with the repository.",
        "Run `git lfs install` and `git lfs pull` there, or download the file itself.",
        code="wrong-kind",
    )
