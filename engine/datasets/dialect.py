"""What a file of rows is, from its name and its beginning, before any reader reads it.

A name promises little: what Excel calls text is UTF-16 with tabs, what it calls CSV has semicolons
and decimal commas where people write those, TSV is written with quotes and without, and a file may
be a web page or a Git LFS pointer. `dialect_of` is asked by all readers of rows, so that a preview,
an upload, a training and a corpus see the same rows.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import IO

from theodolite.engine.datasets.columns import has_header, is_number, is_probing, known_name
from theodolite.engine.datasets.files import (
    BROKEN_GZIP,
    encoding_of,
    not_whole_gzip,
    open_binary,
    other_encoding,
    pieces,
    read_as,
    refuse_other,
)
from theodolite.engine.datasets.limits import MAX_COLUMNS, MAX_ROW, Unpacking
from theodolite.engine.errors import UserError
from theodolite.engine.filetypes import LFS, advice_for, is_pointer, kind_of
from theodolite.engine.stamps import Stamp, of_file

JSON_LINES = (".jsonl", ".ndjson")
ENDINGS = (".csv", ".tsv", ".txt", *JSON_LINES, ".json", ".parquet")
"""Known endings of file names; all but Parquet also with `.gz`."""
TREC = (".qrels", ".trec")
"""Endings of TREC's judgements, four columns separated by spaces: part of a retrieval set."""

