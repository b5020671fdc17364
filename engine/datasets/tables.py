"""A user's table as a data set: preview it, assign its columns, read it.

shown = preview(path, "mine.csv")        # what the form shows
data = read(path, "mine.csv", shown.mapping)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping as MappingABC, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import Any

from theodolite.engine.datasets import archives
from theodolite.engine.datasets.columns import (
    LABELS,
    PACKED,
    ROLES,
    guess,
    is_number,
    last_part,
    negatives,
    roles_of,
)
from theodolite.engine.datasets.dialect import TREC, encoding_note
from theodolite.engine.datasets.files import listed
from theodolite.engine.datasets.formats import Table, TableRow, as_text, open_table
from theodolite.engine.datasets.languages import is_language
from theodolite.engine.datasets.parquet import Opaque
from theodolite.engine.datasets.shapes import build
from theodolite.engine.datasets.types import TYPES, Dataset, Kind, TaskType
from theodolite.engine.errors import UserError

_MAX_SHOWN_ROWS = 20
_MAX_SAMPLE_ROWS = 200
_MAX_SAMPLE_CHARACTERS = 2**22
_MAX_SHOWN_CHARACTERS = 1000
"""Characters of a cell that a preview inspects and shows."""
_NO_LABEL = ("", "NULL", "#N/A", "nan", "NaN", "<NA>")
"""What a missing value becomes as text, in databases, Excel and pandas."""
_JUDGED = re.compile(r"\S+\s+(?:0|Q0)\s+\S+\s+-?\d+(?:\s+\S+\s+\S+)?")
"""A line of TREC's judgements, or of what a system found."""
_REFUSED = {"reject", "ignore"}
"""What annotators answer in Prodigy to a label that is not accepted."""


