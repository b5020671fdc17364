"""What people bring as readers expect it: an Excel sheet as CSV, Arrow as Parquet, text as UTF-8.

Rows of queries with lists of texts become judged documents.

Text is converted if `files.other_encoding` is certain; of others its reader says what to do.
"""

import ast
import csv
import json
import math
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from itertools import chain
from pathlib import Path
from typing import Any

from theodolite.engine.datasets import archives, one_json
from theodolite.engine.datasets.columns import guess, negatives
from theodolite.engine.datasets.dialect import ENDINGS, JSON_LINES
from theodolite.engine.datasets.files import listed, other_encoding, pieces, read_as
from theodolite.engine.datasets.formats import (
    open_table,
    split_by_labels,
    split_sets,
    text_of,
    texts_in,
    whole_rows,
)
from theodolite.engine.datasets.limits import MAX_BYTES, MAX_ROWS, too_large, too_many_rows
from theodolite.engine.errors import UserError, first_line

_WITH_LISTS = (*JSON_LINES, ".json", ".parquet", ".csv", ".tsv")
_OF_NUMPY = re.compile(r"""['"]\s+['"]""")
"""Texts without a comma between them: a list would make one text of them."""
EXCEL = (".xlsx", ".xlsm")
ARROW = (".arrow", ".feather")
_ARROW_FILE = b"ARROW1"
"""What a file of Arrow begins with, and a stream does not."""
_PIECE = 2**20
"""Characters read at a time."""


@dataclass(frozen=True)
class Converted:
    """A file that readers can read.

    Attributes:
        path: the file itself if nothing had to be done, else a new one.
        note: what was done, in a sentence; else empty.
        sheets: names of the sheets of an Excel file.
        sheet: the one that was read.
    """

    path: Path
    note: str = ""
    sheets: tuple[str, ...] = ()
    sheet: str = ""


def convert(file: Path, folder: Path, sheet: str = "") -> Converted:
    """Convert a file into a folder if it has to be.

    Args:
        file: of any kind.
        folder: an empty folder.
        sheet: the sheet of an Excel file; empty for the first with rows.
    """
    table = as_table(file, folder, sheet)
    if file.suffix.lower() in EXCEL:
        return table
    file = table.path
    ending = file.suffix.lower()
    plain = Path(file.name.lower().removesuffix(".gz"))
    stem = file.name[: len(plain.stem)]
    if plain.suffix == ".json":
        target = folder / f"{stem}{archives.ENDING}"
        if note := one_json.convert(file, target):
            return Converted(target, note)
    if plain.suffix in _WITH_LISTS:
        target = folder / f"{stem}.jsonl"
        if count := _judged(file, target):
            note = f"The lists of {file.name} became {count:,} documents, judged 1 or 0."
            return Converted(target, note)
    if ending not in ENDINGS or ending == ".parquet":
        return Converted(file)
    with file.open("rb") as raw:
        encoding = other_encoding(pieces(raw))
    if encoding is None:
        return Converted(file)
    target = folder / file.name
    with (
        file.open(encoding=encoding, newline="") as text,
        target.open("w", encoding="utf-8", newline="") as out,
    ):
        while piece := text.read(_PIECE):
            out.write(piece)
    return Converted(target, read_as(file.name, encoding))


def as_table(source: Path, folder: Path, sheet: str = "", *, bounded: bool = True) -> Converted:
    """Convert Excel, Arrow or a folder of `save_to_disk` into one table; others stay as they are.

    Of such a folder the split `train` is taken, if there is one.

    Args:
        source: the file or folder.
        folder: where the table is written.
        sheet: as for `convert`.
        bounded: whether Arrow of more than `MAX_BYTES` is refused.
    """
    if source.suffix.lower() in EXCEL:
        return _sheet(source, folder / f"{source.stem}.csv", sheet)
    note, parts = "", [source]
    if is_saved(source):
        note, parts = _saved(source)
    elif source.suffix.lower() not in ARROW:
        return Converted(source)
    most = MAX_BYTES if bounded else math.inf
    return Converted(_parquet(parts, folder / f"{source.stem}.parquet", most), note)


def is_saved(folder: Path) -> bool:
    """Whether `save_to_disk` of the package datasets has written this folder."""
    return any((folder / name).is_file() for name in ("dataset_dict.json", "state.json"))


def _saved(folder: Path) -> tuple[str, list[Path]]:
    """Return a note on the split that is taken, and its files, or those of all splits."""
    train = folder / "train"
    note = "Only its train split is learned from." if train.is_dir() else ""
    splits = [train] if note else [folder, *sorted(folder.iterdir())]
    parts = [part for split in splits for part in sorted(split.glob("data-*.arrow"))]
    if not parts:
        raise UserError(
            f"{folder.name} holds no data, though a data set was saved to it.",
            "Save it again with save_to_disk.",
            code="missing",
        )
    return note, parts


