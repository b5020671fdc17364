"""Files of rows: CSV, TSV, JSON lines, Parquet and plain lines, read as a stream of cells.

Uploads, tasks, corpora and training data are all read by `open_table`. Only SentEval's folder,
whose files each have their own layout, is read by separate modules, following the reference.

CSV follows RFC 4180 (quotes, line ends inside quotes). TSV is split at tabs, without quoting if it
is written as in the files of GLUE and SentEval. JSON lines has one object per line; the first ones
name the columns, and a field inside another is named as in pandas and DuckDB, `text.body`. Or it
has a list of cells per line. Which of these a file is, `engine.datasets.dialect` finds. Knows
nothing of what a column means.
"""

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from theodolite.engine.datasets import limits
from theodolite.engine.datasets.columns import (
    PROBING,
    PROBING_SPLITS,
    known_name,
    labelled_lists,
)
from theodolite.engine.datasets.dialect import JSON_LINES, Dialect, dialect_of, ending_of
from theodolite.engine.datasets.files import (
    check_names,
    decode,
    is_unicode,
    listed,
    open_binary,
    unpacked,
    where,
)
from theodolite.engine.datasets.parquet import Choose, Opaque, ParquetFile
from theodolite.engine.errors import UserError

PAIR = ("anchor", "positive")
TableRow = tuple[int, list[Any]]
"""A row's number (line of a text file, row of Parquet; from 1) and its cells."""

_MARK = "\ufeff"  # written twice by programs that add one to the text of another
_MISSING = Opaque("nothing under this name")
_ROWS_OF_KEYS = 100
"""First objects whose keys are the columns: many programs leave out a key without a value."""
_LEVELS = 8
"""Objects in objects whose fields are columns; those further in are cells, not read."""
_STEP = 2**16
"""Bytes after which what was unpacked is compared with its limits."""
_MIN_LINE = 16
"""Minimum bytes counted for a line: some kilobytes may unpack to millions of empty lines."""


@dataclass(frozen=True)
class Table:
    """A file opened as rows.

    Attributes:
        columns: distinct names, in order; a column without a name is `column 3`.
        rows: a single-use iterator of the rows. Ragged rows have fewer or more cells than columns.
        header: whether the first line was read as names.
        unit: `line` or `row`: what a row's number counts.
        repeated: names that occur more than once in the file.
        guessed: whether nothing but its place says that the first line holds names.
        classes: column -> the names that its numbers stand for.
    """

    columns: tuple[str, ...]
    rows: Iterator[TableRow]
    header: bool = True
    unit: str = "line"
    repeated: tuple[str, ...] = ()
    guessed: bool = False
    classes: Mapping[str, Sequence[str]] = field(default_factory=dict)


def open_table(
    source: Path | bytes,
    filename: str,
    header: bool | None = None,
    *,
    bounded: bool = True,
    choose: Choose | None = None,
) -> Table:
    """Open a file as rows.

    Args:
        source: the file, or its bytes.
        filename: its original name, whose ending determines the format.
        header: whether the first line of a CSV or TSV holds names; None to detect.
        bounded: whether all of `limits` apply, or only those on a row and the ratio of sizes.
        choose: finds the columns that are needed; of Parquet, the others are not read.
    """
    table = _open(source, filename, header, bounded, choose)
    limits.check_columns(filename, table.columns)
    if not bounded:
        return table
    return replace(table, rows=chain(islice(table.rows, limits.MAX_ROWS), _more(table, filename)))