_SAMPLE = 2**20
"""Bytes from the start of a file that are looked at, unpacked."""
_START = 2**18
"""Characters of them in which cells are counted."""
_FEW = 2**14
"""Characters that mostly tell whether quotes are part of the text."""
_ROWS = 100
_MAX_ABOVE = 10
"""Lines that a title above the names of the columns may have."""
_SEPARATORS = ",;\t|"
_ALONE = "\x1f"
"""A separator that no text contains, for a column without one."""
_TO_SKIP = re.compile(r'"?sep=(.)"?[;,\t]*\r?\n', re.IGNORECASE)
"""A first line that tells Excel the separator."""
_QUOTED = r'"(?<![^\t\n]")([^"]*+(?:""[^"]*+)*+)'
_IN_QUOTES = re.compile(_QUOTED + r'"(?=[\t\r\n]|$)')
"""A cell of a TSV in quotes, as CSV writers write it."""
_OPEN = re.compile(_QUOTED + r"\Z")
"""The beginning of such a cell, where a text was cut."""
_COMMA = re.compile(r"[+-]?\d+(?:,\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


@dataclass(frozen=True)
class Dialect:
    """How the rows of a file are written.

    Attributes:
        ending: `.csv` for cells that may be in quotes, `.tsv` for bare ones, `.txt` for lines,
            `.jsonl` for an object or a list of cells per line, `.json` for one JSON value,
            `.parquet`.
        encoding: the text's encoding, as Python names it.
        separator: what separates cells.
        escape: the character before a separator or quote that belongs to a cell, if any.
        skip: number of lines before the first row.
        header: whether the first row holds the columns' names.
        sure: whether something else than its being the first says so.
        probing: whether it has SentEval's probing layout.
        width: number of columns; 0 if unknown. Empty columns at the right are not counted.
        decimals: the columns of numbers that are written with a decimal comma.
        spaced: whether a space follows each separator, also before quotes.
        lists: whether the lines of JSON are lists of cells, not objects.
    """

    ending: str
    encoding: str = "utf-8"
    separator: str = ","
    escape: str | None = None
    skip: int = 0
    header: bool = True
    sure: bool = True
    probing: bool = False
    width: int = 0
    decimals: tuple[int, ...] = ()
    spaced: bool = False
    lists: bool = False

    def cells(self, row: list[str]) -> list[str]:
        """Return a row's cells without empty ones beyond the width, and decimal points."""
        if len(row) > self.width > 0 and not any(cell.strip() for cell in row[self.width :]):
            row = row[: self.width]
        for place in self.decimals:
            if place < len(row) and _COMMA.fullmatch(row[place].strip()):
                row[place] = row[place].replace(",", ".")
        return row


def ending_of(filename: str) -> tuple[str, bool]:
    """Split a name into the format's ending and whether it is gzip."""
    lower = filename.lower()
    packed = lower.endswith(".gz")
    ending = Path(lower.removesuffix(".gz")).suffix
    ending = ".txt" if ending in TREC else ending
    if ending not in ENDINGS or (packed and ending == ".parquet"):
        raise UserError(
            f"{filename} is not in a known format.",
            advice_for(ending)
            or f"Available: {', '.join(ENDINGS)}, all but Parquet also packed as .gz; "
            "as a data set also .xlsx, .arrow, documents such as .pdf, and a .zip of files. "
            "Rename a file with one sentence per line so that it ends in .txt.",
            code="wrong-kind",
        )
    return ending, packed


def check_start(source: Path | bytes, filename: str) -> None:
    """Check a file's first bytes against its ending."""
    ending, packed = ending_of(filename)
    with open_binary(source, packed=False) as raw:
        start = raw.read(512)
    if not start:
        raise UserError(
            f"{filename} is empty.", "Give a file with at least one row.", code="missing"
        )
    if start.startswith(LFS):
        raise is_pointer(filename)
    kind, to_do = kind_of(start) or ("text", "Rename it to what it is, or save it again as CSV.")
    wanted = "a Parquet file" if ending == ".parquet" else "a gzip file" if packed else "text"
    if kind != wanted:
        raise UserError(
            f"{filename} should be {wanted} by its name, but its first bytes are those of {kind}.",
            to_do,
            code="wrong-kind",
        )


def dialect_of(source: Path | bytes, filename: str) -> Dialect:
    """Find how a file is written."""
    ending, packed = ending_of(filename)
    check_start(source, filename)
    if ending == ".parquet":
        return Dialect(ending)
    try:
        with open_binary(source, packed) as raw:
            head = raw.read(_SAMPLE + 1)
        refuse_other(head, filename)
        encoding = other_encoding([head]) or encoding_of(head)
        if len(head) > _SAMPLE and head.isascii():
            encoding = (
                _kept_encoding(source, filename, of_file(source))
                if isinstance(source, Path)
                else _later_encoding(source, filename)
            )
    except BROKEN_GZIP as error:
        raise not_whole_gzip(filename, error) from error
    text = head[:_SAMPLE].decode("utf-8-sig" if encoding == "utf-8" else encoding, "replace")
    whole = len(head) <= _SAMPLE
    if not whole and (last := text.rfind("\n") + 1):
        text = text[:last]
    if ending in (*JSON_LINES, ".json"):
        return replace(_json(text, whole, ending), encoding=encoding)
    return replace(_of_text(text, whole, ending), encoding=encoding)


def encoding_note(source: Path | bytes, filename: str) -> str:
    """Say in which encoding a file of text is read; empty for UTF-8."""
    return read_as(filename, dialect_of(source, filename).encoding)


def _later_encoding(source: Path | bytes, filename: str) -> str:
    """The encoding of a file that begins in ASCII, by all of it."""
    unpacking = Unpacking(filename, source)

    def counted(raw: IO[bytes]) -> Iterator[bytes]:
        for piece in pieces(raw):
            unpacking.add(len(piece))
            yield piece

    with open_binary(source, ending_of(filename)[1]) as raw:
        return other_encoding(counted(raw)) or "utf-8"


@lru_cache(maxsize=1024)
def _kept_encoding(path: Path, filename: str, stamp: Stamp) -> str:
    """`stamp` invalidates the cache."""
    return _later_encoding(path, filename)


def _json(text: str, whole: bool, ending: str) -> Dialect:
    """Tell values, one per line, from a single one: a list, or pandas' objects of columns."""
    text = text.strip()
    first, _, others = text[: 2 * MAX_ROW].partition("\n")
    if first.strip() in ("[", "{"):
        return Dialect(".json")
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return Dialect(".json" if ending == ".json" or text.startswith("[") else ".jsonl")
    if isinstance(row, list):
        return _of_lists(text) if others.lstrip().startswith("[") else Dialect(".json")
    if not whole or others:
        return Dialect(".jsonl")
    columns = isinstance(row, dict) and row.values()
    of_columns = columns and all(isinstance(column, dict | list) for column in columns)
    return Dialect(".json" if ending == ".json" or of_columns else ".jsonl")


def _of_lists(text: str) -> Dialect:
    rows: list[list[str]] = []
    for line in islice(filter(str.strip, text.split("\n")), _ROWS):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):  # the reader of rows names its place
            break
        rows.append([str(cell) for cell in row] if isinstance(row, list) else [])
    header, sure = has_header(rows)
    return Dialect(".jsonl", header=header, sure=sure, lists=True)