@dataclass(frozen=True)
class Mapping:
    """The roles of a table's columns.

    Attributes:
        kind: the kind of data set.
        columns: role -> column; roles are those of `columns.ROLES` and `columns.OPTIONAL`. Empty
            for an archive, whose files are identified by their names.
        header: whether the first line of a CSV or TSV holds names; None to detect.
        type: the task type, if the kind has several: `Classification` or `Clustering` for labels,
            `Retrieval` or `Reranking` for queries with documents.
    """

    kind: Kind
    columns: dict[str, str]
    header: bool | None = None
    type: TaskType | None = None

    def __post_init__(self) -> None:
        if self.kind not in ROLES:
            raise UserError(
                f"There is no kind of data set called {self.kind!r}.",
                f"Choose one of {', '.join(ROLES)}.",
                code="unknown",
            )
        types = TYPES.get(self.kind, ())
        if self.type is not None and self.type not in types:
            raise UserError(
                f"There is no task of type {self.type!r} on {self.kind}.",
                f"Choose {' or '.join(types)}." if types else "Leave the type out.",
                code="unknown",
            )
        if not self.columns and self.kind in PACKED:
            return
        needed = ROLES[self.kind]
        missing = [role for role in needed if not self.columns.get(role)]
        unknown = [role for role in self.columns if role not in roles_of(self.kind)]
        if missing or unknown:
            raise UserError(
                f"There is no column for {missing[0]!r}."
                if missing
                else f"{self.kind.capitalize()} have no role {unknown[0]!r}.",
                f"{self.kind.capitalize()} need a column for each of: {', '.join(needed)}.",
                code="missing" if missing else "unknown",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-serialisable values."""
        fields = {"type": self.type} if self.type else {}
        return {"kind": self.kind, "columns": dict(self.columns), "header": self.header, **fields}

    @classmethod
    def from_dict(cls, values: MappingABC[str, Any]) -> Mapping:
        """Rebuild a mapping from `to_dict`."""
        return cls(
            values["kind"], dict(values["columns"]), values.get("header"), values.get("type")
        )


@dataclass(frozen=True)
class Preview:
    """The start of a table, with guesses, before it is read.

    Attributes:
        columns: distinct names.
        rows: the first rows, at most 20, as text; a ragged row has another length.
        n_rows: number of rows, ragged ones included.
        kind: the likeliest kind of data set.
        guesses: role -> column, for every role of any kind that could be guessed.
        problems: sentences for people; `read` may fail on these problems.
        header: whether the first line was read as names.
        type: the task type of an archive, whose files are then the rows, or its documents where
            it has nothing else; None for a table.
    """

    columns: tuple[str, ...]
    rows: list[list[str]]
    n_rows: int
    kind: Kind
    guesses: dict[str, str]
    problems: list[str]
    header: bool
    type: TaskType | None = None

    @property
    def mapping(self) -> Mapping:
        """The guesses as a mapping of the likeliest kind; raises UserError if incomplete."""
        columns = {r: self.guesses[r] for r in roles_of(self.kind) if r in self.guesses}
        return Mapping(self.kind, columns, self.header, self.type)


def preview(source: Path | bytes, filename: str, header: bool | None = None) -> Preview:
    """Preview a table: columns, first rows, guessed roles, problems; `header` None: to detect."""
    _refuse_judgements(filename)
    if archives.is_archive(filename):
        files = archives.unpack(source, filename)
        if by_split := archives.tables(list(files)):
            return _together(files, by_split, header)
        kind, type = archives.kind_of(list(files))
        if [*files] == [archives.CORPUS]:
            texts = preview(files[archives.CORPUS], archives.CORPUS)
            columns = tuple("document" if name == "_id" else name for name in texts.columns)
            return Preview(columns, texts.rows, texts.n_rows, kind, {}, [], True, type)
        rows = [[name, f"{len(raw):,}"] for name, raw in list(files.items())[:_MAX_SHOWN_ROWS]]
        return Preview(("file", "bytes"), rows, len(files), kind, {}, [], True, type)
    table = open_table(source, filename, header)
    sample = _sample(table)
    if not sample:
        raise _no_rows(filename, table)
    if all(_JUDGED.fullmatch(" ".join(map(str, cells))) for _, cells in sample):
        raise _are_judgements(filename)
    kind, guesses, left_out = _guess(table.columns, sample)
    count, problems = _problems(table, sample, kind, guesses)
    if left_out:
        problems.append(f"Columns without texts or numbers, not read: {listed(left_out, 4)}.")
    further = [column for column in negatives(table.columns) if column != guesses.get("negative")]
    if kind == "triplets" and further:
        problems.append(
            f"Further columns of negatives, not read: {listed(further, 4)}. A training reads them "
            "from the file itself."
        )
    first = [
        [short(cell, _MAX_SHOWN_CHARACTERS) for cell in cells]
        for _, cells in sample[:_MAX_SHOWN_ROWS]
    ]
    return Preview(table.columns, first, count, kind, guesses, problems, table.header)


def _problems(
    table: Table, sample: list[TableRow], kind: Kind, guesses: MappingABC[str, str]
) -> tuple[int, list[str]]:
    """Return the number of rows and what is wrong with them, read to the end."""
    width, count = len(table.columns), 0
    score = table.columns.index(guesses["score"]) if kind == "pairs" else None
    texts = [
        table.columns.index(guesses[role])
        for role in ROLES[kind]
        if role in guesses and role not in ("score", "label")
    ]
    ragged, not_number = ragged_rows(width), Faults("The score is not a number")
    empty = Faults("Empty cells, which count as empty sentences")
    names, repeats = list(table.columns), Faults("Rows that repeat the names of the columns")
    for number, cells in chain(sample, table.rows):
        count += 1
        place = f"{table.unit} {number}"
        if len(cells) != width:
            ragged.add(f"{place} ({len(cells)})")
        elif cells == names:
            repeats.add(place)
        elif score is not None and not is_number(cells[score]):
            not_number.add(f"{place} ({short(cells[score])})")
        elif any(cells[i] is None or cells[i] == "" for i in texts):
            empty.add(place)
    problems = [str(faults) for faults in (ragged, repeats, not_number, empty) if faults.count]
    if table.repeated:
        problems.append(f"Columns of one name, numbered here: {listed(table.repeated)}.")
    if table.guessed:
        problems.append(
            f"The first line was taken for the names of the columns: {listed(table.columns, 4)}."
        )
    if count == 1:
        problems.append("There is only one row.")
    return count, problems


def _together(
    files: MappingABC[str, bytes], by_split: Sequence[tuple[str, str]], header: bool | None
) -> Preview:
    """Preview the tables of an archive as one, whose files are its splits."""
    previews = {name: preview(files[name], name, header) for _, name in by_split}
    (title, first), *others = previews.items()
    for name, other in others:
        if set(other.columns) != set(first.columns):
            raise UserError(
                f"{title} has the columns {listed(first.columns, 6)}, and {name} "
                f"{listed(other.columns, 6)}.",
                "Files of one data set need the same columns.",
                code="mismatch",
            )
    problems = [f"{name}: {text}" for name, look in previews.items() for text in look.problems]
    problems += filter(None, (encoding_note(files[name], name) for name in previews))
    guesses = {role: c for role, c in first.guesses.items() if role != "split" or not others}
    inside = ((split, PurePosixPath(name).parent) for split, name in by_split)
    folders = list(dict.fromkeys(str(folder) for split, folder in inside if folder.name != split))
    if len(folders) > 1:
        problems.append(f"Files of several folders, taken together: {listed(folders, 6)}.")
    count = sum(look.n_rows for look in previews.values())
    return replace(first, n_rows=count, guesses=guesses, problems=problems)


def _refuse_judgements(filename: str) -> None:
    if filename.lower().removesuffix(".gz").endswith(TREC):
        raise _are_judgements(filename)


def _are_judgements(filename: str) -> UserError:
    return UserError(
        f"{filename} has judgements or ranks of documents, without queries and documents.",
        "Add judgements with them, as one data set: corpus.jsonl, queries.jsonl and this file.",
        code="wrong-kind",
    )


def guesses_of(source: Path | bytes, filename: str) -> dict[str, str]:
    """Return role -> column, guessed from the first rows of a table."""
    table = open_table(source, filename)
    sample = _sample(table, _MAX_SHOWN_ROWS)
    if not any(len(cells) == len(table.columns) for _, cells in sample):
        raise _no_rows(filename, table)
    return _guess(table.columns, sample)[1]


def _guess(
    columns: Sequence[str], sample: Sequence[TableRow]
) -> tuple[Kind, dict[str, str], list[str]]:
    """Return kind and roles, of columns with texts or numbers, and the names of the others."""
    rows = [cells for _, cells in sample if len(cells) == len(columns)]
    empty = {i for i in range(len(columns)) if rows and all(isinstance(r[i], Opaque) for r in rows)}
    places = [i for i in range(len(columns)) if i not in empty]
    plain = [["" if isinstance(row[i], Opaque) else row[i] for i in places] for row in rows]
    return *guess([columns[i] for i in places], plain), [columns[i] for i in sorted(empty)]


def _sample(table: Table, most: int = _MAX_SAMPLE_ROWS) -> list[TableRow]:
    """Return the first rows, cut: some kilobytes of JSON may hold lists of millions."""
    sample: list[TableRow] = []
    size = 0
    labels = {i for i, column in enumerate(table.columns) if column.casefold() in LABELS}
    for number, cells in islice(table.rows, most):
        cut = [_cut(_only(cell) if i in labels else cell) for i, cell in enumerate(cells)]
        sample.append((number, cut))
        size += sum(8 + len(str(cell)) for cell in cut)
        if size > _MAX_SAMPLE_CHARACTERS:
            break
    return sample


def _cut(cell: Any) -> Any:
    if cell is None:
        return ""
    if isinstance(cell, int | float | Opaque):
        return cell
    text = short(cell, _MAX_SHOWN_CHARACTERS)
    return Opaque(text) if isinstance(cell, list | dict) else text


def read(source: Path | bytes, filename: str, mapping: Mapping, name: str | None = None) -> Dataset:
    """Read a table as a data set."""
    name = name or filename
    _refuse_judgements(filename)
    if archives.is_archive(filename) and not mapping.columns:
        return archives.read(source, filename, mapping.kind, mapping.type, name)
    if not mapping.columns:
        raise UserError(
            f"No column of {filename} is mapped.",
            f"{mapping.kind.capitalize()} need one for each of: {', '.join(ROLES[mapping.kind])}.",
            code="missing",
        )
    placed = mapping.kind == "retrieval"
    columns = read_columns(source, filename, mapping.columns, mapping.header, placed=placed)
    if (
        mapping.kind in ("pairs", "labels", "labelled-pairs")
        and len(next(iter(columns.values()))) < 2
    ):
        raise UserError(
            f"{filename} has one row.",
            "Pairs and labels need at least two, and a score means something from some dozens.",
            code="too-few",
        )
    left, right = (last_part(mapping.columns.get(side, "")) for side in ("left", "right"))
    languages = (left, right) if is_language(left) and is_language(right) else ("", "")
    return build(mapping.kind, columns, name, filename, type=mapping.type, languages=languages)


def labelled_rows(source: Path | bytes, filename: str, mapping: Mapping) -> tuple[str, int]:
    """Return the labelled rows of a table in which some rows have no label.

    Returns:
        The labelled rows as JSON lines, an object of roles each, and the number of rows without a
        label, or with one that was rejected; an empty string and 0 if all rows have one or the
        mapping has no label.
    """
    if "label" not in mapping.columns or archives.is_archive(filename):
        return "", 0
    table = _open(source, filename, mapping.columns, mapping.header)
    places = {role: table.columns.index(column) for role, column in mapping.columns.items()}
    answers = table.columns.index("answer") if "answer" in table.columns else None
    rows: list[tuple[str | None, str, str]] = []
    for _, cells in table.rows:
        if len(cells) != len(table.columns):  # `read` reports it
            return "", 0
        row = {role: as_text(cells[place]) for role, place in places.items()}
        answer = "" if answers is None else short(cells[answers])
        rows.append((_as_label(cells[places["label"]]), answer, json.dumps(row)))
    without = {None, *_unlabelled(mapping.kind, {label for label, _, _ in rows})}
    refused = _REFUSED if {answer for _, answer, _ in rows} <= {"accept", *_REFUSED} else set()
    labelled = [row for label, answer, row in rows if not (label in without or answer in refused)]
    if len(labelled) == len(rows):
        return "", 0
    return "".join(f"{row}\n" for row in labelled), len(rows) - len(labelled)


def _unlabelled(kind: Kind, labels: set[str | None]) -> set[str]:
    """The labels that say there is none: of pairs on which SNLI's annotators did not agree."""
    if kind != "labelled-pairs":
        return set()
    return {"-", "-1"} if {"0", "1", "2"} <= labels else {"-"}


def read_columns(
    source: Path | bytes,
    filename: str,
    columns: MappingABC[str, str],
    header: bool | None = None,
    *,
    placed: bool = False,
) -> dict[str, list[Any]]:
    """Read some columns of a table in full.

    Args:
        source: the file, or its bytes.
        filename: its original name, whose ending determines the format.
        columns: role -> column. The role `score` is read as float, every other one as str.
        header: as for `preview`.
        placed: also return each row's place in the file, as the role `place`.

    Returns:
        Role -> the values of its column, in the order of the rows.
    """
    if archives.is_archive(filename):
        return _columns_by_split(source, filename, columns, header)
    table = _open(source, filename, columns, header)
    width = len(table.columns)
    picked = {role: (table.columns.index(c), list[Any]()) for role, c in columns.items()}
    ragged = ragged_rows(width)
    not_text = Faults("A cell that should be text is missing, a list or not Unicode text")
    wrong = {
        "score": Faults("The score is not a number"),
        "label": Faults("The label is missing, or there are several"),
    }
    places: list[str] = []
    for number, cells in table.rows:
        place = f"{table.unit} {number}"
        if len(cells) != width:
            ragged.add(f"{place} ({len(cells)})")
            continue
        if placed:
            places.append(f"{filename}, {place}")
        for role, (index, values) in picked.items():
            cell = cells[index]
            value = _read(role, cell)
            if value is None:
                wrong.get(role, not_text).add(f"{place} ({short(cell)})")
                break
            values.append(value)
    for faults in (ragged, *wrong.values(), not_text):
        if faults.count:
            lists = " Write each text of a list into a row or a column of its own."
            raise UserError(
                f"{filename} has {faults.count} bad row{'s' * (faults.count > 1)}. {faults}",
                f"Correct or remove such rows, then try again.{lists * (faults is not_text)}",
                code="damaged",
            )
    if not all(values for _, values in picked.values()):
        raise _no_rows(filename, table)
    by_role = {role: values for role, (_, values) in picked.items()}
    return {**by_role, "place": places} if placed else by_role


def _columns_by_split(
    source: Path | bytes, filename: str, columns: MappingABC[str, str], header: bool | None
) -> dict[str, list[Any]]:
    """Read some columns of the tables of an archive; several files are splits."""
    files = archives.unpack(source, filename)
    by_split = archives.tables(list(files))
    if not by_split:
        raise UserError(
            f"{filename} does not contain the tables of a data set.",
            archives.TABLES,
            code="wrong-kind",
        )
    several = len({split for split, _ in by_split}) > 1
    if several:
        columns = {role: column for role, column in columns.items() if role != "split"}
    parts = (
        (split if several else "", read_columns(files[name], name, columns, header, placed=True))
        for split, name in by_split
    )
    return join_splits(parts)


def join_splits(parts: Iterable[tuple[str, dict[str, list[Any]]]]) -> dict[str, list[Any]]:
    """Return the columns of all parts, with the role `split` for those that are of a split."""
    columns: dict[str, list[Any]] = {}
    for split, part in parts:
        if split:
            part["split"] = [split] * len(next(iter(part.values())))
        for role, values in part.items():
            columns.setdefault(role, []).extend(values)
    return columns


def _open(
    source: Path | bytes, filename: str, columns: MappingABC[str, str], header: bool | None
) -> Table:
    """Open a table that has these columns; a label of texts is the name of its class."""
    table = open_table(source, filename, header)
    for column in columns.values():
        if column not in table.columns:
            raise UserError(
                f"{filename} has no column {column!r}.",
                f"Its columns are: {listed(table.columns) or 'none'}.",
                code="unknown",
            )
    names = table.classes.get(columns.get("label", "")) if "text" in columns else None
    if not names:
        return table
    known, at = dict(enumerate(names)), table.columns.index(columns["label"])
    rows = ((n, [*cells[:at], known.get(cells[at]), *cells[at + 1 :]]) for n, cells in table.rows)
    return replace(table, rows=rows)


def _read(role: str, cell: Any) -> str | float | None:
    """Return a cell's value; None if it is invalid for its role."""
    if role == "score":
        return float(cell) if is_number(cell) else None
    return _as_label(cell) if role == "label" else as_text(cell)


def _only(label: Any) -> Any:
    """A label, which annotation tools may write as a list of one."""
    return label[0] if isinstance(label, list) and len(label) == 1 else label


def _as_label(cell: Any) -> str | None:
    text = as_text(_only(cell))
    text = text and text.strip()
    return None if text in _NO_LABEL else text


def _no_rows(filename: str, table: Table) -> UserError:
    what = "a line of column names and no row" if table.columns and table.header else "no row"
    return UserError(
        f"{filename} has {what}.", "Give a file with at least one row.", code="missing"
    )


@dataclass
class Faults:
    """The number of rows with one kind of fault, and the first five."""

    what: str
    count: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, place: str) -> None:
        """Count a row, with its place."""
        self.count += 1
        if len(self.places) < 5:
            self.places.append(place)

    def __str__(self) -> str:
        more = f" and {self.count - len(self.places)} more" if self.count > len(self.places) else ""
        return f"{self.what}: {', '.join(self.places)}{more}."


def ragged_rows(width: int) -> Faults:
    """Return the faults of rows without exactly so many columns."""
    return Faults(f"Rows without exactly {width} columns (what they have instead)")


def short(cell: Any, limit: int = 40) -> str:
    """Return a cell as text, cut to `limit` characters."""
    try:
        text = str(cell).encode("utf-8", "replace").decode("utf-8")
    except RecursionError:  # JSON of deeply nested lists
        return "…"
    return text if len(text) <= limit else text[: limit - 1] + "…"