def records(source: Path | bytes, filename: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each row's place, for messages, and its cells by column.

    Unlike with `open_table`, objects of JSON lines have their own keys, not those of the first.
    """
    dialect = dialect_of(source, filename)
    if dialect.ending in JSON_LINES and not dialect.lists:
        rows = rows_of(_lines(source, filename, dialect), dialect, filename)
        for count, (number, row) in enumerate(rows):
            if count == limits.MAX_ROWS:
                raise limits.too_many_rows(filename)
            if row is not None:
                yield f"{filename}, line {number}", row
        return
    table = open_table(source, filename)
    for place, cells in whole_rows(table, filename):
        yield place, dict(zip(table.columns, cells, strict=True))


def whole_rows(
    table: Table, filename: str, short: Callable[[str], None] | None = None
) -> Iterator[tuple[str, list[Any]]]:
    """Yield each row's place, for messages, and its cells, one for each column.

    Args:
        table: single-use.
        filename: the name for places.
        short: leaves out rows with too few cells, and is told of each; None to refuse them too.
    """
    width = len(table.columns)
    for number, cells in table.rows:
        if short is not None and len(cells) < width:
            short(f"{table.unit} {number}")
            continue
        place = f"{filename}, {table.unit} {number}"
        if len(cells) != width:
            raise UserError(
                f"{place} has {len(cells)} cells, and there are {width} columns "
                f"({listed(table.columns)}).",
                "Correct or remove the row. A sentence with a separator in it belongs in quotes.",
                code="damaged",
            )
        yield place, cells


def as_text(cell: Any) -> str | None:
    """Return a cell as text, empty without a value; None for containers, bytes and surrogates."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, (list, dict, Opaque)):
        return None
    text = str(cell)
    return text if is_unicode(text) else None


def text_of(cell: Any, place: str, column: str, *, numbers: bool = True) -> str:
    """Return a cell as text, empty without a value, and refuse any other.

    Args:
        cell: of a table.
        place: of its row, for messages.
        column: its name.
        numbers: whether a number is text too.
    """
    plain = numbers or cell is None or isinstance(cell, str)
    text = as_text(cell) if plain else None
    if text is not None:
        return text
    if isinstance(cell, str):
        raise UserError(
            f"{place}: {column!r} contains an unpaired surrogate.",
            "Save the file as UTF-8 again.",
            code="damaged",
        )
    raise UserError(
        f"{place}: {column!r} is of type {type(cell).__name__}.",
        f"Every row needs text{' or a number' if numbers else ''} there.",
        code="damaged",
    )


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as JSON lines."""
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def texts_in(cell: Any) -> list[Any]:
    """Return the texts of a cell, which may be a list of them, or of objects with one each."""
    inside = cell if isinstance(cell, list) else [cell]
    texts = [one.get("text") if isinstance(one, dict) else one for one in inside]
    return [text for text in texts if text is not None and text != ""]


def split_by_labels(table: Table) -> Table:
    """Return lists of documents with labels, as rerankers learn from them, as two columns of lists.

    `positive` has those with a label above 0, `negative` the others. Any other table stays as it
    is.
    """
    found = labelled_lists(table.columns) if table.header else None
    first = next(table.rows, None) if found else None
    if found is None or first is None:
        return table
    table = replace(table, rows=chain([first], table.rows))
    texts, labels = map(table.columns.index, found)
    if len(first[1]) != len(table.columns) or not _are_labelled(first[1][texts], first[1][labels]):
        return table
    kept = [i for i in range(len(table.columns)) if i not in (texts, labels)]

    def split(cells: list[Any]) -> list[Any]:
        both = cells[texts], cells[labels]
        pairs = list(zip(*both, strict=True)) if _are_labelled(*both) else []
        sides = [[text for text, label in pairs if (label > 0) is side] for side in (True, False)]
        return [*(cells[i] for i in kept), *sides]

    width = len(table.columns)
    rows = ((n, split(cells) if len(cells) == width else cells) for n, cells in table.rows)
    columns = (*(table.columns[i] for i in kept), "positive", "negative")
    return replace(table, columns=columns, rows=rows)


def split_sets(table: Table) -> Table:
    """Return pairs as sentence-transformers publishes them, `{"set": [a, b]}`, as two columns.

    Larger sets stay as they are: none of their texts is the hard negative that a third one would be
    taken for.
    """
    if table.columns != ("set",):
        return table
    first = list(islice(table.rows, _ROWS_OF_KEYS))
    table = replace(table, rows=chain(first, table.rows))
    if not all(isinstance(one, list) and len(one) == len(PAIR) for _, (one,) in first):
        return table
    rows = ((n, cell if isinstance(cell, list) else []) for n, (cell,) in table.rows)
    return replace(table, columns=PAIR, rows=rows)


def _are_labelled(texts: Any, labels: Any) -> bool:
    """Whether two cells are lists of one length, the second of numbers."""
    if not (isinstance(texts, list) and isinstance(labels, list) and len(texts) == len(labels)):
        return False
    return all(isinstance(label, int | float) for label in labels)


def _more(table: Table, filename: str) -> Iterator[TableRow]:
    """Raise UserError if there are rows beyond the limit."""
    for _ in table.rows:
        raise limits.too_many_rows(filename)
    yield from ()


def _open(
    source: Path | bytes,
    filename: str,
    header: bool | None,
    bounded: bool,
    choose: Choose | None,
) -> Table:
    dialect = dialect_of(source, filename)
    ending = dialect.ending
    if ending == ".parquet":
        file = ParquetFile(source, filename, choose, bounded=bounded)
        columns, repeated = _distinct(file.columns)
        cells = chain.from_iterable(zip(*batch, strict=True) for batch in file.batches())
        numbered = enumerate(map(list, cells), start=1)
        return Table(columns, numbered, unit="row", repeated=repeated, classes=file.classes)
    if ending == ".json":
        columns, values = json_table(source, filename, dialect.encoding)
        check_names(filename, columns)
        return Table(columns, enumerate(values, start=1), unit="row")
    text = _lines(source, filename, dialect, bounded)
    first = next(text, None)
    if first is None:
        raise UserError(
            f"{filename} is empty.", "Give a file with at least one row.", code="missing"
        )
    for _ in range(dialect.skip):
        first = next(text, "")
    every = rows_of(chain([first], text), dialect, filename, first=1 + dialect.skip)
    rows = ((line, row) for line, row in every if row is not None)
    if dialect.probing and not header:
        marked = ((n, [PROBING_SPLITS.get(mark, mark), *cells]) for n, (mark, *cells) in rows)
        return Table(PROBING, marked, header=False)
    if ending == ".txt":
        return Table(("text",), rows, header=False)
    if ending in JSON_LINES and not dialect.lists:
        return _objects(rows, filename)
    table = _name_columns(rows, dialect.header if header is None else header)
    check_names(filename, table.columns)
    guessed = header is None and table.header and not dialect.sure
    return replace(table, guessed=guessed)


def _lines(
    source: Path | bytes, filename: str, dialect: Dialect, bounded: bool = True
) -> Iterator[str]:
    """Yield the lines, for CSV with their ends."""
    unpacking = limits.Unpacking(filename, source, limits.MAX_BYTES if bounded else math.inf)
    newline = "" if dialect.ending == ".csv" else None
    packed = ending_of(filename)[1]
    return counted_lines(source, filename, unpacking, packed, dialect.encoding, newline)


def lines_of(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    """Yield the lines of a text file of any size."""
    name = where(path)
    unpacking = limits.Unpacking(name, path)
    return counted_lines(path, name, unpacking, ending_of(name)[1], encoding)


def counted_lines(
    source: Path | bytes,
    name: str,
    unpacking: limits.Unpacking,
    packed: bool,
    encoding: str = "utf-8",
    newline: str | None = None,
) -> Iterator[str]:
    """Yield the lines of a text file; stop with UserError if they unpack to too much."""
    with open_binary(source, packed) as raw:
        size = 0  # counted in steps: a file of empty lines may have half a million of them
        for line in decode(raw, name, encoding, newline):
            size += len(line) + 1 if len(line) >= _MIN_LINE else _MIN_LINE
            if size >= _STEP:
                unpacking.add(size)
                size = 0
            yield line
        unpacking.add(size)


def rows_of(
    lines: Iterator[str], dialect: Dialect, filename: str, first: int = 1
) -> Iterator[tuple[int, Any]]:
    """Parse the rows of a text file, each with the line on which it begins.

    Args:
        lines: the lines, with their ends if the format is CSV.
        dialect: how they are written.
        filename: the name for messages.
        first: number of the first of these lines.

    Yields:
        The line number, and the cells or the JSON value; None for an empty line.
    """
    ending = dialect.ending
    if ending == ".csv":
        for number, cells in _csv_rows(lines, dialect, filename, first):
            yield number, dialect.cells(cells) if "".join(cells).strip() else None
        return
    for number, line in enumerate(lines, start=first):
        if not line.strip():
            yield number, None
            continue
        text = line.rstrip("\r\n")
        if ending in JSON_LINES:
            yield number, _json_row(text, f"{filename}, line {number}", dialect.lists)
        else:
            yield number, dialect.cells(text.split("\t")) if ending == ".tsv" else [text]


def _csv_rows(
    lines: Iterator[str], dialect: Dialect, filename: str, first: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of CSV; a row may span several lines. See `rows_of`."""
    # The csv module limits cells to 131,072 characters; our limit is that of a row.
    csv.field_size_limit(limits.MAX_ROW)
    size = 0

    def bounded() -> Iterator[str]:
        nonlocal size
        for number, line in enumerate(lines, start=first):
            size += len(line)
            if size > limits.MAX_ROW:
                raise limits.row_too_long(filename, number)
            yield line

    reader = csv.reader(
        bounded(),
        delimiter=dialect.separator,
        escapechar=dialect.escape,
        skipinitialspace=dialect.spaced,
        strict=True,
    )
    while True:
        start, size = first + reader.line_num, 0
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise UserError(
                f"{filename}: the row that begins on line {start} has a broken quote ({error}).",
                'In CSV a quote inside a quoted cell is written twice: "She said ""yes""."',
                code="damaged",
            ) from error
        if cells is None:
            return
        yield start, cells


def _objects(rows: Iterator[tuple[int, dict[str, Any]]], filename: str) -> Table:
    first = list(islice(rows, _ROWS_OF_KEYS))
    columns, cells_of = _fields(one for _, one in first)
    check_names(filename, columns)
    # A missing key is an error only for readers that need its column.
    every = ((number, cells_of(one, _MISSING)) for number, one in chain(first, rows))
    return Table(columns, every)


def _fields(
    objects: Iterable[dict[str, Any]],
) -> tuple[tuple[str, ...], Callable[[dict[str, Any], Any], list[Any]]]:
    """Return the columns of objects, and the function that gives an object's cells.

    Its second argument fills the places of missing keys.
    """
    objects = list(objects)
    columns = tuple(dict.fromkeys(key for one in objects for key in one))
    nested = any(isinstance(cell, dict) for one in objects for cell in one.values())
    within = tuple(dict.fromkeys(key for one in objects if nested for key, _ in _flat(one)))
    if not nested or len(within) > limits.MAX_COLUMNS:  # such as weights by their tokens
        return columns, lambda one, missing: [one.get(column, missing) for column in columns]

    def cells(one: dict[str, Any], missing: Any) -> list[Any]:
        fields = dict(_flat(one))
        return [fields.get(column, missing) for column in within]

    return within, cells


def _flat(value: dict[str, Any], before: str = "", level: int = 1) -> Iterator[tuple[str, Any]]:
    """Yield the fields of an object, and of those in it under the names of both."""
    for key, inside in value.items():
        if isinstance(inside, dict) and inside and level < _LEVELS:
            yield from _flat(inside, f"{before}{key}.", level + 1)
        else:
            yield before + key, inside


def _json_row(line: str, place: str, lists: bool) -> Any:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{place} is not JSON ({error}).",
            "JSON lines holds one whole object or list on every line.",
            code="damaged",
        ) from error
    if not isinstance(value, list if lists else dict):
        expected, example = (
            ("a list as the lines before it", '["A sentence.", "topic"]')
            if lists
            else ("an object", '{"text": "A sentence.", "label": "topic"}')
        )
        raise UserError(
            f"{place} holds a JSON {type(value).__name__}, not {expected}.",
            f"Every line looks like {example}.",
            code="damaged",
        )
    return value