def _of_text(text: str, whole: bool, ending: str) -> Dialect:
    mark = _TO_SKIP.match(text)
    body = text[mark.end() :] if mark else text
    above = [] if ending == ".txt" else _above(body)
    body = body[sum(map(len, above)) :]
    start = body[:_START]
    if len(start) < len(body) and (last := start.rfind("\n") + 1):
        start = start[:last]
    lines = [line for line in islice(io.StringIO(start, newline=None), _ROWS) if line.strip()]
    if not lines:
        return Dialect(ending)
    if ending != ".csv" and is_probing(lines[0].rstrip("\r\n")):
        return Dialect(".tsv", separator="\t", header=False, probing=True)
    tabs = {line.count("\t") for line in lines}
    table = len(tabs) == 1 or (_is_quoted(body, whole) and _fit(start, "\t", None)[0] == 1.0)
    separator, escape = "\t", None
    if mark:
        separator = mark[1]
    elif ending == ".csv":
        separator, escape = _separator(start)
    elif "\t" not in lines[0] or (ending == ".txt" and (not table or len(lines) < 3)):
        separator, escape = _separator(start)
        # Without a tab, only a line of known names shows that lines are rows.
        names = next(_rows(lines[0], separator, escape), [])
        if len(names) < 2 or not all(map(known_name, names)):
            if ending == ".txt":
                return Dialect(ending)
            separator, escape = "\t", None
    bare = separator == "\t" and not _is_quoted(body, whole)
    dialect = Dialect(
        ".tsv" if bare else ".csv", separator=separator, escape=escape, skip=len(above) + bool(mark)
    )
    if bare:
        return _describe(dialect, [line.rstrip("\r\n").split("\t") for line in lines])
    rows = list(islice(_rows(start, separator, escape), _ROWS))
    return _describe(*_without_spaces(dialect, rows, start))


def _above(text: str) -> list[str]:
    """Return the lines of a title, of one filled cell at most, that stand above known names."""
    lines = list(islice(io.StringIO(text, newline=""), _MAX_ABOVE))
    for count, line in enumerate(lines):
        cells = [cell for cell in map(str.strip, re.split(f"[{_SEPARATORS}]", line)) if cell]
        if len(cells) > 1:
            known = sum(known_name(cell) for cell in cells)
            return lines[:count] if known > 1 else []
    return []


def _without_spaces(
    dialect: Dialect, rows: list[list[str]], text: str
) -> tuple[Dialect, list[list[str]]]:
    """Read the rows again if a space before quotes made these part of the cells."""
    if not any(cell.startswith(' "') and cell.endswith('"') for row in rows for cell in row):
        return dialect, rows
    again = _rows(text, dialect.separator, dialect.escape, spaced=True)
    return replace(dialect, spaced=True), list(islice(again, _ROWS))