def _judged(file: Path, target: Path) -> int:
    """Write the texts in lists of positives and of hard negatives as documents of their query.

    Returns:
        Their number; 0 where there are no such lists.
    """
    try:
        opened = open_table(file, file.name)
        table = split_sets(split_by_labels(opened))
        _, found = guess(table.columns, [])
        first = next(table.rows, None)
    except UserError:  # as its reader will say
        return 0
    if first is None or not {"anchor", "positive"} <= found.keys():
        return 0
    several = _parsed(dict(zip(table.columns, first[1], strict=False)).get(found["positive"]))
    are_lists = isinstance(several, list) or table.columns != opened.columns
    if not are_lists or not isinstance(next(iter(texts_in(several)), ""), str):
        return 0  # numbers may be ids of documents that stand elsewhere
    place = {column: at for at, column in enumerate(table.columns)}
    query, right = place[found["anchor"]], place[found["positive"]]
    wrong = [place[column] for column in negatives(table.columns)]
    count = 0
    with target.open("w", encoding="utf-8") as out:
        for where, cells in whole_rows(replace(table, rows=chain([first], table.rows)), file.name):
            query_text = text_of(cells[query], where, found["anchor"])
            judged = [(text, 1) for text in texts_in(_parsed(cells[right]))]
            judged += [(text, 0) for at in wrong for text in texts_in(_parsed(cells[at]))]
            for text, grade in judged:
                row = {"query": query_text, "document": text, "grade": grade}
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += len(judged)
    return count


def _parsed(cell: Any) -> Any:
    """The list that a cell of text holds, as pandas writes one; any other cell as it is."""
    if isinstance(cell, str) and cell.startswith("[") and not _OF_NUMPY.search(cell):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return ast.literal_eval(cell)
    return cell


def _parquet(parts: Sequence[Path], target: Path, most: float) -> Path:
    """Write tables of Arrow as one of Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    size, out = 0, None
    with ExitStack() as stack:
        for part in parts:
            try:
                for batch in _batches(part):
                    size += batch.nbytes
                    if size > most:
                        raise too_large(part.name)
                    out = out or stack.enter_context(pq.ParquetWriter(target, batch.schema))
                    if batch.num_rows:
                        out.write_batch(batch)
            except (pa.ArrowException, OSError, ValueError, KeyError) as error:
                raise UserError(
                    f"{part.name} cannot be read as Arrow: {first_line(error, 200)}",
                    "Save it again, or as Parquet.",
                    code="damaged",
                ) from error
    return target


def _batches(file: Path) -> Iterator[Any]:
    """Yield an empty batch, then those of a file, or of a stream, as `save_to_disk` writes it."""
    import pyarrow as pa

    # Not mapped: where the file is cut off while it is read, that would end the process.
    with pa.OSFile(str(file)) as raw:
        whole = raw.read(len(_ARROW_FILE)) == _ARROW_FILE
        raw.seek(0)
        table = pa.ipc.open_file(raw) if whole else pa.ipc.open_stream(raw)
        yield pa.RecordBatch.from_pylist([], table.schema)
        yield from map(table.get_batch, range(table.num_record_batches)) if whole else table


def _sheet(file: Path, target: Path, sheet: str) -> Converted:
    """Write a sheet of an Excel file as CSV: the values of formulas."""
    import openpyxl

    try:
        with zipfile.ZipFile(file) as parts:
            if sum(part.file_size for part in parts.infolist()) > MAX_BYTES:
                raise too_large(file.name)
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
    except UserError:
        raise
    except Exception as error:  # openpyxl raises whatever its parsers do
        raise UserError(
            f"{file.name} is not a complete Excel workbook.",
            "Open it and save it again, or save the table as CSV UTF-8.",
            code="damaged",
        ) from error
    try:
        names = tuple(worksheet.title for worksheet in book.worksheets)
        if not names or (sheet and sheet not in names):
            raise UserError(
                f"{file.name} has no sheet {sheet!r}." if sheet else f"{file.name} has no sheet.",
                f"Its sheets are: {listed(names)}." if names else "Save the table as CSV UTF-8.",
                code="unknown",
            )
        seen = [page.title for page in book.worksheets if page.sheet_state == "visible"]
        for picked in (sheet,) if sheet else seen or names:
            has_gaps = _write(book[picked], target, file.name)
            if target.stat().st_size:
                lacks_values = has_gaps and _lacks_values(file, book[picked])
                break
        else:
            raise UserError(
                f"The sheet {picked} of {file.name} is empty."
                if sheet
                else f"{file.name} is empty.",
                "Give a sheet with at least one row.",
                code="missing",
            )
    finally:
        book.close()
    others = [name for name in names if name != picked]
    more = f" It also has {listed(others, 6)}." if others else ""
    if lacks_values:
        more += (
            " Formulas without a value were read as empty: open the file in a spreadsheet program "
            "and save it again."
        )
    note = f"The sheet {picked} of {file.name} was read.{more}"
    return Converted(target, note, names, picked)


def _write(sheet: Any, target: Path, name: str) -> bool:
    """Write the rows of a sheet as CSV; return whether a cell of them is empty."""
    with target.open("w", encoding="utf-8", newline="") as out:
        writer, empty, has_gaps = csv.writer(out), 0, False
        for number, row in enumerate(sheet.iter_rows(values_only=True)):
            if number >= MAX_ROWS:
                raise too_many_rows(name)
            if all(value is None for value in row):
                empty += 1
                continue
            has_gaps = has_gaps or None in row
            out.write("\n" * empty)  # a message counts lines as Excel does rows
            writer.writerow(map(_cell, row))
            empty = 0
    return has_gaps


def _lacks_values(file: Path, sheet: Any) -> bool:
    """Whether a sheet, of which the values were read, has formulas that were never calculated."""
    import openpyxl

    formulas = openpyxl.load_workbook(file, read_only=True, keep_links=False)
    both = zip(sheet.iter_rows(), formulas[sheet.title].iter_rows(), strict=True)
    is_empty = any(
        value.value is None and cell.data_type == "f"
        for rows in both
        for value, cell in zip(*rows, strict=True)
    )
    formulas.close()
    return is_empty


def _cell(value: Any) -> Any:
    """A value as people see it: days without a midnight."""
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date | time) else value