def _name_columns(rows: Iterator[TableRow], header: bool) -> Table:
    """Use the first row as names, or make up names if it holds data."""
    first = next(rows, None)
    if first is None:
        return Table((), rows)
    # Cells of JSON may be numbers.
    names = [str(cell).strip(_MARK).strip() if header else "" for cell in first[1]]
    columns, repeated = _distinct(names)
    if not header:
        return Table(columns, chain([first], rows), header, repeated=repeated)
    below = list(islice(rows, 2))
    if len(below) == 2 and any(str(cell).startswith('{"ImportId"') for cell in below[1][1]):
        below = []  # Qualtrics writes the questions there, and its own numbers of them
    return Table(columns, chain(below, rows), header, repeated=repeated)


def _distinct(names: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return distinct names (`text`, `text (2)`, `column 3`) and the repeated ones."""
    used: set[str] = set()
    numbers: dict[str, int] = {}  # name -> the least number that may be free
    columns: list[str] = []
    repeated: list[str] = []
    for position, name in enumerate(names, start=1):
        name = name or f"column {position}"
        if name in used:
            repeated.append(name)
            number = numbers.get(name, 2)
            while f"{name} ({number})" in used:
                number += 1
            numbers[name] = number + 1
            name = f"{name} ({number})"
        used.add(name)
        columns.append(name)
    return tuple(columns), tuple(dict.fromkeys(repeated))


_MAX_JSON_BYTES = 2**26
"""Bytes: one value is parsed in memory, where it takes up to twenty times as much."""
_INNER = ("data", "rows", "examples", "records")
"""Keys under which a list of rows is found in an object with several lists."""


def json_value(
    source: Path | bytes,
    filename: str,
    encoding: str = "utf-8",
    having: Sequence[bytes] = (b"",),
) -> Any:
    """Parse a file that is one JSON value; None where it has none of these bytes."""
    text = unpacked(source, filename, _MAX_JSON_BYTES + 1)
    if not any(mark in text for mark in having):
        return None
    if len(text) > _MAX_JSON_BYTES:
        raise UserError(
            f"{filename} is one JSON value of more than {_MAX_JSON_BYTES // 2**20} MB.",
            "Save it as JSON lines, in pandas with to_json(orient='records', lines=True).",
            code="too-large",
        )
    try:
        return json.loads(text.decode("utf-8-sig" if encoding == "utf-8" else encoding))
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{filename} is not JSON ({error}).",
            "JSON lines holds one whole object on every line, JSON one list of objects.",
            code="damaged",
        ) from error


def json_table(
    source: Path | bytes, filename: str, encoding: str
) -> tuple[tuple[str, ...], Iterator[list[Any]]]:
    """Read a table from a JSON value.

    A list of objects or lists, an object of columns (lists, or objects by row as pandas writes
    them), pandas' orients `index`, `split` and `table`, an object with one list of objects or
    lists, or in which `data` or `rows` are one, or one with a list for each split.

    Returns:
        The names of the columns, and the rows' cells.
    """
    value = json_value(source, filename, encoding)
    rows = _rows(value)
    if not rows:
        raise UserError(
            f"{filename} holds a JSON {type(value).__name__} that is not a table.",
            'A table is a list of objects: [{"text": "A sentence.", "label": "topic"}, …].',
            code="wrong-kind",
        )
    columns, cells_of = _fields(rows)
    return columns, (cells_of(row, None) for row in rows)


def _rows(value: Any) -> list[dict[str, Any]]:
    """Return the rows of a value; none if it is no table."""
    if isinstance(value, list):
        return _of_list(value)
    if not isinstance(value, dict) or not value:
        return []
    if isinstance(names := value.get("columns"), list) and isinstance(value.get("data"), list):
        return [
            dict(zip(map(str, names), row, strict=False))
            for row in value["data"]
            if isinstance(row, list)
        ]
    lists = {key: inside for key, inside in value.items() if isinstance(inside, list)}
    if len(lists) == len(value) > 1 and {"train", "test"} & value.keys():
        return [row | {"split": key} for key, inside in lists.items() for row in _of_list(inside)]
    inner = [lists[key] for key in (lists if len(lists) == 1 else _INNER) if key in lists]
    if len(inner) == 1 and (columns := _of_list(inner[0])) and not isinstance(inner[0][0], str):
        keys = value.get("schema", {}) if isinstance(value.get("schema"), dict) else {}
        index = keys.get("primaryKey", ())
        return [{k: cell for k, cell in row.items() if k not in index} for row in columns]
    if all(isinstance(column, list) for column in value.values()):
        if len({len(column) for column in value.values()}) > 1:
            return []
        return [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]
    if all(isinstance(column, dict) for column in value.values()):
        inside = list(next(iter(value.values())))
        numbered = all(map(str.isdecimal, value)) and not all(map(str.isdecimal, inside))
        if numbered or (any(map(known_name, inside)) and not any(map(known_name, value))):
            return list(value.values())
        return [{name: column.get(key) for name, column in value.items()} for key in inside]
    return []


def _of_list(rows: list[Any]) -> list[dict[str, Any]]:
    first = rows[0] if rows else None
    if not all(isinstance(row, type(first)) for row in rows):
        return []
    if isinstance(first, dict):
        nested = all(isinstance(row.get("row"), dict) for row in rows)  # the hub's viewer
        return [row["row"] for row in rows] if nested else list(map(_annotated, rows))
    if isinstance(first, list):
        return [{f"column {i}": cell for i, cell in enumerate(row, start=1)} for row in rows]
    return [{"text": row} for row in rows] if isinstance(first, str) else []


def _annotated(row: dict[str, Any]) -> dict[str, Any]:
    """A task of Label Studio as its fields and the newest answers; any other row as it is."""
    match row:
        case {"data": dict(fields), "annotations": list(every)}:
            newest = every[-1] if every and isinstance(every[-1], dict) else {}
            return fields | dict(_answers(newest.get("result")))
    return row


def _answers(result: Any) -> Iterator[tuple[str, Any]]:
    """What an annotator chose, by the name of its control; one choice is not a list."""
    for one in result if isinstance(result, list) else ():
        match one:
            case {"from_name": str(name), "type": str(kind), "value": dict(value)}:
                given = value.get(kind)
                yield name, given[0] if isinstance(given, list) and len(given) == 1 else given