def _describe(dialect: Dialect, rows: list[list[str]]) -> Dialect:
    """Fill in what the cells of the first rows show."""
    if not rows or len(rows[0]) > MAX_COLUMNS:
        return dialect
    first, *others = rows
    positions = (i for row in rows for i, cell in enumerate(row, start=1) if cell.strip())
    width = min(len(first), max(positions, default=1))
    columns = [[row[i].strip() for row in rows if i < len(row)] for i in range(width)]
    decimals = tuple(i for i, cells in enumerate(columns) if _has_commas(cells[1:]))
    dialect = replace(dialect, width=width, decimals=decimals)
    header, sure = has_header([dialect.cells(list(row)) for row in (first, *others)])
    return replace(dialect, header=header, sure=sure)


def _has_commas(cells: Sequence[str]) -> bool:
    """Whether cells are numbers with decimal commas, and not with commas between thousands."""
    cells = [cell for cell in cells if cell]
    with_comma = [cell for cell in cells if _COMMA.fullmatch(cell) and "," in cell]
    numbers = len(with_comma) + sum(map(is_number, cells))
    return (
        bool(with_comma)
        and numbers >= 0.8 * len(cells)
        and not all(map(_THOUSANDS.fullmatch, with_comma))
        and not any("." in cell for cell in cells if is_number(cell))
    )


def _rows(
    text: str, separator: str, escape: str | None, *, spaced: bool = False
) -> Iterator[list[str]]:
    """Yield the rows of CSV that are not empty, up to the first fault."""
    csv.field_size_limit(MAX_ROW)
    lines = io.StringIO(text, newline="")
    rows = csv.reader(
        lines, delimiter=separator, escapechar=escape, skipinitialspace=spaced, strict=True
    )
    try:
        for row in rows:
            if any(cell.strip() for cell in row):
                yield row
    except csv.Error:
        yield []


def _separator(text: str) -> tuple[str, str | None]:
    """Return the separator whose rows are as wide as the first one, and the escape character."""
    fits = {s: _fit(text, s, None) for s in _SEPARATORS}
    separator = max(fits, key=lambda s: fits[s])
    fit, width = fits[separator]
    if fit < 1.0 and "\\" in text:
        escaped = max(_SEPARATORS, key=lambda s: _fit(text, s, "\\"))
        if _fit(text, escaped, "\\")[0] == 1.0:
            return escaped, "\\"
    if width < 2:  # no separator in the first row: a column of sentences, which may hold commas
        others = {len(row) for row in islice(_rows(text, ",", None), 1, _ROWS)}
        return (_ALONE if len(others) > 1 else ","), None
    return separator, None


def _fit(text: str, separator: str, escape: str | None) -> tuple[float, int]:
    """Return the share of rows that are as wide as the first, 0 for one column, and the width."""
    rows = list(islice(_rows(text, separator, escape), _ROWS))
    width = len(rows[0]) if rows else 0
    if width < 2:
        return 0.0, width
    # Empty cells at the right may be missing or too many, as Excel writes them.
    return sum(len(row) == width for row in rows) / len(rows), width


def _shows_bare(text: str, whole: bool = False) -> bool:
    """Whether quotes stand outside of cells in quotes; the last cell of a cut text may be open."""
    outside = _IN_QUOTES.sub("", text)
    return '"' in (outside if whole else _OPEN.sub("", outside))


def _is_quoted(text: str, whole: bool) -> bool:
    """Whether the cells of a TSV are in quotes where they need them.

    Then no quote stands outside, and quotes are there for a reason: a quote, tab or line end
    inside, a comma as for Excel, or because all texts have them. GLUE's and SentEval's files have
    quotes as they come.
    """
    if '"' not in text or (len(text) > _FEW and _shows_bare(text[:_FEW])):
        return False
    inside = _IN_QUOTES.findall(text)
    if not inside or _shows_bare(text, whole):
        return False
    rows = text.count("\n") - sum(cell.count("\n") for cell in inside)
    if len(inside) >= rows or any('""' in c or "\t" in c or "\n" in c for c in inside):
        return True
    outside = _IN_QUOTES.sub("", text)
    return any(mark not in outside and all(mark in c for c in inside) for mark in ",;")
